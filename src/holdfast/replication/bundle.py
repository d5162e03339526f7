"""Lossless export and import: one JSON object per line, in constant memory.

    {"bundle":"holdfast","version":1,"history":true}      header
    {"type":"memory","scope":"user:me","id":"fact_…",…}   rows, scope by scope, in insertion order
    {"type":"end","rows":12,"sha256":"…"}                 checksum of all lines above
    {"type":"vector",…}                                   optional: vectors, to avoid re-embedding

Rows carry no sequence numbers of their store, so exporting an imported bundle gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..errors import InvalidInput, StoreError
from ..storage.protocol import Store, Transaction
from ..storage.row_codec import to_json
from ..storage.schema import TABLES, promised
from ..storage.store_types import Author
from ..types import Scope

# Format version; a reader refuses newer ones.
VERSION = 1
# Vectors per transaction. They come after the rows, which are one transaction.
VECTOR_STEP = 500
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: new rows by type, and how many already existed."""

    added: Mapping[str, int]
    skipped: int
    vectors: int = 0


def export(
    store: Store,
    scopes: Sequence[Scope],
    *,
    history: bool = True,
    vectors: bool = False,
) -> Iterator[str]:
    """Lines of a bundle with their line ends, all from one snapshot."""
    nouns = [noun for noun in TABLES if noun != "event" or history]
    with store.snapshot() as rows:
        lines = chain.from_iterable(_lines(rows, nouns, scope) for scope in scopes)
        yield from _sealed(lines, history=history)
        if not vectors:
            return
        for scope in scopes:
            yield from _lines(rows, ["vector"], scope)


def comparable(lines: Iterable[str]) -> list[str]:
    """Rows of a bundle without usage counters: equal after an undo, after a sync and in a copy.
    Header and end line, which contain checksums, are left out.
    """
    rows = (_parsed(number, line) for number, line in enumerate(lines, start=1))
    return [to_json(promised(row["type"], row)) for row in rows if row.get("type") in TABLES]


def _lines(
    rows: Callable[[str, Scope], Iterator[dict[str, Any]]],
    nouns: Sequence[str],
    scope: Scope,
) -> Iterator[str]:
    for noun in nouns:
        for row in rows(noun, scope):
            yield to_json({"type": noun, "scope": str(scope), **_apart(row)}) + "\n"


def _apart(row: dict[str, Any]) -> dict[str, Any]:
    """Row with its own `type` column, as entities have, renamed to avoid the line's `type`."""
    renamed = {}
    for name, value in row.items():
        renamed["its_type" if name == "type" else name] = value
    return renamed


def _sealed(lines: Iterable[str], *, history: bool) -> Iterator[str]:
    header = to_json({"bundle": "holdfast", "version": VERSION, "history": history}) + "\n"
    digest = hashlib.sha256(header.encode())
    count = 0
    yield header
    for line in lines:
        digest.update(line.encode())
        count += 1
        yield line
    yield to_json({"type": "end", "rows": count, "sha256": digest.hexdigest()}) + "\n"


def import_bundle(
    store: Store,
    author: Author,
    lines: Iterable[str],
    *,
    into: Scope | None = None,
    kept: Container[tuple[str, str]] = (),
    progress: Progress = lambda n: None,
) -> Imported:
    """Import a bundle atomically.

    Existing rows are skipped, so imports are idempotent. `into` renames the bundle's scope. `kept`
    names memories, by scope and id, that the import must not change.
    """
    source = enumerate(lines, start=1)
    header_line, header = _header(source)
    begun = False

    def work(tx: Transaction) -> Imported:
        nonlocal begun
        if (
            begun
            # The connection to a server was lost, and a consumed stream cannot be read again.
        ):
            raise StoreError(
                "The connection was lost during the import. Nothing was imported; import it again."
            )
        begun = True
        return _take_truth(
            tx,
            source,
            header_line,
            header,
            into,
            kept,
            progress,
        )

    taken = store.write(author, work)
    return Imported(
        taken.added,
        taken.skipped,
        _take_vectors(store, source, into, progress),
    )


def _header(source: Iterator[tuple[int, str]]) -> tuple[str, dict[str, Any]]:
    line = next(source, (1, ""))[1]
    header = dict[str, Any]()
    # What is no JSON at all is no bundle either, and is told so.
    with suppress(InvalidInput):
        header = _parsed(1, line)
    if header.get("bundle") != "holdfast":
        raise InvalidInput(
            "This is not a Holdfast bundle: the first line is no header. Nothing was imported. "
            "The file of another memory needs its format: holdfast import FORMAT FILE"
        )
    if header.get("version") != VERSION:
        raise InvalidInput(
            f"The bundle has version {header.get('version')}, this Holdfast reads {VERSION}. "
            "Nothing was imported. Import it with the version that wrote it, or a newer one."
        )
    return line, header


def _take_truth(
    tx: Transaction,
    source: Iterator[tuple[int, str]],
    header_line: str,
    header: Mapping[str, Any],
    into: Scope | None,
    kept: Container[tuple[str, str]],
    progress: Progress,
) -> Imported:
    digest = hashlib.sha256(header_line.encode())
    added = dict.fromkeys(TABLES, 0)
    skipped = 0
    for seen, (number, line) in enumerate(source):
        row = _parsed(number, line)
        noun = row.pop("type", None)
        if noun == "end":
            if (row.get("rows"), row.get("sha256")) != (seen, digest.hexdigest()):
                raise InvalidInput(
                    "The bundle was changed or damaged: its checksum does not match. Nothing "
                    "was imported."
                )
            return Imported(added, skipped)
        if noun not in TABLES:
            raise InvalidInput(f"Line {number}: unknown type {noun!r}. Nothing was imported.")
        digest.update(line.encode())
        if into is not None:
            row["scope"] = str(into)
        is_kept = noun == "memory" and (row.get("scope"), row.get("id")) in kept
        is_new = not is_kept and _restore(tx, number, noun, row, journal=not header.get("history"))
        added[noun] += is_new
        skipped += not is_new
        progress(1)
    raise InvalidInput(
        "The bundle is cut off: its last line is missing. Nothing was imported. Export it again."
    )


def _restore(
    tx: Transaction,
    number: int,
    noun: str,
    row: dict[str, Any],
    *,
    journal: bool,
) -> bool:
    if "its_type" in row:
        row["type"] = row.pop("its_type")
    try:
        return tx.restore_row(noun, row, journal=journal)
    except InvalidInput as error:
        raise InvalidInput(f"Line {number}: {error} Nothing was imported.") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"Line {number}: this {noun} is incomplete ({error}). Nothing was imported."
        ) from error


def _parsed(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        line.encode()
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Line {number} is not JSON ({error}). Nothing was imported.") from error
    if not isinstance(row, dict):
        raise InvalidInput(f"Line {number} is not a JSON object. Nothing was imported.")
    return row


def _take_vectors(
    store: Store,
    source: Iterator[tuple[int, str]],
    into: Scope | None,
    progress: Progress,
) -> int:
    waiting: dict[str, Any] = {}
    place = None
    count = 0
    for number, line in source:
        here, memory, vector = _vector(number, line, into)
        if waiting and (here != place or len(waiting) >= VECTOR_STEP):
            count += _store_vectors(store, place, waiting)
            waiting = {}
        place, waiting[memory] = here, vector
        progress(1)
    return count + _store_vectors(store, place, waiting)


RowKey = tuple[Scope, str]
"""Scope and model of a group of vectors."""


def _vector(
    number: int,
    line: str,
    into: Scope | None,
) -> tuple[RowKey, str, Any]:
    """Parse one vector. The memories are already imported, so an error here costs only vectors."""
    try:
        row = _parsed(number, line)
        vector = np.frombuffer(base64.b64decode(row["vector"], validate=True), np.float32)
        if row["type"] != "vector" or not vector.size or not np.isfinite(vector).all():
            raise ValueError("no vector")
        return (into or Scope.parse(row["scope"]), str(row["model"])), str(row["memory"]), vector
    except (InvalidInput, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"Line {number} is not a vector. The memories were imported, the vectors from here "
            "on were not. Recompute them with `holdfast store reembed`."
        ) from error


def _store_vectors(
    store: Store,
    place: RowKey | None,
    vectors: Mapping[str, Any],
) -> int:
    if place is None:
        return 0
    scope, model = place
    known = {memory.seq: vectors[memory.id] for memory in store.get([scope], list(vectors))}
    store.vectors.add([scope], model, known)
    return len(known)
