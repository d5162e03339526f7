"""Repair of damaged rows for `holdfast doctor --repair`: restores what the journal proves and
quarantines the rest.

A damaged text is never accepted as good. Its stored hash stays, so that the damage remains
detectable and a sound copy, from a sync or a person, is recognised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..text.normal_forms import content_hash
from ..types import Micros, new_id
from .damage import NOT_AS_STORED, QUARANTINED, GarbledRow
from .journal import INSERT_EVENT
from .row_codec import faults, to_json
from .schema import (
    EVENTS,
    MEMORIES,
    MEMORY_COLUMNS,
    MESSAGES,
    PROFILES,
    TABLES,
    Row,
    Statements,
    Table,
)

Values = dict[str, Any]
_FIELDS = ("seq", "scope", "content_hash", *MEMORY_COLUMNS)
SELECT_ALL = f"SELECT {', '.join(_FIELDS)} FROM memories ORDER BY seq"
# Replacement for bytes that could not be decoded.
UNREADABLE = "\ufffd"


def mend(execute: Statements, *, at: Micros) -> None:
    """Restore what the journal proves, quarantine memories that it cannot restore, and journal
    both.
    """
    run = new_id("run", at)
    for row in execute(SELECT_ALL):
        if wrong := wrong_columns(row):
            _mend_memory(execute, dict(zip(_FIELDS, row, strict=True)), wrong, run, at)
    for table in TABLES.values():
        if table not in (MEMORIES, EVENTS):
            _mend_table(execute, table)
    _drop_unreadable_jobs(execute)


def wrong_columns(row: Row) -> dict[str, str]:
    """Return the faults of a memory read as SELECT_ALL, by column; none for a quarantined memory
    that is readable.
    """
    found = faults(MEMORIES, _FIELDS, row)
    values = dict(zip(_FIELDS, row, strict=True))
    aside = values["status_reason"].startswith(QUARANTINED)
    if not found and not aside and content_hash(values["content"]) != bytes(values["content_hash"]):
        found["content"] = NOT_AS_STORED
    return found


def _mend_memory(
    execute: Statements,
    row: Values,
    wrong: Mapping[str, str],
    run: str,
    at: Micros,
) -> None:
    scope = row["scope"]
    seq = row["seq"]
    mended: Values = {}
    if "id" in wrong:
        mended["id"] = _former_id(execute, scope, row["id"]) or row["id"]
    target: str = mended.get("id") or row["id"]
    images = _images(execute, scope, MEMORIES.noun, target)
    lost = (
        dict(wrong)
        if target == row["id"]
        else {name: fault for name, fault in wrong.items() if name != "id"}
    )
    for column in [name for name in lost if name != "id"]:
        value = _told(column, images, bytes(row["content_hash"]))
        if value is not None:
            mended[column] = value
            del lost[column]
        elif lost[column] != NOT_AS_STORED:
            mended[column] = _stand_in(MEMORIES, column, row)
    if lost.keys() == {"content"} and row["content"] == _last(images, "content"):
        # The journal has the same text, so the text is right and the hash was damaged.
        mended["content_hash"], lost = content_hash(row["content"]), {}
    told = {
        name: value
        for name, value in mended.items()
        if name not in ("id", "content_hash") and name not in lost
    }
    # The damaged value cannot be stored as JSON, and undoing the repair must not bring it back.
    before = dict(told)
    if lost:
        aside = _aside(lost, at)
        before |= {name: row[name] for name in aside if name not in wrong}
        mended = mended | aside
        told = told | aside
    _set(execute, MEMORIES, mended, {"scope": scope, "seq": seq})
    # The vectors may have been computed from the damaged text.
    execute("DELETE FROM vectors WHERE scope = ? AND seq = ?", (scope, seq))
    entry = (
        scope,
        run,
        at,
        "doctor",
        "repair",
        MEMORIES.noun,
        target,
        to_json(before),
        to_json(told),
    )
    execute.many(INSERT_EVENT, [entry])


def _aside(lost: Mapping[str, str], at: Micros) -> Values:
    """Return the columns that quarantine a memory: it is not recalled until a person decides."""
    why = "; ".join(f"its {column} {fault}" for column, fault in lost.items())
    return {"status": "archived", "status_at": at, "status_reason": f"{QUARANTINED}{why}"}


def _images(
    execute: Statements,
    scope: int,
    noun: str,
    target: str,
) -> list[Values]:
    """Return the images of a row in the journal, latest first: after each change, or before its
    removal.
    """
    rows = execute(
        (
            "SELECT before, after FROM events WHERE scope = ? AND noun = ? AND target = ? ORDER BY "
            "seq DESC"
        ),
        (scope, noun, target),
    )
    found = []
    for row in rows:
        for image in () if isinstance(row, GarbledRow) else (row[1], row[0]):
            if image and not faults(EVENTS, ("before",), (image,)):
                found.append(json.loads(image))
    return found


def _told(
    column: str,
    images: Iterable[Values],
    stored: bytes,
) -> Any:
    """Return the last good value of a column in the journal, or None. A text is good if it matches
    the stored hash.
    """
    for image in images:
        value = image.get(column)
        if column == "content":
            if isinstance(value, str) and content_hash(value) == stored:
                return value
        elif value is not None and not faults(MEMORIES, (column,), (value,)):
            return value
    return None


def _last(images: Iterable[Values], column: str) -> Any:
    return next((image[column] for image in images if column in image), None)


def _stand_in(
    table: Table,
    column: str,
    row: Values,
) -> Any:
    """Return a readable placeholder for a lost value."""
    if column == "kind":
        return {
            "fact": "fact",
            "rule": "rule",
            "ref": "reflection",
            "doc": "document",
            "skill": "skill",
        }.get(str(row["id"]).partition("_")[0], "episode")
    if column == "status":
        return "archived"
    if column not in table.json:
        # It already has UNREADABLE in place of the lost bytes.
        return row[column]
    if table is MESSAGES:
        return to_json({"damaged": row[column]})
    return "{}" if table is PROFILES else None


def _former_id(
    execute: Statements,
    scope: int,
    id_: str,
) -> str | None:
    """Return the former id of a memory whose id is damaged: the only id in the journal that matches
    and has no memory. None if there is no such id or several.
    """
    rows = execute(
        "SELECT DISTINCT target FROM events e WHERE scope = ? AND noun = 'memory' AND NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.target)",
        (scope,),
    )
    like = re.compile(".".join(map(re.escape, id_.split(UNREADABLE))), re.DOTALL)
    found = [target for (target,) in rows if like.fullmatch(target)]
    return found[0] if len(found) == 1 else None


# Rows of other tables


def _mend_table(execute: Statements, table: Table) -> None:
    for row, wrong in unreadable(execute, table):
        number = row[0]
        values = dict(zip(read_as(table), row, strict=True))
        if any(column in table.key for column in wrong):
            # With a damaged key the row cannot be matched to the journal.
            continue
        target = to_json([values[column] for column in table.key])
        images = _images(execute, number, table.noun, target)
        mended = {}
        for column in wrong:
            told = next((image[column] for image in images if _fits(table, column, image)), None)
            mended[column] = _stand_in(table, column, values) if told is None else told
        _set(
            execute,
            table,
            mended,
            {"scope": number} | {column: values[column] for column in table.key},
        )


def _fits(
    table: Table,
    column: str,
    image: Values,
) -> bool:
    value = image.get(column)
    return value is not None and not faults(table, (column,), (value,))


def unreadable(
    look: Callable[[str], Iterable[Row]], table: Table
) -> Iterator[tuple[Row, dict[str, str]]]:
    """Yield the unreadable rows of a table, read as `read_as`, each with its faults by column."""
    columns = read_as(table)
    for row in look(f"SELECT {', '.join(columns)} FROM {table.name}"):
        if wrong := faults(table, columns, row):
            yield row, wrong


def read_as(table: Table) -> tuple[str, ...]:
    """Return the columns to read when looking for damaged rows of a table."""
    return ("scope", *(("seq",) if table in (EVENTS, MEMORIES) else ()), *table.columns)


def _drop_unreadable_jobs(execute: Statements) -> None:
    """Delete jobs that cannot be read; planning creates them again."""
    for row in execute(
        "SELECT scope, lease_until, watermark, done_watermark, kind, key, error, worker FROM jobs"
    ):
        if isinstance(row, GarbledRow):
            execute(
                "DELETE FROM jobs WHERE scope = ? AND watermark = ? AND done_watermark = ?",
                (row[0], *row[2:4]),
            )


def _set(
    execute: Statements,
    table: Table,
    values: Mapping[str, Any],
    where: Mapping[str, Any],
) -> None:
    if values:
        execute(
            f"UPDATE {table.name} SET {', '.join(f'{column} = ?' for column in values)} "
            f"WHERE {' AND '.join(f'{column} = ?' for column in where)}",
            (*values.values(), *where.values()),
        )
