"""Output: tables and colours for people, plain lines for pipes, JSON for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..text.reference import read_in
from ..text.terminal import escaped, plain, shorten
from ..types import Edge, Event, Hit, Memory, Micros, iso, to_datetime
from ..values import asdict
from .exit_codes import PARTLY

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from ..storage.store_types import Spent

LONG = ("text", "project", "why")
"""Columns that may need more than a line: sentences and paths."""
# Minimum width at which a sentence is readable.
LEAST = 30


def when(micros: Micros | None) -> str:
    """Format a time for people: local time zone, to the minute."""
    if micros is None:
        return ""
    return to_datetime(micros).astimezone().strftime("%Y-%m-%d %H:%M")


def json_time(micros: Micros | None) -> str | None:
    """Format a time for scripts: ISO 8601 in UTC."""
    return None if micros is None else iso(micros)


def emit(value: Any) -> None:
    """Print one JSON document."""
    # An output that is not UTF-8 could not encode every character, so JSON escapes are used.
    is_narrow = (getattr(sys.stdout, "encoding", None) or "").lower() not in ("utf-8", "utf8")
    print(escaped(json.dumps(value, ensure_ascii=is_narrow, indent=2)))


def left_out(damaged: Sequence[object], doctor: str) -> None:
    """List damaged rows, if any, and exit with PARTLY."""
    for one in damaged:
        print(f"Left out, because it cannot be read: {plain(str(one))}.", file=sys.stderr)
    if damaged:
        print(f"Everything else is there. What can be done about it: {doctor}", file=sys.stderr)
        raise SystemExit(PARTLY)


def tell_each(
    changes: Iterable[Memory],
    json_of: Callable[[Memory], Any],
    say: Callable[[Memory], None],
    *,
    as_json: bool,
) -> None:
    """Report each change as it is made; for scripts, one JSON document with all."""
    if not as_json:
        for changed in changes:
            say(changed)
        return
    told = [json_of(changed) for changed in changes]
    # One id gives one object, so that simple scripts need no list.
    emit(told[0] if len(told) == 1 else told)


def memory_json(memory: Memory, **more: Any) -> dict[str, Any]:
    """Return a memory for scripts: all non-empty fields, times in ISO."""
    fields = asdict(memory)
    fields["scope"] = str(memory.scope)
    fields["layer"] = memory.layer
    for name, value in fields.items():
        if name.endswith(("_at", "_time", "_until", "_from", "_accessed")):
            fields[name] = json_time(value)
    return {name: value for name, value in fields.items() if value not in (None, "", (), {})} | more


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit for scripts."""
    why = {
        "summary": str(hit.why),
        "arms": dict(hit.why.arms),
        "signals": {signal.name: round(signal.share, 4) for signal in hit.why.signals},
        "model": hit.why.model,
    }
    memory = memory_json(hit.memory)
    # What identifies the memory comes first.
    first = {name: memory.pop(name) for name in ("id", "kind", "category", "content")}
    return {**first, "score": round(hit.score, 4), "why": why, "strength": hit.strength, **memory}


def event_json(event: Event) -> dict[str, Any]:
    """Return a journal entry for scripts."""
    return asdict(event) | {"scope": str(event.scope), "at": json_time(event.at)}


def edge_json(edge: Edge) -> dict[str, Any]:
    """Return a link for scripts."""
    return asdict(edge) | {"scope": str(edge.scope), "created_at": json_time(edge.created_at)}


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    empty: str,
    headed: bool = False,
) -> None:
    """Print a table on a terminal, or tab-separated cells to a pipe, with names if `headed`."""
    cells = [[plain(cell) for cell in row] for row in rows]
    if not cells:
        print(empty)
    elif sys.stdout.isatty():
        _rich_table(columns, cells)
    else:
        for row in [[*columns], *cells] if headed else cells:
            # Tabs and line ends inside a cell would break the columns for `cut` and `awk`.
            print("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))


def _rich_table(columns: Sequence[str], rows: list[list[str]]) -> None:
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]
    room = console.width - sum(
        width + 2 for name, width in zip(columns, widths, strict=True) if name not in LONG
    )
    if any(
        min(width, LEAST) > room
        for name, width in zip(columns, widths, strict=True)
        if name in LONG
    ):
        _stacked(console, columns, widths, rows)
        return
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold", ratio=1 if column in ("text", "project") else None)
    for row in rows:
        # As `Text`, because rich would interpret [brackets] in a string as markup.
        grid.add_row(*(Text(cell) for cell in row))
    console.print(grid)


def _stacked(
    console: Console,
    columns: Sequence[str],
    widths: Sequence[int],
    rows: list[list[str]],
) -> None:
    """Print a table for a narrow terminal: long cells go below the others, so that ids stay
    whole.
    """
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.text import Text

    def line(cells: Sequence[str]) -> str:
        short = [
            cell + " " * (min(width, LEAST) - cell_len(cell))
            for name, cell, width in zip(columns, cells, widths, strict=True)
            if name not in LONG
        ]
        return "  ".join(short).rstrip()

    console.print(Text(line(columns), style="bold"))
    for row in rows:
        console.print(Text(line(row)))
        for name, cell in zip(columns, row, strict=True):
            if name in LONG and cell:
                console.print(Padding(Text(cell, overflow="fold"), (0, 0, 0, 4)))


def memories(found: Sequence[Memory], states: Mapping[str, str] | None = None) -> None:
    """Print a list of memories, one line each; `states` has the earlier and the later of two facts
    that may exclude each other, by id.
    """
    known = states or {}
    # A pipe gets the whole text.
    wide = sys.stdout.isatty()
    rows = [
        (
            str(m.seq),
            m.id,
            m.kind,
            m.category,
            f"{m.status}, {known[m.id]}" if m.id in known else m.status,
            when(m.event_time),
            shorten(m.content, 400 if wide else 10**6),
        )
        for m in found
    ]
    table(("#", "id", "kind", "category", "status", "when", "text"), rows, empty="No memories.")


def typed(memory: Memory, width: int) -> str:
    """Format an agent's memory in one line: number, type, category, time and beginning."""
    text = plain(" ".join(memory.content.split()))[:width]
    return (
        f"#{memory.seq} [{memory.layer}:{plain(memory.category)}] "
        f"({json_time(memory.created_at)}) {text}"
    )


def waiting(count: int, **options: str) -> str:
    """Format a line saying that memories wait for review; `options` name store and scope."""
    from shlex import quote

    where = "".join(f" --{name} {quote(value)}" for name, value in options.items())
    return (
        f"{count} {'memory waits' if count == 1 else 'memories wait'} for you: holdfast "
        f"review{where}"
    )


def hits(found: Sequence[Hit], *, reasons: bool) -> None:
    """Print recall results, best first."""
    columns = ("score", "strength", "id", "kind", "when", "text", *(("why",) if reasons else ()))
    rows = [
        (
            f"{hit.score:.3f}",
            hit.strength,
            hit.memory.id,
            hit.memory.kind,
            when(hit.memory.event_time),
            _told(hit.memory),
            *((str(hit.why),) if reasons else ()),
        )
        for hit in found
    ]
    table(columns, rows, empty="Nothing relevant is known.")


def _told(memory: Memory) -> str:
    """Format a memory in one line, with its author and source file."""
    place = read_in(memory)
    # No text is that long: `shorten` only joins its lines here.
    return (
        f"{memory.author}: " * bool(memory.author)
        + shorten(memory.content, 10**6)
        + f" ({place})" * bool(place)
    )


def brief(text: str, format: str) -> None:
    """Print a brief unchanged; print nothing if it is empty."""
    if format == "json":
        # `emit` escapes characters that the output cannot encode.
        emit(json.loads(text))
    elif text:
        print(text)


def fields(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print name-value pairs, one per line, without empty values."""
    for name, value in pairs:
        if value not in (None, "", (), {}, []):
            print(f"{name:<12} {plain(str(value))}")


def size(count: float) -> str:
    """Format a number of bytes for people.

    >>> size(250), size(12_300_000_000)
    ('250 bytes', '12.3 GB')
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"


@contextmanager
def progress(
    label: str,
    total: int | None = None,
    *,
    clock: Callable[[], float] | None = None,
) -> Iterator[Progress]:
    """Show a progress bar on stderr, only on a terminal, with an estimate once the total is
    known.

    `clock` returns seconds; by default those of the computer.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns,
        console=console,
        disable=not console.is_terminal,
        transient=True,
        get_time=clock,
        # Redirected, lines go above the bar, but to stderr. A pipe gets them as ever.
        redirect_stdout=sys.stdout.isatty(),
    ) as bar:
        bar.add_task(label, total=total)
        yield bar


def advance(bar: Progress, steps: int) -> None:
    """Advance the first task of a bar."""
    task: TaskID = bar.tasks[0].id
    bar.advance(task, steps)


def follow(bar: Progress) -> Callable[[int, int], None]:
    """Return a callback that sets the first task of a bar to so many steps of so many."""
    task: TaskID = bar.tasks[0].id

    def show(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)

    return show


def cost(asked: Spent, price: float | None = None) -> str:
    """Describe an estimated cost in language model calls, with its price in dollars if known."""
    if not asked.calls:
        return "No language model would be asked."
    dollars = "" if price is None else f" About ${price:.4f} at list price."
    return (
        f"The language model would be asked {times(asked.calls)}, about {asked.tokens:,} "
        f"tokens there and back.{dollars}"
    )


def times(count: int) -> str:
    """Return how often something happens, in words."""
    return "once" if count == 1 else f"{count} times"


def spending(used: Mapping[str, int]) -> str:
    """Describe today's language model usage; empty if there was none."""
    if not used["calls"]:
        return ""
    return f"asked {times(used['calls'])} today, {used['tokens']:,} of {used['per_day']:,} tokens"
