"""How much of what lasts the rule extractor finds in dialogue, and how much it makes up.

    python bench/extraction.py [--data bench/data/extraction.jsonl] [--mistakes]

Turns are labelled by hand with the words that carry each durable fact. A candidate is right when
its quote holds at least half of a labelled quote's words and no candidate before it took that one;
every other candidate is wrong. The rules were tuned on one half of the turns, told apart by the id;
`--mistakes` shows what they get wrong there. The bars hold for the other half: precision at least
0.9, recall at least 0.5.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from common import finish, median, timed
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.rules import RuleExtractor
from holdfast.text.tokens import index_terms
from holdfast.types import Memory, Scope

DATA = Path(__file__).parent / "data" / "extraction.jsonl"
SAID_AT = 1_767_225_600_000_000  # the first day of 2026
PAGE = 30  # turns that are read at once

Row = dict[str, Any]


class Quoted(Protocol):
    """Whatever says which words it was found in."""

    @property
    def quote(self) -> str: ...


Found = TypeVar("Found", bound=Quoted)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, kept as it is."""

    quote: str


def read(path: Path = DATA) -> list[Row]:
    """The labelled turns."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def held_out(row: Row) -> bool:
    """Whether the rules were never tuned on this turn."""
    return hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 1


def turn_of(row: Row) -> Memory:
    """The labelled turn as the extractor gets it."""
    return Memory(
        id=row["id"],
        scope=Scope("user", "bench"),
        kind="turn",
        content=row["text"],
        created_at=SAID_AT,
        updated_at=SAID_AT,
        event_time=SAID_AT,
        author=row["author"],
        role=row["role"],
    )


def judged(row: Row, candidates: Sequence[Found]) -> tuple[list[Found], list[Found], list[str]]:
    """The right candidates, the wrong ones, and the labelled quotes that none of them met."""
    open_quotes = [fact["quote"] for fact in row["facts"]]
    right: list[Found] = []
    wrong: list[Found] = []
    for candidate in candidates:
        shares = {quote: share_of(quote, candidate.quote) for quote in open_quotes}
        best = max(shares, key=shares.__getitem__, default=None)
        if best is not None and shares[best] >= 0.5:
            open_quotes.remove(best)
            right.append(candidate)
        else:
            wrong.append(candidate)
    return right, wrong, open_quotes


def share_of(labelled: str, quote: str) -> float:
    """Which share of the labelled words the quote holds."""
    wanted, held = Counter(index_terms(labelled)), Counter(index_terms(quote))
    return (wanted & held).total() / max(wanted.total(), 1)


def by_rules(row: Row) -> list[Candidate]:
    """What the rules find in a turn."""
    return RuleExtractor().extract([turn_of(row)])


def every_sentence(row: Row) -> list[Sentence]:
    """What is kept where nothing is judged: each sentence that a person says."""
    spoken = row["text"] if row["role"] == "user" else ""
    return [Sentence(part) for part in re.split(r"(?<=[.!?。！？])\s*|\n+", spoken) if part.strip()]


def counted(
    rows: list[Row], find: Callable[[Row], Sequence[Quoted]]
) -> dict[str, tuple[int, int, int]]:
    """For each turn how many findings are right, how many wrong, and how many facts were missed."""
    judgements = {}
    for row in rows:
        right, wrong, missed = judged(row, find(row))
        judgements[row["id"]] = (len(right), len(wrong), len(missed))
    return judgements


def figures(judgements: Iterable[tuple[int, int, int]]) -> dict[str, float | int]:
    """Precision and recall over turns judged as (right, wrong, missed)."""
    right, wrong, missed = map(sum, zip(*judgements, strict=True))
    return {
        "precision": round(right / (right + wrong), 3) if right + wrong else 1.0,
        "recall": round(right / (right + missed), 3) if right + missed else 1.0,
        "facts": right + missed,
        "found": right,
        "wrong": wrong,
    }


def grouped(
    judgements: dict[str, tuple[int, int, int]], rows: list[Row], key: Callable[[Row], str]
) -> Row:
    """The figures of the turns, group by group."""
    groups: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(judgements[row["id"]])
    return {name: {"turns": len(each), **figures(each)} for name, each in groups.items()}


def mistakes(rows: list[Row], found: dict[str, list[Candidate]]) -> None:
    """Prints what the rules get wrong and miss in the half they were tuned on."""
    for row in rows:
        if held_out(row):
            continue
        _, wrong, missed = judged(row, found[row["id"]])
        for candidate in wrong:
            print(f"wrong   {row['id']} {row['kind']}: {candidate.quote!r} as {candidate.category}")
        for quote in missed:
            print(f"missed  {row['id']} {row['kind']}: {quote!r} in {row['text']!r}")


def pace(turns: list[Memory]) -> dict[str, float]:
    """Milliseconds for a page of turns."""
    extractor = RuleExtractor()
    pages = [turns[start : start + PAGE] for start in range(0, len(turns), PAGE)]
    times = [timed(lambda page=page: extractor.extract(page)) for page in pages for _ in range(3)]
    return {"median": round(median(times) * 1e3, 2), "slowest": round(max(times) * 1e3, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--mistakes", action="store_true")
    options = parser.parse_args()
    rows = read(options.data)
    if options.mistakes:
        mistakes(rows, {row["id"]: by_rules(row) for row in rows})
        return
    judgements = counted(rows, by_rules)
    halves = grouped(judgements, rows, lambda row: "held_out" if held_out(row) else "tuned_on")
    unseen = [row for row in rows if held_out(row)]
    finish(
        {
            "whole": {"turns": len(rows), **figures(judgements.values())},
            **halves,
            "by_kind": grouped(judgements, rows, lambda row: row["kind"]),
            "by_language": grouped(judgements, rows, lambda row: row["lang"]),
            "held_out_by_language": grouped(judgements, unseen, lambda row: row["lang"]),
            "page_of_30_turns_ms": pace([turn_of(row) for row in rows]),
            "met_precision_0.9": halves["held_out"]["precision"] >= 0.9,
            "met_recall_0.5": halves["held_out"]["recall"] >= 0.5,
        }
    )


if __name__ == "__main__":
    main()
