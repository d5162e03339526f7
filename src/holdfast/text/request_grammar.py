"""The grammar of memory requests, one per language, and its tolerance for typos.

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
- `elsewhere`: places and things that are no memory (a file, a table, a draft); `slots`: see
  `request_slots.py`;
- one list of patterns for each kind. Groups: `topic` is what to forget or keep, `back` a pronoun
  for something said before, `weak` one that counts only if `known` occurs before it. A `topic`
  inside `weak` is the subject.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from ..languages import SCRIPTS, LanguageData, in_every_language, language
from .lazy_regex import later
from .request_slots import SLOTS, SlotGrammar

Kind = Literal[
    "resume", "pause", "forget_last", "forget_session", "forget_topic", "list", "remember"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""If two kinds match one clause, the first wins: "from now on save nothing of this" is about what
follows.
"""

LANGUAGES = tuple(each.code for each, _ in in_every_language("requests"))
_SCRIPTS = {script: re.compile(f"[{letters}]") for script, letters in SCRIPTS.items()}
_KANA = _SCRIPTS["kana"]


@dataclass(frozen=True, slots=True)
class RequestGrammar:
    """The compiled section `requests` of a language."""

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
    elsewhere: re.Pattern[str]
    slots: SlotGrammar
    fold: bool
    spelling: Mapping[str, str]
    long_words: frozenset[str]
    """Words that are long enough for a typo to be recognised."""
    keep: frozenset[str]
    kinds: Mapping[Kind, tuple[re.Pattern[str], ...]]

    def reads(self, text: str) -> bool:
        """Whether a text may be in this language and contains a word about memory."""
        # Kanji next to kana are Japanese, not Chinese.
        if self.script is _SCRIPTS["han"] and _KANA.search(text):
            return False
        return bool(self.script.search(text)) and bool(
            self.trigger.search(folded(text) if self.fold else text)
        )


@cache
def grammars() -> tuple[RequestGrammar, ...]:
    """Return the grammars of all languages."""
    return tuple(map(_load, LANGUAGES))


def _load(code: str) -> RequestGrammar:
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
    return RequestGrammar(
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
        elsewhere=compiled(cues.get("elsewhere", "(?!)")),
        slots=_slots(data, cues, parts),
        fold=bool(cues.get("fold")),
        spelling=spelling,
        long_words=frozenset(one for one in spelling.values() if len(one) > 5),
        keep=frozenset(cues.get("not_misspelt", "").split()),
        kinds={kind: tuple(map(compiled, kinds[kind])) for kind in KINDS},
    )


def _slots(
    data: LanguageData,
    cues: Mapping[str, Any],
    parts: Mapping[str, str],
) -> SlotGrammar:
    """Compile the slots of a language; its courtesies are fillers."""
    given: Mapping[str, str] = cues["slots"]
    if wrong := set(given) ^ {*SLOTS, "spoken"}:
        raise ValueError(f"{data.code}.toml, section requests.slots: {', '.join(sorted(wrong))}")
    end = r"(?:(?<=\W)|(?!\w))" if data.spaced else ""
    given = {**given, "filler": f"{given['filler']}|{cues['lead']}"}
    patterns = {slot: f"(?:{_longest_first(_filled(given[slot], parts))}){end}" for slot in SLOTS}
    return SlotGrammar(
        {slot: later(pattern, re.IGNORECASE) for slot, pattern in patterns.items()},
        later(_filled(given["spoken"], parts), re.IGNORECASE),
        re.compile(r"[\w'-]+" if data.spaced else r"[A-Za-z0-9]+|\w"),
    )


def _longest_first(pattern: str) -> str:
    """Order the alternatives of a pattern, because the first that matches wins, not the longest."""
    alternatives = [""]
    depth = 0
    for token in re.findall(r"\\.|\[(?:\\.|[^\]])*\]|.", pattern, re.DOTALL):
        depth += (token == "(") - (token == ")")
        if token == "|" and not depth:
            alternatives.append("")
        else:
            alternatives[-1] += token
    return "|".join(sorted(alternatives, key=len, reverse=True))


def _expanded(parts: Mapping[str, str]) -> dict[str, str]:
    """Expand the parts used inside parts; each may use those above it."""
    done: dict[str, str] = {}
    for name, pattern in parts.items():
        done[name] = f"(?:{_filled(pattern, done)})"
    return done


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda use: parts[use[1]], re.sub(r"\s*\n\s*", "", pattern))


def respelled(grammar: RequestGrammar, sentence: str) -> str:
    """Correct misspelt memory words in a sentence to the grammar's spelling."""
    if grammar.fold:
        return folded(sentence)
    if not grammar.spelling:
        return sentence

    def right(found: re.Match[str]) -> str:
        word = found[0].lower()
        if word in grammar.keep:
            return found[0]
        return grammar.spelling.get(word) or _nearest(word, grammar) or found[0]

    return re.sub(r"[^\W\d_]{4,}|\b[^\W\d_]{1,3}\b", right, sentence)


def folded(sentence: str) -> str:
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


def _nearest(word: str, grammar: RequestGrammar) -> str:
    if len(word) > 4 and word not in grammar.long_words:
        return _corrected(word, grammar.long_words)
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
