"""What the extractor knows of each language: the section `extraction` of its language file.

The section holds
- `guards`: what makes a sentence, or all that follows it, not worth keeping;
- `joints`: words between clauses. After a hard one another thought begins, a soft one lists, a
  reason belongs to what it explains; none of them joins when what it `unless_followed` names comes
  next ("so much");
- `lead`: what people say before they come to the point;
- `explicit`: openings that ask for remembering;
- `passing`: where a sentence about something else says what is so now ("now that I live in
  Villach"): what `opens` such a part and what `ends` it, and whether its verb stands last;
- `bare`: a correction that does not say what it corrects, from `before` to `now`;
- `kin`: words for people close to the speaker, and what they are called in a triple;
- `alone`: how statements are told so that they stand alone (`clauses`, `standalone`);
- `pieces`: patterns that other patterns name in braces;
- `statement`: what durable clauses look like, most telling first. `opens` is how the clause begins,
  `needs` must occur in it, `unless` must not. A `whole` clause reaches to the end of its sentence.

Every pattern is matched against one sentence, never a whole turn, so none can take long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import languages as files
from ..languages import SCRIPTS, LanguageData
from ..text.lazy_regex import NEVER
from ..text.stopwords import STOP_WORDS
from ..types import Kind

_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = {script: re.compile(f"[{letters}]") for script, letters in SCRIPTS.items()}
# Enough to tell a language; more only cost time.
_WORDS_TO_TELL = 80
_PLAIN = str.maketrans("áàâäãåéèêëíìîïóòôöõúùûüçñ", "aaaaaaeeeeiiiiooooouuuucn")
# {name} in a pattern: a piece of the same language file. Counts such as {2,5} have digits.
_PIECE = re.compile(r"\{([a-z]\w*)\}")


@dataclass(frozen=True, slots=True)
class Statement:
    """The pattern of one sort of durable clause, and what such a clause becomes."""

    opens: re.Pattern[str]
    category: str
    kind: Kind = "fact"
    needs: str = ""
    unless: str = ""
    predicate: str = ""
    confidence: float = 0.8
    whole: bool = False
    mine: bool = False
    """Whether such clauses always begin in the first person: others need not be compared with
    it.
    """
    for_agents: bool = False
    """Whether an agent may be believed that says so: of what was done it knows as much as the user
    does.
    """
    for_a_while: bool = False
    """Whether "for now" does not speak against it: what a project leaves out for the time being is
    worth knowing.
    """

    def fits(self, clause: str) -> re.Match[str] | None:
        """Match at the opening of a clause, if the clause is a statement of this sort."""
        opening = self.opens.match(clause)
        if not opening or (self.needs and not compiled(self.needs).search(clause)):
            return None
        if self.unless and compiled(self.unless).search(clause):
            return None
        return opening


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of one language, ready for matching."""

    code: str
    subject: str
    """The pronoun that a second verb leaves out: "I love tea but hate coffee"."""
    retold: bool
    """Whether the first person is turned into the third."""
    spaced: bool
    """Whether words are written apart."""
    guards: Mapping[str, re.Pattern[str]]
    boundary: re.Pattern[str]
    hard: frozenset[str]
    reason: frozenset[str]
    soft: frozenset[str]
    lead: re.Pattern[str]
    explicit: re.Pattern[str]
    explicit_rule: re.Pattern[str]
    imperative: re.Pattern[str]
    passing: re.Pattern[str]
    passing_ends: re.Pattern[str]
    verb_last: bool
    """Whether the verb stands last in such a part, as it does not in a statement."""
    kin: Mapping[str, str]
    named_kin: re.Pattern[str]
    bare: re.Pattern[str]
    """A correction that does not say what it corrects, with the groups `now` and `before`."""
    naming: re.Pattern[str]
    """How a clause gives somebody's name."""
    negation: re.Pattern[str]
    spoken_by: re.Pattern[str]
    """The speaker as the subject of a clause; after it comes what they do."""
    first_person: re.Pattern[str]
    alone: Mapping[str, str]
    """Patterns by which statements are told so that they stand alone."""
    statements: tuple[Statement, ...]
    of_others: tuple[Statement, ...]
    """The statements that need not begin in the first person."""

    def likely(self, clause: str) -> tuple[Statement, ...]:
        """Statements that a clause with this beginning can be."""
        if self.first_person.match(clause):
            return self.statements
        return self.of_others

    def warns(
        self,
        guard: str,
        text: str,
    ) -> bool:
        """Whether the guard `name` matches anywhere in the text."""
        return bool(self.guards.get(guard, NEVER).search(text))

    def cue(self, name: str) -> re.Pattern[str]:
        """A pattern of `alone`, compiled when it is needed; one that matches nothing if absent."""
        return compiled(self.alone[name]) if name in self.alone else NEVER

    def begins_anew(self, text: str) -> bool:
        """Whether another subject acts in the text, so that a later verb may be theirs."""
        return self.warns("other_subject", text)

    def material_from(self, text: str) -> int:
        """Position where speech ends and material to work on begins: "Translate this: …"."""
        introduced = ":" in text or "：" in text or "\n" in text
        found = self.guards.get("material", NEVER).search(text) if introduced else None
        if found:
            return found.end()
        return len(text)

    def begins(
        self,
        guard: str,
        text: str,
    ) -> re.Match[str] | None:
        """The match if the text begins with this guard's pattern."""
        return self.guards.get(guard, NEVER).match(text)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile on first use: most patterns are never needed, and compiling all of them is slow."""
    return re.compile(pattern, re.IGNORECASE)


def languages_of(text: str) -> list[Language]:
    """Languages whose cues apply to a text, likeliest first; none for an unknown language."""
    script = next((one for one, letters in _LETTERS.items() if letters.search(text)), "latin")
    written = [each for each in files.languages() if each.script == script]
    known = [each for each in written if each.section("extraction")]
    if len(written) > 1:
        votes = _votes(text, written)
        most = max(votes.values())
        # Without any vote the text is too short to tell: "Odio madrugar".
        known = [each for each in known if votes[each.code] == most]
    return [language(each.code) for each in known]


def _votes(text: str, candidates: Sequence[LanguageData]) -> dict[str, int]:
    """Number of each language's stop words at the beginning of a text."""
    words = _WORD.findall(text[: _WORDS_TO_TELL * 10].lower().translate(_PLAIN))[:_WORDS_TO_TELL]
    return {each.code: sum(map(STOP_WORDS[each.code].__contains__, words)) for each in candidates}


@cache
def language(code: str) -> Language:
    """The language with this code; its section is read once."""
    data = files.language(code)
    cues = data.section("extraction")
    kin: dict[str, str] = cues.get("kin", {})
    pieces = {"kin": _any_of(kin), **cues.get("pieces", {})}

    def pattern(text: str) -> re.Pattern[str]:
        if text:
            return compiled(expanded(text, pieces))
        return NEVER

    statements = tuple(statement_of(each, pieces) for each in cues["statement"])
    joints = cues.get("joints", {})
    explicit = cues.get("explicit", {})
    passing = cues.get("passing", {})
    return Language(
        code=code,
        subject=cues.get("subject", ""),
        retold=cues.get("retold", False),
        spaced=data.spaced,
        guards={name: pattern(text) for name, text in cues["guards"].items()},
        boundary=_boundary(joints, data.spaced),
        hard=frozenset(joints.get("hard", ())),
        reason=frozenset(joints.get("reason", ())),
        soft=frozenset(joints.get("soft", ())),
        lead=pattern(cues.get("lead", {}).get("words", "")),
        explicit=pattern(explicit.get("fact", "")),
        explicit_rule=pattern(explicit.get("rule", "")),
        imperative=pattern(explicit.get("imperative", "")),
        passing=pattern(passing.get("opens", "")),
        passing_ends=pattern(passing.get("ends", "")),
        verb_last=passing.get("verb_last", False),
        kin={word.lower(): label for word, label in kin.items()},
        named_kin=pattern(cues.get("named_kin", "")),
        bare=pattern(cues.get("bare", "")),
        naming=pattern(cues.get("naming", "")),
        negation=pattern(cues.get("negation", "")),
        spoken_by=pattern(cues.get("spoken_by", "")),
        first_person=pattern(cues.get("first_person", "")),
        alone={name: expanded(text, pieces) for name, text in cues.get("alone", {}).items()},
        statements=statements,
        of_others=tuple(each for each in statements if not each.mine),
    )


def statement_of(
    cue: Mapping[str, Any],
    pieces: Mapping[str, str],
) -> Statement:
    """Build a statement from a table of a section."""
    patterns: dict[str, str] = {
        part: expanded(cue[part], pieces) for part in ("opens", "needs", "unless") if part in cue
    }
    parts: dict[str, Any] = {**cue, **patterns, "opens": compiled(patterns["opens"])}
    return Statement(**parts)


def expanded(text: str, pieces: Mapping[str, str]) -> str:
    """The pattern with its pieces inserted; a space matches any white space."""
    while _PIECE.search(text):
        text = _PIECE.sub(lambda piece: pieces[piece[1]], text)
    return text.replace(" ?", r"\s*").replace(" ", r"\s+")


def _any_of(words: Mapping[str, str]) -> str:
    return (
        "(?:"
        + "|".join(sorted(map(re.escape, words), key=len, reverse=True)).replace("\\ ", " ")
        + ")"
    )


def _boundary(joints: Mapping[str, Any], spaced: bool) -> re.Pattern[str]:
    """Pattern for a clause boundary: punctuation, a joining word, or both."""
    listed = [word for name in ("hard", "soft", "reason") for word in joints.get(name, ())]
    word = "|".join(sorted(map(re.escape, listed), key=len, reverse=True)) or "(?!)"
    unless = joints.get("unless_followed", "(?!)")
    if not spaced:
        return re.compile(rf"\s*(?P<mark>[，；：,;:—])\s*(?P<after>{word})?|(?P<word>(?!))")
    return re.compile(
        rf"\s*(?P<mark>[;:—–,-](?=\s))\s*(?:(?P<after>{word})\s+)?|\s+(?P<word>{word})\s+(?!{unless})",
        re.IGNORECASE,
    )
