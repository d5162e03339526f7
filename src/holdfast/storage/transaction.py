"""A whole transaction: the nouns, undo by the journal, and rows that come back from an export.

Undo knows nothing of what rows mean but what would be left pointing to nothing, and who is still
mentioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Conflict, InvalidInput, NotFound, Refused
from ..types import Event, Events, Progress, Scope
from .file_table import FilesWriter
from .filters import marks
from .journal import PURGED
from .legacy_progress import ACTOR, MIGRATE, RUN, is_legacy, legacy_marks
from .peer import PeerWriter
from .progress_table import progress_values
from .schema import (
    ENTITIES,
    ENTITY_NAMES,
    EVENTS,
    MEMORIES,
    MESSAGES,
    PROGRESS,
    SESSIONS,
    TABLES,
    Table,
    event_from,
    exported,
    imported,
    key_of,
    to_json,
)

# What time alone does to a memory.
_FADING = ("confidence", "strength", "decayed_at")
# Every reader of JSON has it exactly, and there is room for more numbers behind it.
HIGHEST_SEQ = 2**53 - 1
_FIRST = "Undo the runs that did so first."
# What keeps an added thing from being taken back: later rows that would point to nothing. And what
# to do about it.
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


class RowTransaction(PeerWriter, FilesWriter):
    """One transaction's changes; see `Transaction` in protocol.py for what each promises."""

    def history(self, scope: Scope, memory: str) -> Events:
        rows = self.execute(
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events "
            "WHERE scope = ? AND noun = 'memory' AND target = ? ORDER BY seq",
            (self.known(scope), memory),
        )
        return [event_from(row, self.scope) for row in rows]

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
            raise NotFound(
                f"No run {run!r} in {', '.join(map(str, scopes))}. `holdfast log` lists the runs."
            )
        events = [event_from(row, self.scope) for row in rows]
        self._staying = self._mentioned_by_others(events)
        for changes in _by_target(events):
            if not self._stays(changes[0]):
                self._refuse_if_changed_since(changes)
        for event in sorted(events, key=_begins_session):
            self._take_back(event)
        self._calm()
        return events

    def _take_back(self, event: Event) -> None:
        self._sessions.clear()
        table = TABLES[event.noun]
        key = _key(event)
        if self._stays(event):
            return
        if event.before is None:
            self._undo_add(table, event.scope, key)
        elif event.after is None:
            if missing := self._missing(table, event.scope, event.before):
                raise Conflict(
                    f"{missing} is no longer there, so what pointed to it cannot come back."
                )
            row = dict(event.before)
            if self.keeps_seqs and row.get("seq") and self._has_seq(row["seq"]):
                # Since then a memory was restored under this number.
                del row["seq"]
            self._insert(table, event.scope, row)
            self._take_back_marks(event)
        else:
            now = self._row(table, event.scope, key)
            back = dict(event.before)
            if now is not None and now.get("updated_at") != event.after.get("updated_at"):
                # A later change of other columns stands, and so does its time.
                back.pop("updated_at", None)
            # A journal of an older version may tell of columns that are no longer there.
            known = {column: value for column, value in back.items() if column in table.columns}
            self._update(table, event.scope, key, known)
            self._take_back_marks(event)

    def _take_back_marks(self, event: Event) -> None:
        """Undoes what version 0.1.0 changed of the marks of progress in a session's row.

        A mark that was changed since stays: what was read later stays read.
        """
        if event.noun != SESSIONS.noun:
            return
        (session,) = _key(event)
        was, then = (
            legacy_marks(image or {}, event.scope, session, at=self._author.at)
            for image in (event.before, event.after)
        )
        for sink in sorted({*was, *then}):
            now = self.progress(event.scope, session, sink)
            if _same_mark(was.get(sink), then.get(sink)) or not _same_mark(now, then.get(sink)):
                continue
            if sink in was:
                self.put_progress(was[sink])
            else:
                self.drop_progress(event.scope, session, sink)

    def _mentioned_by_others(self, events: Events) -> set[tuple[Scope, str]]:
        """The entities that a run was the first to mention, and that what other runs stored
        mentions by now.
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
            if any((scope, entity, memory) not in own for memory in self._mentions(scope, entity))
        }

    def _stays(self, event: Event) -> bool:
        """Whether an event is about an entity that stays although the run that added it is taken
        back.
        """
        if event.noun not in ("entity", "entity_name") or event.before is not None:
            return False
        return (event.scope, _key(event)[-1]) in self._staying

    def _undo_add(self, table: Table, scope: Scope, key: tuple[Any, ...]) -> None:
        for sql, standing in _STANDING_ON.get(table.noun, ()):
            if self.execute(sql, (self.known(scope), key[0])):
                raise Conflict(f"{key[0]} {standing}")
        memory = self.memory(scope, str(key[0])) if table is MEMORIES else None
        if memory:
            self.remove(memory)
        elif table is ENTITIES and (entity := self.entity(scope, str(key[0]))):
            self.remove_entity(entity)
        elif table is SESSIONS:
            self._drop_marks(scope, str(key[0]))
            self._delete(table, scope, key)
        elif table not in (ENTITY_NAMES, PROGRESS) or self._row(table, scope, key) is not None:
            self._delete(table, scope, key)

    def _drop_marks(self, scope: Scope, session: str) -> None:
        """Takes out how far a session was read that is about to go."""
        for (sink,) in self.execute(
            "SELECT sink FROM progress WHERE scope = ? AND session = ?",
            (self.known(scope), session),
        ):
            self.drop_progress(scope, session, sink)

    def _refuse_if_changed_since(self, changes: Events) -> None:
        """Raises Conflict unless what other runs did to the same thing cancels out, as after they
        were undone.
        """
        later = self._later(changes)
        if any(PURGED in (event.before or ()) for event in (*changes, *later)):
            # Of a session that was purged, the journal has no name any more.
            what = (
                changes[0].target if changes[0].noun == "memory" else f"A {changes[0].noun} of it"
            )
            raise Refused(
                f"{what} was purged, and what was purged cannot come back. Nothing was undone. "
                "`holdfast log` lists "
                "the other runs: holdfast undo RUN"
            )
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
        """What other runs did to a thing after the first of these changes, oldest first."""
        first = changes[-1]
        rows = self.execute(
            f"SELECT seq, scope, {', '.join(EVENTS.columns)} FROM events "
            "WHERE scope = ? AND noun = ? AND target = ? AND seq > ? AND run <> ? ORDER BY seq",
            (self.known(first.scope), first.noun, first.target, first.seq, first.run),
        )
        return self.damages.sound(rows, lambda row: event_from(row, self.scope))

    # Export and import

    def restore_row(
        self, noun: str, row: Mapping[str, Any], *, journal: bool, seq: int | None = None
    ) -> bool:
        table = TABLES[noun]
        scope = Scope.parse(row["scope"])
        values = imported(table, row)
        if nested := [column for column, value in values.items() if isinstance(value, list | dict)]:
            raise InvalidInput(
                f"This {noun} cannot be stored: its {nested[0]} is neither text nor a number."
            )
        number = self.number(scope)
        if table is EVENTS:
            if self._has_event(number, values):
                return False
        elif known := self._row(table, scope, tuple(values[column] for column in table.key)):
            return self._same_or_conflict(table, known, values)
        # A message without its session would stay for ever: only purging the session removes it.
        if table is MESSAGES and (missing := self._missing(table, scope, values)):
            raise InvalidInput(f"This {noun} cannot be stored: there is no session {missing!r}.")
        if table is MEMORIES and seq is not None and self.keeps_seqs:
            values["seq"] = self._free_seq(seq)
        if journal:
            self._insert(table, scope, values)
        else:
            self._raw_insert(table, number, [values])
        if table is SESSIONS and is_legacy(row):
            self._adopt_marks(scope, row, journal=journal)
        return True

    def _adopt_marks(self, scope: Scope, row: Mapping[str, Any], *, journal: bool) -> None:
        """Stores the marks of progress that version 0.1.0 exported in the row of a session."""
        number = self.number(scope)
        for mark in legacy_marks(row, scope, row["id"], at=row["last_activity"]).values():
            if journal:
                self.put_progress(mark)
                continue
            values = progress_values(mark)
            self._raw_insert(PROGRESS, number, [values])
            target = self._target(PROGRESS, values)
            image = to_json({column: values[column] for column in ("at", "detail", "position")})
            added = (number, RUN, row["started_at"], ACTOR, MIGRATE, PROGRESS.noun, target)
            changed = (number, f"{RUN}-{mark.position}", mark.at, *added[3:])
            self._entries += [(*added, None, None), (*changed, image, image)]
            self._count(number, 0, 0, 2)

    def restore_many(self, noun: str, scope: Scope, rows: Sequence[Mapping[str, Any]]) -> None:
        table = TABLES[noun]
        if rows:
            self._raw_insert(table, self.number(scope), [imported(table, row) for row in rows])

    def _free_seq(self, seq: int) -> int:
        if not 0 < seq <= HIGHEST_SEQ:
            raise InvalidInput(
                f"A memory cannot have the number {seq}: it must be between 1 and {HIGHEST_SEQ}."
            )
        if self._has_seq(seq):
            raise Conflict(f"The number {seq} is taken by another memory. Nothing was restored.")
        return seq

    def _has_seq(self, seq: int) -> bool:
        return bool(self.execute("SELECT 1 FROM memories WHERE seq = ?", (seq,)))

    def _has_event(self, number: int, values: dict[str, Any]) -> bool:
        """Whether the journal has this entry already; the numbers of a store are no part of what it
        says.
        """
        rows = self.execute(
            (
                f"SELECT {', '.join(EVENTS.columns)} FROM events WHERE scope = ? AND noun = ? AND "
                "target = ? AND run = ?"
            ),
            (number, values["noun"], values["target"], values["run"]),
        )
        wanted = exported(EVENTS, tuple(values.values()))
        return any(
            one == wanted
            for one in self.damages.each_sound(rows, lambda row: exported(EVENTS, row))
        )

    def _same_or_conflict(
        self, table: Table, known: dict[str, Any], values: dict[str, Any]
    ) -> bool:
        differing = [c for c in table.columns if known[c] != values[c] and c not in table.observed]
        if table is MEMORIES and _unfaded(known) == _unfaded(values):
            differing = [c for c in differing if c not in _FADING]
        if table is ENTITIES:
            # The id follows from name and type, so this is the same entity: the spelling that is
            # here stays, and so does the time at which this store first met it.
            differing = [c for c in differing if c not in ("name", "created_at")]
        if differing:
            name = " ".join((table.noun, *(str(values[column]) for column in table.key)))
            raise Conflict(
                f"The {name} is already here with another {differing[0]}. Nothing was imported. "
                "Import into an empty store, or into another scope with --into."
            )
        return False


def _unfaded(row: Mapping[str, Any]) -> Any:
    """How sure a memory was when it was last said: what does not change while nobody uses it."""
    return row["confidence"] if row["strength"] is None else row["strength"]


def _same_mark(one: Progress | None, other: Progress | None) -> bool:
    """Whether two marks say the same, whenever they were made."""
    if one is None or other is None:
        return one is other
    return (one.position, one.detail) == (other.position, other.detail)


def _begins_session(event: Event) -> bool:
    """Whether an event added a session: that goes last, for its turns may have been written before
    it.
    """
    return event.noun == "session" and event.before is None


def _key(event: Event) -> tuple[Any, ...]:
    return key_of(event.noun, event.target)


def _by_target(events: Events) -> list[Events]:
    """The events of one run in groups that are about one thing each, order kept."""
    groups: dict[tuple[Scope, str, str], Events] = defaultdict(list)
    for event in events:
        groups[event.scope, event.noun, event.target].append(event)
    return list(groups.values())
