"""Publish the most useful records in a region of a file that agents read, such as AGENTS.md.

Records are selected by confidence, use and age, but shown in an order that does not depend on
these, so the file changes only when the selection does.
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
# A quarter of the strictest limit among the tools that read such files.
MOST_BYTES = 8_000
# Older incidents are assumed to be resolved.
RECENT = 90 * DAY
HALF_LIFE = 365 * DAY
# Characters; a longer record is cut, with a reference to its file.
LONGEST = 600
NOTHING = "No records yet."


@dataclass(frozen=True, slots=True)
class Published:
    """A file before and after, and the records it then contains."""

    path: Path
    before: bytes | None
    """None if the file does not exist."""
    after: bytes | None
    records: tuple[Memory, ...] = ()
    left_out: int = 0

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Room:
    """Size limit of a region, and its unit."""

    limit: int
    measure: Measure

    @classmethod
    def of(cls, *, max_bytes: int | None = None, tokens: int | None = None) -> Room:
        """Limit in bytes or in tokens; `MOST_BYTES` by default. Raises InvalidInput for both."""
        if max_bytes is not None and tokens is not None:
            raise InvalidInput(
                "Give the size as bytes or as tokens, not both. Nothing was written."
            )
        if tokens is not None:
            return cls(tokens, line_tokens)
        return cls(MOST_BYTES if max_bytes is None else max_bytes, _bytes)

    def left(self, lines: Iterable[str]) -> int:
        """Return what remains besides these lines."""
        return self.limit - sum(map(self.measure, lines))


def _bytes(text: str) -> int:
    """Size with the longest line ends, so that the limit holds on every system."""
    return len(f"{text}\n".replace("\n", "\r\n").encode())


# Choosing


def usefulness(record: Memory, now: Micros) -> float:
    """Score of a record: confidence, weighted by use and by age."""
    # A clock may run ahead of ours; a future time must not raise the score.
    age = max(now - record.updated_at, 0) / HALF_LIFE
    return record.confidence * (1 + math.log1p(record.access_count)) * math.pow(0.5, age)


def worth_telling(records: Iterable[Memory], now: Micros) -> list[Memory]:
    """Return the records valid now, most useful first; incidents only if recent."""
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
    """Write the most useful records into the region of a file.

    Creates a missing file; appends the region to a file without one if there are records. `force`
    overwrites edits, `plan` writes nothing. Raises Refused, with the line, if the region was
    edited.
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
    """Remove the region and restore the file; delete a file that contains nothing else."""
    old = _read(path)
    before, known = _region(path, old, force=force)
    after = managed_region.take_out(before) if before is not None and known else before
    return _settled(Published(path, before, after), old, plan=plan)


def _read(path: Path) -> atomic_files.Content | None:
    """Read a file or the target of a link: `CLAUDE.md` is often a link to `AGENTS.md`."""
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
