"""Permanent erasure inside one transaction: rows, and their content in the journal.

Journal entries stay, but empty, so that none is missing and no undo brings the content back. Only
erasing a whole scope deletes its entries. `Store.scrub` cleans the files after the commit.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import NotFound
from ..types import Entity, Memory, Scope
from .entity_table import SQLEntityTable
from .file_table import UNSEAL
from .filters import like_escaped
from .journal import PAGE, PURGED, JournalledRows
from .memory_table import SQLMemoryTable
from .row_codec import image_from, memory_from, to_json
from .schema import (
    EDGES,
    ENTITIES,
    ENTITY_NAMES,
    MEMORIES,
    MEMORY_COLUMNS,
    PROGRESS,
    SESSIONS,
    Table,
)
from .session_table import SQLSessionTable

# Tables with rows of a scope, in deletion order; the journal is counted separately.
_OWNED = (
    "vectors",
    "embedded",
    "mentions",
    "edges",
    "entity_names",
    "entities",
    "messages",
    "memories",
    "progress",
    "sessions",
    "jobs",
    "profiles",
    "files",
    "spend",
)
# Places outside a memory that may quote its text: the row's key, its JSON columns, its text
# columns.
_QUOTING: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "messages": (("session", "position"), ("body",), ()),
    "memories": (("id",), ("metadata",), ("status_reason",)),
    "sessions": (("id",), ("metadata",), ("end_reason",)),
    "progress": (("session", "sink"), ("detail",), ()),
    "edges": (("source", "target", "relation"), (), ("reason",)),
    "entities": (("id",), (), ("summary",)),
    "jobs": (("kind", "key"), (), ("error",)),
    "events": (("seq",), ("before", "after"), ()),
}
# Up to this many texts the database searches; with more, reading every row once is faster.
FEW = 20


class SQLErasure:
    """Erasure inside a transaction; see `Erasure` in protocol.py."""

    def __init__(
        self,
        rows: JournalledRows,
        memories: SQLMemoryTable,
        entities: SQLEntityTable,
        sessions: SQLSessionTable,
    ) -> None:
        self.erased: Counter[str] = Counter()
        self._rows = rows
        self._memories = memories
        self._entities = entities
        self._sessions = sessions
        self._told: dict[tuple[Scope, str], dict[str, set[str]]] = {}

    # Looking before erasing

    def entities_of(self, scope: Scope, memory: str) -> list[Entity]:
        found = (
            self._entities.get(scope, id_) for id_ in sorted(self._mentioned_by(scope, memory))
        )
        return [entity for entity in found if entity is not None]

    def _mentioned_by(self, scope: Scope, memory: str) -> set[str]:
        """Return the entities that a memory mentions, or mentioned before they were merged or
        split.
        """
        rows = self._rows.execute(
            "SELECT entity FROM mentions WHERE scope = ? AND memory = ?",
            (self._rows.known(scope), memory),
        )
        return {entity for (entity,) in rows} | self._told_of(scope, "mention").get(memory, set())

    def removed(self, scope: Scope, id: str) -> Memory | None:
        rows = self._rows.execute(
            "SELECT before FROM events WHERE scope = ? AND noun = 'memory' AND target = ? AND "
            "before IS NOT NULL "
            "AND after IS NULL ORDER BY seq DESC LIMIT 1",
            (self._rows.known(scope), id),
        )
        images = self._rows.damages.sound(rows, lambda row: image_from(row, scope))
        image = images[0] if images else {PURGED: True}
        if PURGED in image or self._memories.memory(scope, id) is not None:
            return None
        row = (
            image.get("seq", 0),
            self._rows.known(scope),
            *(image.get(column) for column in MEMORY_COLUMNS),
        )
        return memory_from(row, self._rows.scope_of)

    def contents(self, scope: Scope, session: str | None = None) -> Iterator[tuple[str, str, str]]:
        if session is not None:
            yield from self._messages_of(scope, session)
            return
        number = self._rows.known(scope)
        for sql in (
            (
                "SELECT seq, 'memory', id, content FROM memories WHERE scope = ? AND seq > ? "
                "ORDER BY "
                "seq LIMIT ?"
            ),
            "SELECT row_number() OVER (ORDER BY id), 'session', '', id FROM sessions WHERE scope "
            "= ? "
            "ORDER BY id LIMIT ? OFFSET ?",
            "SELECT row_number() OVER (ORDER BY session, position), 'message', '', body FROM "
            "messages WHERE scope = ? "
            "ORDER BY session, position LIMIT ? OFFSET ?",
            "SELECT row_number() OVER (ORDER BY id), 'entity', id, name FROM entities WHERE scope "
            "= ? "
            "ORDER BY id LIMIT ? OFFSET ?",
        ):
            last = 0
            while True:
                values = (number, PAGE, last) if "OFFSET" in sql else (number, last, PAGE)
                rows = self._rows.execute(sql, values)
                yield from ((noun, id_, text) for _, noun, id_, text in rows)
                if len(rows) < PAGE:
                    break
                last = rows[-1][0]

    def _messages_of(self, scope: Scope, session: str) -> Iterator[tuple[str, str, str]]:
        rows = self._rows.execute(
            "SELECT body FROM messages WHERE scope = ? AND session = ? ORDER BY position",
            (self._rows.known(scope), session),
        )
        yield from (("message", "", body) for (body,) in rows)

    # Erasing

    def memory(self, memory: Memory) -> None:
        scope = memory.scope
        number = self._rows.number(memory.scope)
        mentioned = self._mentioned_by(scope, memory.id)
        links = self._told_of(scope, "edge").get(memory.id, set())
        if self._memories.memory(scope, memory.id) is not None:
            edges = self._memories.edges(scope, memory.id)
            links = links | {
                self._rows.target_of(EDGES, {c: getattr(edge, c) for c in EDGES.columns})
                for edge in edges
            }
            self._tally_vectors(number, memory.seq)
            self.erased["links"] += len(edges)
            self._memories.remove(memory)
        elif self.removed(scope, memory.id) is None:
            raise NotFound(f"No memory {memory.id!r} in scope '{scope}'.", id=memory.id)
        files = self._rows.execute(
            "DELETE FROM files WHERE scope = ? AND memory = ? RETURNING path", (number, memory.id)
        )
        if files:
            self._rows.execute(UNSEAL, (number,))
        self.erased += Counter(memories=1, files=len(files))
        self.blank(MEMORIES, scope, memory.id, {PURGED: True, "seq": memory.seq})
        for link in links:
            self.blank(EDGES, scope, link, {PURGED: True})
        for entity in mentioned:
            if self._entities.memories_mentioning(scope, entity):
                self._forget_former_names(scope, entity)
            else:
                self.whole_entity(scope, entity)

    def _tally_vectors(self, number: int, seq: int) -> None:
        ((count,),) = self._rows.execute(
            "SELECT count(*) FROM vectors WHERE scope = ? AND seq = ?", (number, seq)
        )
        self.erased["vectors"] += count

    def session(self, scope: Scope, session: str) -> int:
        self._sessions.forget()
        self._rows.delete_row(SESSIONS, scope, (session,))
        number = self._rows.number(scope)
        target = self._rows.target_of(SESSIONS, {"id": session})
        self.blank(SESSIONS, scope, target, {PURGED: True})
        # The caller chose the session id, so it may be personal: entries get a hash instead, which
        # a synced store can match with its own session.
        self._rows.execute(
            "UPDATE events SET target = ? WHERE scope = ? AND noun = 'session' AND target = ?",
            (self._rows.target_of(SESSIONS, {"id": hidden_session(session)}), number, target),
        )
        self._purge_progress(scope, session)
        ((count,),) = self._rows.execute(
            "SELECT count(*) FROM messages WHERE scope = ? AND session = ?", (number, session)
        )
        self._rows.execute(
            "DELETE FROM messages WHERE scope = ? AND session = ?", (number, session)
        )
        jobs = self._rows.execute(
            "DELETE FROM jobs WHERE scope = ? AND key = ? RETURNING key", (number, session)
        )
        self.erased += Counter(sessions=1, messages=int(count), jobs=len(jobs))
        return int(count)

    def _purge_progress(self, scope: Scope, session: str) -> None:
        """Erase the progress marks of a session and hide its name in their journal entries."""
        number = self._rows.number(scope)
        gone = self._rows.execute(
            "DELETE FROM progress WHERE scope = ? AND session = ? RETURNING sink", (number, session)
        )
        self.erased["progress"] += len(gone)
        self._rows.write_journal()
        # Targets are JSON lists that start with the session, so this prefix finds all its marks.
        begins = to_json([session])[:-1] + ","
        targets = self._rows.execute(
            "SELECT DISTINCT target FROM events WHERE scope = ? AND noun = 'progress' "
            "AND target LIKE ? ESCAPE '!'",
            (number, f"{like_escaped(begins)}%"),
        )
        # LIKE ignores case in SQLite, so check again.
        for target in [target for (target,) in targets if target.startswith(begins)]:
            self.blank(PROGRESS, scope, target, {PURGED: True})
            hidden = to_json([hidden_session(session), json.loads(target)[1]])
            self._rows.execute(
                "UPDATE events SET target = ? WHERE scope = ? AND noun = 'progress' AND target = ?",
                (hidden, number, target),
            )

    def entity(self, entity: Entity, names: Sequence[str]) -> None:
        """Erase these folded names of an entity and its content in the journal; the whole entity if
        no name is left.
        """
        kept = {
            folded: name
            for folded, name in self._entities.names_of(entity.scope, entity.id)
            if folded not in names
        }
        if not kept:
            self.whole_entity(entity.scope, entity.id)
            return
        name = next(
            (written for written in kept.values() if written == entity.name),
            next(iter(kept.values())),
        )
        known = self._entities.get(entity.scope, entity.id)
        if known is not None:
            aliases = tuple(alias for alias in kept.values() if alias != name)
            self._entities.put(
                Entity(
                    known.id,
                    known.scope,
                    name,
                    known.type,
                    known.created_at,
                    aliases,
                    known.summary,
                )
            )
            self._forget_names(entity.scope, entity.id, set(names), keep=kept)
            self.blank(ENTITIES, entity.scope, to_json([entity.id]), {PURGED: True})
            self.erased["names"] += len(names)

    def whole_entity(self, scope: Scope, entity: str) -> None:
        """Remove an entity that no memory mentions any more.

        Its names come from memories, so they are erased from the journal too.
        """
        known = self._entities.get(scope, entity)
        names = {folded for folded, _ in self._entities.names_of(scope, entity)}
        if known is not None:
            self._entities.remove(known)
            self.erased["entities"] += 1
        self.blank(ENTITIES, scope, to_json([entity]), {PURGED: True})
        self._forget_names(scope, entity, names)

    def _forget_former_names(self, scope: Scope, entity: str) -> None:
        """Erase former names of an entity from the journal: they may come from erased memories."""
        current = {folded for folded, _ in self._entities.names_of(scope, entity)}
        told = self._told_of(scope, "entity_name").get(entity, set())
        if any(json.loads(target)[0] not in current for target in told):
            self._forget_names(scope, entity, set(), keep=current)
            self.blank(ENTITIES, scope, to_json([entity]), {PURGED: True})

    def _forget_names(
        self,
        scope: Scope,
        entity: str,
        names: set[str],
        *,
        keep: Container[str] = (),
    ) -> None:
        """Erase these and all former names of an entity from the journal, except those to keep."""
        number = self._rows.number(scope)
        targets = self._told_of(scope, "entity_name").get(entity, set()) | {
            to_json([name, entity]) for name in names
        }
        going = [target for target in sorted(targets) if json.loads(target)[0] not in keep]
        for place, target in enumerate(going):
            self.blank(ENTITY_NAMES, scope, target, {PURGED: True})
            self._rows.execute(
                (
                    "UPDATE events SET target = ? WHERE scope = ? AND noun = 'entity_name' AND "
                    "target "
                    "= ?"
                ),
                (to_json([f"({place})", entity]), number, target),
            )

    def sizes(self, scope: Scope) -> dict[str, int]:
        return {
            _PLACES.get(table, table): count
            for table, count in self._rows_of(self._rows.known(scope)).items()
        }

    def _rows_of(self, number: int) -> dict[str, int]:
        """Return the number of rows of a scope by table, in deletion order."""
        counts: dict[str, int] = {}
        for table in (*_OWNED, "events"):
            ((counts[table],),) = self._rows.execute(
                f"SELECT count(*) FROM {table} WHERE scope = ?", (number,)
            )
        return counts

    def scope(self, scope: Scope, *, progress: Callable[[int], None] = lambda rows: None) -> None:
        number = self._rows.number(scope)
        ((active, terms),) = self._rows.execute(
            (
                "SELECT count(*), coalesce(sum(terms), 0) FROM memories WHERE scope = ? AND "
                "status = "
                "'active'"
            ),
            (number,),
        )
        self._rows.drop_entries()
        self._sessions.forget()
        self.forget_told()
        counts = self._rows_of(number)
        entries = counts["events"]
        self._rows.clear_index(number, entries)
        done = 0
        for table, count in counts.items():
            self._rows.execute(f"DELETE FROM {table} WHERE scope = ?", (number,))
            self.erased[_PLACES.get(table, table)] += count
            done += count
            progress(done)
        self._rows.count_totals(number, -int(active), -int(terms), -int(entries))
        # A single entry records the erasure and makes every undo refuse.
        self._rows.journal_change(number, "profile", "[]", {PURGED: True}, None)

    def redact(self, scope: Scope, instead: Mapping[str, str]) -> int:
        number = self._rows.number(scope)
        changed = 0
        self._rows.write_journal()
        in_json = _Needles(_in_json(instead))
        in_text = _Needles(_in_text(instead))
        for table, (key, of_json, of_text) in _QUOTING.items() if instead else ():
            needles = [
                *((column, in_json) for column in of_json),
                *((column, in_text) for column in of_text),
            ]
            columns = (*of_json, *of_text)
            condition, values = _quoting(needles)
            for row in self._rows.execute(
                (
                    f"SELECT {', '.join((*key, *columns))} FROM {table} WHERE scope = ? AND "
                    f"({condition})"
                ),
                (number, *values),
            ):
                place = row[: len(key)]
                old = row[len(key) :]
                new = tuple(
                    known.replaced(text or "") or text
                    for text, (_, known) in zip(old, needles, strict=True)
                )
                if new != tuple(old):
                    self._rows.execute(
                        (
                            f"UPDATE {table} SET "
                            f"{', '.join(f'{column} = ?' for column in columns)} "
                            "WHERE scope = ?"
                        )
                        + "".join(f" AND {column} = ?" for column in key),
                        (*new, number, *place),
                    )
                    changed += 1
        self._sessions.forget()
        self.erased["quotations"] += changed
        return changed

    def forget_told(self) -> None:
        """Drop cached journal data after the journal has changed."""
        self._told.clear()

    # The journal

    def blank(
        self,
        table: Table,
        scope: Scope,
        target: str,
        image: Mapping[str, Any],
    ) -> None:
        """Replace the content of all journal entries about a row. The entries stay, so that none is
        missing.
        """
        self._rows.write_journal()
        rows = self._rows.execute(
            "UPDATE events SET before = ?, after = NULL WHERE scope = ? AND noun = ? AND target = "
            "? "
            "AND before IS NOT NULL RETURNING seq",
            (to_json(image), self._rows.number(scope), table.noun, target),
        )
        self.erased["journal"] += len(rows)

    def _told_of(self, scope: Scope, noun: str) -> dict[str, set[str]]:
        """Return what the journal says about edges, mentions or names, by memory or entity; cached.

        For mentions the values are entity ids, otherwise journal targets.
        """
        if (scope, noun) not in self._told:
            told: dict[str, set[str]] = defaultdict(set)
            for (target,) in self._rows.execute(
                "SELECT DISTINCT target FROM events WHERE scope = ? AND noun = ?",
                (self._rows.known(scope), noun),
            ):
                try:
                    first, second, *_ = json.loads(target)
                except (ValueError, TypeError):
                    # A damaged entry names no row.
                    continue
                if noun == "mention":
                    told[second].add(first)
                elif noun == "entity_name":
                    told[second].add(target)
                else:
                    told[first].add(target)
                    told[second].add(target)
            self._told[scope, noun] = told
        return self._told[scope, noun]


_PLACES = {"edges": "links", "events": "journal", "entity_names": "names"}


class _Needles:
    """Texts to replace in other texts. Each text is scanned once, however many needles there
    are.
    """

    def __init__(self, instead: Mapping[str, str]) -> None:
        # Longest first, because one needle may be a prefix of another.
        self.texts = sorted(instead, key=len, reverse=True)
        self._length = min(map(len, instead), default=0)
        self._by_beginning: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for text in self.texts:
            self._by_beginning[text[: self._length]].append((text, instead[text]))

    def replaced(self, text: str) -> str:
        """Return the text with every needle replaced."""
        length = self._length
        known = self._by_beginning
        here = {text[start : start + length] for start in range(len(text) - length + 1)}
        for beginning in here & known.keys():
            for needle, new in known[beginning]:
                text = text.replace(needle, new)
        return text


def _quoting(needles: Sequence[tuple[str, _Needles]]) -> tuple[str, list[str]]:
    """Return the condition for rows that may contain a needle, with its parameters."""
    if any(len(known.texts) > FEW for _, known in needles):
        return " OR ".join(f"{column} <> ''" for column, _ in needles), []
    parts = [
        (f"replace({column}, ?, '') <> {column}", text)
        for column, known in needles
        for text in known.texts
    ]
    return " OR ".join(part for part, _ in parts), [text for _, text in parts]


def _in_json(instead: Mapping[str, str]) -> dict[str, str]:
    """Return the texts as they appear in JSON, and in JSON nested in JSON; with and without
    non-ASCII escaped.
    """
    forms: dict[str, str] = {}
    for pair in instead.items():
        for once in (pair, [_ascii(text) for text in pair]):
            twice = [json.dumps(text, ensure_ascii=False)[1:-1] for text in once]
            forms |= {once[0]: once[1], twice[0]: twice[1]}
    return forms


def _in_text(instead: Mapping[str, str]) -> dict[str, str]:
    """Return the same texts without JSON escapes, for plain text columns."""
    forms = dict(instead)
    for text, new in instead.items():
        with suppress(ValueError):
            forms[json.loads(f'"{text}"')] = new
    return forms


def _ascii(text: str) -> str:
    return "".join(sign if sign.isascii() else json.dumps(sign)[1:-1] for sign in text)


def hidden_session(session: str) -> str:
    """Return the name of a purged session in the journal: a hash, equal in every store."""
    return f"({hashlib.sha256(session.encode('utf-8', 'surrogatepass')).hexdigest()[:32]})"
