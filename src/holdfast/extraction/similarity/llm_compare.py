"""Compare new statements with known ones by a model: duplicate, replacement or neither.

Plain duplicates are found without a model. The model is asked only about statements on the same
matter (same category, subject and predicate, or rules that share words), all in one call. If it is
not sure that something has changed, both stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...context.blocks import fill
from ...errors import ModelFailed
from ...models.llm.chat import Complete
from ...models.llm.json_output import ask_for_json, json_in, objects_in
from ...text.normal_forms import fold
from ...text.tokens import query_terms
from ...types import Memory, Micros
from ..candidate import PLAINLY_SAID, Candidate
from ..prompts import prompt
from ..reconcile import (
    Add,
    Bump,
    Coexist,
    Decision,
    Ignore,
    Supersede,
    statement_text,
)
from .change_words import shared, words_of

SAME = {
    "bump": "bump",
    "skip": "bump",
    "supersede": "supersede",
    "replace": "supersede",
}
"""What a model may call its decision; anything else lets both stand."""


class Matter(NamedTuple):
    """A candidate, the decision without a model, and known memories on the same matter."""

    candidate: Candidate
    decision: Decision
    known: Sequence[Memory]


def collisions(candidate: Candidate, near: Sequence[Memory]) -> list[Memory]:
    """Memories on the same matter as a candidate."""
    return [one for one in near if _same_matter(candidate, one)]


def _same_matter(new: Candidate, known: Memory) -> bool:
    if new.kind == "rule":
        return bool(set(query_terms(new.content)) & set(query_terms(known.content)))
    if new.triple is None or known.triple is None or new.category != known.category:
        return False
    return (fold(new.triple.subject), fold(new.triple.predicate), new.triple.object_type) == (
        fold(known.triple.subject),
        fold(known.triple.predicate),
        known.triple.object_type,
    )


def with_claimed_change(
    candidate: Candidate,
    decision: Decision,
    said_at: Micros,
) -> Decision:
    """The decision about a candidate that a model says takes the place of a known memory.

    It does so if both are on the same matter and the old one was said before. If it was only
    implied or a person has confirmed the old one, both stay.
    """
    old = candidate.replaces
    if old is None or not isinstance(decision, Add | Coexist) or old.event_time > said_at:
        return decision
    ours, theirs = words_of(statement_text(candidate)), words_of(old.content)
    if not shared(ours.terms, theirs.terms) and not ours.single_slots & theirs.slots:
        return decision
    sure = candidate.confidence >= PLAINLY_SAID and not old.protected
    return (Supersede if sure else Coexist)(candidate, old, f"changed: {candidate.quote}")


def compared(matters: Sequence[Matter], complete: Complete) -> list[Decision]:
    """Decide about each candidate. Model errors and answers with invalid references propagate."""
    asked = [number for number, one in enumerate(matters) if one.known and not _is_settled(one)]
    if not asked:
        return [one.decision for one in matters]
    told = prompt("compare_statements", statements="\n".join(_told(matters, asked)))
    answered = ask_for_json(complete, told, _verdicts, "comparison")
    verdicts = {one.get("new"): one for one in answered}
    decisions = [one.decision for one in matters]
    for place, number in enumerate(asked, start=1):
        decisions[number] = _decision(matters[number], verdicts.get(place))
    return decisions


def _is_settled(matter: Matter) -> bool:
    """Whether a model need not be asked: it says the same, or the model has said what changed."""
    claimed = matter.candidate.replaces is not None and isinstance(matter.decision, Supersede)
    return claimed or isinstance(matter.decision, Bump | Ignore)


def _verdicts(answer: str) -> list[dict[str, Any]] | None:
    """The elements of an answer; None if it holds no JSON."""
    return None if json_in(answer) is None else objects_in(answer)


def _told(matters: Sequence[Matter], asked: Sequence[int]) -> list[str]:
    lines = []
    for place, number in enumerate(asked, start=1):
        one = matters[number]
        new = one.candidate
        lines.append(
            fill(
                "New {place}: {content} (said: {quote})",
                place=place,
                content=new.content,
                quote=new.quote,
            )
        )
        lines += [
            fill("    remembered {index}: {content}", index=index, content=known.content)
            for index, known in enumerate(one.known, 1)
        ]
    return lines


def _decision(matter: Matter, verdict: Mapping[str, Any] | None) -> Decision:
    # It had nothing to say about this one.
    if verdict is None:
        return matter.decision
    decision = SAME.get(str(verdict.get("decision", "")).lower())
    if decision is None:
        return Add(matter.candidate)
    index = verdict.get("index")
    if not isinstance(index, int) or not 0 < index <= len(matter.known):
        raise ModelFailed(
            f"The model compared with statement {index!r}, but there are {len(matter.known)}."
        )
    known = matter.known[index - 1]
    reason = str(verdict.get("reason", "")) or "changed"
    if decision == "bump":
        return Bump(matter.candidate, known)
    unsure = str(verdict.get("confidence", "low")).lower() == "low"
    return (Coexist if unsure or known.protected else Supersede)(matter.candidate, known, reason)
