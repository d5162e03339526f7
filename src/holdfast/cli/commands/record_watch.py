"""`record watch`: follow records while people and programs edit them."""

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

# Milliseconds between two looks at whether the folders are still the same ones.
LOOK = 500
Known = dict[str, Memory]


@record_app.command("watch")
def watch_(store: Store = None, as_json: Json = False) -> None:
    """Print each record of this project and your own as its file changes. Ctrl-C ends it.

    Example: holdfast record watch --json
    """
    stop = threading.Event()
    with open_records(store) as hf, ended_by_signals(stop):
        # As the system reports what lies in them.
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
    """One item when the folders begin to be watched, and one whenever something in them may have
    changed since.

    A folder may go away and come back, as it does when another branch is checked out: it is then
    watched anew.
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
            # The first item comes once the system watches the folders: nothing that changes after
            # it is missed.
            if fresh or changes:
                yield
            fresh = False
            gone = any(
                change is Change.deleted and Path(name) in watched for change, name in changes
            )
            if gone or _there(folders) != watched:
                break


def _there(folders: Sequence[Path]) -> dict[Path, int]:
    """The folders that are there, each with its number on disk: one of the same name may be
    another.
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
    """Brings memory to what the files say, and tells what is new compared with `before`, whoever
    noticed it first.
    """
    try:
        warnings = hf.records.sync_files().warnings
        now = _known(hf)
    except (
        StoreError
    ) as error:  # another process writes for long, or the disk is full: it may be over next time
        print(plain(f"Error: {error}"), file=sys.stderr, flush=True)
        return before
    for warning in warnings:
        if warning not in told:
            print(f"Warning: {plain(str(warning))}", file=sys.stderr, flush=True)
    told.clear()
    told.update(warnings)
    for change, record in differences(before, now):
        _tell(hf, change, record, as_json=as_json)
    return now


def differences(before: Known, now: Known) -> Iterator[tuple[str, Memory]]:
    """What became of the records: added, changed or removed, each with the record."""
    for id_, record in now.items():
        if id_ not in before:
            yield "added", record
        elif _says(before[id_]) != _says(record):
            yield "changed", record
    for id_, record in before.items():
        if id_ not in now:
            yield "removed", record


def _says(record: Memory) -> tuple[Any, ...]:
    """What a person can change of a record; how often it was recalled is not among it."""
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
