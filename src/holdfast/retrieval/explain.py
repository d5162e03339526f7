"""Why a memory was or was not recalled: replays the stages of a recall for one memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..text.tokens import query_terms
from ..types import Memory, iso
from .candidates import DEPTH, is_valid
from .recall import Engine, Question, Recall, has_content, parse_query, recall


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a recall, and whether the memory passed it."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Why:
    """Whether a memory was recalled and at which rank; if not, which stage dropped it and how to
    change that.
    """

    memory: str
    recalled: bool
    rank: int | None
    dropped_by: str | None
    explanation: str
    stages: tuple[Stage, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary, for scripts."""
        return asdict(self)


def why(
    engine: Engine,
    question: Question,
    expected: Memory,
) -> Why:
    """Replay the recall and name the first stage that dropped `expected`."""
    stages: list[Stage] = []
    for stage in _stages(engine, question, expected):
        stages.append(stage)
        if not stage.passed:
            explanation = (
                f"{expected.id} was not recalled. Stage {stage.name!r} dropped it: {stage.detail}"
            )
            return Why(
                expected.id,
                False,
                None,
                stage.name,
                explanation,
                tuple(stages),
            )
    rank = _rank(recall(engine, question, rank_all=True), expected)
    explanation = f"{expected.id} was recalled at rank {rank}: {stages[-1].detail}"
    return Why(
        expected.id,
        True,
        rank,
        None,
        explanation,
        tuple(stages),
    )


def _stages(
    engine: Engine,
    question: Question,
    expected: Memory,
) -> Iterator[Stage]:
    yield from _filters(question, expected)
    query = parse_query(engine, question)
    yield Stage(
        "question",
        has_content(query),
        f"looked for {', '.join(query.terms) or 'no words'}"
        + "".join(f", {span.text}" for span in query.spans)
        if has_content(query)
        else (
            "the question has only stop words, so there is nothing to look for. Add a word that "
            "matters."
        ),
    )
    done = recall(engine, question, rank_all=True)
    yield _found(done, expected)
    yield _ordered(done, question, expected)
    yield _fitted(done, expected)


def _filters(question: Question, expected: Memory) -> Iterator[Stage]:
    where = question.where
    known = expected.scope in where.scopes
    yield Stage(
        "scope",
        known,
        f"it belongs to {expected.scope}{'' if known else ', whose memory is switched off'}",
    )
    active = expected.status in where.statuses
    reason = f" ({expected.status_reason})" if expected.status_reason else ""
    yield Stage(
        "status",
        active,
        "it is active"
        if active
        else f"it is {expected.status}{reason}. Bring it back with restore.",
    )
    yield _valid(expected, where.valid_at)


def _valid(expected: Memory, at: int | None) -> Stage:
    if at is None or is_valid(expected, at):
        return Stage("validity", True, "it holds now")
    if expected.valid_from is not None and expected.valid_from > at:
        return Stage(
            "validity",
            False,
            f"it does not hold now: its validity begins {iso(expected.valid_from)}.",
        )
    return Stage(
        "validity",
        False,
        f"it does not hold now: its validity ended {iso(expected.valid_until or at)}.",
    )


def _found(done: Recall, expected: Memory) -> Stage:
    gathered = done.gathered
    arms = {
        name: order.index(expected.seq) + 1
        for name, order in gathered.arms.items()
        if expected.seq in order
    }
    if arms:
        return Stage(
            "arms", True, "found by " + ", ".join(f"{name} #{rank}" for name, rank in arms.items())
        )
    if any(memory.seq == expected.seq for memory in done.ranking.memories):
        return Stage("arms", True, "found as a neighbour of a better match")
    shared = set(query_terms(expected.content)) & set(gathered.query.terms)
    if not shared:
        hint = "it shares no word with the question and its meaning is not among the nearest"
        vectors = "" if gathered.views else ". There are no vectors yet: run reembed"
        return Stage(
            "arms", False, f"{hint}{vectors}. Ask with a word it contains, or narrow the question."
        )
    words = ", ".join(sorted(shared))
    return Stage(
        "arms",
        False,
        f"it shares {words}, but {DEPTH} others match better. Narrow by kind, tag or time.",
    )


def _ordered(
    done: Recall,
    question: Question,
    expected: Memory,
) -> Stage:
    rank = _rank(done, expected)
    place = done.order[rank - 1]
    score, reasons = done.ranking.scores[place], done.ranking.reasons(place)
    detail = f"rank {rank} of {len(done.order)} with score {score:.3f} ({reasons})"
    if not done.ranking.relevant:
        unlikely = "even the best memory is unlikely to answer this, so nothing is shown"
        return Stage("order", False, f"{unlikely}; `--min-score 0` shows it. {detail}.")
    if place in done.unrelated:
        return Stage(
            "order",
            False,
            "it is a turn of a past session that neither says nearly the same nor is likely to "
            f"answer a question; `--min-score 0` shows it. {detail}.",
        )
    twin = done.ranking.memories[done.copies[place]].id if place in done.copies else ""
    if twin and expected.kind in ("episode", "reflection"):
        how = f'ask for kinds=["{expected.kind}"] to see it'
        return Stage("order", False, f"it retells {twin}, which is found too; {how}. {detail}.")
    if rank <= question.limit:
        return Stage("order", True, detail)
    if twin:
        return Stage(
            "order", False, f"it says nearly the same as {twin}, which stands above it. {detail}."
        )
    return Stage("order", False, f"{detail}. A limit of {rank} would include it.")


def _fitted(done: Recall, expected: Memory) -> Stage:
    kept = any(hit.memory.seq == expected.seq for hit in done.hits)
    rank = _rank(done, expected)
    detail = (
        f"{done.ranking.reasons(done.order[rank - 1])}"
        if kept
        else "the token budget was used up before it."
    )
    return Stage("budget", kept, detail)


def _rank(done: Recall, expected: Memory) -> int:
    shown = (done.ranking.memories[place].seq for place in done.order)
    return next(rank for rank, seq in enumerate(shown, start=1) if seq == expected.seq)
