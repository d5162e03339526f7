"""Entities in SQL: who and what memories mention, found by every name they go by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..types import Entity, Memories, Scope, Status
from .damage import GarbledRow
from .filters import Clause, marks, where_clause
from .protocol import Entities, Filter, Ranked
from .schema import ENTITIES, SELECT_MEMORY, Row, Rows, entity_from
from .scope_numbers import ScopedSQL

PAGE = 500
_COLUMNS = ", ".join(f"e.{column}" for column in ENTITIES.columns)


class SQLEntities(ScopedSQL):
    """The part of a store that knows entities; see `Store` in protocol.py for what each method
    promises.
    """

    def by_entity(self, where: Filter, folded_names: Sequence[str], limit: int) -> Ranked:
        numbers = self.numbers(where.scopes)
        if not numbers or not folded_names:
            return []
        condition, values = where_clause(where, numbers, self.dialect)
        entities = self.read(
            numbers,
            f"SELECT DISTINCT entity FROM entity_names WHERE scope IN ({marks(numbers)}) "
            f"AND folded IN ({marks(folded_names)})",
            (*numbers, *folded_names),
        )
        if not entities:
            return []
        rows = self.read(
            numbers,
            # A cross join keeps the planner from starting with every memory of the scope.
            "SELECT m.seq, count(*) FROM mentions t CROSS JOIN memories m WHERE m.scope = t.scope "
            "AND m.id = t.memory "
            f"AND t.scope IN ({marks(numbers)}) AND t.entity IN ({marks(entities)}) AND "
            f"{condition} "
            "GROUP BY m.seq ORDER BY count(*) DESC, m.seq DESC LIMIT ?",
            (*numbers, *(entity for (entity,) in entities), *values, limit),
        )
        return [(seq, min(1.0, count / len(set(folded_names)))) for seq, count in rows]

    def entities(
        self,
        scopes: Sequence[Scope],
        *,
        names: Sequence[str] | None = None,
        types: Sequence[str] = (),
        limit: int | None = None,
    ) -> Entities:
        numbers = self.numbers(scopes)
        parts = ["TRUE"]
        values = list[Any]()
        if names is not None:
            named = (
                f"SELECT a.scope, a.entity FROM entity_names a WHERE a.scope IN ({marks(numbers)})"
            )
            parts.append(f"(e.scope, e.id) IN ({named} AND a.folded IN ({marks(names)}))")
            values += [*numbers, *names]
        if types:
            parts.append(f"e.type IN ({marks(types)})")
            values += types
        return self._entities(numbers, (" AND ".join(parts), values), limit)

    def entity(self, scope: Scope, id: str) -> Entity | None:
        found = self._entities(self.numbers((scope,)), ("e.id = ?", [id]), 1)
        return found[0] if found else None

    def _entities(self, numbers: Sequence[int], where: Clause, limit: int | None) -> Entities:
        condition, values = where
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        rows = self.read(
            numbers,
            f"SELECT e.scope, {_COLUMNS}, count(m.id) FROM entities e "
            "LEFT JOIN mentions t ON t.scope = e.scope AND t.entity = e.id "
            "LEFT JOIN memories m ON m.scope = t.scope AND m.id = t.memory AND m.status = 'active' "
            f"WHERE e.scope IN ({marks(numbers)}) AND {condition} GROUP BY e.scope, {_COLUMNS} "
            f"ORDER BY count(m.id) DESC, e.name, e.scope, e.id{tail}",
            (*numbers, *values),
        )
        names = self._names_of(rows)
        return self._damages.sound(
            rows,
            lambda row: entity_from(
                _bare(row), names[row[0], row[1]], self._scope, mentions=row[-1]
            ),
        )

    def _names_of(self, entities: Rows) -> dict[tuple[int, str], list[str]]:
        """The names of these entities, in the order of their folded forms, by scope's number and
        id.
        """
        names: dict[tuple[int, str], list[str]] = defaultdict(list)
        for start in range(0, len(entities), PAGE):
            page = entities[start : start + PAGE]
            numbers = sorted({row[0] for row in page})
            among, values = self.dialect.among("entity", [row[1] for row in page])
            rows = self.read(
                numbers,
                (
                    "SELECT folded, scope, entity, name FROM entity_names WHERE scope IN "
                    f"({marks(numbers)}) AND {among}"
                ),
                (*numbers, *values),
            )
            # Sorted here: told to order by it, SQLite would read every name of the scope.
            for _, number, entity, name in sorted(rows):
                names[number, entity].append(name)
        return names

    def mentioning(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int | None = None,
        statuses: Sequence[Status] = ("active",),
    ) -> Memories:
        numbers = self.numbers((scope,))
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        rows = self.read(
            numbers,
            f"SELECT {SELECT_MEMORY} FROM mentions t CROSS JOIN memories m WHERE m.scope = "
            "t.scope AND m.id = t.memory "
            f"AND t.scope IN ({marks(numbers)}) AND t.entity = ? AND m.status IN "
            f"({marks(statuses)}) "
            f"ORDER BY m.seq DESC{tail}",
            (*numbers, entity, *statuses),
        )
        return self._memories(rows)

    def mentions_of(self, scope: Scope, memories: Sequence[str]) -> dict[str, list[str]]:
        numbers = self.numbers((scope,))
        mentioned = dict[str, list[str]]()
        for start in range(0, len(memories), PAGE):
            among, values = self.dialect.among("memory", memories[start : start + PAGE])
            for memory, entity in self.read(
                numbers,
                f"SELECT memory, entity FROM mentions WHERE scope IN ({marks(numbers)}) AND "
                f"{among} "
                "ORDER BY memory, entity",
                (*numbers, *values),
            ):
                mentioned.setdefault(memory, []).append(entity)
        return mentioned


def _bare(row: Row) -> Row:
    """A row of an entity without the count behind it."""
    return GarbledRow.of(row[:-1], row.garbled) if isinstance(row, GarbledRow) else row[:-1]
