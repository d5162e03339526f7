"""Apply rows from a synced store inside a transaction, and store how far its journal was read.

Rows arrive with their lineage, so both journals become one set of entries, and entries of the other
store are not journalled again. The read position is a job of kind `sync`: it belongs to the scope,
is written in the same transaction as the rows, and is not exported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import RowDamaged
from ..types import Event, Memory, Message, Scope
from .damage import NOT_AS_STORED, QUARANTINED, Damage
from .entity_table import SQLEntityTable
from .filters import marks
from .journal import PAGE, PURGED, SELECT_EVENT, JournalledRows
from .memory_table import SQLMemoryTable
from .merge import Lineage, ends_owner, has_news, joined
from .row_codec import damaged, event_from, faults, message_from, to_json
from .schema import (
    EDGES,
    ENTITIES,
    ENTITY_NAMES,
    EVENTS,
    MEMORIES,
    MESSAGES,
    POINTS_TO,
    PROFILES,
    SESSIONS,
    TABLES,
    Table,
)
from .scrub import SQLErasure, hidden_session
from .session_table import SQLSessionTable
from .store_types import Adopted, Met

SYNC = "sync"
WHOLE_SCOPE = (PROFILES.noun, "[]")
"""The row whose purge means that the whole scope was erased."""
# Removal order: a row goes before the row it points to; names go with their entity. Progress marks
# go after their session, because erasing the session hides its name in them.
_GOING = ("mention", "edge", "memory", "entity", "entity_name", "session", "progress", "profile")
# Insertion order: a row comes after the row it points to.
_COMING = tuple(TABLES)


class SQLReplication:
    """The replication part of a transaction; see `Replication` in protocol.py."""

    def __init__(
        self,
        rows: JournalledRows,
        memories: SQLMemoryTable,
        entities: SQLEntityTable,
        sessions: SQLSessionTable,
        erasure: SQLErasure,
    ) -> None:
        self._rows = rows
        self._memories = memories
        self._entities = entities
        self._sessions = sessions
        self._erasure = erasure
        # Entities that the other store does not have; set while its rows are applied.
        self._gone_there: Collection[str] = ()

    # Reading

    def is_sound(self, memory: Memory) -> bool:
        return self._memories.is_sound(memory)

    def entries(self, scope: Scope, *, after: int) -> int:
        rows = self._rows.execute(
            "SELECT count(*) FROM events WHERE scope = ? AND seq > ?",
            (self._rows.known(scope), after),
        )
        return int(rows[0][0])

    def purges(self, scope: Scope, *, after: int) -> list[tuple[str, str]]:
        rows = self._rows.execute(
            "SELECT noun, target, max(seq) FROM events WHERE scope = ? AND seq > ? AND before "
            "LIKE ? "
            "GROUP BY noun, target ORDER BY 3",
            (self._rows.known(scope), after, f'{{"{PURGED}":%'),
        )
        return [(noun, target) for noun, target, _ in rows]

    def lineages(self, scope: Scope, things: Iterable[tuple[str, str]]) -> list[Lineage]:
        by_noun: dict[str, list[str]] = defaultdict(list)
        for noun, target in dict.fromkeys(things):
            by_noun[noun].append(target)
        return [
            lineage
            for noun, targets in by_noun.items()
            for start in range(0, len(targets), PAGE)
            for lineage in self._lineages(scope, noun, targets[start : start + PAGE])
        ]

    def _lineages(
        self,
        scope: Scope,
        noun: str,
        targets: Sequence[str],
    ) -> Iterator[Lineage]:
        self._rows.write_journal()
        told: dict[str, list[Event]] = defaultdict(list)
        left_out: set[str] = set()
        for row in self._rows.execute(
            (
                f"{SELECT_EVENT} WHERE scope = ? AND noun = ? AND target IN ({marks(targets)}) "
                "ORDER "
                "BY seq"
            ),
            (self._rows.known(scope), noun, *targets),
        ):
            try:
                told[row[7]].append(event_from(row, self._rows.scope_of))
            except RowDamaged as error:
                # The history of this row is incomplete, and half of it would mislead.
                self._rows.damages.learn_of(error)
                left_out.add(row[7])
        for target in targets:
            bare = Lineage(noun, target, None, tuple(told[target]))
            try:
                bare = replace(bare, row=self._sound_row(TABLES[noun], scope, bare.key))
            except RowDamaged as error:
                self._rows.damages.learn_of(error)
                left_out.add(target)
            if target not in left_out:
                yield bare

    def _sound_row(
        self,
        table: Table,
        scope: Scope,
        key: tuple[Any, ...],
    ) -> dict[str, Any] | None:
        """Return a row that may be sent to another store, or None if it does not exist.

        Raises RowDamaged if the row cannot be read or its text does not match its hash.
        """
        row = self._rows.row(table, scope, key)
        if row is None:
            return None
        if faults(table, table.columns, tuple(row.values())):
            raise damaged(table, table.columns, tuple(row.values()), scope)
        if table is MEMORIES and not row["status_reason"].startswith(QUARANTINED):
            memory = self._memories.memory(scope, str(key[0]))
            if memory is not None and not self._memories.is_sound(memory):
                raise Damage(scope, table.noun, str(key[0]), f"its content {NOT_AS_STORED}").error()
        return row

    # Taking in

    def pending(self, scope: Scope, theirs: Sequence[Lineage]) -> list[Lineage]:
        return [together for _, together in self._news(scope, theirs)]

    def apply(self, scope: Scope, theirs: Sequence[Lineage]) -> Adopted:
        self._rows.number(scope)
        done = Adopted()
        erasing = False
        self._gone_there = {
            str(one.key[0]) for one in theirs if one.noun == ENTITIES.noun and one.row is None
        }
        for ours, together in sorted(self._news(scope, theirs), key=_turn):
            pairs = [(ours, together)]
            if _owner_erased(ours, together):
                self._erase_until(
                    scope, max(one.at for one in together.events if ends_owner(one)), done
                )
                erasing = True
            elif together.purged and together.noun != PROFILES.noun:
                self._erase(scope, together, done)
                erasing = True
            # Erasing one row also removes others and adds journal entries, so compare again.
            if erasing:
                pairs = self._news(scope, [together])
            for pair in pairs:
                self._take_entries(scope, *pair)
                self._take_row(scope, *pair, done)
            done.count[together.noun] += 1
            done.things.add((together.noun, together.target))
        self._memories.calm()
        self._sessions.forget()
        return done

    def _news(self, scope: Scope, theirs: Sequence[Lineage]) -> list[tuple[Lineage, Lineage]]:
        known = {
            (one.noun, one.target): one
            for one in self.lineages(scope, [(t.noun, t.target) for t in theirs])
        }
        # Rows damaged here are not in `known`: they stay as they are until they are repaired.
        there = [
            (known[one.noun, one.target], one) for one in theirs if (one.noun, one.target) in known
        ]
        pairs = [(ours, joined(ours, one)) for ours, one in there]
        return [(ours, together) for ours, together in pairs if has_news(ours, together)]

    def _take_entries(
        self,
        scope: Scope,
        ours: Lineage,
        together: Lineage,
    ) -> None:
        """Add the new entries verbatim, except `seq` in the image of a removed row: each store has
        its own numbers.
        """
        memory = self._memories.memory(scope, ours.target) if ours.noun == MEMORIES.noun else None
        for old, new in zip(ours.events, together.events, strict=False):
            if old is not new:
                self._rows.execute(
                    "UPDATE events SET before = ?, after = NULL WHERE scope = ? AND seq = ?",
                    (to_json(dict(new.before or {})), self._rows.number(scope), old.seq),
                )
        rows = [_entry(event, memory) for event in together.events[len(ours.events) :]]
        if rows:
            self._rows.insert_rows(EVENTS, self._rows.number(scope), rows)
            self._erasure.forget_told()

    def _take_row(
        self,
        scope: Scope,
        ours: Lineage,
        together: Lineage,
        done: Adopted,
    ) -> None:
        table = TABLES[together.noun]
        row = together.row
        self._sessions.forget()
        if row is None:
            if ours.row is not None:
                self._remove(table, scope, ours)
            return
        if self._rows.missing_end(table, scope, row):
            self._drop(table, scope, together)
            return
        with self._rows.silent(together.noun, together.target):
            if ours.row is None:
                self._rows.insert_row(table, scope, dict(row))
                if table is MEMORIES:
                    done.memories.append(together.target)
                    self._stir(scope, row)
            else:
                self._rows.change_row(table, scope, together.key, dict(ours.row), row)
        if table is EDGES:
            done.edges.append(together.key)

    def _stir(self, scope: Scope, turn: Mapping[str, Any]) -> None:
        """Update a session's last activity for a turn captured in another store.

        Activity has no journal entry, so the sync would not carry it over.
        """
        if turn["kind"] == "turn" and turn["session"] is not None:
            at = turn["created_at"]
            number = self._rows.number(scope)
            sql = (
                "UPDATE sessions SET last_activity = ? WHERE scope = ? AND id = ? AND "
                "last_activity < ?"
            )
            self._rows.execute(sql, (at, number, turn["session"], at))

    def _remove(
        self,
        table: Table,
        scope: Scope,
        ours: Lineage,
    ) -> None:
        if self._rows.row(table, scope, ours.key) is None:
            # It was already removed together with the row it points to.
            return
        if self._still_spoken_of(table, scope, ours):
            self._rows.journal_change(self._rows.number(scope), ours.noun, ours.target, None, None)
            return
        with self._rows.silent(ours.noun, ours.target):
            memory = self._memories.memory(scope, ours.target) if table is MEMORIES else None
            entity = self._entities.get(scope, ours.key[0]) if table is ENTITIES else None
            if memory is not None:
                self._memories.remove(memory)
            elif entity is not None:
                self._entities.remove(entity)
            else:
                self._rows.delete_row(table, scope, ours.key)

    def _still_spoken_of(
        self,
        table: Table,
        scope: Scope,
        ours: Lineage,
    ) -> bool:
        """Whether memories here still mention an entity that the other store removed without
        knowing of them.
        """
        if table not in (ENTITIES, ENTITY_NAMES):
            return False
        entity = str(ours.key[-1])
        return entity in self._gone_there and bool(
            self._entities.memories_mentioning(scope, entity)
        )

    def _drop(
        self,
        table: Table,
        scope: Scope,
        together: Lineage,
    ) -> None:
        """Skip a row that points to one missing here, and journal its removal; otherwise the other
        store would keep it.
        """
        row = dict(together.row or {})
        if self._rows.row(table, scope, together.key) is not None:
            self._rows.delete_row(table, scope, together.key)
        else:
            self._rows.journal_change(
                self._rows.number(scope), together.noun, together.target, row, None
            )

    # Erasing what was erased elsewhere

    def _erase(
        self,
        scope: Scope,
        together: Lineage,
        done: Adopted,
    ) -> None:
        """Erase here what was erased in another store."""
        table = TABLES[together.noun]
        key = together.key
        if table is MEMORIES:
            if memory := self._memories.memory(scope, together.target) or self._erasure.removed(
                scope, together.target
            ):
                done.erased.append(memory)
                self._erasure.memory(memory)
        elif table is SESSIONS:
            for session in self._hidden_as(scope, str(key[0])):
                done.sessions.append(session)
                self._erasure.session(scope, session)
        elif table is ENTITIES:
            self._erase_entity(scope, together)
            return
        elif self._rows.row(table, scope, key) is not None:
            self._rows.delete_row(table, scope, key)
        self._erasure.blank(table, scope, together.target, {PURGED: True})

    def _erase_entity(self, scope: Scope, together: Lineage) -> None:
        id_ = together.key[0]
        known = self._rows.row(ENTITIES, scope, together.key)
        if known is None or not self._entities.memories_mentioning(scope, id_):
            self._erasure.whole_entity(scope, id_)
            return
        self._erasure.blank(ENTITIES, scope, together.target, {PURGED: True})
        # The entity stays here, so add it and its names again for the store that erased it.
        self._rows.journal_change(
            self._rows.number(scope), together.noun, together.target, None, None
        )
        for folded, _ in self._entities.names_of(scope, id_):
            self._rows.journal_change(
                self._rows.number(scope), ENTITY_NAMES.noun, to_json([folded, id_]), None, None
            )

    def _hidden_as(self, scope: Scope, hidden: str) -> list[str]:
        rows = self._rows.execute(
            "SELECT id FROM sessions WHERE scope = ?", (self._rows.known(scope),)
        )
        return [session for (session,) in rows if hidden in (session, hidden_session(session))]

    def _erase_until(
        self,
        scope: Scope,
        at: int,
        done: Adopted,
    ) -> None:
        """Erase everything in a scope that is not newer than the time of its erasure elsewhere."""
        number = self._rows.number(scope)
        self._rows.write_journal()
        ((newest,),) = self._rows.execute(
            "SELECT coalesce(max(at), 0) FROM events WHERE scope = ?", (number,)
        )
        if newest <= at:
            with self._rows.silent(*WHOLE_SCOPE):
                self._erasure.scope(scope)
            return
        for (id_,) in self._rows.execute(
            "SELECT id FROM memories WHERE scope = ? AND created_at <= ? ORDER BY seq", (number, at)
        ):
            if memory := self._memories.memory(scope, id_):
                done.erased.append(memory)
                self._erasure.memory(memory)
        for (session,) in self._rows.execute(
            "SELECT id FROM sessions WHERE scope = ? AND started_at <= ?", (number, at)
        ):
            done.sessions.append(session)
            self._erasure.session(scope, session)

    # Messages

    def take_messages(
        self,
        scope: Scope,
        session: str,
        theirs: Sequence[Message],
        *,
        journal: bool,
    ) -> bool:
        rows = self._rows.execute(
            f"SELECT scope, {', '.join(MESSAGES.columns)} FROM messages WHERE scope = ? AND "
            "session = ? "
            "ORDER BY position",
            (self._rows.known(scope), session),
        )
        ours = self._rows.damages.sound(rows, lambda row: message_from(row, self._rows.scope_of))
        if len(ours) < len(rows):
            # Rewriting the messages would lose those that cannot be read.
            return False
        known = self._rows.row(SESSIONS, scope, (session,))
        together = merged_messages(ours, theirs)
        if known is None or together == _said(ours):
            return False
        number = self._rows.number(scope)
        self._rows.execute(
            "DELETE FROM messages WHERE scope = ? AND session = ?", (number, session)
        )
        self._rows.insert_rows(
            MESSAGES,
            number,
            [
                {"session": session, "position": position, "body": body, "created_at": at}
                for position, (at, body) in enumerate(together)
            ],
        )
        last = max(known["last_activity"], *(at for at, _ in together))
        self._rows.execute(
            "UPDATE sessions SET last_activity = ? WHERE scope = ? AND id = ?",
            (last, number, session),
        )
        self._sessions.forget()
        if journal:
            activity = {"last_activity": known["last_activity"]}, {"last_activity": last}
            self._rows.journal_change(number, SESSIONS.noun, to_json([session]), *activity)
        return True

    # How far another store was read

    def note_error(
        self,
        scope: Scope,
        place: str,
        error: str,
    ) -> None:
        key = (self._rows.number(scope), SYNC, place)
        self._rows.execute("DELETE FROM jobs WHERE scope = ? AND kind = ? AND key = ?", key)
        if error:
            self._rows.execute(
                "INSERT INTO jobs (scope, kind, key, status, token, worker, retries_left, error, "
                "watermark, "
                "done_watermark) VALUES (?, ?, ?, 'error', '', '', 0, ?, 0, 0)",
                (*key, error),
            )

    def replica_id(self, scope: Scope) -> str:
        rows = self._rows.execute(
            (
                "SELECT worker FROM jobs WHERE scope = ? AND kind = ? AND worker <> '' ORDER BY "
                "key "
                "LIMIT 1"
            ),
            (self._rows.known(scope), SYNC),
        )
        return str(rows[0][0]) if rows else ""

    def position(self, scope: Scope, peer: str) -> Met:
        rows = self._rows.execute(
            (
                "SELECT done_watermark, token, retry_at FROM jobs WHERE scope = ? AND kind = ? AND "
                "key = ?"
            ),
            (self._rows.known(scope), SYNC, peer),
        )
        return Met(*rows[0]) if rows else Met()

    def set_position(
        self,
        scope: Scope,
        peer: str,
        met: Met,
        *,
        own: str,
    ) -> None:
        self._rows.execute(
            "INSERT INTO jobs (scope, kind, key, status, token, worker, retry_at, retries_left, "
            "error, watermark, "
            "done_watermark) VALUES (?, ?, ?, 'done', ?, ?, ?, 3, '', ?, ?) ON CONFLICT (scope, "
            "kind, key) DO UPDATE "
            "SET token = excluded.token, worker = excluded.worker, retry_at = excluded.retry_at, "
            "watermark = excluded.watermark, done_watermark = excluded.done_watermark, status = "
            "'done', error = ''",
            (self._rows.number(scope), SYNC, peer, met.run, own, met.at, met.seq, met.seq),
        )


def referents(lineage: Lineage) -> Iterator[tuple[str, str]]:
    """Yield noun and target of each row that a row points to."""
    values: Mapping[str, Any] = dict(zip(TABLES[lineage.noun].key, lineage.key, strict=True))
    for column, table in POINTS_TO.get(lineage.noun, ()):
        yield table.noun, values[column] if table is MEMORIES else to_json([values[column]])


def merged_messages(ours: Sequence[Message], theirs: Sequence[Message]) -> list[tuple[int, str]]:
    """Merge the messages of two copies of a session; return time and body of each.

    The result does not depend on which copy comes first. If one copy is a prefix of the other, the
    longer one wins. If both have diverged, messages are ordered by time, and those with the same
    time in one copy stay together.
    """
    mine = _said(ours)
    others = _said(theirs)
    longer, shorter = (mine, others) if len(mine) >= len(others) else (others, mine)
    if longer[: len(shorter)] == shorter:
        return longer
    blocks: dict[int, set[tuple[str, ...]]] = defaultdict(set)
    for said in (mine, others):
        for at, bodies in _by_time(said).items():
            blocks[at] = _longest({*blocks[at], bodies})
    return [(at, body) for at in sorted(blocks) for bodies in sorted(blocks[at]) for body in bodies]


def _said(messages: Sequence[Message]) -> list[tuple[int, str]]:
    return [(message.created_at, to_json(dict(message.body))) for message in messages]


def _by_time(said: Sequence[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    blocks: dict[int, list[str]] = defaultdict(list)
    for at, body in said:
        blocks[at].append(body)
    return {at: tuple(bodies) for at, bodies in blocks.items()}


def _longest(blocks: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Drop blocks that are a prefix of another block."""
    return {
        one
        for one in blocks
        if not any(one != other and other[: len(one)] == one for other in blocks)
    }


def _owner_erased(ours: Lineage, together: Lineage) -> bool:
    """Whether the erasure of the whole scope is new here."""
    return any(ends_owner(event) for event in together.events[len(ours.events) :])


def _turn(pair: tuple[Lineage, Lineage]) -> tuple[int, int]:
    """Sort key of a change: erasure of the whole scope first, then removals, then additions."""
    ours, together = pair
    if _owner_erased(ours, together):
        return 0, 0
    if together.row is None:
        return 1, _GOING.index(together.noun)
    return 2, _COMING.index(together.noun)


def _entry(event: Event, memory: Memory | None) -> dict[str, Any]:
    row = {column: getattr(event, column) for column in EVENTS.columns}
    before = (
        None
        if event.before is None
        else {name: v for name, v in event.before.items() if name != "seq"}
    )
    if before is not None and event.after is None and memory is not None:
        before["seq"] = memory.seq
    images = {"before": before, "after": event.after}
    return row | {
        name: None if image is None else to_json(dict(image)) for name, image in images.items()
    }
