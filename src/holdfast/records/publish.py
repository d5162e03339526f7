"""The most useful records, kept in a region of a file that agents read anyway, such as AGENTS.md.

Which records are worth the room is decided here, by how sure, how often used and how recent they
are. They are shown in an order that does not depend on that, so that the file changes only when its
choice does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..context.blocks import (
    Budget,
    Entry,
    Line,
    Measure,
    fit,
    line_tokens,
    render_line,
    text_of,
    under_headings,
)
from ..errors import InvalidInput, Refused
from ..types import DAY, Memory, Micros
from . import atomic_files, managed_region
from .roots import RecordRoot

ORDER = ("principles", "preferences", "procedures", "decisions", "incidents")
# A quarter of what the strictest of the tools that read such files take in.
MOST_BYTES = 8_000
# An incident that is older has been dealt with.
RECENT = 90 * DAY
HALF_LIFE = 365 * DAY
# Characters; a longer record is begun, and its file named.
LONGEST = 600
NOTHING = "No records yet."


@dataclass(frozen=True, slots=True)
class Published:
    """What a file is, what it becomes, and which records are in it then."""

    path: Path
    before: bytes | None
    """None: there is no such file."""
    after: bytes | None
    records: tuple[Memory, ...] = ()
    left_out: int = 0

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Room:
    """How large a region may be, and by what that is measured."""

    limit: int
    measure: Measure

    @classmethod
    def of(cls, *, max_bytes: int | None = None, tokens: int | None = None) -> Room:
        """So many bytes or so many tokens; `MOST_BYTES` when neither is said."""
        if max_bytes is not None and tokens is not None:
            raise InvalidInput(
                "Give the size as bytes or as tokens, not both. Nothing was written."
            )
        if tokens is not None:
            return cls(tokens, line_tokens)
        return cls(MOST_BYTES if max_bytes is None else max_bytes, _bytes)

    def left(self, lines: Iterable[str]) -> int:
        """What is left beside these lines."""
        return self.limit - sum(map(self.measure, lines))


def _bytes(text: str) -> int:
    """How much lines take where their ends take most."""
    return len(f"{text}\n".replace("\n", "\r\n").encode())


# Choosing


def usefulness(record: Memory, now: Micros) -> float:
    """What speaks for a record: how sure it is, how often it was of use, and how lately it was
    written.
    """
    age = max(now - record.updated_at, 0) / HALF_LIFE
    return record.confidence * (1 + math.log1p(record.access_count)) * math.pow(0.5, age)


def worth_telling(records: Iterable[Memory], now: Micros) -> list[Memory]:
    """The records that hold now, most useful first; of incidents the recent ones."""
    holding = [
        one
        for one in records
        if one.category in ORDER
        and (one.valid_until is None or one.valid_until > now)
        and (one.category != "incidents" or one.event_time > now - RECENT)
    ]
    return sorted(holding, key=lambda one: (-usefulness(one, now), one.id))


def compose(
    records: Sequence[Memory],
    place: RecordRoot,
    room: Room,
) -> tuple[str, list[Memory]]:
    """Render a region with as many of these records as fit; return its text and the records."""
    frame = [*_frame(place), _more(len(records)), managed_region.put(None, "").decode()]
    left = room.left(frame)
    if left < 0:
        raise InvalidInput(
            f"A region takes at least {room.limit - left}, and {room.limit} was allowed for it."
        )
    entries = (_entry(record, place) for record in records)
    fitted = fit(entries, Budget(left, room.measure), skip_long=True)
    kept = sorted(fitted, key=_shown_order)
    lines = [*_frame(place), *(under_headings(kept) or [NOTHING])]
    if len(kept) < len(records):
        lines.append(_more(len(records) - len(kept)))
    return "\n".join(lines), [entry.memory for entry in kept]


def _shown_order(entry: Entry) -> tuple[int, str]:
    return ORDER.index(entry.memory.category), entry.memory.id


def _frame(place: RecordRoot) -> list[str]:
    what = "this project" if place.name == "project" else "how I work"
    return [
        f"## What is known about {what}",
        (
            "Notes from earlier sessions, true when they were written. For a task: `holdfast "
            "recall "
            "TASK --format prompt`."
        ),
    ]


def _more(count: int) -> str:
    return f"({count} more: `holdfast record list`.)"


def _entry(record: Memory, place: RecordRoot) -> Entry:
    file = place.root / str(record.metadata.get("file", ""))
    shown = file.relative_to(place.folder) if place.name == "project" else file
    line = Line(text_of(record), whole_in=shown.as_posix())
    heading = f"### {record.category.capitalize()}"
    return Entry(record, render_line(line, characters=LONGEST), heading)


# Writing


def publish(
    path: Path,
    records: Iterable[Memory],
    place: RecordRoot,
    *,
    now: Micros,
    room: Room,
    force: bool,
    plan: bool,
) -> Published:
    """Makes the region of a file say the most useful records. Refused, with the line, when somebody
    wrote in it.

    A file that is not there is made; one without a region gets it at its end, if there is anything
    to say. `force` overwrites what somebody wrote, `plan` writes nothing.
    """
    every = worth_telling(records, now)
    text, kept = compose(every, place, room)
    old = _read(path)
    before, known = _region(path, old, force=force)
    after = managed_region.put(before, text) if kept or known else before
    return _settled(
        Published(path, before, after, tuple(kept), len(every) - len(kept)), old, plan=plan
    )


def withdraw(
    path: Path,
    *,
    force: bool,
    plan: bool,
) -> Published:
    """Takes the region out of a file, which is then as it was before; a file that had nothing else
    is removed.
    """
    old = _read(path)
    before, known = _region(path, old, force=force)
    after = managed_region.take_out(before) if before is not None and known else before
    return _settled(Published(path, before, after), old, plan=plan)


def _read(path: Path) -> atomic_files.Content | None:
    """What a file holds, or the file that a link leads to: `CLAUDE.md` is often one to
    `AGENTS.md`.
    """
    try:
        return atomic_files.read(path.resolve())
    except InvalidInput as error:
        raise InvalidInput(f"{path} {error}. Nothing was written.") from error


def _region(
    path: Path,
    old: atomic_files.Content | None,
    *,
    force: bool,
) -> tuple[bytes | None, managed_region.Region | None]:
    if old is None:
        return None, None
    try:
        known = managed_region.find(old.bytes)
    except InvalidInput as error:
        raise InvalidInput(f"{path} was left as it is: {error}") from None
    if known and known.edited and not force:
        raise Refused(
            f"Somebody wrote in the region of {path} that begins in line {known.line}. Nothing "
            "was changed. Put what "
            "they wrote into a record (holdfast record add) or outside of the region; --force "
            "overwrites it."
        )
    return old.bytes, known


def _settled(
    change: Published,
    old: atomic_files.Content | None,
    *,
    plan: bool,
) -> Published:
    """Writes what changed, whole or not at all."""
    file = change.path.resolve()
    files = atomic_files.Changes()
    if plan or not change.changed:
        return change
    if not file.parent.is_dir():
        raise InvalidInput(f"The folder {file.parent} does not exist. Nothing was written.")
    if old is None:
        files.create(file, change.after or b"")
    elif change.after is None:
        files.delete(file, old)
    else:
        files.replace(file, old, change.after)
    return change
