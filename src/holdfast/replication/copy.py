"""Copy one store into another, of the same backend or not: all rows, history and vectors, then
verify.

A copy streams in constant memory and commits as it goes. Both stores return rows in the same order,
so an interrupted copy is a prefix of every table; the next one skips what is equal and continues
from there.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np

from ..errors import Conflict, NotFound, StoreError
from ..storage.protocol import Store
from ..storage.row_codec import to_json
from ..storage.schema import TABLES, Table, promised
from ..storage.store_types import Author
from ..text.terminal import counted
from ..types import Scope, Scopes

STEP = 500  # rows per transaction
VECTOR = "vector"
NOUNS = (*TABLES, VECTOR)
Row = dict[str, Any]
Read = Callable[[str, Scope], Iterator[Row]]
Progress = Callable[[int], None]
# Nothing is journalled here, so the actor is never read.
_COPIER = Author("copy", "", 0, "copy")


@dataclass(frozen=True, slots=True)
class Copied:
    """Result of a copy: new rows by type, and rows that already existed; vectors have type
    `vector`.
    """

    scopes: Scopes
    copied: Mapping[str, int]
    already_there: Mapping[str, int]
    digest: str
    """SHA-256 of everything compared. Copies of the same scopes have the same digest on any
    backend.
    """

    @property
    def vectors(self) -> int:
        """Number of copied vectors."""
        return self.copied[VECTOR]


@dataclass(slots=True)
class _Sum:
    """Counter and hash of the rows that pass."""

    rows: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, line: str) -> None:
        self.rows += 1
        self.hash.update(line.encode() + b"\n")

    def __str__(self) -> str:
        return f"{counted(self.rows, 'row')}, SHA-256 {self.hash.hexdigest()}"


_Sums = dict[str, _Sum]
_Lines = Generator[tuple[str, Row], None, None]


def copy_store(
    source: Store,
    target: Store,
    *,
    scopes: Sequence[Scope] | None = None,
    progress: Progress = lambda rows: None,
) -> Copied:
    """Copy scopes, by default all, as of this moment, and compare both sides afterwards.

    An interrupted copy resumes when called again. A scope of the target may hold nothing but a part
    of the same copy; otherwise Conflict is raised before anything in it changes. Raises StoreError
    if the sides differ in the end. Access counts and session activity are copied but not compared,
    because every use changes them. Jobs are not copied: they are the source's own work in progress.
    """
    copied = dict.fromkeys(NOUNS, 0)
    there = dict.fromkeys(NOUNS, 0)
    proof = list[str]()
    with source.snapshot() as rows:
        # Listed after the snapshot was taken: a scope created later just has no rows.
        wanted = _scopes_to_copy(source, rows, scopes)
        for scope in wanted:
            sums = _copy_scope(rows, target, scope, copied, there, progress)
            proof += [f"{scope} {label}: {sum_}\n" for label, sum_ in sums.items()]
    digest = hashlib.sha256("".join(sorted(proof)).encode()).hexdigest()
    return Copied(wanted, copied, there, digest)


def check_source(source: Store, scopes: Sequence[Scope] | None = None) -> None:
    """Raise what `copy_store` would raise because of the source, before there is a target.

    That is NotFound for an empty scope, or the error of a login that may not read all scopes.
    """
    with source.snapshot() as rows:
        _scopes_to_copy(source, rows, scopes)


def _scopes_to_copy(source: Store, rows: Read, scopes: Sequence[Scope] | None) -> Scopes:
    if scopes is None:
        return source.scopes()
    if empty := [scope for scope in scopes if not _holds_anything(rows, scope)]:
        raise NotFound(f"Scope '{empty[0]}' of {source.location} is empty. Nothing was copied.")
    return list(dict.fromkeys(scopes))


def _holds_anything(rows: Read, scope: Scope) -> bool:
    for noun in NOUNS:
        for _ in rows(noun, scope):
            return True
    return False


def _copy_scope(
    rows: Read,
    target: Store,
    scope: Scope,
    copied: dict[str, int],
    there: dict[str, int],
    progress: Progress,
) -> _Sums:
    sums: _Sums = {}
    with ExitStack() as stack:
        streams = {
            noun: stack.enter_context(closing(_lines(rows, noun, scope, sums))) for noun in NOUNS
        }
        # Check all tables before writing any.
        found = {noun: _skip(streams[noun], target, noun, scope) for noun in NOUNS}
        progress(sum(found.values()))
        for noun, stream in streams.items():
            there[noun] += found[noun]
            for step in _steps(stream):
                _write(target, noun, scope, step)
                copied[noun] += len(step)
                progress(len(step))
    _verify(target, scope, sums)
    return sums


def _lines(
    rows: Read,
    noun: str,
    scope: Scope,
    sums: _Sums,
) -> _Lines:
    """Rows of a table with the text by which they are compared; `sums` accumulates them."""
    for row in rows(noun, scope):
        label, line = _vector_line(row) if noun == VECTOR else (noun, _line(TABLES[noun], row))
        sums.setdefault(label, _Sum()).add(line)
        yield line, row


def _line(table: Table, row: Row) -> str:
    values = dict(promised(table.noun, row))
    for name, value in values.items():
        # Not every database keeps the sign of a zero.
        if isinstance(value, float):
            values[name] = value + 0.0
    return to_json(values)


def _vector_line(row: Row) -> tuple[str, str]:
    return f"vectors of {row['model']}", f"{row['model']} {row['memory']} {row[VECTOR]}"


def _skip(
    stream: _Lines,
    target: Store,
    noun: str,
    scope: Scope,
) -> int:
    """Skip the source's rows that the target already has; return their number. Raises Conflict for
    other rows.
    """
    count = 0
    with closing(_lines(target.rows, noun, scope, {})) as theirs:
        for line, row in theirs:
            if next(stream, ("", {}))[0] != line:
                raise Conflict(
                    f"{target.location} holds other data in scope '{scope}': its "
                    f"{_named(noun, row)} is not what the source has in this position. Nothing "
                    "in this scope was changed. Copy into an empty store; also if the source "
                    "has changed since a copy was interrupted."
                )
            count += 1
    return count


def _steps(stream: _Lines) -> Iterator[list[Row]]:
    while step := [row for _, row in islice(stream, STEP)]:
        yield step


def _named(noun: str, row: Row) -> str:
    """Description by which a person can find the row."""
    if noun == "event":
        keys: Sequence[str] = ("target", "run")
    elif noun == VECTOR:
        keys = ("model", "memory")
    else:
        keys = TABLES[noun].key
    return " ".join([noun, *(str(row[key]) for key in keys)])


def _write(
    target: Store,
    noun: str,
    scope: Scope,
    rows: Sequence[Row],
) -> None:
    if noun != VECTOR:
        target.write(_COPIER, lambda tx: tx.restore_many(noun, scope, rows))
        return
    for model, of_model in groupby(rows, key=itemgetter("model")):
        packed = {row["memory"]: base64.b64decode(row[VECTOR]) for row in of_model}
        known = target.get([scope], list(packed))
        target.vectors.add(
            [scope],
            model,
            {one.seq: np.frombuffer(packed[one.id], np.float32) for one in known},
        )


def _verify(
    target: Store,
    scope: Scope,
    sums: _Sums,
) -> None:
    """Read the target back; raises StoreError unless it equals the source."""
    theirs: _Sums = {}
    for noun in NOUNS:
        for _ in _lines(target.rows, noun, scope, theirs):
            pass
    for label in sorted(sums.keys() | theirs.keys()):
        ours = str(sums.get(label, _Sum()))
        others = str(theirs.get(label, _Sum()))
        if ours != others:
            raise StoreError(
                f"The copy of scope '{scope}' in {target.location} differs from the source. "
                f"{label}: {ours} in the source, {others} in the copy. Another program may have "
                "written there: copy into an empty store."
            )
