"""The words a deployment remembers in, and the words that say how: data, not code.

A **vocabulary** is a TOML file; `general`, `monthly` and `couch` ship, and the setting `vocabulary`
names one or gives the path of your own. It holds
- `categories`: each with when a fact of it may be written: `at_once`, `session_end` (held until
  then, and kept if more speaks for it), `repetition` (kept when it was said twice), `propose` (a
  person decides) or `never`. `other_categories` says the same for all that are not listed; without
  it they become the `default_category`;
- `lasting_rules`: the same for an instruction that says that it is for good ("from now on"), and
  `implicit_rules` for one that does not. One that memory was asked to keep is written at once;
- `predicates`: `known` ones (none listed: any), and those `never` stored;
- `types`: of subjects and objects (none listed: any);
- `same.categories`, `same.predicates`: what other vocabularies, the built-in extractor's above all,
  call the same. A name that ends in `*` stands for all that begin so;
- `recognised`: words that make a statement one of a category, whatever it was taken for;
- `superseded`: whether a fact whose place another takes just `retires`, or also `fades` should it
  be restored;
- `fading`: how a fact that nobody uses fades, by category or by predicate, which comes first; `"*"`
  stands for all others. It fades `never`, `slowly` (in three years), `steadily` (in nine months),
  `in_a_month`, or `with_its_date`: a plan ends when its date is over;
- `cues`: a folder with cue files of your own, beside the file, instead of ours.

A **cue file** holds the words of one language by which people speak of remembering, of this moment,
of themselves. Ours are the sections `policy` of the language files. All cues of a script are tried
on a text of that script, so no language has to be guessed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, cast, get_args

from ..errors import InvalidInput
from ..languages import SCRIPTS, in_every_language
from ..text.lazy_regex import NEVER
from ..text.memory_requests import MemoryRequest, read_request
from ..types import Triple
from .candidate import Candidate

Timing = Literal["at_once", "session_end", "repetition", "propose", "never"]
TIMINGS: tuple[Timing, ...] = get_args(Timing)
Fading = Literal["never", "slowly", "steadily", "in_a_month", "with_its_date"]
FADING_RATES: Mapping[Fading, float] = {
    "never": 0.0,
    "slowly": 0.0025,
    "steadily": 0.01,
    "in_a_month": 0.1,
    # Of a plan that names no date.
    "with_its_date": 0.01,
}
"""Decay rates: a fact of confidence 0.8 falls below 0.05 after 2.8 / rate days."""
OTHERS = "*"
Reach = Literal["conversation", "onwards", "this"]
"""How far a request not to remember goes: all of the conversation, all that follows, or what was
just said.
"""
_READ_AS: Mapping[str, Reach] = {
    "forget_session": "conversation",
    "pause": "onwards",
    "forget_last": "this",
}
REACHES: tuple[Reach, ...] = get_args(Reach)

_STRAIGHT = str.maketrans("’‘ʼ", "'''")
# Splits behind the mark, so that a sentence keeps its own.
SENTENCES = re.compile(r"(?<=[.!?…;。！？；\n])\s*")
# Japanese may be all kanji.
_SCRIPTS: Mapping[str, re.Pattern[str]] = {
    **{script: re.compile(f"[{letters}]") for script, letters in SCRIPTS.items()},
    "kana": re.compile(f"[{SCRIPTS['kana']}{SCRIPTS['han']}]"),
}
# Characters; also keeps the pattern from trying for long.
_LONGEST_SMALL_TALK = 120
_CUES = (
    "turn_scoped",
    "durable",
    "safety_conflict",
    "belief_marker",
    "belief_frame",
    "assistant_verb",
    "remember_that",
    "small_talk",
    "mood",
)
_ARC = {
    "about": "{themes}",
    "said": "{quotes}",
    "asked": "{questions}",
    "decided": "{decided}",
    "people": "{people}",
}
_KEYS = frozenset(
    (
        "categories",
        "other_categories",
        "default_category",
        "implicit_rules",
        "lasting_rules",
        "predicates",
        "types",
        "same",
        "recognised",
        "superseded",
        "fading",
        "cues",
    )
)


@dataclass(frozen=True, slots=True)
class Cues:
    """The cues of one language, ready for matching."""

    language: str
    script: str
    control: Mapping[str, re.Pattern[str]]
    words: Mapping[str, re.Pattern[str]]
    arc: Mapping[str, str]
    """How a summary without a model is worded."""

    def reads(self, text: str) -> bool:
        """Whether a text has letters of this language's script."""
        return bool(_SCRIPTS[self.script].search(text))


@dataclass(frozen=True, slots=True)
class Request:
    """A request not to remember: its reach, and where its words end in the text."""

    reach: Reach
    end: int
    paused: bool = False
    """Whether it only says that nothing is to be remembered for now, and leaves what was said
    before as it is.
    """


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Categories and predicates with their rules, and the cues of every language."""

    name: str
    categories: Mapping[str, Timing]
    other_categories: Timing | None
    default_category: str
    implicit_rules: Timing
    lasting_rules: Timing
    predicates: frozenset[str]
    never: frozenset[str]
    types: frozenset[str]
    same_categories: Mapping[str, str]
    same_predicates: Mapping[str, str]
    recognised: Mapping[str, re.Pattern[str]]
    retires: bool
    """Whether a fact that another has taken the place of is no longer recalled."""
    fadings: Mapping[str, Fading]
    """By category or predicate, how a fact that nobody uses fades."""
    cues: tuple[Cues, ...]
    own_cues: bool = False
    """Whether the cues are a deployment's own: then nothing but them says what is not to be
    remembered.
    """

    def timing(self, category: str) -> Timing:
        """When a fact of this category may be written."""
        return (
            self.categories.get(category)
            or self.other_categories
            or self.categories[self.default_category]
        )

    def fading(self, category: str, triple: Triple | None = None) -> Fading:
        """How a fact of this category or with this predicate fades when nobody uses it."""
        names = (triple.predicate if triple else "", category, OTHERS)
        return next((self.fadings[name] for name in names if name in self.fadings), "never")

    def fitted(self, candidate: Candidate) -> Candidate:
        """The candidate in this vocabulary's words; a triple that does not fit is dropped."""
        category = self._category(candidate)
        triple = self._triple(candidate.triple) if candidate.triple else None
        return replace(candidate, category=category, triple=triple)

    def _category(self, candidate: Candidate) -> str:
        if candidate.kind == "fact":
            for name, words in self.recognised.items():
                if words.search(straight(candidate.quote)):
                    return name
        name = self.same_categories.get(candidate.category, candidate.category)
        allowed = name in self.categories or self.other_categories is not None
        if allowed:
            return name
        return self.default_category

    def _triple(self, triple: Triple) -> Triple | None:
        predicate = self._same_predicate(triple.predicate)
        if self.predicates and predicate not in self.predicates:
            return None
        subject_type, object_type = (
            one if not self.types or one in self.types else ""
            for one in (triple.subject_type, triple.object_type)
        )
        return replace(
            triple, predicate=predicate, subject_type=subject_type, object_type=object_type
        )

    def _same_predicate(self, predicate: str) -> str:
        if predicate in self.same_predicates or predicate in self.predicates:
            return self.same_predicates.get(predicate, predicate)
        families = (
            name
            for name in self.same_predicates
            if name.endswith("*") and predicate.startswith(name[:-1])
        )
        family = max(families, key=len, default=None)
        if family:
            return self.same_predicates[family]
        return predicate

    def says(self, cue: str, text: str) -> bool:
        """Whether this cue occurs in a text, in any language of its script."""
        said = straight(text)
        return any(cues.words[cue].search(said) for cues in self.read_by(said))

    def believes_ill_of_itself(self, text: str) -> bool:
        """Whether the author belittles themselves: a marker and a frame of one language."""
        said = straight(text)
        return any(
            cues.words["belief_marker"].search(said) and cues.words["belief_frame"].search(said)
            for cues in self.read_by(said)
        )

    def is_small_talk(self, text: str) -> bool:
        """Whether a text is empty or only greetings, thanks and the like."""
        said = straight(text).strip()
        if not said or len(said) > _LONGEST_SMALL_TALK:
            return not said
        return any(cues.words["small_talk"].fullmatch(said) for cues in self.read_by(said))

    def request(self, text: str) -> Request | None:
        """What a text asks not to be remembered, furthest reach first; None if nothing."""
        said = straight(text)
        starts = [0, *(mark.end() for mark in SENTENCES.finditer(said))]
        for reach in REACHES:
            for cues in self.read_by(said):
                for start in starts:
                    if found := cues.control[reach].match(said, start):
                        return Request(reach, found.end())
        asked = self.asked(text)
        reach_ = _READ_AS.get(asked.kind) if asked else None
        if reach_:
            return Request(reach_, len(text), paused=reach_ == "onwards")
        return None

    def asked(self, text: str) -> MemoryRequest | None:
        """Memory requests in a text, by sentence; None if a deployment has its own cues."""
        if self.own_cues:
            return None
        return read_request(text)

    def read_by(self, text: str) -> Iterator[Cues]:
        """Cues of the languages written in the text's script."""
        return (cues for cues in self.cues if cues.reads(text))


def straight(text: str) -> str:
    """A text with straight apostrophes for cue matching; positions are unchanged."""
    return text.translate(_STRAIGHT)


@cache
def vocabulary(name: str) -> Vocabulary:
    """The vocabulary with this name, or from the file at this path.

    Raises InvalidInput with what is wrong with it.
    """
    shipped = files(__package__) / "vocabularies"
    known = sorted(
        one.name.removesuffix(".toml") for one in shipped.iterdir() if one.name.endswith(".toml")
    )
    if name in known:
        return _vocabulary(_toml(shipped / f"{name}.toml"), name, _shipped_cues())
    if not name.endswith(".toml"):
        raise InvalidInput(
            f"There is no vocabulary {name!r}. Use one of: {', '.join(known)}, or the path of "
            "a "
            ".toml file of your own."
        )
    file = Path(name).expanduser()
    data = _toml(file)
    cues = _all_cues(file.parent / str(data["cues"])) if "cues" in data else _shipped_cues()
    return _vocabulary(data, file.stem, cues)


def _vocabulary(
    data: dict[str, Any],
    name: str,
    cues: tuple[Cues, ...],
) -> Vocabulary:
    _refuse_others(data, _KEYS, f"the vocabulary {name!r}")
    categories = _table(data, "categories", name)
    if not categories:
        raise InvalidInput(
            f"The vocabulary {name!r} has no categories. Add a table such as: [categories] "
            "with "
            "one."
        )
    timings = {
        category: _timing(timing, f"{name}: category {category}")
        for category, timing in categories.items()
    }
    default = data.get("default_category", "general")
    other = data.get("other_categories")
    if default not in timings:
        raise InvalidInput(
            f"The vocabulary {name!r} has the default_category {default!r}, but no such category."
        )
    same = _table(data, "same", name)
    predicates = _table(data, "predicates", name)
    _refuse_others(
        same, frozenset(("categories", "predicates")), f"same of the vocabulary {name!r}"
    )
    _refuse_others(
        predicates, frozenset(("known", "never")), f"predicates of the vocabulary {name!r}"
    )
    superseded = data.get("superseded", "fades")
    if superseded not in ("fades", "retires"):
        raise InvalidInput(
            f"superseded must be fades or retires, not {superseded!r} (vocabulary {name!r})."
        )
    return Vocabulary(
        name=name,
        categories=timings,
        other_categories=None if other is None else _timing(other, f"{name}: other_categories"),
        default_category=default,
        implicit_rules=_timing(data.get("implicit_rules", "at_once"), f"{name}: implicit_rules"),
        lasting_rules=_timing(data.get("lasting_rules", "at_once"), f"{name}: lasting_rules"),
        predicates=frozenset(predicates.get("known", ())),
        never=frozenset(predicates.get("never", ())),
        types=frozenset(data.get("types", ())),
        same_categories=same.get("categories", {}),
        same_predicates=same.get("predicates", {}),
        recognised={
            category: _pattern(words, f"{name}: recognised.{category}")
            for category, words in _table(data, "recognised", name).items()
        },
        retires=superseded == "retires",
        fadings={
            one: _fading(fading, f"{name}: fading of {one}")
            for one, fading in _table(data, "fading", name).items()
        },
        cues=cues,
        own_cues="cues" in data,
    )


def _shipped_cues() -> tuple[Cues, ...]:
    """Cues of every language file that has some."""
    return tuple(
        _cues({"script": each.script, **table}, f"{each.code}.toml")
        for each, table in in_every_language("policy")
    )


def _all_cues(folder: Traversable) -> tuple[Cues, ...]:
    try:
        found = sorted(
            (one for one in folder.iterdir() if one.name.endswith(".toml")),
            key=lambda one: one.name,
        )
    except OSError as error:
        raise InvalidInput(
            f"Cannot read the folder of cue files {folder}: {error.strerror}."
        ) from error
    if not found:
        raise InvalidInput(
            f"There is no cue file in {folder}. Put one .toml file for each language there."
        )
    return tuple(_cues(_toml(one), one.name) for one in found)


def _cues(data: Mapping[str, Any], name: str) -> Cues:
    _refuse_others(data, frozenset(("script", "control", "cues", "arc")), f"the cue file {name}")
    script = data.get("script", "latin")
    if script not in _SCRIPTS:
        raise InvalidInput(
            f"{name}: there is no script {script!r}. Use one of: {', '.join(_SCRIPTS)}."
        )
    control, words, arc = (_table(data, key, name) for key in ("control", "cues", "arc"))
    _refuse_others(control, frozenset(("lead", *REACHES)), f"control of the cue file {name}")
    _refuse_others(words, frozenset(_CUES), f"cues of the cue file {name}")
    lead = control.get("lead", "")
    return Cues(
        language=name.removesuffix(".toml"),
        script=script,
        control={
            reach: _pattern(
                f"{lead}(?:{control[reach]})" if control.get(reach) else "",
                f"{name}: control.{reach}",
            )
            for reach in REACHES
        },
        words={
            cue: _pattern(_whole(cue, words.get(cue, "")), f"{name}: cues.{cue}") for cue in _CUES
        },
        arc={key: str(arc.get(key, usual)) for key, usual in _ARC.items()},
    )


def _whole(cue: str, words: str) -> str:
    """Pattern for a text of any number of small-talk phrases and nothing else."""
    between = r"[\s,.!?¡¿…~、。！？，)(:;-]"
    phrases = rf"{between}*(?:{words})(?:{between}+(?:{words}))*{between}*"
    if cue == "small_talk" and words:
        return phrases
    return words


def _pattern(text: str, where: str) -> re.Pattern[str]:
    if not isinstance(text, str):
        raise InvalidInput(f"{where} must be a pattern in quotes, not {text!r}.")
    if not text:
        return NEVER
    try:
        return re.compile(text.replace(" ?", r"\s*").replace(" ", r"\s+"), re.IGNORECASE)
    except re.error as error:
        raise InvalidInput(f"{where} is no valid pattern: {error}.") from error


def _fading(value: object, where: str) -> Fading:
    if value not in FADING_RATES:
        raise InvalidInput(f"{where}: use one of {', '.join(FADING_RATES)}, not {value!r}.")
    return cast(Fading, value)


def _timing(value: Any, where: str) -> Timing:
    for known in TIMINGS:
        if value == known:
            return known
    raise InvalidInput(f"{where} must be one of {', '.join(TIMINGS)}, not {value!r}.")


def _table(
    data: Mapping[str, Any],
    key: str,
    where: str,
) -> dict[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise InvalidInput(f"{key} of {where} must be a table, written as [{key}].")
    return table


def _refuse_others(
    data: Mapping[str, Any],
    known: frozenset[str],
    where: str,
) -> None:
    if unknown := sorted(set(data) - known):
        raise InvalidInput(
            f"There is no key {unknown[0]!r} in {where}. Known: {', '.join(sorted(known))}."
        )


def _toml(file: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{file} is not valid TOML: {error}. Fix that line and try again."
        ) from error
