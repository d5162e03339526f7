"""The statements of a turn that the judge would keep, each told so that it stands alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..types import Memory
from .candidate import Candidate
from .clauses import Clause, clauses_of
from .judge import Judge, Judgement, threshold
from .patterns import Language
from .possessions import possessions
from .standalone import told

# Patterns that are this sure need no judge: names, homes, work, health.
_SURE = 0.9


@dataclass(frozen=True, slots=True)
class Kept:
    """What the judge keeps of a turn, and what it would rather not."""

    candidates: list[Candidate] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    """Clauses in which even a pattern is not to be trusted."""

    def doubts(self, quote: str) -> bool:
        """Whether the words stand in a clause that the judge would not keep."""
        return any(quote in text or text in quote for text in self.doubted)


def kept_of(
    judge: Judge,
    language: Language,
    words: str,
    turn: Memory,
    *,
    among_people: bool,
) -> Kept | None:
    """What is worth keeping of somebody's own words; None if the judge cannot say."""
    place_said = "people" if among_people else "assistant"
    enough = threshold(place_said if language.code == "en" else "languages")
    clauses = clauses_of(language, words)
    judgements = judge.judge(clauses)
    if judgements is None:
        return None
    kept = Kept()
    for place, (clause, judgement) in enumerate(zip(clauses, judgements, strict=True)):
        if judgement.keep < threshold("pattern"):
            kept.doubted.append(clause.text)
        if clause.asks:
            kept.candidates.extend(_possessed(language, clause, turn))
        if clause.asks or judgement.keep < enough:
            continue
        before = clauses[place - 1] if place else None
        candidate = _candidate(language, words, turn, clause, before, judgement)
        if candidate is not None:
            _add(kept.candidates, candidate)
    return kept


def _add(candidates: list[Candidate], new: Candidate) -> None:
    """Adds a statement; one that tells the last one again takes its place."""
    if candidates and candidates[-1].quote in new.quote:
        candidates.pop()
    candidates.append(new)


def _candidate(
    language: Language,
    words: str,
    turn: Memory,
    clause: Clause,
    before: Clause | None,
    judgement: Judgement,
) -> Candidate | None:
    said_before = before.text if before is not None and not before.asks else ""
    found = told(language, clause.text, said_before, turn.author, turn.event_time)
    if found is None:
        return None
    content, quote = found
    if not quote:
        start = words.find(said_before)
        end = words.find(clause.text, start) + len(clause.text)
        quote = words[start:end]
    return Candidate(
        content=content,
        quote=quote,
        source=turn.id,
        category=judgement.category,
        confidence=round(judgement.keep, 2),
        author=turn.author,
    )


def _possessed(language: Language, clause: Clause, turn: Memory) -> Iterator[Candidate]:
    for content, quote in possessions(language, clause.text, turn.author):
        yield Candidate(content, quote, source=turn.id, author=turn.author)


def merged(patterns: Sequence[Candidate], kept: Kept) -> list[Candidate]:
    """What patterns found and what the judge keeps, each statement once.

    A statement that both found is told as the judge's, whole, and filed as the pattern's.
    """
    found = list(kept.candidates)
    extra = []
    for one in patterns:
        place = next((at for at, other in enumerate(found) if one.quote in other.quote), None)
        sure = one.kind == "rule" or one.confidence == 1.0 or one.category == "correction"
        if sure:
            extra.append(one)
            if place is not None:
                found.pop(place)
        elif place is None:
            if one.confidence >= _SURE or not kept.doubts(one.quote):
                extra.append(one)
        elif len(one.quote) < len(found[place].quote) / 2 and one.category == "relationship":
            # Somebody named in passing; in other languages only a piece of what is told anyway.
            extra += [one] if one.content != one.quote else []
        elif found[place].triple is None:
            found[place] = _filed(found[place], one)
    return [*found, *extra]


def _filed(judged: Candidate, pattern: Candidate) -> Candidate:
    same_words = pattern.quote == judged.quote
    return replace(
        judged,
        content=pattern.content if same_words else judged.content,
        category=pattern.category,
        triple=pattern.triple,
        confidence=max(judged.confidence, pattern.confidence),
    )
