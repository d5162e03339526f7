"""Encoding of the nouns of `types` as table rows, decoding, and detection of damage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import RowDamaged
from ..text.normal_forms import fold
from ..text.tokens import index_terms
from ..types import (
    KINDS,
    STATUSES,
    Edge,
    Entity,
    Event,
    Job,
    Memory,
    Message,
    Scope,
    Session,
    Triple,
)
from .damage import JOURNAL_ENTRY, NOT_JSON, NOT_TEXT, UNKNOWN, Damage, GarbledRow
from .schema import (
    EDGES,
    ENTITIES,
    EVENTS,
    LISTS,
    MEMORIES,
    MEMORY_COLUMNS,
    MESSAGES,
    PROFILES,
    SESSIONS,
    TABLES,
    WORDS,
    Row,
    Rows,
    ScopeOf,
    Table,
)
from .store_types import Candidate

# Sorted keys and fixed separators, so that equal values have equal text: keys and the journal are
# compared as text.
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def to_json(value: Any) -> str:
    """Encode a value as canonical JSON: equal values give equal text."""
    return _CANONICAL.encode(value)


def encode(column: str, value: Any) -> Any:
    """Encode a field of a noun for its column."""
    if column == "triple":
        return to_json(_triple_list(value)) if value else None
    if column == "tags":
        return to_json(list(value)) if value else None
    if column in ("metadata", "detail"):
        return to_json(dict(value)) if value else None
    return int(value) if isinstance(value, bool) else value


def _triple_list(triple: Triple) -> list[str]:
    return [
        triple.subject,
        triple.predicate,
        triple.object,
        triple.subject_type,
        triple.object_type,
    ]


def memory_values(memory: Memory) -> tuple[Any, ...]:
    """Encode a memory as the values of MEMORY_COLUMNS."""
    m = memory
    return (
        m.id,
        m.kind,
        m.category,
        m.status,
        m.status_at,
        m.status_reason,
        m.title,
        m.content,
        m.author,
        m.role,
        m.session,
        m.position,
        m.event_time,
        m.valid_from,
        m.valid_until,
        m.created_at,
        m.updated_at,
        m.confidence,
        m.strength,
        m.decay_rate,
        m.decayed_at,
        int(m.protected),
        m.source,
        m.trust,
        m.quote,
        encode("triple", m.triple),
        m.consolidated_at,
        m.outcome,
        encode("tags", m.tags),
        encode("metadata", m.metadata),
        m.access_count,
        m.last_accessed,
    )


_FIELDS = ("seq", "scope", *MEMORY_COLUMNS)


def memory_from(row: Row, scope_of: ScopeOf) -> Memory:
    """Decode a memory from a row read as SELECT_MEMORY. Like all decoders here, raises RowDamaged
    if it cannot be read.
    """
    fields = dict(zip(_FIELDS, row, strict=True))
    fields["scope"] = scope = scope_of(fields["scope"])
    if type(row) is GarbledRow or fields["kind"] not in KINDS or fields["status"] not in STATUSES:
        raise damaged(MEMORIES, _FIELDS, row, scope)
    fields["protected"] = bool(fields["protected"])
    triple = fields["triple"]
    tags = fields["tags"]
    metadata = fields["metadata"]
    try:
        fields["triple"] = Triple(*json.loads(triple)) if triple else None
        fields["tags"] = tuple(_list(tags)) if tags else ()
        fields["metadata"] = _object(metadata) if metadata else {}
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(MEMORIES, _FIELDS, row, scope) from error
    return Memory.of(fields)


_CANDIDATE = tuple(name.removesuffix("_json") for name in Candidate._fields)
SELECT_CANDIDATE = f"m.{', m.'.join(_CANDIDATE)}"


_candidate = partial(tuple.__new__, Candidate)


def candidates_from(rows: Rows) -> list[Candidate] | None:
    """Decode candidates from rows read as SELECT_CANDIDATE, all at once; None if one of them may be
    damaged.
    """
    found: list[Candidate] = list(map(_candidate, rows))
    if (
        GarbledRow in set(map(type, rows))
        or not {one.kind for one in found}.issubset(KINDS)
        or not {one.status for one in found}.issubset(STATUSES)
        or not all(_is_sound_json(one) for one in found if one.tags_json or one.metadata_json)
    ):
        return None
    return found


def candidate_from(row: Row, scope_of: ScopeOf) -> Candidate:
    """Decode a candidate from a row read as SELECT_CANDIDATE."""
    found = Candidate._make(row)
    if (
        type(row) is GarbledRow
        or found.kind not in KINDS
        or found.status not in STATUSES
        or not _is_sound_json(found)
    ):
        raise damaged(MEMORIES, _CANDIDATE, row, scope_of(found.scope))
    return found


def _is_sound_json(one: Candidate) -> bool:
    return (not one.tags_json or _is_json("tags", one.tags_json)) and (
        not one.metadata_json or _is_json("metadata", one.metadata_json)
    )


def _list(text: str) -> list[Any]:
    value = json.loads(text)
    if type(value) is not list:
        raise ValueError(NOT_JSON)
    return value


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if type(value) is not dict:
        raise ValueError(NOT_JSON)
    return value


# Damaged rows


def faults(
    table: Table,
    columns: Sequence[str],
    row: Row,
) -> dict[str, str]:
    """Return the faults of a row read as these columns, by column; empty if it is sound."""
    garbled = row.garbled if isinstance(row, GarbledRow) else ()
    found = {columns[place]: NOT_TEXT for place in garbled}
    for column, value in zip(columns, row, strict=True):
        if value is None or column in found:
            continue
        known = WORDS.get((table.noun, column))
        if known is not None and value not in known:
            found[column] = UNKNOWN
        elif column in table.json and not _is_json(column, value):
            found[column] = NOT_JSON
    if (
        table is EVENTS
        and "target" in columns
        and not found
        and not _names_a_row(dict(zip(columns, row, strict=True)))
    ):
        found["target"] = NOT_JSON
    return found


def _is_json(column: str, text: str) -> bool:
    try:
        value = _list(text) if column in LISTS else _object(text)
        if column == "triple":
            Triple(*value)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _names_a_row(event: Mapping[str, Any]) -> bool:
    """Whether a journal entry names its row."""
    return event["noun"] == MEMORIES.noun or _is_json("tags", event["target"])


def damaged(
    table: Table,
    columns: Sequence[str],
    row: Row,
    scope: Scope | None,
) -> RowDamaged:
    """Return the error for a row, read as these columns, that cannot be decoded."""
    found = faults(table, columns, row)
    told = (
        "; ".join(f"its {column} {fault}" for column, fault in found.items())
        or "its columns do not fit together"
    )
    noun = _NOUNS.get(table.noun, table.noun)
    name = _name(table, columns, row, found)
    return Damage(scope, noun, name, told, dict(zip(columns, row, strict=True)).get("seq")).error()


_NOUNS = {"event": JOURNAL_ENTRY, "entity_name": "name of an entity", "edge": "link"}
"""Names of rows for people, where they differ from the table's noun."""


def _name(
    table: Table,
    columns: Sequence[str],
    row: Row,
    found: Mapping[str, str],
) -> str:
    """Return the name of a row: its key, or its number if the key is damaged or missing."""
    values = dict(zip(columns, row, strict=True))
    if table.key and not any(column in found for column in table.key):
        return " ".join(str(values[column]) for column in table.key)
    if "seq" in values:
        return f"#{values['seq']}"
    readable = [
        str(values[column]) for column in table.columns if values[column] and column not in found
    ]
    return " ".join(readable)[:80] or "(no name)"


def check_row(
    table: Table,
    columns: Sequence[str],
    row: Row,
    scope: Scope | None,
) -> None:
    """Raise RowDamaged if a text of a row is not UTF-8."""
    if type(row) is GarbledRow:
        raise damaged(table, columns, row, scope)


def session_values(session: Session) -> dict[str, Any]:
    """Encode a session as its column values."""
    return {column: encode(column, getattr(session, column)) for column in SESSIONS.columns}


_SESSION_FIELDS = ("scope", *SESSIONS.columns)


def session_from(row: Row, scope_of: ScopeOf) -> Session:
    """Decode a session from a row read as scope and SESSIONS.columns."""
    (
        number,
        id_,
        agent,
        started_at,
        last_activity,
        ended_at,
        end_reason,
        metadata,
    ) = row
    scope = scope_of(number)
    check_row(SESSIONS, _SESSION_FIELDS, row, scope)
    try:
        known = _object(metadata) if metadata else {}
    except (ValueError, RecursionError) as error:
        raise damaged(SESSIONS, _SESSION_FIELDS, row, scope) from error
    return Session(
        id_,
        scope,
        started_at,
        last_activity,
        agent,
        ended_at,
        end_reason,
        known,
    )


def profile_from(row: Row | None, scope: Scope) -> dict[str, Any]:
    """Decode the profile of a scope from a row read as PROFILES.columns; empty without a row."""
    if row is None:
        return {}
    check_row(PROFILES, PROFILES.columns, row, scope)
    try:
        return _object(row[0])
    except (ValueError, RecursionError) as error:
        raise damaged(PROFILES, PROFILES.columns, row, scope) from error


_MESSAGE_FIELDS = ("scope", *MESSAGES.columns)


def message_from(row: Row, scope_of: ScopeOf) -> Message:
    """Decode a message from a row read as scope and MESSAGES.columns."""
    number, session, position, body, created_at = row
    scope = scope_of(number)
    check_row(MESSAGES, _MESSAGE_FIELDS, row, scope)
    try:
        return Message(scope, session, position, _object(body), created_at)
    except (ValueError, RecursionError) as error:
        raise damaged(MESSAGES, _MESSAGE_FIELDS, row, scope) from error


_EVENT_FIELDS = ("seq", "scope", *EVENTS.columns)


def event_from(row: Row, scope_of: ScopeOf) -> Event:
    """Decode an event from a row read as seq, scope and EVENTS.columns."""
    seq, number, run, at, actor, verb, noun, target, before, after = row
    scope = scope_of(number)
    check_row(EVENTS, _EVENT_FIELDS, row, scope)
    try:
        images = [_object(image) if image else None for image in (before, after)]
        if noun not in TABLES or (noun != MEMORIES.noun and not _list(target) and TABLES[noun].key):
            raise ValueError(UNKNOWN)
    except (ValueError, RecursionError) as error:
        raise damaged(EVENTS, _EVENT_FIELDS, row, scope) from error
    return Event(seq, run, at, actor, verb, scope, noun, target, *images)


def image_from(row: Row, scope: Scope) -> dict[str, Any]:
    """Decode one image of the journal from a row that has only the image."""
    try:
        check_row(EVENTS, ("before",), row, scope)
        return _object(row[0])
    except (ValueError, RecursionError) as error:
        raise Damage(
            scope, JOURNAL_ENTRY, "of a removed row", f"its image {NOT_JSON}"
        ).error() from error


_EDGE_FIELDS = ("scope", *EDGES.columns)


def edge_from(row: Row, scope_of: ScopeOf) -> Edge:
    """Decode an edge from a row read as scope and EDGES.columns."""
    number, source, target, relation, created_at, reason = row
    scope = scope_of(number)
    if type(row) is GarbledRow or relation not in WORDS["edge", "relation"]:
        raise damaged(EDGES, _EDGE_FIELDS, row, scope)
    return Edge(scope, source, target, relation, created_at, reason)


def job_from(row: Row, scope_of: ScopeOf) -> Job:
    """Decode a job from a row read as scope and JOB_COLUMNS."""
    number, *values = row
    return Job(scope_of(number), *values)


def entity_from(
    row: Row,
    names: Sequence[str],
    scope_of: ScopeOf,
    *,
    mentions: int = 0,
) -> Entity:
    """Decode an entity from a row read as scope and ENTITIES.columns, and all its names."""
    number, id_, name, type_, summary, created_at = row
    check_row(ENTITIES, ("scope", *ENTITIES.columns), row, scope_of(number))
    aliases = tuple(other for other in names if fold(other) != fold(name))
    return Entity(id_, scope_of(number), name, type_, created_at, aliases, summary, mentions)


def entity_names(entity: Entity) -> dict[str, str]:
    """Return every name of an entity by its folded form; the canonical name wins."""
    names = {fold(alias): alias for alias in entity.aliases}
    return names | {fold(entity.name): entity.name}


def exported(
    table: Table,
    values: Row,
    scope: Scope | None = None,
) -> dict[str, Any]:
    """Return a row as exported: JSON columns parsed, empty columns omitted, no numbers that are
    local to this store.
    """
    row = _opened(table, values, scope)
    if table is EVENTS and row.get("before"):
        row["before"].pop("seq", None)
    return row


def _opened(
    table: Table,
    values: Row,
    scope: Scope | None,
) -> dict[str, Any]:
    row: dict[str, Any] = {}
    try:
        check_row(table, table.columns, values, scope)
        for column, value in zip(table.columns, values, strict=True):
            if value is not None:
                row[column] = _opened_value(table, column, value)
        if table is EVENTS and not _names_a_row(row):
            raise ValueError(NOT_JSON)
    except (ValueError, RecursionError) as error:
        raise damaged(table, table.columns, values, scope) from error
    return row


def _opened_value(
    table: Table,
    column: str,
    value: Any,
) -> Any:
    if column in table.json:
        return _list(value) if column in LISTS else _object(value)
    known = WORDS.get((table.noun, column))
    if known is not None and value not in known:
        raise ValueError(UNKNOWN)
    return value


def imported(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column values of an exported row."""
    return {
        column: to_json(row[column])
        if column in table.json and row.get(column) is not None
        else row.get(column)
        for column in table.columns
    }


def indexed_text(
    title: str,
    content: str,
    tags: Sequence[str],
) -> str:
    """Return the text of a memory that the full-text index and the embedders use."""
    if not title and not tags:
        return content
    return "\n".join(part for part in (title, content, " ".join(tags)) if part)


def terms_of(
    title: str,
    content: str,
    tags: str | None,
) -> list[str]:
    """Return the full-text terms of a memory from its columns; damaged tags are ignored."""
    named = _list(tags) if tags and _is_json("tags", tags) else ()
    return index_terms(indexed_text(title, content, named))
