"""Memories inside one transaction, in SQL: find, add, change, remove and link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..errors import InvalidInput, NotFound, RowDamaged
from ..text.normal_forms import content_hash
from ..text.tokens import index_terms
from ..types import Edge, Edges, Kind, Memories, Memory, Scope
from .damage import QUARANTINED
from .filters import marks
from .journal import INSERT_MEMORY, PAGE, JournalledRows
from .row_codec import edge_from, encode, indexed_text, memory_from, memory_values
from .schema import EDGES, MEMORIES, MENTIONS, SELECT_MEMORY


class SQLMemoryTable:
    """The memories of a transaction; see `Transaction` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        self._rows = rows
        # Sessions that lost a turn, with the time of the latest removed one; see `calm`.
        self._quieter: dict[tuple[Scope, str], int] = {}

    def memory(self, scope: Scope, ref: str | int) -> Memory | None:
        column = "seq" if isinstance(ref, int) else "id"
        rows = self._rows.execute(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.scope = ? AND m.{column} = ?",
            (self._rows.known(scope), ref),
        )
        return memory_from(rows[0], self._rows.scope_of) if rows else None

    def _readable(self, scope: Scope, ref: str | int) -> Memory | None:
        """Return the memory with this id or number; None if there is none or its row is damaged."""
        try:
            return self.memory(scope, ref)
        except RowDamaged as error:
            self._rows.damages.learn_of(error)
            return None

    def is_sound(self, memory: Memory) -> bool:
        sql = "SELECT content_hash FROM memories WHERE scope = ? AND id = ?"
        rows = self._rows.execute(sql, (self._rows.known(memory.scope), memory.id))
        return bool(rows) and bytes(rows[0][0]) == content_hash(memory.content)

    def same_words(self, memories: Sequence[Memory]) -> dict[str, Memories]:
        found: dict[str, Memories] = {}
        for start in range(0, len(memories), PAGE):
            found |= self._same_words(memories[start : start + PAGE])
        return found

    def _same_words(self, memories: Sequence[Memory]) -> dict[str, Memories]:
        places = {
            one.id: (self._rows.known(one.scope), content_hash(one.content)) for one in memories
        }
        numbers = sorted({number for number, _ in places.values()})
        hashes = [hash_ for _, hash_ in places.values()]
        rows = self._rows.execute(
            f"SELECT scope, content_hash, seq FROM memories WHERE scope IN ({marks(numbers)}) "
            f"AND content_hash IN ({marks(hashes)}) AND kind <> 'turn'",
            (*numbers, *hashes),
        )
        # Rows are decoded one by one because twins are rare: usually the index finds none.
        twins: dict[tuple[int, bytes], Memories] = defaultdict(list)
        for number, hash_, seq in sorted(rows, key=lambda row: row[2]):
            twin = self._readable(self._rows.scope_of(number), seq)
            if twin is not None:
                twins[number, bytes(hash_)].append(twin)
        return {id_: twins[place] for id_, place in places.items() if place in twins}

    def add_many(self, memories: Sequence[Memory]) -> Memories:
        numbers = {memory.scope: self._rows.number(memory.scope) for memory in memories}
        rows = []
        indexed = []
        seqs = self._rows.new_seqs(len(memories))
        for seq, memory in zip(seqs, memories, strict=True):
            number = numbers[memory.scope]
            active = memory.status == "active"
            terms = index_terms(indexed_text(memory.title, memory.content, memory.tags))
            rows.append(
                (seq, number, content_hash(memory.content), len(terms), *memory_values(memory))
            )
            indexed.append((seq, number, terms, active))
            if active:
                self._rows.count_totals(number, 1, len(terms))
            self._rows.note_touched(number, memory.__dict__, None)
            self._rows.journal_change(number, "memory", memory.id, None, None)
            self._rows.unmentioned.add((number, memory.id))
        self._rows.execute.many(INSERT_MEMORY, rows)
        self._rows.index(indexed)
        return [memory.with_(seq=seq) for seq, memory in zip(seqs, memories, strict=True)]

    def change(self, memory: Memory, **fields: Any) -> Memory:
        if "content" in fields or "id" in fields:
            raise InvalidInput(
                "A memory's text does not change: correct it, which stores a new one."
            )
        wanted = {name: encode(name, value) for name, value in fields.items()}
        if memory.status_reason.startswith(QUARANTINED) and "status" in fields:
            # A person has decided about a quarantined memory, so its current text becomes the
            # stored one.
            self._rows.execute(
                "UPDATE memories SET content_hash = ? WHERE scope = ? AND id = ?",
                (content_hash(memory.content), self._rows.number(memory.scope), memory.id),
            )
        self._rows.update_row(MEMORIES, memory.scope, (memory.id,), wanted)
        changed = self.memory(memory.scope, memory.id)
        if changed is None:
            raise NotFound(f"No memory {memory.id!r} in scope '{memory.scope}'.")
        return changed

    def remove(self, memory: Memory) -> None:
        number = self._rows.number(memory.scope)
        if memory.session is not None:
            place = memory.scope, memory.session
            self._quieter[place] = max(memory.created_at, self._quieter.get(place, 0))
        for entity, _ in self._rows.execute(
            "SELECT entity, memory FROM mentions WHERE scope = ? AND memory = ?",
            (number, memory.id),
        ):
            self._rows.delete_row(MENTIONS, memory.scope, (entity, memory.id))
        for source, target, relation in self._rows.execute(
            (
                "SELECT source, target, relation FROM edges WHERE scope = ? AND (source = ? OR "
                "target "
                "= ?)"
            ),
            (number, memory.id, memory.id),
        ):
            self._rows.delete_row(EDGES, memory.scope, (source, target, relation))
        self._rows.delete_row(MEMORIES, memory.scope, (memory.id,))

    def calm(self) -> None:
        """Reset the last activity of sessions that lost their latest turn.

        Activity is not journalled, so it is computed from what remains: turns, messages and the
        start of the session.
        """
        for (scope, session), at in self._quieter.items():
            number = self._rows.known(scope)
            self._rows.execute(
                "UPDATE sessions SET last_activity = (SELECT max(known) FROM ("
                "SELECT started_at AS known FROM sessions WHERE scope = ? AND id = ? UNION ALL "
                "SELECT max(created_at) FROM memories WHERE scope = ? AND session = ? AND kind = "
                "'turn' UNION ALL "
                "SELECT max(created_at) FROM messages WHERE scope = ? AND session = ?) AS every) "
                "WHERE scope = ? AND id = ? AND last_activity = ?",
                (*(number, session) * 4, at),
            )
        self._quieter.clear()

    def surplus(
        self,
        scope: Scope,
        kinds: Sequence[Kind],
        keep: int,
        *,
        spare_unconsolidated: bool,
    ) -> Memories:
        active = (
            "FROM memories m WHERE m.scope = ? AND m.status = 'active' AND m.kind IN "
            f"({marks(kinds)})"
        )
        values = (self._rows.known(scope), *kinds)
        ((count,),) = self._rows.execute(f"SELECT count(*) {active}", values)
        if count <= keep:
            return []
        may_go = "m.protected = 0" + (
            " AND m.consolidated_at IS NOT NULL" if spare_unconsolidated else ""
        )
        rows = self._rows.execute(
            f"SELECT {SELECT_MEMORY} {active} AND {may_go} ORDER BY m.created_at, m.seq LIMIT ?",
            (*values, count - keep),
        )
        return self._rows.memories(rows)

    def link(self, edge: Edge) -> None:
        row = {column: getattr(edge, column) for column in EDGES.columns}
        if self._rows.row(EDGES, edge.scope, (edge.source, edge.target, edge.relation)) is None:
            self._rows.insert_pointing(EDGES, edge.scope, row)

    def edges(self, scope: Scope, memory: str) -> Edges:
        rows = self._rows.execute(
            f"SELECT scope, {', '.join(EDGES.columns)} FROM edges WHERE scope = ? AND (source = ? "
            "OR target = ?) "
            "ORDER BY created_at, source, target, relation",
            (self._rows.known(scope), memory, memory),
        )
        return self._rows.damages.sound(rows, lambda row: edge_from(row, self._rows.scope_of))
