"""`record watch`: print records as people and programs edit their files."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from ...text.terminal import counted, escaped, plain
from ...types import Memory
from ..app import Json, Store, when
from ..record_roots import every_record, headline, open_records, record_json
from ..signals import ended_by_signals
from .record import record_app

if TYPE_CHECKING:
    from ...client import Holdfast

# Milliseconds between checks that the watched folders still exist.
LOOK = 500
Known = dict[str, Memory]


@record_app.command("watch")
def watch_(store: Store = None, as_json: Json = False) -> None:
    """Print each record of this project and your own as its file changes. Ctrl-C ends it.

    Example: holdfast record watch --json
    """
    stop = threading.Event()
    with open_records(store) as hf, ended_by_signals(stop):
        # Resolved, because the system reports changes by resolved paths.
        folders = [place.root.resolve() for place in hf.records.places]
        known = _known(hf)
        told = set[str]()
        for turn, _ in enumerate(moments_of_change(folders, stop)):
            known = _follow(hf, known, told, as_json=as_json)
            if not turn:
                _greet(folders, len(known))
    print("Stopped.", file=sys.stderr)


def _greet(folders: Sequence[Path], count: int) -> None:
    places = " and ".join(str(folder) for folder in folders)
    print(
        f"Watching {counted(count, 'record')} in {places}. Ctrl-C ends it.",
        file=sys.stderr,
        flush=True,
    )


def moments_of_change(folders: Sequence[Path], stop: threading.Event) -> Iterator[None]:
    """Yield once when watching starts, and after each possible change.

    A folder that is replaced, for example by a branch checkout, is watched again.
    """
    from watchfiles import Change, watch

    while not stop.is_set():
        watched = _there(folders)
        fresh = True
        if not watched:
            yield
            while not _there(folders) and not stop.wait(LOOK / 1000):
                pass
            continue
        for changes in watch(
            *watched, watch_filter=None, rust_timeout=LOOK, yield_on_timeout=True, stop_event=stop
        ):
            # The first item comes when the watch is active, so no later change is missed.
            if fresh or changes:
                yield
            fresh = False
            gone = any(
                change is Change.deleted and Path(name) in watched for change, name in changes
            )
            if gone or _there(folders) != watched:
                break


def _there(folders: Sequence[Path]) -> dict[Path, int]:
    """Return the existing folders with their inodes: a folder may be replaced under the
    same name.
    """
    found = {}
    for folder in folders:
        with suppress(OSError):
            found[folder] = folder.stat().st_ino
    return found


def _known(hf: Holdfast) -> Known:
    return {record.id: record for record in every_record(hf)}


def _follow(
    hf: Holdfast,
    before: Known,
    told: set[str],
    *,
    as_json: bool,
) -> Known:
    """Sync memory with the files and print the differences from `before`."""
    try:
        warnings = hf.records.sync_files().warnings
        now = _known(hf)
    except StoreError as error:
        # Another process writes for long, or the disk is full: it may be over next time.
        print(plain(f"Error: {error}"), file=sys.stderr, flush=True)
        return before
    for warning in warnings:
        # A broken file is warned about at every sync; print a warning once until it is gone.
        if warning not in told:
            print(f"Warning: {plain(str(warning))}", file=sys.stderr, flush=True)
    told.clear()
    told.update(warnings)
    for change, record in differences(before, now):
        _tell(hf, change, record, as_json=as_json)
    return now


def differences(before: Known, now: Known) -> Iterator[tuple[str, Memory]]:
    """Yield each added, changed or removed record."""
    for id_, record in now.items():
        if id_ not in before:
            yield "added", record
        elif _says(before[id_]) != _says(record):
            yield "changed", record
    for id_, record in before.items():
        if id_ not in now:
            yield "removed", record


def _says(record: Memory) -> tuple[Any, ...]:
    """Return the fields that a person can change; access counts are not among them."""
    return (
        record.scope,
        record.category,
        record.title,
        record.content,
        record.status,
        record.tags,
        record.valid_until,
        record.confidence,
        record.metadata,
    )


def _tell(
    hf: Holdfast,
    change: str,
    record: Memory,
    *,
    as_json: bool,
) -> None:
    if as_json:
        document = json.dumps({"change": change, **record_json(hf, record)}, ensure_ascii=False)
        print(escaped(document), flush=True)
    else:
        print(
            (
                f"{when(hf.clock())}  {change:<7}  {record.id}  {record.category}  "
                f"{plain(headline(record))}"
            ),
            flush=True,
        )
