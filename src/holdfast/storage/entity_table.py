"""Entities in SQL: what memories mention, looked up by any of their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..text.normal_forms import fold
from ..types import Entity, Memories, Names, Scope, Status
from .damage import GarbledRow
from .filters import Clause, marks, where_clause
from .journal import JournalledRows
from .row_codec import entity_from, entity_names
from .schema import ENTITIES, ENTITY_NAMES, MENTIONS, SELECT_MEMORY, Row, Rows
from .store_types import Entities, Filter, Pair, Pairs, Ranked
from .table_access import Access

# Ids per statement, well below SQLite's limit on bound parameters.
PAGE = 500
_COLUMNS = ", ".join(f"e.{column}" for column in ENTITIES.columns)


class SQLEntityReads:
    """The entities of a store; see `EntityReads` in protocol.py."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def search(
        self,
        where: Filter,
        folded_names: Sequence[str],
        limit: int,
    ) -> Ranked:
        numbers = self._access.numbers(where.scopes)
        if not numbers or not folded_names:
            return []
        condition, values = where_clause(where, numbers, self._access.dialect)
        entities = self._access.read(
            numbers,
            f"SELECT DISTINCT entity FROM entity_names WHERE scope IN ({marks(numbers)}) "
            f"AND folded IN ({marks(folded_names)})",
            (*numbers, *folded_names),
        )
        if not entities:
            return []
        rows = self._access.read(
            numbers,
            # A cross join keeps the planner from starting with every memory of the scope.
            "SELECT m.seq, count(*) FROM mentions t CROSS JOIN memories m WHERE m.scope = t.scope "
            "AND m.id = t.memory "
            f"AND t.scope IN ({marks(numbers)}) AND t.entity IN ({marks(entities)}) AND "
            f"{condition} "
            "GROUP BY m.seq ORDER BY count(*) DESC, m.seq DESC LIMIT ?",
            (*numbers, *(entity for (entity,) in entities), *values, limit),
        )
        # Share of the query's names that match. A memory may mention two entities with the same
        # name, so the share is capped.
        return [(seq, min(1.0, count / len(set(folded_names)))) for seq, count in rows]

    def list(
        self,
        scopes: Sequence[Scope],
        *,
        names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        types: Sequence[str] = (),
        limit: int | None = None,
    ) -> Entities:
        numbers = self._access.numbers(scopes)
        parts = ["TRUE"]
        values: Any = []
        if ids is not None:
            parts.append(f"e.id IN ({marks(ids)})")
            values += ids
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

    def get(self, scope: Scope, id: str) -> Entity | None:
        found = self._entities(self._access.numbers((scope,)), ("e.id = ?", [id]), 1)
        return found[0] if found else None

    def _entities(
        self,
        numbers: Sequence[int],
        where: Clause,
        limit: int | None,
    ) -> Entities:
        condition, values = where
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        here = marks(numbers)
        # Nearly all memories are active, so mentions are counted in their index alone, and those of
        # the few others taken off: reading each memory for its status takes ten times as long.
        rows = self._access.read(
            numbers,
            f"WITH inactive AS (SELECT t.scope, t.entity, count(*) AS mentions FROM memories m "
            "CROSS JOIN mentions t WHERE t.scope = m.scope AND t.memory = m.id "
            f"AND m.scope IN ({here}) AND m.status <> 'active' GROUP BY t.scope, t.entity), "
            f"found AS (SELECT e.scope, {_COLUMNS}, (SELECT count(*) FROM mentions t "
            "WHERE t.scope = e.scope AND t.entity = e.id) - coalesce(p.mentions, 0) AS mentions "
            "FROM entities e LEFT JOIN inactive p ON p.scope = e.scope AND p.entity = e.id "
            f"WHERE e.scope IN ({here}) AND {condition}) "
            f"SELECT * FROM found ORDER BY mentions DESC, name, scope, id{tail}",
            (*numbers, *numbers, *values),
        )
        names = self._names_of(rows)
        return self._access.damages.sound(
            rows,
            lambda row: entity_from(
                _bare(row, len(row) - 1),
                names[row[0], row[1]],
                self._access.scope_of,
                mentions=row[-1],
            ),
        )

    def _names_of(self, entities: Rows) -> dict[tuple[int, str], Names]:
        """Names of these entities, ordered by folded form, keyed by scope number and id."""
        names: dict[tuple[int, str], Names] = defaultdict(lambda: [])
        for start in range(0, len(entities), PAGE):
            page = entities[start : start + PAGE]
            numbers = sorted({row[0] for row in page})
            among, values = self._access.dialect.among("entity", [row[1] for row in page])
            rows = self._access.read(
                numbers,
                (
                    "SELECT folded, scope, entity, name FROM entity_names WHERE scope IN "
                    f"({marks(numbers)}) AND {self._access.dialect.rare.format(condition=among)}"
                ),
                (*numbers, *values),
            )
            # Sorted in Python: with ORDER BY, SQLite would read every name of the scope.
            for _, number, entity, name in sorted(rows):
                names[number, entity].append(name)
        return names

    def mentioning(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int | None = None,
        statuses: Sequence[Status] | None = ("active",),
    ) -> Memories:
        numbers = self._access.numbers((scope,))
        wanted = "" if statuses is None else f" AND m.status IN ({marks(statuses)})"
        tail = "" if limit is None else f" LIMIT {max(0, int(limit))}"
        rows = self._access.read(
            numbers,
            # A cross join keeps the planner from starting with every memory of the scope.
            f"SELECT {SELECT_MEMORY} FROM mentions t CROSS JOIN memories m WHERE m.scope = "
            "t.scope AND m.id = t.memory "
            f"AND t.scope IN ({marks(numbers)}) AND t.entity = ?{wanted} "
            f"ORDER BY m.seq DESC{tail}",
            (*numbers, entity, *(statuses or ())),
        )
        return self._access.memories(rows)

    def mentions_of(self, scope: Scope, memories: Sequence[str]) -> dict[str, Names]:
        numbers = self._access.numbers((scope,))
        mentioned = dict[str, Names]()
        for start in range(0, len(memories), PAGE):
            among, values = self._access.dialect.among("memory", memories[start : start + PAGE])
            for memory, entity in self._access.read(
                numbers,
                f"SELECT memory, entity FROM mentions WHERE scope IN ({marks(numbers)}) AND "
                f"{among} "
                "ORDER BY memory, entity",
                (*numbers, *values),
            ):
                mentioned.setdefault(memory, []).append(entity)
        return mentioned

    def companions(
        self,
        scope: Scope,
        entity: str,
        *,
        limit: int,
        most: int,
    ) -> tuple[dict[str, int], bool]:
        numbers = self._access.numbers((scope,))
        rows = self._access.read(
            numbers,
            f"SELECT o.entity, count(*) FROM {_mentions(numbers, most)} "
            "CROSS JOIN memories m CROSS JOIN mentions o "
            "WHERE m.scope = t.scope AND m.id = t.memory AND m.status = 'active' "
            "AND o.scope = t.scope AND o.memory = t.memory "
            "AND o.entity <> t.entity "
            f"GROUP BY o.entity ORDER BY count(*) DESC, o.entity LIMIT {max(0, int(limit))}",
            (*numbers, entity),
        )
        ((count,),) = self._access.read(
            numbers,
            f"SELECT count(*) FROM {_mentions(numbers, most + 1)}",
            (*numbers, entity),
        )
        return dict(rows), count <= most

    def pairs(
        self,
        scope: Scope,
        entities: Sequence[str],
        *,
        latest: int,
    ) -> tuple[Pairs, bool]:
        numbers = self._access.numbers((scope,))
        # A memory mentions few entities, so these are looked up by memory, not one by one.
        by_memory = self._access.dialect.unindexed
        rows = self._access.read(
            numbers,
            f"SELECT t.entity, o.entity, count(*) FROM {_latest(numbers, latest)} "
            "CROSS JOIN mentions t CROSS JOIN mentions o WHERE m.status = 'active' "
            "AND t.scope = m.scope AND t.memory = m.id "
            f"AND {by_memory}t.entity IN ({marks(entities)}) "
            "AND o.scope = m.scope AND o.memory = m.id "
            f"AND {by_memory}o.entity > {by_memory}t.entity "
            f"AND {by_memory}o.entity IN ({marks(entities)}) "
            "GROUP BY t.entity, o.entity ORDER BY count(*) DESC, t.entity, o.entity",
            (*numbers, *entities, *entities),
        )
        ((count,),) = self._access.read(
            numbers, f"SELECT count(*) FROM {_latest(numbers, latest + 1)}", numbers
        )
        return [Pair(*row) for row in rows], count <= latest

    def recently_mentioned(
        self,
        scopes: Sequence[Scope],
        *,
        latest: int,
        limit: int,
    ) -> dict[str, int]:
        numbers = self._access.numbers(scopes)
        rows = self._access.read(
            numbers,
            f"SELECT t.entity, count(*) FROM {_latest(numbers, latest)} "
            "CROSS JOIN mentions t WHERE t.scope = m.scope AND t.memory = m.id "
            "AND m.status = 'active' GROUP BY t.entity ORDER BY count(*) DESC, t.entity "
            f"LIMIT {max(0, int(limit))}",
            numbers,
        )
        return dict(rows)


class SQLEntityTable(SQLEntityReads):
    """The entities of a transaction; see `EntityTable` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        super().__init__(rows)
        self._rows = rows

    def get(self, scope: Scope, id: str) -> Entity | None:
        found = self._with_ids(scope, [id])
        return found[0] if found else None

    def named(
        self,
        scope: Scope,
        folded_name: str,
        type: str,
    ) -> Entity | None:
        found = [one for one in self.with_names(scope, [folded_name]) if one.type == type]
        # They are ordered by age and min() is stable: own name first, then the oldest.
        return min(found, key=lambda entity: fold(entity.name) != folded_name, default=None)

    def with_names(self, scope: Scope, folded_names: Sequence[str]) -> Entities:
        ids: dict[str, None] = {}
        for start in range(0, len(folded_names), PAGE):
            among, values = self._rows.dialect.among("folded", folded_names[start : start + PAGE])
            rows = self._rows.execute(
                f"SELECT entity FROM entity_names WHERE scope = ? AND {among}",
                (self._rows.known(scope), *values),
            )
            ids |= dict.fromkeys(entity for (entity,) in rows)
        return self._with_ids(scope, list(ids))

    def existing(self, scope: Scope, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(ids), PAGE):
            among, values = self._rows.dialect.among("id", ids[start : start + PAGE])
            rows = self._rows.execute(
                f"SELECT id FROM entities WHERE scope = ? AND {among}",
                (self._rows.known(scope), *values),
            )
            found.update(id_ for (id_,) in rows)
        return found

    def _with_ids(self, scope: Scope, ids: Sequence[str]) -> Entities:
        """Entities with these ids, with their names, oldest first."""
        rows: Rows = []
        for start in range(0, len(ids), PAGE):
            among, values = self._rows.dialect.among("e.id", ids[start : start + PAGE])
            rows += self._rows.execute(
                f"SELECT e.scope, {_COLUMNS} FROM entities e WHERE e.scope = ? AND {among}",
                (self._rows.known(scope), *values),
            )
        # Not by a join: Postgres, which has no statistics of a scope, expects few names in it, and
        # would compare each entity with all of them.
        names = self._names_of(rows)
        found = self._rows.damages.sound(
            rows, lambda row: entity_from(row, names[row[0], row[1]], self._rows.scope_of)
        )
        return sorted(found, key=lambda entity: (entity.created_at, entity.id))

    def names_of(self, scope: Scope, entity: str) -> Sequence[tuple[str, str]]:
        """Folded and original form of each name of an entity."""
        of_entity = self._rows.dialect.rare.format(condition="entity = ?")
        rows = self._rows.execute(
            f"SELECT folded, name FROM entity_names WHERE scope = ? AND {of_entity}",
            (self._rows.known(scope), entity),
        )
        return sorted((folded, name) for folded, name in rows)

    def put(self, entity: Entity) -> None:
        self._rows.put_row(
            ENTITIES, entity.scope, {column: getattr(entity, column) for column in ENTITIES.columns}
        )
        wanted = entity_names(entity)
        known = self.names_of(entity.scope, entity.id)
        for folded, name in known:
            if wanted.get(folded) != name:
                self._rows.delete_row(ENTITY_NAMES, entity.scope, (folded, entity.id))
        for folded, name in wanted.items():
            if (folded, name) not in known:
                self._rows.insert_row(
                    ENTITY_NAMES,
                    entity.scope,
                    {"folded": folded, "entity": entity.id, "name": name},
                )

    def add_many(self, scope: Scope, entities: Sequence[Entity]) -> None:
        if not entities:
            return
        self._rows.insert_all(
            ENTITIES,
            scope,
            [{column: getattr(one, column) for column in ENTITIES.columns} for one in entities],
        )
        self._rows.insert_all(
            ENTITY_NAMES,
            scope,
            [
                {"folded": folded, "entity": one.id, "name": name}
                for one in entities
                for folded, name in entity_names(one).items()
            ],
        )

    def mention_many(self, scope: Scope, mentions: Sequence[tuple[str, str]]) -> None:
        number, unmentioned = self._rows.known(scope), self._rows.unmentioned
        asked = [memory for _, memory in mentions if (number, memory) not in unmentioned]
        known = self.mentions_of(scope, asked) if asked else {}
        new = [
            {"entity": entity, "memory": memory}
            for entity, memory in dict.fromkeys(mentions)
            if entity not in known.get(memory, ())
        ]
        if new:
            self._rows.insert_all(MENTIONS, scope, new)

    def mention(
        self,
        scope: Scope,
        *,
        entity: str,
        memory: str,
    ) -> None:
        number = self._rows.known(scope)
        # One statement for what is usual: both ends are there and not linked yet.
        ((new,),) = self._rows.execute(
            "SELECT EXISTS (SELECT 1 FROM entities WHERE scope = ? AND id = ?) "
            "AND EXISTS (SELECT 1 FROM memories WHERE scope = ? AND id = ?) "
            "AND NOT EXISTS (SELECT 1 FROM mentions WHERE scope = ? AND entity = ? AND memory = ?)",
            (number, entity, number, memory, number, entity, memory),
        )
        values = {"entity": entity, "memory": memory}
        if new:
            self._rows.insert_row(MENTIONS, scope, values)
        elif self._rows.row(MENTIONS, scope, (entity, memory)) is None:
            self._rows.insert_pointing(MENTIONS, scope, values)

    def unmention(
        self,
        scope: Scope,
        *,
        entity: str,
        memory: str,
    ) -> None:
        if self._rows.row(MENTIONS, scope, (entity, memory)) is not None:
            self._rows.delete_row(MENTIONS, scope, (entity, memory))

    def remove(self, entity: Entity) -> None:
        # Mentions and names go first: both refer to the entity's row.
        for (memory,) in self._rows.execute(
            "SELECT memory FROM mentions WHERE scope = ? AND entity = ? ORDER BY memory",
            (self._rows.known(entity.scope), entity.id),
        ):
            self._rows.delete_row(MENTIONS, entity.scope, (entity.id, memory))
        for folded, _ in self.names_of(entity.scope, entity.id):
            self._rows.delete_row(ENTITY_NAMES, entity.scope, (folded, entity.id))
        self._rows.delete_row(ENTITIES, entity.scope, (entity.id,))

    def memories_mentioning(self, scope: Scope, entity: str) -> set[str]:
        """Ids of the memories that mention an entity."""
        rows = self._rows.execute(
            "SELECT memory FROM mentions WHERE scope = ? AND entity = ?",
            (self._rows.known(scope), entity),
        )
        return {memory for (memory,) in rows}


def _mentions(numbers: Sequence[int], most: int) -> str:
    """A table of the mentions of one entity, as many as may be read."""
    return (
        "(SELECT t.scope, t.entity, t.memory FROM mentions t "
        f"WHERE t.scope IN ({marks(numbers)}) AND t.entity = ? LIMIT {int(most)}) t"
    )


def _latest(numbers: Sequence[int], count: int) -> str:
    """A table of the latest memories."""
    return (
        "(SELECT n.scope, n.id, n.status FROM memories n "
        f"WHERE n.scope IN ({marks(numbers)}) ORDER BY n.seq DESC LIMIT {int(count)}) m"
    )


def _bare(row: Row, count: int) -> Row:
    """The first columns of a row: the entity without what was read beside it."""
    garbled = [place for place in getattr(row, "garbled", ()) if place < count]
    return GarbledRow.of(row[:count], garbled) if garbled else tuple(row[:count])
