"""Journalled changes inside one transaction, written once for every SQL backend.

A backend gives its statements, new numbers, and how a memory enters and leaves its full-text index.
Every other change is rows in tables, so the journal and its undo know nothing of what the rows mean.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Conflict, InvalidInput, NotFound, Refused
from ..text.tokens import index_terms
from ..types import Edge, Entity, Event, Events, Job, Memories, Memory, Scope, Session
from .base import Author
from .filters import marks
from .rows import (
    EDGES,
    ENTITIES,
    ENTITY_NAMES,
    EVENTS,
    MEMORIES,
    MEMORY_COLUMNS,
    MENTIONS,
    SELECT_MEMORY,
    SESSIONS,
    TABLES,
    Statements,
    Table,
    claim,
    content_hash,
    encode,
    entity_names,
    event_from,
    exported,
    imported,
    indexed_text,
    memory_from,
    memory_values,
    session_from,
    session_values,
    to_json,
)

INSERT_MEMORY = (
    f"INSERT INTO memories (seq, scope, content_hash, terms, {', '.join(MEMORY_COLUMNS)}) "
    f"VALUES ({marks((None,) * (len(MEMORY_COLUMNS) + 4))})"
)
INSERT_EVENT = (
    "INSERT INTO events (scope, run, at, actor, verb, noun, target, before, after) VALUES (?,?,?,?,?,?,?,?,?)"
)
PURGED = "purged"
Indexed = tuple[int, int, Sequence[str], bool]
"""A memory for the full-text index: its `seq`, its scope's number, its terms, whether it is active."""
PAGE = 500  # values per statement
# Columns that hold the id of a row elsewhere: it must be there.
_POINTS_TO: Mapping[str, tuple[tuple[str, Table], ...]] = {
    "edge": (("source", MEMORIES), ("target", MEMORIES)),
    "mention": (("memory", MEMORIES), ("entity", ENTITIES)),
    "entity_name": (("entity", ENTITIES),),
}
# What keeps an added thing from being taken back: later rows that would point to nothing.
_STANDING_ON: Mapping[str, tuple[tuple[str, str], ...]] = {
    "memory": (
        ("SELECT 1 FROM edges WHERE scope = ? AND source = ? LIMIT 1", "linked to other memories"),
        ("SELECT 1 FROM edges WHERE scope = ? AND target = ? LIMIT 1", "linked to by other memories"),
    ),
    "session": (("SELECT 1 FROM memories WHERE scope = ? AND session = ? LIMIT 1", "continued by later turns"),),
    "entity": (
        ("SELECT 1 FROM mentions WHERE scope = ? AND entity = ? LIMIT 1", "mentioned by other memories"),
        ("SELECT 1 FROM entity_names WHERE scope = ? AND entity = ? LIMIT 1", "known by other names"),
    ),
}


class RowWriter(ABC):
    """One transaction's changes; see `Writer` in base.py for what each promises."""

    def __init__(self, author: Author, statements: Statements) -> None:
        self._author = author
        self.execute = statements
        self._numbers: dict[Scope, int] = {}
        self._names: dict[int, Scope] = {}
        self._totals: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._entries: list[tuple[Any, ...]] = []

    @abstractmethod
    def new_seqs(self, count: int) -> Sequence[int]:
        """Numbers for new memories, rising, that no memory has had before."""

    @abstractmethod
    def index(self, memories: Sequence[Indexed]) -> None:
        """Puts new memories into the full-text index."""

    @abstractmethod
    def unindex(self, memory: Indexed) -> None:
        """Takes a memory out of the full-text index."""

    @abstractmethod
    def add_totals(self, number: int, active: int, terms: int, entries: int) -> None:
        """Adds to a scope's running totals: active memories, their terms, entries of the journal."""

    # Memories

    def memory(self, scope: Scope, ref: str | int) -> Memory | None:
        column = "seq" if isinstance(ref, int) else "id"
        rows = self.execute(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope = ? AND m.{column} = ?",
            (self.known(scope), ref),
        )
        return memory_from(rows[0], self.scope) if rows else None

    def same_content(self, memories: Sequence[Memory]) -> dict[str, Memory]:
        found: dict[str, Memory] = {}
        for start in range(0, len(memories), PAGE):
            found |= self._same_content(memories[start : start + PAGE])
        return found

    def _same_content(self, memories: Sequence[Memory]) -> dict[str, Memory]:
        numbers = sorted({self.known(memory.scope) for memory in memories})
        hashes = [content_hash(memory.content) for memory in memories]
        rows = self.execute(
            f"SELECT scope, content_hash, seq FROM memories WHERE scope IN ({marks(numbers)}) "
            f"AND content_hash IN ({marks(hashes)})",
            (*numbers, *hashes),
        )
        # Nearly always there is none, and the index alone says so.
        twins = [self.memory(self.scope(number), seq) for number, _, seq in sorted(rows, key=lambda row: row[2])]
        oldest: dict[tuple[Any, ...], Memory] = {}
        for twin in twins:
            if twin is not None and twin.status == "active":
                oldest.setdefault(claim(twin), twin)
        return {memory.id: oldest[claim(memory)] for memory in memories if claim(memory) in oldest}

    def add(self, memory: Memory) -> Memory:
        return self.add_many([memory])[0]

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        numbers = {memory.scope: self.number(memory.scope) for memory in memories}
        rows, indexed, seqs = [], [], self.new_seqs(len(memories))
        for seq, memory in zip(seqs, memories, strict=True):
            number, active = numbers[memory.scope], memory.status == "active"
            terms = index_terms(indexed_text(memory.title, memory.content, memory.tags))
            rows.append((seq, number, content_hash(memory.content), len(terms), *memory_values(memory)))
            indexed.append((seq, number, terms, active))
            if active:
                self._count(number, 1, len(terms))
            self._journal(number, "memory", memory.id, None, None)
        self.execute.many(INSERT_MEMORY, rows)
        self.index(indexed)
        return [memory.with_(seq=seq) for seq, memory in zip(seqs, memories, strict=True)]

    def change(self, memory: Memory, **fields: Any) -> Memory:
        if "content" in fields or "id" in fields:
            raise InvalidInput("A memory's text does not change: correct it, which stores a new one.")
        wanted = {name: encode(name, value) for name, value in fields.items()}
        self._update(MEMORIES, memory.scope, (memory.id,), wanted)
        changed = self.memory(memory.scope, memory.id)
        if changed is None:
            raise NotFound(f"No memory {memory.id!r} in scope '{memory.scope}'.")
        return changed

    def remove(self, memory: Memory) -> None:
        number = self.number(memory.scope)
        for entity, _ in self.execute(
            "SELECT entity, memory FROM mentions WHERE scope = ? AND memory = ?", (number, memory.id)
        ):
            self._delete(MENTIONS, memory.scope, (entity, memory.id))
        for source, target, relation in self.execute(
            "SELECT source, target, relation FROM edges WHERE scope = ? AND (source = ? OR target = ?)",
            (number, memory.id, memory.id),
        ):
            self._delete(EDGES, memory.scope, (source, target, relation))
        self._delete(MEMORIES, memory.scope, (memory.id,))

    def purge(self, memory: Memory) -> None:
        self.remove(memory)
        self._write_journal()
        self.execute(
            "UPDATE events SET before = ?, after = NULL WHERE scope = ? AND noun = 'memory' AND target = ? "
            "AND before IS NOT NULL",
            (to_json({PURGED: True, "seq": memory.seq}), self.number(memory.scope), memory.id),
        )

    def link(self, edge: Edge) -> None:
        row = {column: getattr(edge, column) for column in EDGES.columns}
        if self._row(EDGES, edge.scope, (edge.source, edge.target, edge.relation)) is None:
            self._insert_pointing(EDGES, edge.scope, row)

    # Sessions

    def next_position(self, scope: Scope, session: str) -> int:
        rows = self.execute(
            "SELECT max(position) FROM memories WHERE scope = ? AND session = ?", (self.known(scope), session)
        )
        return rows[0][0] + 1 if rows[0][0] is not None else 0

    def session(self, scope: Scope, session: str) -> Session | None:
        rows = self.execute(
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope = ? AND id = ?",
            (self.known(scope), session),
        )
        return session_from(rows[0], self.scope) if rows else None

    def put_session(self, session: Session) -> None:
        self._put(SESSIONS, session.scope, session_values(session))

    # Entities

    def put_entity(self, entity: Entity) -> None:
        self._put(ENTITIES, entity.scope, {column: getattr(entity, column) for column in ENTITIES.columns})
        wanted = entity_names(entity)
        known = self.execute(
            "SELECT folded, name FROM entity_names WHERE scope = ? AND entity = ?",
            (self.number(entity.scope), entity.id),
        )
        for folded, name in known:
            if wanted.get(folded) != name:
                self._delete(ENTITY_NAMES, entity.scope, (folded, entity.id))
        for folded, name in wanted.items():
            if (folded, name) not in [tuple(row) for row in known]:
                self._insert(ENTITY_NAMES, entity.scope, {"folded": folded, "entity": entity.id, "name": name})

    def mention(self, scope: Scope, *, entity: str, memory: str) -> None:
        if self._row(MENTIONS, scope, (entity, memory)) is None:
            self._insert_pointing(MENTIONS, scope, {"entity": entity, "memory": memory})

    # Jobs

    def finish(self, job: Job) -> None:
        rows = self.execute(
            "UPDATE jobs SET status = CASE WHEN watermark > ? THEN 'pending' ELSE 'done' END, token = '', worker = '', "
            "lease_until = NULL, error = '', done_watermark = ? WHERE scope = ? AND kind = ? AND key = ? AND token = ? "
            "AND status = 'running' AND lease_until > ? RETURNING key",
            (job.watermark, job.watermark, self.known(job.scope), job.kind, job.key, job.token, self._author.at),
        )
        if not rows:
            raise Conflict(f"The lease of {job.kind} {job.key!r} was lost. Its outputs were not written.")

    # Undo

    def undo(self, scopes: Sequence[Scope], run: str) -> Events:
        self._write_journal()
        numbers = [self.known(scope) for scope in dict.fromkeys(scopes)]
        rows = self.execute(
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events "
            f"WHERE scope IN ({marks(numbers)}) AND run = ? ORDER BY seq DESC",
            (*numbers, run),
        )
        if not rows:
            raise NotFound(f"No run {run!r} in {', '.join(map(str, scopes))}. `holdfast log` lists the runs.")
        events = [event_from(row, self.scope) for row in rows]
        for changes in _by_target(events):
            self._refuse_if_changed_since(changes)
        for event in events:
            self._take_back(event)
        return events

    def _take_back(self, event: Event) -> None:
        table, key = TABLES[event.noun], _key(event)
        if event.before is None:
            self._undo_add(table, event.scope, key)
        elif event.after is None:
            if missing := self._missing(table, event.scope, event.before):
                raise Conflict(f"{missing} is no longer there, so what pointed to it cannot come back.")
            self._insert(table, event.scope, dict(event.before))
        else:
            row, back = self._row(table, event.scope, key), dict(event.before)
            if row is not None and row.get("updated_at") != event.after.get("updated_at"):
                back.pop("updated_at", None)  # a later change of other columns stands, and so does its time
            self._update(table, event.scope, key, back)

    def _undo_add(self, table: Table, scope: Scope, key: tuple[Any, ...]) -> None:
        for sql, standing in _STANDING_ON.get(table.noun, ()):
            if self.execute(sql, (self.known(scope), key[0])):
                raise Conflict(f"{key[0]} is {standing}. Undo the runs that did so first.")
        memory = self.memory(scope, str(key[0])) if table is MEMORIES else None
        if memory:
            self.remove(memory)
        else:
            self._delete(table, scope, key)

    def _refuse_if_changed_since(self, changes: Events) -> None:
        """Raises Conflict unless what other runs did to the same thing cancels out, as after they were undone."""
        later = self._later(changes)
        if any(PURGED in (event.before or ()) for event in (*changes, *later)):
            raise Refused(f"{changes[0].target} was purged. What was purged cannot come back.")
        if not later:
            return
        table = TABLES[changes[0].noun]
        row = self._row(table, changes[0].scope, _key(changes[0]))
        then: dict[str, Any] = {}
        for change in later:
            then = {**(change.before or {}), **then}
        touched = set(then)
        if all(event.before is not None for event in changes):
            touched &= {column for event in changes for column in event.before or ()}
        touched = (touched & set(table.columns)) - table.observed - {"updated_at"}
        existed = later[0].before is not None
        if (row is not None) != existed or (row and any(row[column] != then[column] for column in touched)):
            run = later[-1].run
            raise Conflict(f"{changes[0].target} was changed again by run {run}. Undo that run first.", run=run)

    def _later(self, changes: Events) -> Events:
        """What other runs did to a thing after the first of these changes, oldest first."""
        first = changes[-1]
        rows = self.execute(
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events "
            "WHERE scope = ? AND noun = ? AND target = ? AND seq > ? AND run <> ? ORDER BY seq",
            (self.known(first.scope), first.noun, first.target, first.seq, first.run),
        )
        return [event_from(row, self.scope) for row in rows]

    # Export and import

    def restore_row(self, noun: str, row: Mapping[str, Any], *, journal: bool) -> bool:
        table, scope = TABLES[noun], Scope.parse(row["scope"])
        values = imported(table, row)
        if nested := [column for column, value in values.items() if isinstance(value, list | dict)]:
            raise InvalidInput(f"This {noun} cannot be stored: its {nested[0]} is neither text nor a number.")
        number = self.number(scope)
        if table.key:
            known = self._row(table, scope, tuple(values[column] for column in table.key))
            if known is not None:
                return self._same_or_conflict(table, known, values)
        elif table is EVENTS:
            if self._has_event(number, values):
                return False
        elif self.execute(
            f"SELECT 1 FROM {table.name} WHERE scope = ? AND "
            + " AND ".join(f"{column} IS NOT DISTINCT FROM ?" for column in table.columns)
            + " LIMIT 1",
            (number, *values.values()),
        ):
            return False
        if journal:
            self._insert(table, scope, values)
        else:
            self._raw_insert(table, number, [values])
        return True

    def restore_many(self, noun: str, scope: Scope, rows: Sequence[Mapping[str, Any]]) -> None:
        table = TABLES[noun]
        if rows:
            self._raw_insert(table, self.number(scope), [imported(table, row) for row in rows])

    def _has_event(self, number: int, values: dict[str, Any]) -> bool:
        """Whether the journal has this entry already; the numbers of a store are no part of what it says."""
        rows = self.execute(
            f"SELECT {', '.join(EVENTS.columns)} FROM events WHERE scope = ? AND noun = ? AND target = ? AND run = ?",
            (number, values["noun"], values["target"], values["run"]),
        )
        wanted = exported(EVENTS, tuple(values.values()))
        return any(exported(EVENTS, row) == wanted for row in rows)

    def _same_or_conflict(self, table: Table, known: dict[str, Any], values: dict[str, Any]) -> bool:
        differing = [c for c in table.columns if known[c] != values[c] and c not in table.observed]
        if differing:
            key = " ".join(str(values[column]) for column in table.key)
            raise Conflict(
                f"The {table.noun} {key} is already here with another {differing[0]}. Nothing was imported. "
                "Import into an empty store, or into another scope with --into."
            )
        return False

    # Scopes

    def number(self, scope: Scope) -> int:
        """The number of a scope in this store; a new scope gets one."""
        if not self.known(scope):
            ((number,),) = self.execute(
                "INSERT INTO scopes (kind, key, created_at) VALUES (?, ?, ?) RETURNING number",
                (scope.kind, scope.key, self._author.at),
            )
            self._numbers[scope], self._names[number] = number, scope
        return self._numbers[scope]

    def known(self, scope: Scope) -> int:
        """The number of a scope, or 0, which no scope has: reading never makes one."""
        if scope not in self._numbers:
            for (number,) in self.execute(
                "SELECT number FROM scopes WHERE kind = ? AND key = ?", (scope.kind, scope.key)
            ):
                self._numbers[scope], self._names[number] = number, scope
        return self._numbers.get(scope, 0)

    def scope(self, number: int) -> Scope:
        """The scope with a number that this transaction has seen."""
        return self._names[number]

    def close(self) -> None:
        """Writes the journal and what the transaction counted; the last thing before the commit."""
        self._write_journal()
        for number, totals in self._totals.items():
            self.add_totals(number, *totals)
        self._totals.clear()

    def _write_journal(self) -> None:
        """Writes the entries kept back so far: together they cost less, and only undo and purge ever read them."""
        if self._entries:
            self.execute.many(INSERT_EVENT, self._entries)
            self._entries = []

    def _count(self, number: int, active: int, terms: int, entries: int = 0) -> None:
        totals = self._totals[number]
        totals[0] += active
        totals[1] += terms
        totals[2] += entries

    # Rows

    def _row(self, table: Table, scope: Scope, key: tuple[Any, ...]) -> dict[str, Any] | None:
        condition = "".join(f" AND {column} = ?" for column in table.key)
        rows = self.execute(
            f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE scope = ?{condition}",
            (self.known(scope), *key),
        )
        return dict(zip(table.columns, rows[0], strict=True)) if rows else None

    def _put(self, table: Table, scope: Scope, values: dict[str, Any]) -> None:
        key = tuple(values[column] for column in table.key)
        if self._row(table, scope, key) is None:
            self._insert(table, scope, values)
        else:
            self._update(table, scope, key, values)

    def _insert(self, table: Table, scope: Scope, values: dict[str, Any]) -> None:
        number = self.number(scope)
        self._raw_insert(table, number, [values])
        self._journal(number, table.noun, self._target(table, values), None, None)

    def _insert_pointing(self, table: Table, scope: Scope, values: dict[str, Any]) -> None:
        if missing := self._missing(table, scope, values):
            raise NotFound(f"No {missing!r} in scope '{scope}' to point to.", id=missing)
        self._insert(table, scope, values)

    def _missing(self, table: Table, scope: Scope, values: Mapping[str, Any]) -> str | None:
        """What a row points to and is not there, or None."""
        for column, other in _POINTS_TO.get(table.noun, ()):
            if self._row(other, scope, (values[column],)) is None:
                return str(values[column])
        return None

    def _raw_insert(self, table: Table, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Inserts rows, one or more that all have the same columns, without a word in the journal."""
        if table is MEMORIES:
            self._raw_insert_memories(number, rows)
            return
        if table is EVENTS:
            self._count(number, 0, 0, len(rows))
        columns = [column for column in table.columns if column in rows[0]]
        self.execute.many(
            f"INSERT INTO {table.name} (scope, {', '.join(columns)}) VALUES ({marks((0, *columns))})",
            [(number, *(row[column] for column in columns)) for row in rows],
        )

    def _raw_insert_memories(self, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
        old = [row["seq"] for row in rows if row.get("seq")]  # a removed row comes back under its old number
        new = iter(self.new_seqs(len(rows) - len(old)) if len(old) < len(rows) else ())
        values, indexed = [], []
        for row in rows:
            seq, terms, active = row.get("seq") or next(new), self._terms(row), row["status"] == "active"
            known = {**row, "access_count": row.get("access_count") or 0}
            columns = (known.get(column) for column in MEMORY_COLUMNS)
            values.append((seq, number, content_hash(row["content"]), len(terms), *columns))
            indexed.append((seq, number, terms, active))
            if active:
                self._count(number, 1, len(terms))
        self.execute.many(INSERT_MEMORY, values)
        self.index(indexed)
        if old:
            first = min(old)
            self.execute("UPDATE embedded SET seq = ? WHERE scope = ? AND seq >= ?", (first - 1, number, first))

    def _terms(self, values: Mapping[str, Any]) -> list[str]:
        tags = json.loads(values["tags"]) if values.get("tags") else ()
        return index_terms(indexed_text(values["title"], values["content"], tags))

    def _update(self, table: Table, scope: Scope, key: tuple[Any, ...], wanted: Mapping[str, Any]) -> None:
        row = self._row(table, scope, key)
        if row is None:
            raise NotFound(f"No {table.noun} {' '.join(map(str, key))!r} in scope '{scope}'.")
        changes = {column: value for column, value in wanted.items() if row[column] != value}
        if not changes:
            return
        number = self.number(scope)
        self.execute(
            f"UPDATE {table.name} SET {', '.join(f'{column} = ?' for column in changes)} WHERE scope = ?"
            + "".join(f" AND {column} = ?" for column in table.key),
            (*changes.values(), number, *key),
        )
        if table is MEMORIES:
            self._reindex(number, row, row | changes)
        told = {column: value for column, value in changes.items() if column not in table.observed}
        if told:
            before = {column: row[column] for column in told}
            self._journal(number, table.noun, self._target(table, row), before, told)

    def _reindex(self, number: int, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Keeps the full-text index and the totals true when a memory's status, title or tags change."""
        if all(before[column] == after[column] for column in ("status", "title", "tags")):
            return
        ((seq, old_length),) = self.execute(
            "SELECT seq, terms FROM memories WHERE scope = ? AND id = ?", (number, after["id"])
        )
        terms = self._terms(after)
        was, is_ = before["status"] == "active", after["status"] == "active"
        self._count(number, is_ - was, is_ * len(terms) - was * old_length)
        self.execute("UPDATE memories SET terms = ? WHERE scope = ? AND seq = ?", (len(terms), number, seq))
        self.unindex((seq, number, self._terms(before), was))
        self.index([(seq, number, terms, is_)])

    def _delete(self, table: Table, scope: Scope, key: tuple[Any, ...]) -> None:
        row = self._row(table, scope, key)
        if row is None:
            raise NotFound(f"No {table.noun} {' '.join(map(str, key))!r} in scope '{scope}'.")
        number = self.number(scope)
        condition = "".join(f" AND {column} = ?" for column in table.key)
        if table is MEMORIES:
            ((row["seq"], length),) = self.execute(
                "SELECT seq, terms FROM memories WHERE scope = ? AND id = ?", (number, key[0])
            )
            self.unindex((row["seq"], number, self._terms(row), row["status"] == "active"))
            if row["status"] == "active":
                self._count(number, -1, -length)
        self.execute(f"DELETE FROM {table.name} WHERE scope = ?{condition}", (number, *key))
        self._journal(number, table.noun, self._target(table, row), row, None)

    def _target(self, table: Table, row: Mapping[str, Any]) -> str:
        """How the journal names a row: a memory by its id, anything else by its key."""
        return row["id"] if table is MEMORIES else to_json([row[column] for column in table.key])

    def _journal(
        self,
        number: int,
        noun: str,
        target: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
    ) -> None:
        author = self._author
        images = [to_json(image) if image is not None else None for image in (before, after)]
        self._entries.append((number, author.run, author.at, author.actor, author.verb, noun, target, *images))
        self._count(number, 0, 0, 1)


def _key(event: Event) -> tuple[Any, ...]:
    """The key of the row that an event is about; the reverse of `_target`."""
    return (event.target,) if event.noun == "memory" else tuple(json.loads(event.target))


def _by_target(events: Events) -> list[Events]:
    """The events of one run in groups that are about one thing each, order kept."""
    groups: dict[tuple[Scope, str, str], Events] = defaultdict(list)
    for event in events:
        groups[event.scope, event.noun, event.target].append(event)
    return list(groups.values())
