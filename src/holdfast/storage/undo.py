"""Undo: reverts the changes of a run by its journal entries, newest first.

Works on rows of any noun. It only checks references that would dangle and entities that are still
mentioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Conflict, NotFound, Refused
from ..types import Event, Events, Progress, Scope
from .entity_table import SQLEntityTable
from .filters import marks
from .journal import PURGED, JournalledRows
from .legacy_progress import legacy_marks
from .memory_table import SQLMemoryTable
from .progress_table import SQLProgressTable
from .restore import has_seq
from .row_codec import event_from
from .schema import (
    ENTITIES,
    ENTITY_NAMES,
    EVENTS,
    MEMORIES,
    PROGRESS,
    SESSIONS,
    TABLES,
    Table,
    key_of,
)
from .session_table import SQLSessionTable

_FIRST = "Undo the runs that did so first."
# Later rows that would dangle if an added row were removed, with the advice for the error.
_STANDING_ON: Mapping[str, tuple[tuple[str, str], ...]] = {
    "memory": (
        (
            "SELECT 1 FROM edges WHERE scope = ? AND source = ? LIMIT 1",
            f"is linked to other memories. {_FIRST}",
        ),
        (
            "SELECT 1 FROM edges WHERE scope = ? AND target = ? LIMIT 1",
            f"is linked to by other memories. {_FIRST}",
        ),
    ),
    "session": (
        (
            "SELECT 1 FROM memories WHERE scope = ? AND session = ? LIMIT 1",
            f"is continued by later turns. {_FIRST}",
        ),
        (
            "SELECT 1 FROM messages WHERE scope = ? AND session = ? LIMIT 1",
            "has messages, which no undo takes back. Only purging the session removes them.",
        ),
    ),
}


class SQLUndo:
    """Undo inside a transaction; see `Transaction.undo` in protocol.py."""

    def __init__(
        self,
        rows: JournalledRows,
        memories: SQLMemoryTable,
        entities: SQLEntityTable,
        sessions: SQLSessionTable,
        progress: SQLProgressTable,
    ) -> None:
        self._rows = rows
        self._memories = memories
        self._entities = entities
        self._sessions = sessions
        self._progress = progress
        # Entities that stay although their run is undone, because other runs mention them.
        self._staying: set[tuple[Scope, str]] = set()

    def undo(self, scopes: Sequence[Scope], run: str) -> Events:
        self._rows.write_journal()
        numbers = [self._rows.known(scope) for scope in dict.fromkeys(scopes)]
        rows = self._rows.execute(
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events "
            f"WHERE scope IN ({marks(numbers)}) AND run = ? ORDER BY seq DESC",
            (*numbers, run),
        )
        if not rows:
            raise NotFound(
                f"No run {run!r} in {', '.join(map(str, scopes))}. "
                "`holdfast history` lists the runs."
            )
        events = [event_from(row, self._rows.scope_of) for row in rows]
        self._staying = self._mentioned_by_others(events)
        for changes in _by_target(events):
            if not self._stays(changes[0]):
                self._refuse_if_changed_since(changes)
        for event in sorted(events, key=_begins_session):
            self._take_back(event)
        self._memories.calm()
        self._sessions.forget()
        return events

    def _take_back(self, event: Event) -> None:
        self._sessions.forget()
        table = TABLES[event.noun]
        key = _key(event)
        if self._stays(event):
            return
        if event.before is None:
            self._undo_add(table, event.scope, key)
        elif event.after is None:
            if missing := self._rows.missing_end(table, event.scope, event.before):
                raise Conflict(
                    f"{missing} is no longer there, so what pointed to it cannot come back."
                )
            row = dict(event.before)
            if self._rows.keeps_seqs and row.get("seq") and has_seq(self._rows, row["seq"]):
                # Another memory has taken this number since.
                del row["seq"]
            self._rows.insert_row(table, event.scope, row)
            self._take_back_marks(event)
        else:
            now = self._rows.row(table, event.scope, key)
            back = dict(event.before)
            if now is not None and now.get("updated_at") != event.after.get("updated_at"):
                # A later change of other columns stays, and so does its time.
                back.pop("updated_at", None)
            # The journal of an older version may name columns that no longer exist.
            known = {column: value for column, value in back.items() if column in table.columns}
            self._rows.update_row(table, event.scope, key, known)
            self._take_back_marks(event)

    def _take_back_marks(self, event: Event) -> None:
        """Revert progress marks that version 0.1.0 stored in the session row.

        A mark that has changed since stays: what was read later stays read.
        """
        if event.noun != SESSIONS.noun:
            return
        (session,) = _key(event)
        was, then = (
            legacy_marks(image or {}, event.scope, session, at=self._rows.author.at)
            for image in (event.before, event.after)
        )
        for sink in sorted({*was, *then}):
            now = self._progress.get(event.scope, session, sink)
            if _same_mark(was.get(sink), then.get(sink)) or not _same_mark(now, then.get(sink)):
                continue
            if sink in was:
                self._progress.put(was[sink])
            else:
                self._progress.drop(event.scope, session, sink)

    def _mentioned_by_others(self, events: Events) -> set[tuple[Scope, str]]:
        """Return the entities that this run created and that memories of other runs mention by
        now.
        """
        own = {
            (event.scope, *_key(event))
            for event in events
            if event.noun == "mention" and event.before is None
        }
        begun = {
            (event.scope, _key(event)[0])
            for event in events
            if event.noun == "entity" and event.before is None
        }
        return {
            (scope, entity)
            for scope, entity in begun
            if any(
                (scope, entity, memory) not in own
                for memory in self._entities.memories_mentioning(scope, entity)
            )
        }

    def _stays(self, event: Event) -> bool:
        """Whether an event added an entity, or a name of one, that stays."""
        if event.noun not in ("entity", "entity_name") or event.before is not None:
            return False
        return (event.scope, _key(event)[-1]) in self._staying

    def _undo_add(
        self,
        table: Table,
        scope: Scope,
        key: tuple[Any, ...],
    ) -> None:
        for sql, standing in _STANDING_ON.get(table.noun, ()):
            if self._rows.execute(sql, (self._rows.known(scope), key[0])):
                raise Conflict(f"{key[0]} {standing}")
        memory = self._memories.memory(scope, str(key[0])) if table is MEMORIES else None
        if memory:
            self._memories.remove(memory)
        elif table is ENTITIES and (entity := self._entities.get(scope, str(key[0]))):
            self._entities.remove(entity)
        elif table is SESSIONS:
            self._drop_marks(scope, str(key[0]))
            self._rows.delete_row(table, scope, key)
        elif table not in (ENTITY_NAMES, PROGRESS) or self._rows.row(table, scope, key) is not None:
            self._rows.delete_row(table, scope, key)

    def _drop_marks(self, scope: Scope, session: str) -> None:
        """Drop the progress marks of a session that is about to be removed."""
        for (sink,) in self._rows.execute(
            "SELECT sink FROM progress WHERE scope = ? AND session = ?",
            (self._rows.known(scope), session),
        ):
            self._progress.drop(scope, session, sink)

    def _refuse_if_changed_since(self, changes: Events) -> None:
        """Raise Conflict if other runs changed the same row since, unless their changes cancel out
        (after an undo).

        Raises Refused if the row was purged.
        """
        later = self._later(changes)
        if any(PURGED in (event.before or ()) for event in (*changes, *later)):
            # The journal no longer has the name of a purged session.
            what = (
                changes[0].target if changes[0].noun == "memory" else f"A {changes[0].noun} of it"
            )
            raise Refused(
                f"{what} was purged, and what was purged cannot come back. Nothing was undone. "
                "`holdfast history` lists "
                "the other runs: holdfast undo RUN"
            )
        if not later:
            return
        table = TABLES[changes[0].noun]
        row = self._rows.row(table, changes[0].scope, _key(changes[0]))
        then: dict[str, Any] = {}
        for change in later:
            then = {**(change.before or {}), **then}
        touched = set(then)
        if all(event.before is not None for event in changes):
            touched &= {column for event in changes for column in event.before or ()}
        touched = (touched & set(table.columns)) - table.observed - {"updated_at"}
        existed = later[0].before is not None
        if (row is not None) != existed or (
            row and any(row[column] != then[column] for column in touched)
        ):
            target = changes[0].target
            run = later[-1].run
            if later[-1].verb == "undo":
                raise Conflict(
                    f"That was undone already, by run {run}: undoing {run} brings it back.", run=run
                )
            raise Conflict(
                f"{target} was changed again by run {run}. Undo that run first.", run=run
            )

    def _later(self, changes: Events) -> Events:
        """Return later changes of a row by other runs, oldest first."""
        first = changes[-1]
        rows = self._rows.execute(
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events "
            "WHERE scope = ? AND noun = ? AND target = ? AND seq > ? AND run <> ? ORDER BY seq",
            (self._rows.known(first.scope), first.noun, first.target, first.seq, first.run),
        )
        return self._rows.damages.sound(rows, lambda row: event_from(row, self._rows.scope_of))


def _same_mark(one: Progress | None, other: Progress | None) -> bool:
    """Whether two marks have the same position and detail, whatever their time."""
    if one is None or other is None:
        return one is other
    return (one.position, one.detail) == (other.position, other.detail)


def _begins_session(event: Event) -> bool:
    """Whether an event added a session. Undone last, because turns of it may be journalled before
    it.
    """
    return event.noun == "session" and event.before is None


def _key(event: Event) -> tuple[Any, ...]:
    return key_of(event.noun, event.target)


def _by_target(events: Events) -> list[Events]:
    """Group the events of a run by row, in order."""
    groups: dict[tuple[Scope, str, str], Events] = defaultdict(list)
    for event in events:
        groups[event.scope, event.noun, event.target].append(event)
    return list(groups.values())
