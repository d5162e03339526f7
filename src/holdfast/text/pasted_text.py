"""Whose words a message contains: its author's own prose, and text pasted into it.

`parts` splits a text into adjacent spans, each with the reason why it is not the author's own; own
prose has none. Facts are extracted only from own prose, and a rule found elsewhere is at most
proposed. In doubt a line counts as pasted: a wrong memory costs more than a missed one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ..languages import in_every_language, patterns_of_all
from .fences import memory_blocks
from .invisible import HIDDEN
from .lazy_regex import later

MEMORY = "a block of memory"
CODE = "code"
QUOTED = "a quotation"
MAIL = "a mail"
TALK = "a conversation of others"
SHELL = "a terminal"
MACHINE = "a log or code"
DOCUMENT = "a document"
MARKUP = "markup"
MIDDLE = "the middle of a long text"
"""Reasons why a part is not the author's own prose."""

# People write briefly before or after what they paste. So in a long turn only a short first and
# last paragraph count as their own; in the middle the author is unknown.
LONG_TURN = 2000
SHORT_PARAGRAPH = 500


class Part(NamedTuple):
    """Characters [start, end) of a text, and why they are not its author's prose; empty if they
    are.
    """

    start: int
    end: int
    reason: str


# Three marks open a code block, including look-alikes of back-ticks and quotes.
_BLOCK_EDGE = later(r"\s{0,12}(```|~~~|\"\"\"|'''|｀｀｀|ˋˋˋ|‘‘‘|’’’|´´´|“““|”””|〜〜〜|∼∼∼)")
# A block may also open behind words of its author: "the rules are: ```".
_BLOCK_BEHIND = later(r".*\S\s*(```|~~~)[\w+-]{0,12}\s*$")
_QUOTED_LINE = later(r"\s{0,12}(?:[>|》＞▌┃│]|&gt;)")


def _words(key: str) -> str:
    """Return a pattern for the comma-separated words of all languages under this key."""
    lists = (str(table.get(key, "")).split(", ") for _, table in in_every_language("pasted"))
    return "|".join(word for words in lists for word in words if word)


def _patterns(key: str) -> str:
    return patterns_of_all("pasted", key)


_MAIL_HEADER = later(lambda: rf"\s{{0,4}}(?:{_words('mail_headers')})\s?[:：]\s?\S", re.IGNORECASE)
_MAIL_BELOW = later(
    lambda: rf"\s{{0,4}}(?:-{{2,}}\s?(?:{_words('forwarded')})|{_patterns('mail_below')})",
    re.IGNORECASE,
)
_GREETED = later(
    lambda: rf"\s{{0,4}}(?:{_patterns('greeting')})\b[^.!?\n]{{0,40}}[,!:]?\s*$", re.IGNORECASE
)
_SIGNED = later(
    lambda: (
        rf"\s{{0,4}}(?:{_words('closing_adjectives')})?\s?(?:{_patterns('closing')})"
        r"\s?[,!.]?\s*$"
    ),
    re.IGNORECASE,
)
_SHELL_PROMPT = later(
    r"\s{0,4}(?:[$%❯➜»λ]\s{1,2}\S|#\s(?:cat|ls|cd|git|npm|sudo|apt|make|python|pip)\b|[\w.-]+@[\w.-]+[:\s][^\s$#%]{0,80}"
    r"\s?[$#%]\s?\S|PS\s[A-Z]:[^>]{0,120}>|[A-Z]:\\[^>]{0,120}>|\(\w[\w.-]*\)\s[$%]\s\S|>>>\s|\.\.\.\s"
    r"|~?/?[\w./~-]{1,80}\s[❯➜$]\s\S|➜\s)"
)
# Commands that print a file or a page: all following lines are output.
_PRINTS = later(
    r"\b(?:cat|bat|less|more|head|tail|type|curl|wget|http|git "
    r"(?:show|diff|log|blame)|grep|rg|sed|awk|gh|jq|man|tree"
    r"|diff|find|xargs|pbpaste|Get-Content)\b"
)
_MACHINE_LINE = later(
    r"\s{0,40}(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"  # a log with dates
    r"|\[?\d\d:\d\d:\d\d"  # a log with times only
    r"|(?:error|warn|warning|info|debug|trace|fatal|critical)\b\s?[:\]\[]"
    r"|traceback\b|at\s[\w.$<>]+\(|file\s\"[^\"]{1,200}\",\sline|\w*(?:error|exception):\s"
    r"|[$%#❯]\s\S|>>>\s|\.\.\.\s|PS\s[A-Z]:"
    r"|(?-i:(?:def|class|function|func|fn)\s\w+\s?[({:<]|(?:const|let|var)\s\w+\s?[=:;]|from\s[\w.]+\simport\s"
    r"|(?:import|#include|package|using|namespace)\s[\w.<\"'{*:/]+\s?(?:;|\{|from\s|as\s|$)|return\s.{0,200};$"
    r"|SELECT\s.{1,200}?\sFROM\s|INSERT\sINTO\s|UPDATE\s\w+\sSET\s|DELETE\sFROM\s|(?:CREATE|ALTER|DROP)\s(?:TABLE|INDEX))"
    r"|[\w.\[\]\"']+\s?(?:=|:=|\+=|=>|->)\s?\S"
    r"|[\"']?\w+[\"']?:\s?[\"\[{]"
    r"|[-+]{3}\s|@@\s|diff\s--git|</?\w+[^<>]{0,200}>\s{0,8}$|//|/\*|\*/|\{|\}|#\s?!"
    r"|[+-]\s{0,8}[-*#]\s"  # a list that a diff adds or takes away
    r"|(?=[a-f]{0,40}\d)[0-9a-f]{7,40}\s\S"  # a commit and its title
    r")",
    re.IGNORECASE,
)
_MACHINE_END = later(r"[;{}]$|\)\s?=>|\(\);?$")

# Speaker labels. Model turns have their own marks.
_MODEL_TURN = later(
    r"[\s*_#>-]{0,8}(?:human|user|assistant|system|developer|ai|bot|chatgpt|gpt(?:-\d\w*)?|claude|gemini|copilot"
    r"|codex|model)[\s*_]{0,4}[:：]|<\|?(?:im_start|im_end|system|user|assistant|endoftext)\b|\[/?INST\]|<<SYS>>",
    re.IGNORECASE,
)
_LABEL = r"(?-i:[A-ZÀ-ÞА-ЯЁ][\w.'’-]{0,24}(?: [A-ZÀ-ÞА-ЯЁ][\w.'’-]{0,24}){0,2})"
_SPEAKER = later(
    rf"[\s*_-]{{0,6}}(?P<who>@?{_LABEL}|@[\w.-]{{2,30}})(?:\s\([^()\n]{{1,30}}\))?[\s*_]{{0,4}}:\s+\S"
)
_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[AaPp]\.?[Mm]\.?)?"
_CHAT_LINE = later(
    rf"\s{{0,4}}(?:\[[^\[\]\n]{{0,24}}{_TIME}[^\[\]\n]{{0,12}}\]\s?\S|<@?[\w.-]{{2,30}}>\s+\S"
    rf"|{_TIME}\s?[-–—|]?\s?<?@?{_LABEL}>?\s?[:>-]|(?:\d{{1,2}}[./-]){{2}}\d{{2,4}},?\s{_TIME}\s?[-–]"
    rf"|@?{_LABEL}\s{{1,4}}(?:\[[^\]\n]{{0,16}}\]\s?)?(?:(?:today|yesterday)\sat\s)?{_TIME}\s*$"
    rf"|{_LABEL},?\s\[[^\]\n]{{4,40}}\]:?)",
    re.IGNORECASE,
)
# Labels before a colon that are not speakers: the author introduces something of their own.
_OWN_LABELS = later(lambda: _patterns("own_labels"), re.IGNORECASE)
_HEADING = later(r"\s{0,3}#{1,6}\s+\S")
_UNDERLINE = later(r"\s{0,3}(?:={3,}|-{3,})\s*$")
_FRONT_MATTER = later(r"---\s*\n(?:[\w-]+:.*\n)+---\s*(?:\n|\Z)")
# Marks of a README that messages lack: bold terms at the start of list items, badges, links,
# tables, task lists.
_DOCUMENT_LINE = later(
    r"\s{0,8}(?:(?:[-*+]|\d{1,3}[.)])\s+(?:\*\*|__|`|\[[ "
    r"xX]\]\s|\[[^\]\n]+\]\()|!\[|\[!\[|\[[^\]\n]+\]\([^)\n]+\)\s*$"
    r"|\*\*[^*\n]+\*\*\s*:?\s*$|\|.*\|\s*$|:?-{3,}:?\s*\|)"
)
_TAG_OPENS = later(r"<(?P<tag>[A-Za-z][\w:-]{1,40})(?:\s[^<>\n]{0,400})?>")

_QUOTATION = later(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』"
    r"|(?<!\w)'(?=\w)[^\n]{12,400}?'(?!\w)|(?<!\w)‘(?=\w)[^’\n]{12,400}’(?!\w)"
)
_QUOTED_SENTENCE = later(r"[.!?…。！？,][\"'”’»“」』]$|[.!?]\s")
# Words from which a quotation is more than a title.
_SHORT_QUOTE = 6


# Invisible characters must not hide a mark.
_UNSEEN = str.maketrans(dict.fromkeys(HIDDEN, ""))
_LOG_LINE = later(r"\s{0,8}\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


class _Line(NamedTuple):
    start: int
    end: int
    text: str


def parts(text: str, *, by_agent: bool = False) -> list[Part]:
    """Split a text into own prose and pasted parts, in order and without gaps.

    With `by_agent`, headings, lists and labels count as own prose, because agents write documents.

    >>> [part.reason for part in parts("Look:\\n> always push on Fridays")]
    ['', 'a quotation']
    """
    marks = [""] * len(text)
    for start, end in memory_blocks(text):
        marks[start:end] = [MEMORY] * (end - start)
    lines = _lines(text)
    for line, reason in zip(lines, _reasons(text, lines, by_agent=by_agent), strict=True):
        if reason:
            _mark(marks, line.start, line.end, reason)
    for start, end in [] if by_agent else _tagged(text):
        _mark(marks, start, end, MARKUP)
    for start, end in _quotations(text):
        _mark(marks, start, end, QUOTED)
    _mark_middle(text, marks)
    return _joined(marks)


def own_prose(
    text: str,
    *,
    pasted: str = "\n\n",
    quoted: str = "",
    by_agent: bool = False,
) -> str:
    """Return the author's own prose; a pasted part is replaced by `pasted`, a quotation within a
    line by `quoted`.
    """
    kept = []
    for part in parts(text, by_agent=by_agent):
        if not part.reason:
            kept.append(text[part.start : part.end])
        else:
            inside = part.reason == QUOTED and "\n" not in text[part.start : part.end]
            kept.append(quoted if inside and not _whole_line(text, part) else pasted)
    return "".join(kept)


def why_pasted(text: str, quote: str) -> str:
    """Return why these words of a text are not its author's own prose; empty if they are, or do not
    occur.
    """
    words = [re.escape(word) for word in quote.split()]
    found = list(re.finditer(r"\s+".join(words), text)) if words else []
    if not found:
        return ""
    spans = parts(text)
    reasons = [_reason_at(spans, match.start(), match.end()) for match in found]
    if "" in reasons:
        return ""
    return reasons[0]


def _reason_at(
    spans: Sequence[Part],
    start: int,
    end: int,
) -> str:
    return next(
        (part.reason for part in spans if part.reason and part.start < end and start < part.end), ""
    )


# Line by line


def _lines(text: str) -> list[_Line]:
    found = []
    start = 0
    for line in re.split(r"(?<=\n)", text):
        if line:
            found.append(_Line(start, start + len(line), line.rstrip("\r\n").translate(_UNSEEN)))
            start += len(line)
    return found


def _reasons(
    text: str,
    lines: Sequence[_Line],
    *,
    by_agent: bool,
) -> list[str]:
    """Return why each line is pasted; later rules never override earlier ones."""
    reasons = _blocks_of_code(lines)
    for number, line in enumerate(lines):
        if not reasons[number]:
            reasons[number] = _reason_of_agent(line.text) if by_agent else _reason_of(line.text)
    _spread_mail(lines, reasons)
    if by_agent:
        return reasons
    _spread_terminal(lines, reasons)
    _spread_talk(lines, reasons)
    _spread_document(text, lines, reasons)
    return reasons


def _blocks_of_code(lines: Sequence[_Line]) -> list[str]:
    reasons = [""] * len(lines)
    block = ""
    for number, line in enumerate(lines):
        edge = _BLOCK_EDGE.match(line.text)
        if block:
            reasons[number] = CODE
            block = "" if block in line.text else block
        elif edge:
            reasons[number] = CODE
            block = "" if line.text.count(edge[1]) > 1 else edge[1]
        elif (behind := _BLOCK_BEHIND.match(line.text)) and _is_open(lines[number:], behind[1]):
            block = behind[1]
    return reasons


def _is_open(lines: Sequence[_Line], mark: str) -> bool:
    """Whether the first line opens a block that a later one closes."""
    opens = lines[0].text.count(mark) % 2 == 1
    return opens and any(mark in line.text for line in lines[1:])


def _reason_of(line: str) -> str:
    if _QUOTED_LINE.match(line):
        return QUOTED
    if _SHELL_PROMPT.match(line[:400]):
        return SHELL
    if _CHAT_LINE.match(line[:200]):
        return TALK
    if _HEADING.match(line) or _DOCUMENT_LINE.match(line):
        return DOCUMENT
    if _is_machine(line):
        return MACHINE
    return ""


def _reason_of_agent(line: str) -> str:
    if _QUOTED_LINE.match(line):
        return QUOTED
    if _is_machine(line):
        return MACHINE
    return ""


def _is_machine(line: str) -> bool:
    return bool(_MACHINE_LINE.match(line[:400]) or _MACHINE_END.search(line[-40:].rstrip()))


def _spread_terminal(lines: Sequence[_Line], reasons: list[str]) -> None:
    """Extend command output and logs to the next blank line, or to the end if a command prints a
    file.
    """
    goes_on = False
    for number, line in enumerate(lines):
        if reasons[number] == SHELL:
            if _PRINTS.search(line.text):
                _fill(reasons, number, SHELL)
                return
            goes_on = True
        elif _LOG_LINE.match(line.text):
            goes_on = True
        elif not line.text.strip():
            goes_on = False
        elif goes_on:
            reasons[number] = reasons[number] or SHELL


def _spread_mail(lines: Sequence[_Line], reasons: list[str]) -> None:
    headers = [
        number
        for number, line in enumerate(lines)
        if not reasons[number] and _MAIL_HEADER.match(line.text)
    ]
    below = next(
        (number for number, line in enumerate(lines) if _MAIL_BELOW.match(line.text[:200])), None
    )
    begins = [headers[0]] if len(headers) > 1 else []
    for number in [*begins, *([below] if below is not None else [])]:
        _fill(reasons, number, MAIL)
    greeted = next((number for number, line in enumerate(lines) if _GREETED.match(line.text)), None)
    signed = [number for number, line in enumerate(lines) if _SIGNED.match(line.text)]
    # A letter has a greeting and a signature with a name; a message to an agent ends at most with
    # "Thanks".
    written = [number for number, line in enumerate(lines) if line.text.strip()]
    if greeted is not None and signed and greeted < signed[-1] < written[-1]:
        for number in range(greeted, min(signed[-1] + 2, len(lines))):
            reasons[number] = reasons[number] or MAIL


def _spread_talk(lines: Sequence[_Line], reasons: list[str]) -> None:
    """Mark lines of speakers; if one speaks twice, or model turns are marked, also the unmarked
    lines that follow.
    """
    turns = next((number for number, line in enumerate(lines) if _is_model_turn(line.text)), None)
    if turns is not None:
        _fill(reasons, turns, TALK)
    spoken: list[str] = []
    timed = TALK in reasons
    for number, line in enumerate(lines):
        if not reasons[number] and (who := _speaker(line.text)):
            reasons[number] = TALK
            spoken.append(who)
    if not timed and len(set(spoken)) == len(spoken):
        return
    goes_on = False
    for number, line in enumerate(lines):
        goes_on = reasons[number] == TALK or (goes_on and bool(line.text.strip()))
        if goes_on:
            reasons[number] = reasons[number] or TALK


def _is_model_turn(line: str) -> bool:
    return bool(_MODEL_TURN.match(line))


def _speaker(line: str) -> str:
    """Return the speaker of a line in a pasted conversation: "Tom: always push on Fridays"."""
    found = _SPEAKER.match(line)
    if not found:
        return ""
    who = found["who"].lstrip("@")
    if _OWN_LABELS.fullmatch(who.split()[0]):
        return ""
    return who


def _spread_document(
    text: str,
    lines: Sequence[_Line],
    reasons: list[str],
) -> None:
    """Mark everything after a heading or front matter as a document."""
    front = _FRONT_MATTER.match(text)
    headings = [
        number
        for number, line in enumerate(lines)
        if _HEADING.match(line.text) and reasons[number] == DOCUMENT
    ]
    under = [
        number
        # An underline below a title makes a heading; below a sentence it separates parts.
        if lines[number].text.rstrip()[-1] not in ".!?:,;"
        else number + 2
        for number, line in enumerate(lines[1:])
        if _UNDERLINE.match(line.text) and lines[number].text.strip() and not reasons[number]
    ]
    begins = [0] if front else sorted((*headings, *under))
    if begins:
        _fill(reasons, begins[0], DOCUMENT)


def _fill(
    reasons: list[str],
    start: int,
    reason: str,
) -> None:
    """Set the reason of all later lines that have none."""
    for number in range(start, len(reasons)):
        reasons[number] = reasons[number] or reason


# Within lines


def _tagged(text: str) -> list[tuple[int, int]]:
    """Return the spans between a tag and its end: "<rules>…</rules>"."""
    found: list[tuple[int, int]] = []
    # Last closing position of each tag, so that an unclosed tag is not searched repeatedly.
    last: dict[str, int] = {}
    position = 0
    while "<" in text and (opens := _TAG_OPENS.search(text, position)):
        tag = f"</{opens['tag']}>"
        closed = last.setdefault(tag, text.rfind(tag)) >= opens.end()
        position = text.find(tag, opens.end()) + len(tag) if closed else opens.end()
        if closed:
            found.append((opens.start(), position))
    return found


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return quoted sentences: they are somebody else's or an example. A quoted title or word
    stays.
    """
    found = []
    for quotation in _QUOTATION.finditer(text):
        words = quotation[0]
        introduced = text[max(quotation.start() - 20, 0) : quotation.start()].rstrip()[-1:] in (
            ":",
            "：",
        )
        if introduced or len(words.split()) >= _SHORT_QUOTE or _QUOTED_SENTENCE.search(words):
            found.append(quotation.span())
    return found


def _mark_middle(text: str, marks: list[str]) -> None:
    own = "".join("" if mark else char for char, mark in zip(text, marks, strict=True)).strip()
    if len(own) <= LONG_TURN:
        return
    paragraphs = [
        each.span()
        for each in re.finditer(r"(?:(?!\n[ \t]*\n).)+", text, re.DOTALL)
        if each[0].strip()
    ]
    mine = [span for span in paragraphs if any(not mark for mark in marks[span[0] : span[1]])]
    for number, (start, end) in enumerate(mine):
        at_an_end = number in (0, len(mine) - 1)
        size = sum(not mark for mark in marks[start:end])
        if not at_an_end or size > SHORT_PARAGRAPH:
            _mark(marks, start, end, MIDDLE)


def _mark(
    marks: list[str],
    start: int,
    end: int,
    reason: str,
) -> None:
    marks[start:end] = [mark or reason for mark in marks[start:end]]


def _joined(marks: Sequence[str]) -> list[Part]:
    found: list[Part] = []
    for reason, run in groupby(marks):
        start = found[-1].end if found else 0
        found.append(Part(start, start + sum(1 for _ in run), reason))
    return found


def _whole_line(text: str, part: Part) -> bool:
    before = text[: part.start].rpartition("\n")[2]
    after = text[part.end :].partition("\n")[0]
    return not before.strip() and not after.strip()
