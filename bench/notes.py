"""How much of what a coding session teaches the note finder notes down, and how much it makes up.

    python bench/notes.py [--data bench/data/notes.jsonl] [--judge] [--mistakes]

Sessions are labelled by hand with the notes that a developer would keep: the category and the words
that carry it. A note is right when its category is the labelled one, it holds at least half of the
labelled words, and no note before it took that label; every other note is wrong. A label for every
project is met only by a note for every project. The rules were tuned on one half of the sessions,
told apart by the id; `--mistakes` shows what they get wrong there. The bars hold for the other
half: precision at least 0.9, recall at least 0.5. With `--judge` the judge of the bundled encoder
reads along, as it does wherever that encoder is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import finish, median, timed
from holdfast.extraction.coding import CATEGORIES, Note, find_notes
from holdfast.extraction.coding.note_judge import NoteJudge
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.embeddings.tiers import Tiers
from holdfast.text.tokens import index_terms
from holdfast.types import Memory, Scope

DATA = Path(__file__).parent / "data" / "notes.jsonl"
SAID_AT = 1_767_225_600_000_000  # the first day of 2026
ENOUGH = 0.5  # of the labelled words

Row = dict[str, Any]
Counts = dict[str, Counter[str]]
"""By category, how many notes were right, wrong and missed."""


def held_out(row: Row) -> bool:
    """Whether the rules were never tuned on this session."""
    return hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 1


def turns_of(row: Row) -> list[Memory]:
    """The labelled session as the note finder gets it."""
    return [
        Memory(
            id=f"{row['id']}-{number}",
            scope=Scope("project", "bench"),
            kind="turn",
            content=turn["text"],
            created_at=SAID_AT + number,
            updated_at=SAID_AT + number,
            event_time=SAID_AT + number,
            role=turn["role"],
        )
        for number, turn in enumerate(row["turns"])
    ]


def judged(row: Row, notes: list[Note]) -> tuple[list[Note], list[Note], list[Row]]:
    """The right notes, the wrong ones, and the labels that none of them met."""
    waiting: list[Row] = list(row["notes"])
    right, wrong = [], []
    for note in notes:
        met = max(
            (label for label in waiting if meets(note, label)),
            key=lambda label: share(note, label),
            default=None,
        )
        if met is None:
            wrong.append(note)
        else:
            waiting.remove(met)
            right.append(note)
    return right, wrong, waiting


def meets(note: Note, label: Row) -> bool:
    """Whether a note is what a label asks for."""
    return (note.category, note.place) == (label["category"], label.get("place", "project")) and (
        share(note, label) >= ENOUGH
    )


def share(note: Note, label: Row) -> float:
    """Which share of the labelled words a note holds."""
    wanted, held = set(index_terms(label["says"])), set(index_terms(f"{note.text} {note.quote}"))
    return len(wanted & held) / max(len(wanted), 1)


def counted(rows: Iterable[Row], found: dict[str, list[Note]]) -> Counts:
    """Right, wrong and missed notes of sessions, category by category."""
    counts: Counts = defaultdict(Counter)
    for row in rows:
        right, wrong, missed = judged(row, found[row["id"]])
        for outcome, notes in (("right", right), ("wrong", wrong)):
            for note in notes:
                counts[note.category][outcome] += 1
        for label in missed:
            counts[label["category"]]["missed"] += 1
    return counts


def figures(counts: Iterable[Counter[str]]) -> dict[str, float | int]:
    """Precision and recall."""
    total = sum(counts, Counter[str]())
    right, wrong, missed = (total[name] for name in ("right", "wrong", "missed"))
    return {
        "precision": round(right / (right + wrong), 3) if right + wrong else 1.0,
        "recall": round(right / (right + missed), 3) if right + missed else 1.0,
        "notes": right + missed,
        "found": right,
        "wrong": wrong,
    }


def half(rows: list[Row], found: dict[str, list[Note]]) -> dict[str, object]:
    """The figures of some sessions: of all categories together, and of each."""
    counts = counted(rows, found)
    return {
        "sessions": len(rows),
        **figures(counts.values()),
        "by_category": {name: figures([counts[name]]) for name in CATEGORIES},
    }


def mistakes(rows: list[Row], found: dict[str, list[Note]]) -> None:
    """Prints what the rules get wrong and miss in the half they were tuned on."""
    for row in rows:
        if held_out(row):
            continue
        _, wrong, missed = judged(row, found[row["id"]])
        for note in wrong:
            print(
                f"wrong   {row['id']} {row['kind']}: {note.category} at {note.place}: "
                f"{note.text!r} from {note.quote!r}"
            )
        for label in missed:
            print(f"missed  {row['id']} {row['kind']}: {label}")


def read(path: Path = DATA) -> list[Row]:
    """The labelled sessions."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def measure(rows: list[Row], judge: NoteJudge | None = None) -> dict[str, object]:
    """How well the rules find the notes of these sessions, and how long one takes."""
    sessions = {row["id"]: turns_of(row) for row in rows}
    found = {name: find_notes(turns, judge) for name, turns in sessions.items()}
    unseen = half([row for row in rows if held_out(row)], found)
    times = [timed(lambda turns=turns: find_notes(turns, judge)) for turns in sessions.values()]
    return {
        "tuned_on": half([row for row in rows if not held_out(row)], found),
        "held_out": unseen,
        "session_ms": {
            "median": round(median(times) * 1e3, 2),
            "slowest": round(max(times) * 1e3, 2),
        },
        "met_precision_0.9": unseen["precision"] >= 0.9,  # type: ignore[operator]
        "met_recall_0.5": unseen["recall"] >= 0.5,  # type: ignore[operator]
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--mistakes", action="store_true")
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    rows = read(options.data)
    judge = NoteJudge(Tiers.of(OnnxEmbedder())) if options.judge else None
    if options.mistakes:
        mistakes(rows, {row["id"]: find_notes(turns_of(row), judge) for row in rows})
        return
    finish(measure(rows, judge))


if __name__ == "__main__":
    main()
