"""What the note finder knows of each language: the section `coding` of its language file.

The section holds
- `statement`: how decisions, principles and preferences are said, as `..patterns` describes; what
  conversations always know of standing instructions and decisions is added to them;
- `decided`: `opening` is what comes before what was decided, `because` begins a reason, `following`
  one that is a sentence of its own, `over` stands between what was chosen and what was not;
- `proposal`: how an agent proposes (`suggests`), lists choices (`option`) and asks (`asks`), how a
  person agrees (`yes`), objects (`but`) and picks (`picks`, with `ordinals` for "the second" and
  what `ends` it); `choice` is what makes a proposal one that is worth noting rather than the next
  `step` of the work;
- `incident`: how a `cause` and a `fix` are told, how a `repair` is announced, and that something is
  `unresolved`;
- `procedure`: how steps are introduced (`heading`, or `named` where a name stands for what they
  do), or not (`plan`), asked for (`how`), told in one sentence (`inline`), and parted in it
  (`then`);
- `undo`: `bare` takes back what was said last, `named` what it names, `back` goes back to what was
  there before;
- `place`: `everywhere` makes a preference one for every project, `manner` an instruction one about
  how to talk;
- `guard`: what makes a statement no standing one: a `doubt`, the `moment`, a word that `points` to
  something not named (`unnamed`, within it), the `report` of what happened, a wish for a
  `feature`, what the `product` looks like; `agent` is how agents speak, and people do not; a
  condition before it makes it `supposed`; `later` begins what is decided for another day, `next`
  what is only the next step; `lead` is what is said before it;
- `lasting`: how people say that something holds beyond the moment: for every one of a kind, where
  something is, which way a project goes and what it is for;
- `told`: how notes are worded, with no `because` where a reason cannot stand alone; `purposes` what
  commands are for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ... import languages as files
from ...text.lazy_regex import NEVER
from ..patterns import Language, Statement, compiled, expanded, language, languages_of, statement_of

_SAME = {"instruction": "principles", "decision": "decisions"}
"""What conversations know that projects want to know, too: the rest is about people."""
_TABLES = (
    "decided",
    "proposal",
    "incident",
    "procedure",
    "undo",
    "place",
    "guard",
    "lasting",
)


@dataclass(frozen=True, slots=True)
class Words:
    """The cues of one language, ready for matching."""

    code: str
    language: Language
    """The same language with the statements of work in place of those of life."""
    cues: Mapping[str, re.Pattern[str]]
    """By table and name: `incident.cause`."""
    ordinals: tuple[re.Pattern[str], ...]
    """The words for the first, the second, … of a list."""
    told: Mapping[str, str]
    purposes: Mapping[str, str]

    def says(
        self,
        cue: str,
        text: str,
    ) -> re.Match[str] | None:
        """First match of this cue in a text."""
        return self.cues.get(cue, NEVER).search(text)

    def begins(
        self,
        cue: str,
        text: str,
    ) -> re.Match[str] | None:
        """The match if a text begins with this cue."""
        return self.cues.get(cue, NEVER).match(text)

    def doubts(self, text: str) -> bool:
        """Whether a sentence only supposes, asks or wishes."""
        known = self.language
        return bool(
            known.warns("unsure", text)
            or known.warns("unsure_clause", text)
            or known.begins("question", text)
        )


def words_of(text: str) -> list[Words]:
    """Cue words of the languages a text may be in, likeliest first."""
    known = (each.code for each in languages_of(text))
    return [words(code) for code in known if files.language(code).section("coding")]


def spoken(text: str) -> list[Language]:
    """The same languages with coding statements added, for the rule-based extractor."""
    return [each.language for each in words_of(text)]


@cache
def words(code: str) -> Words:
    """Cue words of the language with this code; its section is read once."""
    cues = files.language(code).section("coding")
    pieces = cues.get("pieces", {})
    patterns = {
        f"{table}.{name}": compiled(expanded(text, pieces))
        for table in _TABLES
        for name, text in cues.get(table, {}).items()
        if isinstance(text, str)
    }
    return Words(
        code=code,
        language=_at_work(language(code), cues.get("statement", ()), pieces),
        cues=patterns,
        ordinals=tuple(compiled(expanded(each, pieces)) for each in cues["proposal"]["ordinals"]),
        told=cues["told"],
        purposes=cues["purposes"],
    )


def _at_work(
    known: Language,
    cues: list[Mapping[str, Any]],
    pieces: Mapping[str, str],
) -> Language:
    own = tuple(statement_of(each, pieces) for each in cues)
    usual = tuple(
        replace(each, category=_SAME[each.category])
        for each in known.statements
        if _is_of_work(each)
    )
    every = own + usual
    # Records of a project speak of "we" where a person's memory names them, so nothing is retold
    # here.
    return replace(
        known,
        retold=False,
        statements=every,
        of_others=tuple(each for each in every if not each.mine),
    )


def _is_of_work(statement: Statement) -> bool:
    return statement.category in _SAME
