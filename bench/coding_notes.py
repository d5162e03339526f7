"""Notes of real coding sessions against the labelled places; `bench/coding_sessions.py` calls it.

A note stands at a label's place when its quote and the labelled words overlap. Of the notes at
labelled places the share of each label is counted; of the others only their number, because nobody
has judged them. A note that several sessions of a project hold counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import terminal_logs
from coding_sessions import READ, folder_of, labels, name_of, rows
from holdfast.extraction.coding import Note, find_notes
from holdfast.extraction.coding.note_judge import NoteJudge
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.embeddings.tiers import Tiers
from holdfast.projects.compose_memory import compose
from holdfast.projects.stage1_outputs import Output, Taught
from holdfast.text.token_count import count_tokens
from holdfast.text.tokens import index_terms
from holdfast.transcripts import reader_for
from holdfast.transcripts.base import Entry
from holdfast.types import Memory, Scope

# The first day of 2026, for sessions without a date.
SAID_AT = 1_767_225_600_000_000
# Share of the shorter text that the longer one has to hold.
ENOUGH = 0.6
# Share of the words of something said again that one line of a memory has to hold.
TOLD = 0.5

Row = dict[str, Any]


@dataclass
class Session:
    """A published session, with the lines of its file that each turn stands on."""

    project: str
    half: str
    file: str
    id: str
    turns: list[Memory] = field(default_factory=list)
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def at(self) -> int:
        return self.turns[-1].event_time or SAID_AT


def the_judge() -> NoteJudge:
    """The judge with the bundled encoder."""
    return NoteJudge(Tiers.of(OnnxEmbedder()))


def sessions(folder: Path, half: str | None = None) -> Iterator[Session]:
    """Every session, in the order of its project."""
    for row in rows("coding_sessions.jsonl", half):
        path = folder_of(folder, row) / row["path"]
        file = name_of(row)
        for number, entries in enumerate(_read(path)):
            session = Session(row["project"], row["half"], file, f"{file}:{number}")
            number_of = _line_numbers(path)
            for place, entry in enumerate(entries):
                turn = _turn(f"{session.id}:{place}", entry, _date(row["path"]) + place)
                session.turns.append(turn)
                first, last = entry.lines
                session.lines[turn.id] = (
                    number_of[first - 1],
                    number_of[min(last, len(number_of)) - 1],
                )
            if session.turns:
                yield session


def _read(path: Path) -> Iterator[list[Entry]]:
    reader = reader_for(path)
    if reader is None:
        yield from terminal_logs.sessions(path)
    else:
        for transcript in reader.read(path):
            yield [entry for entry in transcript.entries if not entry.branch]


def _line_numbers(path: Path) -> list[int]:
    """Where each line stands for the labels, which count a lone carriage return as a line's end."""
    numbers = []
    number = 1
    for line in path.read_bytes().split(b"\n"):
        numbers.append(number)
        number += 1 + line.rstrip(b"\r").count(b"\r")
    return numbers


def _date(path: str) -> int:
    """Microseconds of the date or the number in a file's name, so that sessions have an order."""
    found = re.search(r"(\d{4}-\d\d-\d\d)(?:_(\d\d)-(\d\d))?", path)
    if found:
        at = datetime.fromisoformat(f"{found[1]}T{found[2] or '00'}:{found[3] or '00'}:00+00:00")
        return int(at.timestamp()) * 1_000_000
    day = re.search(r"(?:day-|PART)(\d+)", path)
    return SAID_AT + int(day[1]) * 86_400_000_000 if day else SAID_AT


def _turn(name: str, entry: Entry, at: int) -> Memory:
    return Memory(
        id=name,
        scope=Scope("project", "bench"),
        kind="turn",
        content=entry.text,
        created_at=at,
        updated_at=at,
        event_time=entry.at or at,
        role=entry.role,
    )


def met(session: Session, note: Note, label: Row) -> bool:
    """Whether a note stands at the place of a label of this session's file."""
    line = int(label["id"].rsplit("#", 1)[1])
    return _holds(session, note.turns[0], line) and overlap(label["quote"], note.quote)


def _holds(session: Session, turn: str, line: int) -> bool:
    first, last = session.lines[turn]
    return first <= line <= last


def overlap(one: str, other: str) -> bool:
    """Whether most words of the shorter text stand in the longer one, in a row."""
    short, long = sorted((_words(one), _words(other)), key=len)
    if not short:
        return False
    text = f" {' '.join(long)} "
    need = max(1, round(ENOUGH * len(short)))
    spans = (short[start : start + need] for start in range(len(short) - need + 1))
    return any(f" {' '.join(span)} " in text for span in spans)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@dataclass
class Score:
    """How many notes stand at places of each label, and how many useful places they reach."""

    labels: Counter[str] = field(default_factory=Counter)
    notes: int = 0
    useful: int = 0
    reached: int = 0

    def add(self, other: Score) -> None:
        self.labels.update(other.labels)
        self.notes += other.notes
        self.useful += other.useful
        self.reached += other.reached

    def told(self) -> Row:
        judged = sum(self.labels.values())
        bad = self.labels["wrong"] + self.labels["garbage"]
        return {
            "notes": self.notes,
            "at labelled places": judged,
            **dict(self.labels),
            "share useful": round(self.labels["useful"] / judged, 3) if judged else None,
            "share wrong or garbage": round(bad / judged, 3) if judged else None,
            "useful places": self.useful,
            "of them reached": self.reached,
        }


def scored(
    folder: Path,
    half: str,
    found: Sequence[tuple[Session, list[Note]]],
) -> Iterator[tuple[str, Score, list[tuple[Note, str]]]]:
    """The score of each project, and its notes with the label at their place."""
    by_file: dict[str, list[Row]] = {}
    for row in labels(folder, half):
        by_file.setdefault(row["id"].rsplit("#", 1)[0], []).append(row)
    for project in dict.fromkeys(session.project for session, _ in found):
        score = Score()
        told = []
        reached: set[str] = set()
        quoted: set[str] = set()
        own = [pair for pair in found if pair[0].project == project]
        for session, notes in own:
            for note in notes:
                if note.quote in quoted:
                    # Sessions are published in several copies; a memory says it once.
                    continue
                quoted.add(note.quote)
                at = [row for row in by_file.get(session.file, ()) if met(session, note, row)]
                reached |= {row["sha256"] + row["id"] for row in at if row["label"] == "useful"}
                name = _best(at)
                score.notes += 1
                score.labels.update([name] if name else [])
                told.append((note, name))
        files = {session.file for session, _ in own}
        score.useful = sum(
            row["label"] == "useful" for file in files for row in by_file.get(file, ())
        )
        score.reached = len(reached)
        yield project, score, told


def score(folder: Path, half: str | None, *, show: bool = False) -> Row:
    """The figures of every project and of all; `show` prints the notes of the dev half."""
    judge = the_judge()
    figures: Row = {}
    for name in (half,) if half else READ:
        found = [(each, find_notes(each.turns, judge)) for each in sessions(folder, name)]
        every = Score()
        for project, own, told in scored(folder, name, found):
            figures[project] = own.told()
            every.add(own)
            for note, label in told if show and name == "dev" else ():
                print(f"{project}\t{label or '-'}\t{note.text!r}")
        figures[f"all {name}"] = every.told()
    return figures


# What users had to say again


def repeats(folder: Path, half: str | None) -> Row:
    """Which share of what users said again the memory of the sessions before would have told, and
    what it costs.
    """
    judge = the_judge()
    every: dict[str, list[tuple[Session, Output]]] = {}
    for session in sessions(folder, half):
        every.setdefault(session.project, []).append((session, _output(session, judge)))
    told: Counter[str] = Counter()
    tokens: list[int] = []
    for row in rows("coding_repeats.jsonl", half):
        again = row["said_again"].rsplit("#", 1)
        own = every[row["project"]]
        place = next(at for at, (each, _) in enumerate(own) if _is_at(each, *again))
        before = [output for _, output in own[:place] if output.taught.notes][::-1]
        told["said again"] += 1
        if before:
            composed = compose(before)
            tokens.append(count_tokens(composed.summary))
            told["in MEMORY.md"] += _tells(composed.memory, row["what"])
            told["in the summary"] += _tells(composed.summary, row["what"])
    return {
        **dict(told),
        "share in MEMORY.md": round(told["in MEMORY.md"] / told["said again"], 3),
        "tokens of a summary": round(sum(tokens) / len(tokens)) if tokens else 0,
    }


def _output(session: Session, judge: NoteJudge) -> Output:
    notes = tuple(find_notes(session.turns, judge, tentative=True))
    return Output(session.id, session.at, Taught("-", session.id, "", notes))


def _is_at(session: Session, file: str, line: str) -> bool:
    lines = session.lines.values()
    return session.file == file and any(first <= int(line) <= last for first, last in lines)


def _tells(memory: str, what: str) -> bool:
    """Whether one line of a memory holds most of the words of what was said."""
    wanted = set(index_terms(what))
    lines = (set(index_terms(line)) for line in memory.split("\n") if line.startswith("- "))
    return any(len(wanted & line) >= TOLD * len(wanted) for line in lines)


def _best(at: Sequence[Row]) -> str:
    """The label of a note that stands at several places: what most say, of two the worse."""
    counts = Counter(row["label"] for row in at)
    order = ("garbage", "wrong", "trivial", "useful")
    return max(counts, key=lambda name: (counts[name], -order.index(name))) if counts else ""
