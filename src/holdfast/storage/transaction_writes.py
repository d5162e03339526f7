"""The nouns inside one transaction: memories, sessions and their messages, entities, jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import Conflict, InvalidInput, NotFound, RowDamaged
from ..text.tokens import index_terms
from ..types import (
    Edge,
    Entity,
    Job,
    Kind,
    Memories,
    Memory,
    Micros,
    Progress,
    Scope,
    Session,
    Sessions,
)
from .damage import QUARANTINED
from .filters import marks
from .journal import INSERT_MEMORY, PAGE, JournalledRows
from .progress_table import progress_from, progress_values
from .schema import (
    EDGES,
    ENTITIES,
    ENTITY_NAMES,
    LOCAL_SINKS,
    MEMORIES,
    MENTIONS,
    MESSAGES,
    PROFILES,
    PROGRESS,
    SELECT_MEMORY,
    SESSIONS,
    Rows,
    claim,
    content_hash,
    encode,
    entity_from,
    entity_names,
    fold,
    indexed_text,
    memory_from,
    memory_values,
    profile_from,
    session_from,
    session_values,
    to_json,
)


class NounWriter(JournalledRows):
    """What a transaction may do to each noun; see `Transaction` in protocol.py."""

    # Memories

    def memory(self, scope: Scope, ref: str | int) -> Memory | None:
        column = "seq" if isinstance(ref, int) else "id"
        rows = self.execute(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope = ? AND m.{column} = ?",
            (self.known(scope), ref),
        )
        return memory_from(rows[0], self.scope) if rows else None

    def _readable(self, scope: Scope, ref: str | int) -> Memory | None:
        """The memory with this id or number, or None where there is none that can be read."""
        try:
            return self.memory(scope, ref)
        except RowDamaged as error:
            self.damages.learn_of(error)
            return None

    def _memories(self, rows: Rows) -> Memories:
        """The memories of rows read as SELECT_MEMORY."""
        return self.damages.sound(rows, lambda row: memory_from(row, self.scope))

    def is_sound(self, memory: Memory) -> bool:
        sql = "SELECT content_hash FROM memories WHERE scope = ? AND id = ?"
        rows = self.execute(sql, (self.known(memory.scope), memory.id))
        return bool(rows) and bytes(rows[0][0]) == content_hash(memory.content)

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
            f"AND content_hash IN ({marks(hashes)}) AND kind <> 'turn'",
            (*numbers, *hashes),
        )
        # Nearly always there is none, and the index alone says so.
        twins = [
            self._readable(self.scope(number), seq)
            for number, _, seq in sorted(rows, key=lambda row: row[2])
        ]
        oldest: dict[tuple[Any, ...], Memory] = {}
        for twin in twins:
            if twin is not None and twin.status == "active":
                oldest.setdefault(claim(twin), twin)
        return {memory.id: oldest[claim(memory)] for memory in memories if claim(memory) in oldest}

    def same_words(self, memories: Sequence[Memory]) -> dict[str, Memories]:
        found: dict[str, Memories] = {}
        for memory in memories:
            rows = self.execute(
                f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope = ? AND m.content_hash = ? "
                "AND m.kind <> 'turn' ORDER BY m.seq",
                (self.known(memory.scope), content_hash(memory.content)),
            )
            if rows:
                found[memory.id] = [memory_from(row, self.scope) for row in rows]
        return found

    def add(self, memory: Memory) -> Memory:
        return self.add_many([memory])[0]

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        numbers = {memory.scope: self.number(memory.scope) for memory in memories}
        rows = []
        indexed = []
        seqs = self.new_seqs(len(memories))
        for seq, memory in zip(seqs, memories, strict=True):
            number = numbers[memory.scope]
            active = memory.status == "active"
            terms = index_terms(indexed_text(memory.title, memory.content, memory.tags))
            rows.append(
                (seq, number, content_hash(memory.content), len(terms), *memory_values(memory))
            )
            indexed.append((seq, number, terms, active))
            if active:
                self._count(number, 1, len(terms))
            self._touch(number, memory.__dict__, None)
            self._journal(number, "memory", memory.id, None, None)
        self.execute.many(INSERT_MEMORY, rows)
        self.index(indexed)
        return [memory.with_(seq=seq) for seq, memory in zip(seqs, memories, strict=True)]

    def change(self, memory: Memory, **fields: Any) -> Memory:
        if "content" in fields or "id" in fields:
            raise InvalidInput(
                "A memory's text does not change: correct it, which stores a new one."
            )
        wanted = {name: encode(name, value) for name, value in fields.items()}
        if memory.status_reason.startswith(QUARANTINED) and "status" in fields:
            # Somebody decided about a damaged memory: from now on its text is what it says.
            self.execute(
                "UPDATE memories SET content_hash = ? WHERE scope = ? AND id = ?",
                (content_hash(memory.content), self.number(memory.scope), memory.id),
            )
        self._update(MEMORIES, memory.scope, (memory.id,), wanted)
        changed = self.memory(memory.scope, memory.id)
        if changed is None:
            raise NotFound(f"No memory {memory.id!r} in scope '{memory.scope}'.")
        return changed

    def remove(self, memory: Memory) -> None:
        number = self.number(memory.scope)
        if memory.session is not None:
            place = memory.scope, memory.session
            self._quieter[place] = max(memory.created_at, self._quieter.get(place, 0))
        for entity, _ in self.execute(
            "SELECT entity, memory FROM mentions WHERE scope = ? AND memory = ?",
            (number, memory.id),
        ):
            self._delete(MENTIONS, memory.scope, (entity, memory.id))
        for source, target, relation in self.execute(
            (
                "SELECT source, target, relation FROM edges WHERE scope = ? AND (source = ? OR "
                "target "
                "= ?)"
            ),
            (number, memory.id, memory.id),
        ):
            self._delete(EDGES, memory.scope, (source, target, relation))
        self._delete(MEMORIES, memory.scope, (memory.id,))

    def _calm(self) -> None:
        """Sets back when sessions were last active whose latest turn was taken out: to the latest
        that is left.

        That is not journalled, so it is told by what is there: turns, messages, and when the
        session began.
        """
        for (scope, session), at in self._quieter.items():
            number = self.known(scope)
            self.execute(
                "UPDATE sessions SET last_activity = (SELECT max(known) FROM ("
                "SELECT started_at AS known FROM sessions WHERE scope = ? AND id = ? UNION ALL "
                "SELECT max(created_at) FROM memories WHERE scope = ? AND session = ? AND kind = "
                "'turn' UNION ALL "
                "SELECT max(created_at) FROM messages WHERE scope = ? AND session = ?) AS every) "
                "WHERE scope = ? AND id = ? AND last_activity = ?",
                (*(number, session) * 4, at),
            )
        self._quieter.clear()
        self._sessions.clear()

    def _mentions(self, scope: Scope, entity: str) -> set[str]:
        """The memories that mention an entity."""
        rows = self.execute(
            "SELECT memory FROM mentions WHERE scope = ? AND entity = ?",
            (self.known(scope), entity),
        )
        return {memory for (memory,) in rows}

    def surplus(
        self, scope: Scope, kinds: Sequence[Kind], keep: int, *, spare_unconsolidated: bool
    ) -> Memories:
        active = (
            "FROM memories m WHERE m.scope = ? AND m.status = 'active' AND m.kind IN "
            f"({marks(kinds)})"
        )
        values = (self.known(scope), *kinds)
        ((count,),) = self.execute(f"SELECT count(*) {active}", values)
        if count <= keep:
            return []
        may_go = "m.protected = 0" + (
            " AND m.consolidated_at IS NOT NULL" if spare_unconsolidated else ""
        )
        rows = self.execute(
            f"SELECT {SELECT_MEMORY} {active} AND {may_go} ORDER BY m.created_at, m.seq LIMIT ?",
            (*values, count - keep),
        )
        return self._memories(rows)

    def link(self, edge: Edge) -> None:
        row = {column: getattr(edge, column) for column in EDGES.columns}
        if self._row(EDGES, edge.scope, (edge.source, edge.target, edge.relation)) is None:
            self._insert_pointing(EDGES, edge.scope, row)

    # Sessions

    def next_position(self, scope: Scope, session: str) -> int:
        # Not max(): SQLite would walk all turns of the session.
        rows = self.execute(
            "SELECT position FROM memories WHERE scope = ? AND session = ? AND position IS NOT "
            "NULL "
            "ORDER BY position DESC LIMIT 1",
            (self.known(scope), session),
        )
        return int(rows[0][0]) + 1 if rows else 0

    def go_on(self, scope: Scope, session: str, *, at: Micros) -> int | None:
        # Nearly every turn finds its place here, so it is one look and one note, and no Session is
        # made.
        rows = self.execute(
            "SELECT s.last_activity, (SELECT m.position FROM memories m WHERE m.scope = s.scope "
            "AND m.session = s.id "
            "AND m.position IS NOT NULL ORDER BY m.position DESC LIMIT 1) "
            "FROM sessions s WHERE s.scope = ? AND s.id = ? AND s.ended_at IS NULL",
            (self.known(scope), session),
        )
        if not rows:
            return None
        ((last_activity, position),) = rows
        if last_activity < at:
            self._sessions.pop((scope, session), None)
            sql = "UPDATE sessions SET last_activity = ? WHERE scope = ? AND id = ?"
            self.execute(sql, (at, self.known(scope), session))
        return 0 if position is None else int(position) + 1

    def in_session(self, scope: Scope, session: str) -> Memories:
        rows = self.execute(
            (
                f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope = ? AND m.session = ? "
                "ORDER BY "
                "m.position, m.seq"
            ),
            (self.known(scope), session),
        )
        return self._memories(rows)

    def session(self, scope: Scope, session: str) -> Session | None:
        if (scope, session) not in self._sessions:
            rows = self.execute(
                (
                    f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope = ? "
                    "AND "
                    "id = ?"
                ),
                (self.known(scope), session),
            )
            if not rows:
                return None
            self._sessions[scope, session] = session_from(rows[0], self.scope)
        return self._sessions[scope, session]

    def open_sessions(self, scope: Scope) -> Sessions:
        rows = self.execute(
            f"SELECT scope, {', '.join(SESSIONS.columns)} FROM sessions WHERE scope = ? AND "
            "ended_at IS NULL "
            "ORDER BY last_activity DESC, id DESC",
            (self.known(scope),),
        )
        return self.damages.sound(rows, lambda row: session_from(row, self.scope))

    def put_session(self, session: Session) -> None:
        self._put(SESSIONS, session.scope, session_values(session))
        self._sessions[session.scope, session.id] = session

    def progress(self, scope: Scope, session: str, sink: str) -> Progress | None:
        row = self._row(PROGRESS, scope, (session, sink))
        if row is None:
            return None
        return progress_from((self.known(scope), *row.values()), self.scope)

    def put_progress(self, progress: Progress) -> None:
        values = progress_values(progress)
        known = self._row(PROGRESS, progress.scope, (progress.session, progress.sink))
        # Who came no further leaves no entry in the journal.
        if known is not None and values == {**known, "at": progress.at}:
            return
        with self._unless_local(progress.session, progress.sink):
            self._put(PROGRESS, progress.scope, values)

    def drop_progress(self, scope: Scope, session: str, sink: str) -> None:
        if self._row(PROGRESS, scope, (session, sink)) is not None:
            with self._unless_local(session, sink):
                self._delete(PROGRESS, scope, (session, sink))

    @contextmanager
    def _unless_local(self, session: str, sink: str) -> Iterator[None]:
        """Inside, nothing is journalled about the mark of a sink that belongs to this store."""
        if sink not in LOCAL_SINKS:
            yield
            return
        before, self._unsaid = self._unsaid, (PROGRESS.noun, to_json([session, sink]))
        try:
            yield
        finally:
            self._unsaid = before

    def add_messages(self, scope: Scope, session: str, bodies: Sequence[Mapping[str, Any]]) -> int:
        if self._row(SESSIONS, scope, (session,)) is None:
            raise NotFound(f"No session {session!r} in scope '{scope}'.", id=session)
        number = self.number(scope)
        ((last,),) = self.execute(
            "SELECT max(position) FROM messages WHERE scope = ? AND session = ?", (number, session)
        )
        first = 0 if last is None else last + 1
        rows = [
            {
                "session": session,
                "position": position,
                "body": message_body(body),
                "created_at": self._author.at,
            }
            for position, body in enumerate(bodies, start=first)
        ]
        if rows:
            self._raw_insert(MESSAGES, number, rows)
        return int(first + len(rows))

    # Profiles

    def profile(self, scope: Scope) -> Mapping[str, Any]:
        row = self._row(PROFILES, scope, ())
        return profile_from((row["settings"],) if row else None, scope)

    def put_profile(self, scope: Scope, settings: Mapping[str, Any]) -> None:
        self._put(PROFILES, scope, {"settings": to_json(dict(settings))})

    # Entities

    def entity(self, scope: Scope, id: str) -> Entity | None:
        found = self._entities(scope, "e.id = ?", (id,))
        return found[0] if found else None

    def entity_named(self, scope: Scope, folded_name: str, type: str) -> Entity | None:
        found = self._entities(
            scope,
            (
                "e.type = ? AND e.id IN (SELECT a.entity FROM entity_names a WHERE a.scope = ? AND "
                "a.folded = ?)"
            ),
            (type, self.known(scope), folded_name),
        )
        return min(found, key=lambda entity: fold(entity.name) != folded_name, default=None)

    def _entities(self, scope: Scope, condition: str, values: Sequence[Any]) -> list[Entity]:
        """The entities of a scope for which a condition holds, with their names, oldest first."""
        rows = self.execute(
            f"SELECT e.scope, {', '.join(f'e.{column}' for column in ENTITIES.columns)} FROM "
            "entities e "
            f"WHERE e.scope = ? AND {condition} ORDER BY e.created_at, e.id",
            (self.known(scope), *values),
        )
        return self.damages.sound(
            rows,
            lambda row: entity_from(
                row, [name for _, name in self._names_of(scope, row[1])], self.scope
            ),
        )

    def _names_of(self, scope: Scope, entity: str) -> list[tuple[str, str]]:
        """The names of an entity, folded and as written."""
        rows = self.execute(
            "SELECT folded, name FROM entity_names WHERE scope = ? AND entity = ?",
            (self.known(scope), entity),
        )
        return sorted((folded, name) for folded, name in rows)

    def put_entity(self, entity: Entity) -> None:
        self._put(
            ENTITIES, entity.scope, {column: getattr(entity, column) for column in ENTITIES.columns}
        )
        wanted = entity_names(entity)
        known = self._names_of(entity.scope, entity.id)
        for folded, name in known:
            if wanted.get(folded) != name:
                self._delete(ENTITY_NAMES, entity.scope, (folded, entity.id))
        for folded, name in wanted.items():
            if (folded, name) not in known:
                self._insert(
                    ENTITY_NAMES,
                    entity.scope,
                    {"folded": folded, "entity": entity.id, "name": name},
                )

    def mention(self, scope: Scope, *, entity: str, memory: str) -> None:
        if self._row(MENTIONS, scope, (entity, memory)) is None:
            self._insert_pointing(MENTIONS, scope, {"entity": entity, "memory": memory})

    def unmention(self, scope: Scope, *, entity: str, memory: str) -> None:
        if self._row(MENTIONS, scope, (entity, memory)) is not None:
            self._delete(MENTIONS, scope, (entity, memory))

    def remove_entity(self, entity: Entity) -> None:
        for (memory,) in self.execute(
            "SELECT memory FROM mentions WHERE scope = ? AND entity = ? ORDER BY memory",
            (self.known(entity.scope), entity.id),
        ):
            self._delete(MENTIONS, entity.scope, (entity.id, memory))
        for folded, _ in self._names_of(entity.scope, entity.id):
            self._delete(ENTITY_NAMES, entity.scope, (folded, entity.id))
        self._delete(ENTITIES, entity.scope, (entity.id,))

    def mentioning(self, scope: Scope, entity: str) -> Memories:
        rows = self.execute(
            f"SELECT {SELECT_MEMORY} FROM mentions t CROSS JOIN memories m "
            "WHERE m.scope = t.scope AND m.id = t.memory AND t.scope = ? AND t.entity = ? ORDER "
            "BY m.seq",
            (self.known(scope), entity),
        )
        return self._memories(rows)

    # Jobs

    def finish(self, job: Job) -> None:
        rows = self.execute(
            "UPDATE jobs SET status = CASE WHEN watermark > ? THEN 'pending' ELSE 'done' END, "
            "token = '', worker = '', "
            "lease_until = NULL, error = '', done_watermark = ? WHERE scope = ? AND kind = ? AND "
            "key = ? AND token = ? "
            "AND status = 'running' AND lease_until > ? RETURNING key",
            (
                job.watermark,
                job.watermark,
                self.known(job.scope),
                job.kind,
                job.key,
                job.token,
                self._author.at,
            ),
        )
        if not rows:
            raise Conflict(
                f"The lease of {job.kind} {job.key!r} was lost. Its outputs were not written."
            )


def message_body(body: Mapping[str, Any]) -> str:
    """A message as its column holds it; InvalidInput if that, or an export of it, could not be read
    again.
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
