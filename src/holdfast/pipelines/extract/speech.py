"""What of a turn its author says: not code, logs, mail or other people's words, cut into sentences.

A turn is often mostly something else: a stack trace, a letter, an article to be summarised. None of that is about
the author. What is left is cut into sentences, each a substring of the turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...text.fences import strip_echoes

# People write their own words before or after what they paste, and briefly. So of a long turn only a short first
# and last paragraph are read: in the middle there is no telling whose words these are, and a wrong memory costs
# more than a missed one.
LONG_TURN = 2000
SHORT_PARAGRAPH = 500
LONG_SENTENCE = 600  # characters; a list or a run-on paste rather than a statement

_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_BLOCK_EDGE = re.compile(r"\s{0,12}(```|~~~|\"\"\"|''')")
_QUOTED_LINE = re.compile(r"\s{0,12}[>|]")
_MAIL_HEADER = re.compile(
    r"\s{0,4}(?:from|to|cc|subject|date|sent|von|an|betreff|gesendet|datum|de|à|para|objet|asunto|fecha|от|кому|тема"
    r"|дата):\s",
    re.IGNORECASE,
)
_MAIL_BELOW = re.compile(
    r"\s{0,4}(?:-{2,}\s?(?:original|forwarded|ursprüngliche|weitergeleitete|mensaje|message)|on\s.{4,80}\swrote:"
    r"|am\s.{4,80}\sschrieb\s.{1,80}:|le\s.{4,80}\sa\sécrit)",
    re.IGNORECASE,
)
_MACHINE_LINE = re.compile(
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
    r"|(?=[a-f]{0,40}\d)[0-9a-f]{7,40}\s\S"  # a commit and its title
    r")",
    re.IGNORECASE,
)
_MACHINE_END = re.compile(r"[;{}]$|\)\s?=>|\(\);?$")
_QUOTATION = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』"
    r"|(?<!\w)'(?=\w)[^\n]{12,400}?'(?!\w)|(?<!\w)‘(?=\w)[^’\n]{12,400}’(?!\w)"
)
_QUOTED_SENTENCE = re.compile(r"[.!?…。！？,][\"'”’»“」』]$|[.!?]\s")
_HIDDEN = "\ufffc"  # occurs in no text people write, so a quote with it in is grounded nowhere
_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]”»]*(?=\s|\Z)|[。！？]+[」』）]?|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|sra|vs|etc|e\.g|i\.e|z\.\s?b|bzw|ca|approx|no|nr|inkl|evtl|usw|p\.\s?ej|т\.\s?е|г|ул"
    r"|fr|hr|jr|inc|ltd|fig)|\b[A-ZÀ-ÞА-Я])\.$",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?:\A|\s)\d{1,2}\.$")
_MONTH_NEXT = re.compile(
    r"\s(?:jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez|klasse|stock|semester|geburtstag)", re.IGNORECASE
)
_BULLET = re.compile(r"(?:[-*•·]|\d{1,2}[.)])\s+")
_CLAUSE_GOES_ON = re.compile(r"[a-zà-ÿа-я(]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it was written, without its final mark, and whether that mark asks."""

    text: str
    asks: bool = False


def own_words(text: str) -> str:
    """`text` without what its author did not say in their own words."""
    text = without_thoughts(strip_echoes(text))
    lines = _spoken_lines(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return _QUOTATION.sub(_without_sentences, _ends_of(("\n".join(lines)).strip()))


def without_thoughts(text: str) -> str:
    """`text` without what a model thought aloud before it spoke."""
    return _THOUGHT.sub("\n\n", text) if "<" in text else text


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in their order; what is too long to be one is left out."""
    found, start = [], 0
    for mark in _SENTENCE_END.finditer(text):
        if mark.start() < start or _goes_on(text, start, mark):
            continue
        found.append(Sentence(_unlisted(text[start : mark.start()]), "?" in mark[0] or "？" in mark[0]))
        start = mark.end()
    found.append(Sentence(_unlisted(text[start:])))
    return [each for each in found if each.text and len(each.text) <= LONG_SENTENCE]


def _unlisted(text: str) -> str:
    text = text.strip()
    bullet = _BULLET.match(text)
    return text[bullet.end() :] if bullet else text


def _goes_on(text: str, start: int, mark: re.Match[str]) -> bool:
    """Whether this mark ends no sentence: a wrapped line, an abbreviation, an ordinal."""
    if mark[0][0] == "\n":
        before = text[max(start, mark.start() - 1) : mark.start()]
        return mark[0] == "\n" and before not in ":.!?" and bool(_CLAUSE_GOES_ON.match(text, mark.end()))
    if mark[0] != ".":
        return False
    before = text[max(start, mark.start() - 12) : mark.end()]
    return bool(_ABBREVIATION.search(before)) or bool(_ORDINAL.search(before) and _MONTH_NEXT.match(text, mark.end()))


def _spoken_lines(lines: list[str]) -> list[str]:
    """The lines that are speech; what stood between them leaves an empty line, so nothing is joined across it."""
    headers = [number for number, line in enumerate(lines) if _MAIL_HEADER.match(line)]
    if len(headers) > 1:
        lines = lines[: headers[0]]
    spoken: list[str] = []
    block = ""
    for line in lines:
        edge = _BLOCK_EDGE.match(line)
        if block:
            if block in line:
                block = ""
        elif edge:
            block = "" if line.count(edge[1]) > 1 else edge[1]
        elif _MAIL_BELOW.match(line[:200]):
            break
        elif not _QUOTED_LINE.match(line) and not _is_machine(line):
            spoken.append(line)
            continue
        spoken.append("")
    return spoken


def _is_machine(line: str) -> bool:
    return bool(_MACHINE_LINE.match(line[:400]) or _MACHINE_END.search(line[-40:].rstrip()))


def _ends_of(text: str) -> str:
    if len(text) <= LONG_TURN:
        return text
    paragraphs = [each for each in re.split(r"\n[ \t]*\n", text) if each.strip()]
    ends = paragraphs if len(paragraphs) < 2 else [paragraphs[0], paragraphs[-1]]
    return "\n\n".join(each for each in ends if len(each) <= SHORT_PARAGRAPH)


def _without_sentences(quotation: re.Match[str]) -> str:
    """A title or a word in quotation marks stays; a sentence in them is somebody else's, or an example."""
    words = quotation[0]
    introduced = quotation.string[: quotation.start()].rstrip()[-1:] in (":", "：")
    if introduced or len(words.split()) >= 6 or _QUOTED_SENTENCE.search(words):
        return _HIDDEN
    return words
