"""Permanent erasure of a memory, a session or an owner from every place, with a receipt.

`erase` defines the order of the steps: record files, rows and journal, the store's own files, files
built from them, the hook log. Each step is a module of this package; a store offers only primitive
operations. `plan` runs the same transaction and rolls it back, so it is exact.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..records.atomic_files import Changes
from ..records.file_backed_store import FileBackedStore
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, ErasureTarget
from ..types import Micros, Scope, new_id
from . import rows
from .cleanup import enqueue_cleanup, finish
from .hook_log import erase_from_log
from .project_files import rebuild_project_files
from .receipt import Receipt
from .record_files import delete_record_files, describe_deleted
from .rows import ErasedRows, erase_rows, erase_session_rows
from .selection import same_words
from .target import Plan, Target

# Entry points for other packages; the steps are internal.
__all__ = ["Plan", "Target", "erase", "erase_sessions", "finish", "plan"]

NAME_STAYS = (
    "The name {scope} stays in one journal entry that records the erasure, so that a store "
    "synced with this one erases it as well."
)


class _Rehearsed(Exception):
    """Ends a rehearsal by rolling it back."""

    def __init__(self, erased: ErasedRows) -> None:
        super().__init__()
        self.erased = erased


def plan(
    store: Store,
    scopes: Sequence[Scope],
    target: Target,
    author: Author,
) -> Plan:
    """Return what `erase` would do now."""

    def rehearse(tx: Transaction) -> None:
        raise _Rehearsed(erase_rows(tx, scopes, target, author, nonce=""))

    try:
        store.write(author, rehearse)
    except _Rehearsed as rehearsed:
        done = rehearsed.erased
        kept = (*done.fallout.kept, *same_words(store, done.fallout))
        return Plan(
            done.scope,
            done.counts,
            done.fallout.going,
            done.again,
            kept,
        )
    raise AssertionError("a rehearsal always ends by an exception")


def erase(
    files: FileBackedStore,
    scopes: Sequence[Scope],
    target: Target,
    author: Author,
    *,
    wait: float,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Receipt:
    """Erase a target everywhere and return a receipt. Raises NotFound."""
    changes = Changes()
    store: Store = files
    before = len(files.deleted)
    try:
        if target.owner:
            # Before the rows: a remaining file would restore its memory.
            delete_record_files(files.places, scopes[0], changes)
        receipt = _erase_in_store(store, scopes, target, author, wait=wait, progress=progress)
    except BaseException:
        changes.take_back()
        raise
    deleted = [*changes.deleted, *files.deleted[before:]]
    places = [
        describe_deleted(deleted, files.places),
        *(rebuild_project_files(store, scope, target, author) for scope in scopes),
        erase_from_log(scopes[0], target, receipt),
    ]
    found = tuple(place for place in places if place is not None)
    return replace(receipt, places=(*receipt.places, *found))


def erase_sessions(
    tx: Transaction,
    scope: Scope,
    sessions: Sequence[str],
    *,
    at: Micros,
) -> int:
    """Erase sessions with their messages, and their names in rows that stay. Turns stay.

    Returns the number of messages. Raises NotFound.
    """
    messages = erase_session_rows(tx, scope, sessions)
    enqueue_cleanup(tx, scope, at)
    return messages


def _erase_in_store(
    store: Store,
    scopes: Sequence[Scope],
    target: Target,
    author: Author,
    *,
    wait: float,
    progress: Callable[[int, int], None],
) -> Receipt:
    """Erase rows in one transaction, then clean the store's files."""
    nonce = secrets.token_hex(16)
    done = store.write(
        author,
        lambda tx: erase_rows(tx, scopes, target, author, nonce=nonce, progress=progress),
    )
    kept = (*done.fallout.kept, *same_words(store, done.fallout))
    places = [ErasureTarget(name, "clean") for name in rows.PLACES]
    places += finish(store, done.scope, author, wait=wait)
    if target.owner:
        places.append(ErasureTarget("owner's name", "beyond", NAME_STAYS.format(scope=done.scope)))
    return Receipt(
        id=new_id("receipt", author.at),
        at=author.at,
        actor=author.actor,
        run=author.run,
        store=store.location,
        scope=str(done.scope),
        nonce=nonce,
        counts=done.counts,
        items=done.items,
        places=tuple(places),
        again=done.again,
        kept={one.memory.id: one.why for one in kept},
    )
