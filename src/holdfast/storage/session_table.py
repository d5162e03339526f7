"""Sessions and their messages in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidInput, NotFound
from ..types import Memories, Memory, Messages, Micros, Scope, Session, Sessions
from .filters import like_escaped, marks
from .journal import JournalledRows
from .row_codec import message_from, session_from, session_values, to_json
from .schema import MESSAGES, SELECT_MEMORY, SESSIONS, Rows
from .table_access import Access, StoreAccess

# Ids per statement, well below SQLite's limit on bound parameters.
PAGE = 500

# When the last turn of session `s` was said: long before it was stored, if somebody took in a
# conversation from the past.
LAST_SAID = (
    "(SELECT m.event_time FROM memories m WHERE m.scope = s.scope AND m.session = s.id "
    "AND m.position IS NOT NULL ORDER BY m.position DESC LIMIT 1)"
)


class SQLSessionReads:
    """Sessions as stores and transactions read them; see `SessionReads` in protocol.py."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        open_only: bool = False,
        active_since: Micros | None = None,
    ) -> Sessions:
        numbers = self._access.numbers(scopes)
        ended = " AND ended_at IS NULL" if open_only else ""
        since = "" if active_since is None else " AND last_activity >= ?"
        rows = self._access.read(
            numbers,
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions s "
            f"WHERE scope IN ({marks(numbers)}){ended}{since} "
            f"ORDER BY coalesce({LAST_SAID}, last_activity) DESC, last_activity DESC, id DESC",
            (*numbers, *(() if active_since is None else (active_since,))),
        )
        return self._sessions_of(rows)

    def _sessions_of(self, rows: Rows) -> Sessions:
        return self._access.damages.sound(
            rows, lambda row: session_from(row, self._access.scope_of)
        )

    def get(self, scope: Scope, id: str) -> Session | None:
        numbers = self._access.numbers((scope,))
        rows = self._access.read(
            numbers,
            (
                f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope IN "
                f"({marks(numbers)}) AND id = ?"
            ),
            (*numbers, id),
        )
        return session_from(rows[0], self._access.scope_of) if rows else None

    def messages(
        self,
        scope: Scope,
        session: str,
        *,
        last: int | None = None,
    ) -> Messages:
        numbers = self._access.numbers((scope,))
        tail = (
            "ORDER BY position" if last is None else f"ORDER BY position DESC LIMIT {max(0, last)}"
        )
        rows = self._access.read(
            numbers,
            f"SELECT scope, {', '.join(MESSAGES.columns)} FROM messages WHERE scope IN "
            f"({marks(numbers)}) "
            f"AND session = ? {tail}",
            (*numbers, session),
        )
        said = self._access.damages.sound(
            rows, lambda row: message_from(row, self._access.scope_of)
        )
        return said if last is None else said[::-1]

    def message_counts(self, scope: Scope, sessions: Sequence[str]) -> dict[str, int]:
        numbers = self._access.numbers((scope,))
        counted = dict[str, int]()
        for start in range(0, len(sessions), PAGE):
            among, values = self._access.dialect.among("session", sessions[start : start + PAGE])
            counted |= dict(
                self._access.read(
                    numbers,
                    f"SELECT session, count(*) FROM messages WHERE scope IN ({marks(numbers)}) "
                    f"AND {among} "
                    "GROUP BY session",
                    (*numbers, *values),
                )
            )
        return counted


class SQLStoreSessions(SQLSessionReads):
    """The sessions of a store; see `StoreSessions` in protocol.py."""

    def __init__(self, store: StoreAccess) -> None:
        super().__init__(store)
        self._store = store

    def unled(self, scopes: Sequence[Scope] | None = None) -> Sessions:
        numbers = None if scopes is None else self._store.numbers(scopes)
        within = "" if numbers is None else f" AND scope IN ({marks(numbers)})"
        rows = self._store.read(
            numbers,
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions "
            f"WHERE ended_at IS NULL AND agent = ''{within} ORDER BY last_activity DESC, id DESC",
            numbers or (),
        )
        self._store.learn_scopes(row[0] for row in rows)
        return self._sessions_of(rows)

    def unread(self, scopes: Sequence[Scope] | None = None) -> Sessions:
        numbers = [] if scopes is None else self._store.numbers(scopes)
        within = "" if scopes is None else f"s.scope IN ({marks(numbers)}) AND "
        columns = ", ".join(f"s.{column}" for column in ("scope", *SESSIONS.columns))
        rows = self._store.read(
            None if scopes is None else numbers,
            f"SELECT {columns} FROM sessions s WHERE {within}s.ended_at IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM progress p WHERE p.scope = s.scope AND p.session = s.id "
            "AND p.sink = 'summary' AND p.position >= s.last_activity) "
            "AND EXISTS (SELECT 1 FROM memories m WHERE m.scope = s.scope AND m.session = s.id) "
            "ORDER BY s.last_activity, s.id",
            () if scopes is None else numbers,
        )
        self._store.learn_scopes(row[0] for row in rows)
        return self._sessions_of(rows)


class SQLSessionTable(SQLSessionReads):
    """The sessions of a transaction; see `SessionTable` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        super().__init__(rows)
        self._rows = rows
        # Cache: storing one turn looks up its session several times.
        self._seen: dict[tuple[Scope, str], Session] = {}

    def next_position(self, scope: Scope, session: str) -> int:
        # Not max(), for which SQLite would scan all turns of the session.
        rows = self._rows.execute(
            "SELECT position FROM memories WHERE scope = ? AND session = ? AND position IS NOT "
            "NULL "
            "ORDER BY position DESC LIMIT 1",
            (self._rows.known(scope), session),
        )
        return int(rows[0][0]) + 1 if rows else 0

    def places(self, scope: Scope, ids: Sequence[str]) -> dict[str, tuple[Session | None, int]]:
        number = self._rows.known(scope)
        found: dict[str, tuple[Session | None, int]] = {}
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            among, values = self._rows.dialect.among("s.id", page)
            for *row, position in self._rows.execute(
                f"SELECT s.scope, s.{', s.'.join(SESSIONS.columns)}, (SELECT m.position FROM "
                "memories m WHERE m.scope = s.scope AND m.session = s.id AND m.position IS NOT "
                "NULL ORDER BY m.position DESC LIMIT 1) "
                f"FROM sessions s WHERE s.scope = ? AND {among}",
                (number, *values),
            ):
                session = session_from(tuple(row), self._rows.scope_of)
                self._seen[scope, session.id] = session
                found[session.id] = session, 0 if position is None else int(position) + 1
            if new := [id_ for id_ in page if id_ not in found]:
                found |= self._new_places(number, new)
        return found

    def _new_places(self, number: int, ids: Sequence[str]) -> dict[str, tuple[Session | None, int]]:
        """Sessions that do not exist. Nearly all have no turns, so max() has nothing to scan."""
        among, values = self._rows.dialect.among("session", ids)
        rows = self._rows.execute(
            f"SELECT session, max(position) FROM memories WHERE scope = ? AND {among} AND "
            "position IS NOT NULL GROUP BY session",
            (number, *values),
        )
        last: dict[str, int] = dict(rows)
        return {id_: (None, int(last.get(id_, -1)) + 1) for id_ in ids}

    def go_on(
        self,
        scope: Scope,
        session: str,
        *,
        at: Micros,
    ) -> int | None:
        # Runs for nearly every turn, so it takes one read and at most one write, and builds no
        # Session.
        rows = self._rows.execute(
            "SELECT s.last_activity, (SELECT m.position FROM memories m WHERE m.scope = s.scope "
            "AND m.session = s.id "
            "AND m.position IS NOT NULL ORDER BY m.position DESC LIMIT 1) "
            "FROM sessions s WHERE s.scope = ? AND s.id = ? AND s.ended_at IS NULL",
            (self._rows.known(scope), session),
        )
        if not rows:
            return None
        ((last_activity, position),) = rows
        if last_activity < at:
            self._seen.pop((scope, session), None)
            sql = "UPDATE sessions SET last_activity = ? WHERE scope = ? AND id = ?"
            self._rows.execute(sql, (at, self._rows.known(scope), session))
        return 0 if position is None else int(position) + 1

    def get(self, scope: Scope, id: str) -> Session | None:
        if (scope, id) not in self._seen:
            rows = self._rows.execute(
                (
                    f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope = ? "
                    "AND "
                    "id = ?"
                ),
                (self._rows.known(scope), id),
            )
            if not rows:
                return None
            self._seen[scope, id] = session_from(rows[0], self._rows.scope_of)
        return self._seen[scope, id]

    def put(self, session: Session) -> None:
        self._rows.put_row(SESSIONS, session.scope, session_values(session))
        self._seen[session.scope, session.id] = session

    def begin_many(self, scope: Scope, sessions: Sequence[Session]) -> None:
        if sessions:
            self._rows.insert_all(SESSIONS, scope, [session_values(one) for one in sessions])
            self._seen |= {(scope, one.id): one for one in sessions}

    def add_messages(
        self,
        scope: Scope,
        session: str,
        bodies: Sequence[Mapping[str, Any]],
    ) -> int:
        if self._rows.row(SESSIONS, scope, (session,)) is None:
            raise NotFound(f"No session {session!r} in scope '{scope}'.", id=session)
        number = self._rows.number(scope)
        ((last,),) = self._rows.execute(
            "SELECT max(position) FROM messages WHERE scope = ? AND session = ?", (number, session)
        )
        first = 0 if last is None else last + 1
        rows = [
            {
                "session": session,
                "position": position,
                "body": message_body(body),
                "created_at": self._rows.author.at,
            }
            for position, body in enumerate(bodies, start=first)
        ]
        if rows:
            self._rows.insert_rows(MESSAGES, number, rows)
            self._rows.note_appended(number, session, int(first + len(rows)) - 1)
        return int(first + len(rows))

    def memories(
        self,
        scope: Scope,
        session: str,
        *,
        named: bool = False,
    ) -> Memories:
        number = self._rows.known(scope)
        select = f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope = ? AND "
        if not named:
            sql = f"{select} m.session = ? ORDER BY m.position, m.seq"
            return self._rows.memories(self._rows.execute(sql, (number, session)))
        rows = self._rows.execute(
            f"{select} (m.session = ? OR m.metadata LIKE ? ESCAPE '!') ORDER BY m.seq",
            (number, session, f"%{like_escaped(session_entry(session))}%"),
        )
        # LIKE also matches the same text elsewhere in the metadata.
        return [one for one in self._rows.memories(rows) if session in _sessions_named(one)]

    def forget(self) -> None:
        """Drop the cached sessions after their rows have changed."""
        self._seen.clear()


def message_body(body: Mapping[str, Any]) -> str:
    """Encode a message for its column; raises InvalidInput if it could not be read back or
    exported.
    """
    if not isinstance(body, Mapping):
        raise InvalidInput(
            f"A message is a JSON object, not {type(body).__name__}. None was stored."
        )
    try:
        text = to_json(dict(body))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"This message cannot be written as JSON ({error}). None was stored."
        ) from error
    return text


def session_entry(session: str) -> str:
    """Return the JSON fragment with which metadata names a session."""
    return to_json({"session": session})[1:-1]


def _sessions_named(memory: Memory) -> tuple[object, ...]:
    """Return the session of a memory, and those that its metadata and its source name."""
    source = memory.metadata.get("source")
    taught_by = source.get("session") if isinstance(source, Mapping) else None
    return memory.session, memory.metadata.get("session"), taught_by
