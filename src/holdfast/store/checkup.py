"""What `holdfast doctor` looks at, and how each projection is rebuilt from truth."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import apsw
import numpy as np

from ..text.tokens import index_terms
from ..types import Micros, new_id
from . import migrate
from .base import Finding
from .rows import content_hash, indexed_text

Check = Callable[[apsw.Connection], Iterator[Finding]]


def check_sqlite(connection: apsw.Connection) -> Iterator[Finding]:
    """Every finding; the checks of the file itself come first, and if they fail the rest would only repeat them."""
    damaged = list(_file(connection))
    yield from damaged
    if damaged:
        return
    for check in (_schema, _orphans, _hashes, _totals, _words, _vectors, _watermarks, _journal):
        yield from check(connection)


def _file(connection: apsw.Connection) -> Iterator[Finding]:
    for (message,) in connection.execute("PRAGMA integrity_check(20)"):
        if message != "ok":
            # Indexes, the full-text one among them, report their damage here, and they can be rebuilt.
            yield Finding("file", message, repairable="memory_terms" in message or " index " in message)
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Finding(
            "file", f"row {row} of {table} points to a missing row of {parent}", repairable=table == "vectors"
        )


def _schema(connection: apsw.Connection) -> Iterator[Finding]:
    wanted, there = _expected(), _definitions(connection)
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) != there.get(name):
            state = "missing" if name not in there else "unknown" if name not in wanted else "altered"
            yield Finding("schema", f"{name} is {state}", repairable=_is_index(wanted.get(name, "")))


def _expected() -> dict[str, str]:
    fresh = apsw.Connection(":memory:")
    for step in migrate.migrations("sqlite"):
        fresh.execute(step.sql)
    return _definitions(fresh)


def _is_index(definition: str) -> bool:
    return definition.startswith(("CREATE INDEX ", "CREATE UNIQUE INDEX "))


def _definitions(connection: apsw.Connection) -> dict[str, str]:
    return dict(
        connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
            "AND name NOT LIKE 'memory_terms_%'"
        )
    )


_ORPHANS = {
    "edges": "SELECT source || ' → ' || target FROM edges AS e WHERE NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.source) OR NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.target)",
    "mentions": "SELECT memory || ' → ' || entity FROM mentions AS t WHERE NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = t.scope AND m.id = t.memory) OR NOT EXISTS "
    "(SELECT 1 FROM entities n WHERE n.scope = t.scope AND n.id = t.entity)",
    "entity_names": "SELECT name FROM entity_names AS a WHERE NOT EXISTS "
    "(SELECT 1 FROM entities n WHERE n.scope = a.scope AND n.id = a.entity)",
}


def _orphans(connection: apsw.Connection) -> Iterator[Finding]:
    for table, sql in _ORPHANS.items():
        for (what,) in connection.execute(sql):
            yield Finding("orphans", f"{table}: {what} points to nothing")


def _hashes(connection: apsw.Connection) -> Iterator[Finding]:
    for id_, _, _ in _wrong_hashes(connection):
        yield Finding("hashes", f"{id_}: its hash or length does not fit its text")


def _wrong_hashes(connection: apsw.Connection) -> Iterator[tuple[str, bytes, tuple[int, int]]]:
    """Memories whose hash or length is wrong, with what they should be and the row's number."""
    for seq, id_, title, content, tags, stored, length in connection.cursor().execute(
        "SELECT seq, id, title, content, tags, content_hash, terms FROM memories ORDER BY seq"
    ):
        digest = content_hash(content)
        terms = len(index_terms(indexed_text(title, content, json.loads(tags or "[]"))))
        if (digest, terms) != (stored, length):
            yield id_, digest, (terms, seq)


def _totals(connection: apsw.Connection) -> Iterator[Finding]:
    for kind, key, active, terms, real_active, real_terms in connection.execute(
        "SELECT s.kind, s.key, s.active, s.terms, count(m.seq), coalesce(sum(m.terms), 0) FROM scopes s "
        "LEFT JOIN memories m ON m.scope = s.number AND m.status = 'active' GROUP BY s.number"
    ):
        if (active, terms) != (real_active, real_terms):
            yield Finding("totals", f"{kind}:{key} counts {active} memories, but there are {real_active}")


def _words(connection: apsw.Connection) -> Iterator[Finding]:
    """Compares the full-text index, word by word, with one built afresh from the memories."""
    fresh = apsw.Connection("")  # a temporary file that SQLite removes by itself
    fresh.execute(
        "CREATE VIRTUAL TABLE memory_terms USING fts5 (terms, content = '', tokenize = \"ascii tokenchars '_~'\")"
    )
    with fresh:
        fresh.executemany("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", prefixed_terms(connection))
    for side in (fresh, connection):
        side.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memory_places USING fts5vocab (main, memory_terms, instance)"
        )
    wanted, there = (
        side.cursor().execute("SELECT term, doc, offset FROM temp.memory_places") for side in (fresh, connection)
    )
    for expected, found in zip_longest(wanted, there):
        if expected != found:
            word = (expected or found)[0]
            yield Finding("words", f"the full-text index is not what the memories say, first at {word!r}")
            return


def prefixed_terms(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """What the full-text index should hold, memory by memory."""
    for seq, scope, status, title, content, tags in connection.cursor().execute(
        "SELECT seq, scope, status, title, content, tags FROM memories ORDER BY seq"
    ):
        prefix = f"{scope}~" if status == "active" else f"{scope}_"
        terms = index_terms(indexed_text(title, content, json.loads(tags or "[]")))
        yield seq, " ".join(prefix + term for term in terms)


def _vectors(connection: apsw.Connection) -> Iterator[Finding]:
    for number, identity, dimensions, vector in connection.cursor().execute(
        "SELECT v.number, d.identity, d.dimensions, v.vector FROM vectors v JOIN models d ON d.number = v.model"
    ):
        if not _sound(vector, dimensions):
            yield Finding("vectors", f"vector {number} of {identity} is not a unit vector of {dimensions} numbers")
    for (count,) in connection.execute(
        "SELECT count(*) FROM vectors v JOIN memories m ON m.seq = v.seq WHERE m.scope <> v.scope"
    ):
        if count:
            yield Finding("vectors", f"{count} vectors lie in another scope than their memory")


def _sound(vector: Any, dimensions: Any) -> bool:
    if len(vector) != dimensions * 4:
        return False
    length = float(np.linalg.norm(np.frombuffer(vector, np.float32)))
    return length == 0.0 or abs(length - 1.0) < 1e-2


def _watermarks(connection: apsw.Connection) -> Iterator[Finding]:
    for identity, count in connection.execute(
        "SELECT d.identity, count(*) FROM embedded e JOIN models d ON d.number = e.model "
        "JOIN memories m ON m.scope = e.scope AND m.seq <= e.seq WHERE NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.model = e.model AND v.scope = m.scope AND v.seq = m.seq) GROUP BY e.model"
    ):
        yield Finding("vectors", f"{count} memories count as embedded by {identity} but have no vector")


def _journal(connection: apsw.Connection) -> Iterator[Finding]:
    for (id_,) in connection.execute(
        "SELECT id FROM memories m WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.scope = m.scope "
        "AND e.noun = 'memory' AND e.target = m.id AND e.before IS NULL)"
    ):
        yield Finding("journal", f"{id_} has no entry that says who added it")
    for (count,) in connection.execute(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) - count(*) FROM events"
    ):
        if count:
            yield Finding("journal", f"{count} journal entries are missing", repairable=False)
    for (target,) in connection.execute(
        "SELECT target FROM events e WHERE noun = 'memory' AND NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.target) "
        "GROUP BY scope, target HAVING sum(before IS NOT NULL AND after IS NULL) = 0"
    ):
        yield Finding("journal", f"{target} is gone, but the journal does not say who removed it", repairable=False)


# Up to which memory each scope is wholly embedded: to just before the first one without a vector, or to the last.
_MARKS = """
INSERT INTO embedded (model, scope, seq)
SELECT v.model, v.scope, coalesce(
    (SELECT min(m.seq) - 1 FROM memories m WHERE m.scope = v.scope AND NOT EXISTS
        (SELECT 1 FROM vectors w WHERE w.model = v.model AND w.scope = m.scope AND w.seq = m.seq)),
    (SELECT max(m.seq) FROM memories m WHERE m.scope = v.scope))
FROM vectors v GROUP BY v.model, v.scope
"""


def repair_sqlite(connection: apsw.Connection, *, at: Micros) -> None:
    """Rebuilds indexes, words, totals, hashes, links and marks; drops vectors that cannot be used."""
    _rebuild_indexes(connection)
    for sql in _ORPHANS.values():
        connection.execute("DELETE FROM" + sql.split("FROM", 1)[1])
    connection.execute("DELETE FROM vectors WHERE seq NOT IN (SELECT seq FROM memories)")
    _rehash(connection)
    connection.execute("INSERT INTO memory_terms (memory_terms) VALUES ('delete-all')")
    for seq, terms in list(prefixed_terms(connection)):
        connection.execute("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (seq, terms))
    connection.execute(
        "UPDATE scopes SET active = (SELECT count(*) FROM memories m WHERE m.scope = number AND m.status = 'active'), "
        "terms = (SELECT coalesce(sum(m.terms), 0) FROM memories m WHERE m.scope = number AND m.status = 'active')"
    )
    for number, dimensions, vector in connection.execute(
        "SELECT v.number, d.dimensions, v.vector FROM vectors v JOIN models d ON d.number = v.model"
    ).fetchall():
        if not _sound(vector, dimensions):
            connection.execute("DELETE FROM vectors WHERE number = ?", (number,))
    connection.execute("DELETE FROM vectors WHERE scope <> (SELECT m.scope FROM memories m WHERE m.seq = vectors.seq)")
    connection.execute("DELETE FROM embedded")
    connection.execute(_MARKS)
    connection.execute(
        "INSERT INTO events (scope, run, at, actor, verb, noun, target) SELECT scope, ?, ?, 'doctor', 'repair', "
        "'memory', id FROM memories m WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.scope = m.scope "
        "AND e.noun = 'memory' AND e.target = m.id AND e.before IS NULL)",
        (new_id("run", at), at),
    )


def _rebuild_indexes(connection: apsw.Connection) -> None:
    there = _definitions(connection)
    for name, definition in _expected().items():
        if _is_index(definition) and there.get(name) != definition:
            connection.execute(f"DROP INDEX IF EXISTS {name}")
            connection.execute(definition)
    connection.execute("REINDEX")


def _rehash(connection: apsw.Connection) -> None:
    wrong = [(digest, *place) for _, digest, place in _wrong_hashes(connection)]
    connection.executemany("UPDATE memories SET content_hash = ?, terms = ? WHERE seq = ?", wrong)
