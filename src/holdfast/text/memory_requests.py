"""Memory requests in plain words, anywhere in a message.

`spoken_commands.py` recognises whole utterances that are commands; this module reads sentences. It
splits a message into sentences and clauses, skips what is not the speaker's own prose (quotations,
code, text to be translated), strips courtesies from the start of each clause, and matches the rest
against a small grammar: a verb of keeping or forgetting, a negation, the subject (this
conversation, the last message, a topic), and the time from which it applies.

The grammar is data, in the section `requests` of each language file. A language is tried on texts
with letters of its script. The section holds
- `trigger`: a word that every request contains; a text without one is skipped;
- `nothing`: messages that only mention such words ("translate: forget it"), whatever else they say;
- `idle`: the same for one sentence ("I don't remember", "forget it, never mind");
- `starts`: what a clause may follow; `lead`: courtesies before a request; `tags`: "…, ok?", which
  is not a real question;
- `personal`: words with which people speak about themselves;
- `fold`: whether to ignore accents; `spelling`: words that are often misspelt, `not_misspelt`:
  words that only look so;
- `reports`: words that introduce somebody else's words; `questions`: how a request starts that ends
  in a question mark;
- `rest`: fragments that extend "this" to everything ("any of it", "the whole chat");
- `parts`: named alternatives, which patterns and other parts use as {name};
- `past`: words that make "save nothing" refer to what was said ("as if we never talked") instead of
  what follows;
- `known`: words that show that a memory exists, without which "delete it" refers to something else;
- `withdrawn`: an earlier request to store nothing and, in the next clause or sentence, its end;
- one list of patterns for each kind. Groups: `topic` is what to forget or keep, `back` a pronoun
  for something said before, `weak` one that counts only if `known` occurs before it. A `topic`
  inside `weak` is the subject.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, get_args

from ..languages import SCRIPTS, in_every_language, language
from .lazy_regex import later
from .removal_requests import read_removal, removal_cues

Kind = Literal[
    "resume", "pause", "forget_last", "forget_session", "forget_topic", "list", "remember"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""If two kinds match one clause, the first wins: "from now on save nothing of this" is about what
follows.
"""

LANGUAGES = tuple(each.code for each, _ in in_every_language("requests"))
# Characters; longer texts are pasted rather than said.
LONGEST = 4_000
# Characters; also bounds the cost of a pattern.
LONGEST_SENTENCE = 600
# Characters of something to remember; a topic to forget is much shorter.
LONGEST_TOPIC = 300

_SCRIPTS = {script: re.compile(f"[{letters}]") for script, letters in SCRIPTS.items()}
_KANA = _SCRIPTS["kana"]
_PLAIN = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "´": "'",
        "ʼ": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "，": ",",
        "：": ":",
    }
)
# Code, and lines of a program or a shell, contain no requests.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_CODE_LINE = re.compile(r"^\s*(?://|#(?!\d)|/\*|\*|--|\$ |>|<!--|;;).*$", re.MULTILINE)
# Quotations in paired marks. A single straight quote opens one only before a letter and after a
# space or bracket.
_QUOTED = re.compile(
    r"\"[^\"\n]{2,300}\"|«[^»\n]{2,300}»|「[^」\n]{2,300}」|『[^』\n]{2,300}』|《[^》\n]{2,300}》"
    r"|(?<![^\s(\[:,])'(?=\w)[^'\n]*(?:'(?=\w)[^'\n]*)*'(?!\w)"
)
# Placeholder of a quotation: a letter that no supported language uses, so it counts as a word.
_MARK = "\ua66e"
_SENTENCE = re.compile(r"[.!?…]+(?=\s|$|[\"')\]])|[。！？]+|\n+")
_ENDS = " \t,.;:!?…。、！？~\"'()-–—"


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A request about memory: its kind, its topic, and the rest of the message."""

    kind: Kind
    topic: str = ""
    rest: str = ""
    """All other sentences of the message."""


@dataclass(frozen=True, slots=True)
class _Grammar:
    code: str
    script: re.Pattern[str]
    trigger: re.Pattern[str]
    nothing: re.Pattern[str]
    idle: re.Pattern[str]
    starts: re.Pattern[str]
    lead: re.Pattern[str]
    personal: re.Pattern[str]
    reports: re.Pattern[str]
    tags: re.Pattern[str]
    questions: re.Pattern[str]
    rest: re.Pattern[str]
    past: re.Pattern[str]
    known: re.Pattern[str]
    withdrawn: re.Pattern[str]
    last: re.Pattern[str]
    fold: bool
    spelling: Mapping[str, str]
    keep: frozenset[str]
    kinds: Mapping[Kind, tuple[re.Pattern[str], ...]]

    def reads(self, text: str) -> bool:
        """Whether a text may be in this language and contains a word about memory."""
        # Kanji next to kana are Japanese, not Chinese.
        if self.script is _SCRIPTS["han"] and _KANA.search(text):
            return False
        return bool(self.script.search(text)) and bool(
            self.trigger.search(_folded(text) if self.fold else text)
        )


@dataclass(frozen=True, slots=True)
class _Found:
    kind: Kind
    topic: str
    span: tuple[int, int]
    back: bool
    """Whether a pronoun refers to something said before."""
    weak: bool
    """Whether the pronoun counts only if the earlier text is about memory."""
    start: int


def read_request(text: str) -> MemoryRequest | None:
    """Return the memory request in a message, in any language; None if there is none.

    >>> read_request("Thanks! And please don't keep any of this.").kind
    'forget_session'
    >>> read_request("I don't remember the argument.")
    """
    if len(text) > LONGEST:
        return None
    said, quotes = _own_words(text)
    for grammar in _grammars():
        if grammar.reads(said) and (found := _read(grammar, said, quotes)):
            return found
    return None


def _own_words(text: str) -> tuple[str, list[str]]:
    """Normalise a message: plain characters, no code, and a placeholder for each quotation."""
    plain = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    plain = _CODE_LINE.sub("", _CODE.sub(" ", plain))
    quotes: list[str] = []

    def mark(found: re.Match[str]) -> str:
        quotes.append(found[0])
        return _MARK

    return re.sub(r"[^\S\n]+", " ", _QUOTED.sub(mark, plain)).strip(), quotes


def _read(
    grammar: _Grammar,
    said: str,
    quotes: Sequence[str],
) -> MemoryRequest | None:
    if grammar.nothing.search(said):
        return None
    sentences = [one.strip() for one in _sentences(said) if one.strip(_ENDS)]
    withdrawn = _withdrawal(grammar, sentences)
    if withdrawn is not None:
        return MemoryRequest(
            "resume", rest=" ".join((*sentences[:withdrawn], *sentences[withdrawn + 2 :]))
        )
    first: MemoryRequest | None = None
    for place, sentence in enumerate(sentences):
        spelled = _spelled(grammar, sentence)
        too_long = len(spelled) > LONGEST_SENTENCE
        if too_long or not grammar.trigger.search(spelled) or grammar.idle.search(spelled):
            continue
        found = _first(grammar, spelled)
        if found is None:
            continue
        # Keep the topic as written.
        if grammar.fold:
            found = replace(found, topic=sentence[slice(*found.span)].strip(_ENDS))
        before = sentences[:place]
        after = sentences[place + 1 :]
        # Folding keeps positions, so the topic can be taken from the original sentence.
        kind, topic = _settled(
            grammar,
            found,
            sentence if grammar.fold else spelled,
            before,
            after,
        )
        if kind is None:
            continue
        request = MemoryRequest(
            kind, _put_back(topic, said, sentence, quotes), " ".join((*before, *after))
        )
        if first is None:
            first = request
        elif {first.kind, kind} == {"pause", "resume"}:
            # "I asked you to save nothing for a while. You can go on now.": the later request wins.
            first = request
    return first or _removal(grammar, said, sentences, quotes)


def _removal(
    grammar: _Grammar,
    said: str,
    sentences: Sequence[str],
    quotes: Sequence[str],
) -> MemoryRequest | None:
    """Return a request to remove a topic that only cue words reveal."""
    cues = removal_cues(grammar.code)
    if cues is None:
        return None
    spelled = [_spelled(grammar, sentence) for sentence in sentences]
    found = read_removal(cues, spelled, partial(_may_ask, grammar))
    if found is None:
        return None
    # Folding keeps positions, so the topic can be taken from the original sentence.
    named = (sentences if grammar.fold else spelled)[found.sentence]
    topic = _put_back(named[found.span].strip(_ENDS), said, sentences[found.sentence], quotes)
    rest = " ".join((*sentences[: found.asking], *sentences[found.asking + 1 :]))
    return MemoryRequest("forget_topic", topic, rest)


def _may_ask(grammar: _Grammar, sentence: str) -> bool:
    """Whether a sentence may be a request: neither small talk nor a factual question."""
    if grammar.idle.search(sentence):
        return False
    asked = sentence.rstrip(" \"')").endswith(("?", "？"))
    polite = any(polite for _, _, polite in _clauses(grammar, sentence))
    return polite or not asked or bool(grammar.tags.search(sentence))


def _withdrawal(grammar: _Grammar, sentences: Sequence[str]) -> int | None:
    """Return the index of the sentence that, alone or with the next one, withdraws an earlier
    request to store nothing.
    """
    for place, sentence in enumerate(sentences):
        both = " ".join((sentence, *sentences[place + 1 : place + 2]))
        if grammar.withdrawn.search(_spelled(grammar, both[:LONGEST_SENTENCE])):
            return place
    return None


def _sentences(said: str) -> Iterator[str]:
    start = 0
    for mark in _SENTENCE.finditer(said):
        yield said[start : mark.end()]
        start = mark.end()
    yield said[start:]


def _first(grammar: _Grammar, sentence: str) -> _Found | None:
    """Return the request of a sentence, by priority of kinds, then by order of clauses."""
    asked = sentence.rstrip(" \"')").endswith(("?", "？")) and not grammar.tags.search(sentence)
    clauses = list(_clauses(grammar, sentence))
    for kind in KINDS:
        for start, body, polite in clauses:
            if asked and kind != "list" and not polite:
                continue
            for pattern in grammar.kinds[kind]:
                match = pattern.match(sentence, body)
                if match is None or grammar.reports.search(sentence[:start]):
                    continue
                parts = match.groupdict()
                topic = parts.get("topic") or ""
                span = match.span("topic") if topic else (0, 0)
                weak = bool(parts.get("weak"))
                return _Found(
                    kind, topic.strip(_ENDS), span, weak or bool(parts.get("back")), weak, start
                )
    return None


def _clauses(grammar: _Grammar, sentence: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the start of each clause, the start of its request after more and more courtesies, and
    whether it is polite.
    """
    seen: set[int] = set()
    for start in (0, *(mark.end() for mark in grammar.starts.finditer(sentence))):
        body = start
        polite = False
        while body not in seen:
            seen.add(body)
            polite = polite or bool(grammar.questions.match(sentence, body))
            yield start, body, polite
            lead = grammar.lead.match(sentence, body)
            if lead and lead.end() > body:
                body = lead.end()


def _settled(
    grammar: _Grammar,
    found: _Found,
    sentence: str,
    before: Sequence[str],
    after: Sequence[str],
) -> tuple[Kind | None, str]:
    """Resolve kind and topic in context: pronouns refer to what was said before."""
    if found.kind == "pause" and _has(grammar, grammar.past, sentence):
        return "forget_session", ""
    if found.kind in ("forget_last", "forget_topic") and found.back:
        return _forgotten(
            grammar,
            found,
            sentence,
            before,
            after,
        )
    if found.kind == "remember":
        return _remembered(
            grammar,
            found,
            sentence,
            before,
            after,
        )
    return found.kind, found.topic


def _forgotten(
    grammar: _Grammar,
    found: _Found,
    sentence: str,
    before: Sequence[str],
    after: Sequence[str],
) -> tuple[Kind | None, str]:
    """Resolve what a pronoun asks to forget: the last message, the whole conversation, or the topic
    named before.
    """
    if found.weak and not any(_has(grammar, grammar.known, one) for one in (*before, sentence)):
        # "There is a typo in my text. Remove it." is about the text.
        return None, ""
    if found.topic:
        return found.kind, found.topic
    if any(_has(grammar, grammar.rest, one) for one in (sentence[found.start :], *after)):
        return "forget_session", ""
    said = _meant(grammar, [*before, sentence[: found.start]])
    other = _refers(grammar, said)
    if other is not None or not said:
        return other or "forget_last", ""
    return found.kind, said.strip(_ENDS)


def _remembered(
    grammar: _Grammar,
    found: _Found,
    sentence: str,
    before: Sequence[str],
    after: Sequence[str],
) -> tuple[Kind | None, str]:
    """Resolve what to remember, which may precede or follow the request; None if it is only small
    talk.
    """
    if not found.topic:
        said = _meant(grammar, [*before, sentence[: found.start]])
        if not said and after:
            # As in "Remember this for me. I'm left-handed."
            said = after[0]
        if said and "?" not in said:
            return ("remember", said.strip(_ENDS))
        return (None, "")
    aside = sentence[: found.span[0]].rstrip().endswith((",", "、"))
    if not aside and _has(grammar, grammar.personal, found.topic):
        return "remember", found.topic
    # "Remember: correlation is not causation. Is that why …?" is small talk, and so is "Remember, I
    # like tea. What …?".
    asks = any(one.rstrip().endswith(("?", "？")) for one in (*before, *after))
    # Only in English is a comma here a sign of small talk; elsewhere it is normal grammar.
    told_as_truth = aside and grammar.code == "en" and not grammar.personal.search(found.topic)
    if asks or told_as_truth:
        return (None, "")
    return ("remember", found.topic)


def _meant(grammar: _Grammar, earlier: Sequence[str]) -> str:
    """Return what a pronoun refers to: the last statement before it, preferably one about the
    speaker.
    """
    said = [one for one in reversed(earlier) if one.strip(_ENDS)]
    cues = (grammar.personal, grammar.last, grammar.rest)
    own = (one for one in said if any(_has(grammar, cue, one) for cue in cues))
    return next(own, said[0] if said else "")


def _refers(grammar: _Grammar, said: str) -> Kind | None:
    """Return the kind of request if a pronoun refers to a message or conversation that was just
    named.
    """
    if _has(grammar, grammar.rest, said):
        return "forget_session"
    if _has(grammar, grammar.last, said):
        return "forget_last"
    return None


def _has(
    grammar: _Grammar,
    cue: re.Pattern[str],
    text: str,
) -> bool:
    """Whether a cue occurs in a text, after correcting its spelling."""
    return bool(cue.search(_spelled(grammar, text)))


def _spelled(grammar: _Grammar, sentence: str) -> str:
    """Correct misspelt memory words in a sentence to the grammar's spelling."""
    if grammar.fold:
        return _folded(sentence)
    if not grammar.spelling:
        return sentence

    def right(found: re.Match[str]) -> str:
        word = found[0].lower()
        if word in grammar.keep:
            return found[0]
        return grammar.spelling.get(word) or _nearest(word, grammar) or found[0]

    return re.sub(r"[^\W\d_]{4,}|\b[^\W\d_]{1,3}\b", right, sentence)


def _folded(sentence: str) -> str:
    """Remove accents character by character, so that positions stay valid."""
    return "".join(unicodedata.normalize("NFD", one)[0] for one in sentence)


@cache
def _corrected(word: str, known: frozenset[str]) -> str:
    """Return the known word that is one typo away: a letter too many, missing, wrong or swapped.
    Empty unless it is the only one.
    """
    near = [
        one for one in known if one[0] == word[0] and _slip(one, word) and not _inflected(one, word)
    ]
    if len(near) == 1:
        return near[0]
    return ""


def _inflected(one: str, other: str) -> bool:
    """Whether two words differ by an ending rather than a typo."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and long[len(short) :] in ("s", "d", "r", "n", "y")


def _nearest(word: str, grammar: _Grammar) -> str:
    known = frozenset(one for one in grammar.spelling.values() if len(one) > 5)
    if len(word) > 4 and word not in known:
        return _corrected(word, known)
    return ""


def _slip(right: str, wrong: str) -> bool:
    if abs(len(right) - len(wrong)) > 1 or right == wrong:
        return False
    at = next(
        (i for i, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b),
        min(len(right), len(wrong)),
    )
    tails = (right[at:], wrong[at:])
    return (
        tails[0][1:] == tails[1][1:]
        or tails[0][1:] == tails[1]
        or tails[0] == tails[1][1:]
        or (tails[0][:2] == tails[1][:2][::-1] and tails[0][2:] == tails[1][2:])
    )


def _put_back(
    topic: str,
    said: str,
    sentence: str,
    quotes: Sequence[str],
) -> str:
    """Replace the placeholders in a topic with their quotations."""
    if _MARK not in topic:
        return topic
    index = said[: max(0, said.find(sentence))].count(_MARK) + sentence[
        : max(0, sentence.find(topic))
    ].count(_MARK)
    for quote in quotes[index:]:
        topic = topic.replace(_MARK, quote, 1)
    return topic.replace(_MARK, "")


@cache
def _grammars() -> tuple[_Grammar, ...]:
    return tuple(map(_load, LANGUAGES))


def _load(code: str) -> _Grammar:
    data = language(code)
    cues = data.section("requests")
    parts = _expanded(cues["parts"])

    def compiled(pattern: str) -> re.Pattern[str]:
        return later(_filled(pattern, parts), re.IGNORECASE)

    kinds: Mapping[str, Any] = cues["kinds"]
    if wrong := set(kinds) ^ set(KINDS):
        raise ValueError(f"{code}.toml, section requests: {', '.join(sorted(wrong))}")
    spelling = {
        wrong: right
        for right, slips in cues.get("spelling", {}).items()
        for wrong in (right, *slips.split())
    }
    return _Grammar(
        code=code,
        script=_SCRIPTS[data.script],
        trigger=compiled(cues["trigger"]),
        nothing=compiled(cues["nothing"]),
        idle=compiled(cues["idle"]),
        starts=compiled(cues["starts"]),
        lead=compiled(cues["lead"]),
        personal=compiled(cues["personal"]),
        reports=compiled(cues["reports"]),
        tags=compiled(cues["tags"]),
        questions=compiled(cues["questions"]),
        rest=compiled(cues["rest"]),
        past=compiled(cues["past"]),
        known=compiled(cues["known"]),
        withdrawn=compiled(cues["withdrawn"]),
        last=compiled("{last}"),
        fold=bool(cues.get("fold")),
        spelling=spelling,
        keep=frozenset(cues.get("not_misspelt", "").split()),
        kinds={kind: tuple(map(compiled, kinds[kind])) for kind in KINDS},
    )


def _expanded(parts: Mapping[str, str]) -> dict[str, str]:
    """Expand the parts used inside parts; each may use those above it."""
    done: dict[str, str] = {}
    for name, pattern in parts.items():
        done[name] = f"(?:{_filled(pattern, done)})"
    return done


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda use: parts[use[1]], re.sub(r"\s*\n\s*", "", pattern))
