"""Checks of `holdfast doctor` on an SQLite file: file integrity, schema, full-text index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from itertools import zip_longest

import apsw

from ...text.terminal import counted
from ...types import Micros
from .. import health, migrations_runner
from ..check_progress import IN_DATABASE, Check, CheckedRows, Select
from ..filters import SQLITE
from ..row_codec import terms_of
from ..schema import Statements
from ..store_types import Finding
from .connection import each_row

# What a row costs when SQLite checks the file, when its terms are indexed again, and what a term
# costs when the two indexes are compared. Set by the times of the checks on one store of 20,000
# turns; indexing and comparing were timed together, and each was given about half.
_FILE_COST = 0.25
_BUILD_COST = 2.0
_COMPARE_COST = 0.07


def check_sqlite(
    connection: apsw.Connection,
    unpack: health.Unpack,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Finding]:
    """Yield every finding. The file is checked first: if it is damaged, most other checks would
    only repeat that.
    """
    whole = Check(_file, [*health.ROWS.reads, "files", "vectors"], _FILE_COST)
    further = (
        health.ORPHANED,
        health.LENGTHS,
        Check(_totals, ["memories"], IN_DATABASE),
        Check(partial(_build_words, connection), ["memories"], _BUILD_COST),
        Check(partial(_compare_words, connection), ["memories.terms"], _COMPARE_COST),
        health.sound_vectors(unpack, SQLITE),
        Check(_places, ["vectors"], IN_DATABASE),
        health.true_watermarks(SQLITE),
        health.JOURNAL,
        health.MESSAGES,
        Check(_gaps, ["events"], IN_DATABASE),
    )
    damage = (apsw.CorruptError, apsw.SQLError)
    checked = CheckedRows(
        partial(each_row, connection),
        [whole, health.ROWS, *further],
        progress,
        unreadable=damage,
    )
    broken = list(checked.findings(whole))
    altered = list(_schema(connection))
    yield from broken
    with suppress(*damage) if broken or altered else nullcontext():
        yield from checked.findings(health.ROWS)
    if broken:
        return
    yield from altered
    for check in further:
        yield from checked.findings(check)


def _file(select: Select) -> Iterator[Finding]:
    for (message,) in select("PRAGMA integrity_check(20)"):
        if message != "ok":
            # Indexes, including the full-text index, report damage here and can be rebuilt.
            yield Finding(
                "file", message, repairable="memory_terms" in message or " index " in message
            )
    for table, row, parent, _ in select("PRAGMA foreign_key_check"):
        yield Finding(
            "file",
            f"row {row} of {table} points to a missing row of {parent}",
            repairable=table == "vectors",
        )


def _schema(connection: apsw.Connection) -> Iterator[Finding]:
    wanted = _expected()
    there = _definitions(connection)
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) != there.get(name):
            state = (
                "missing" if name not in there else "unknown" if name not in wanted else "altered"
            )
            yield Finding(
                "schema", f"{name} is {state}", repairable=_is_index(wanted.get(name, ""))
            )


def _expected() -> dict[str, str]:
    fresh = apsw.Connection(":memory:")
    for step in migrations_runner.migrations("sqlite"):
        fresh.execute(step.sql)
    return _definitions(fresh)


def _is_index(definition: str) -> bool:
    return definition.startswith(("CREATE INDEX ", "CREATE UNIQUE INDEX "))


def _definitions(connection: apsw.Connection) -> dict[str, str]:
    return dict(
        connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE "
            "'sqlite_%' "
            "AND name NOT LIKE 'memory_terms_%'"
        )
    )


def _totals(select: Select) -> Iterator[Finding]:
    for kind, key, active, terms, real_active, real_terms in select(
        "SELECT s.kind, s.key, s.active, s.terms, count(m.seq), coalesce(sum(m.terms), 0) FROM "
        "scopes s "
        "LEFT JOIN memories m ON m.scope = s.number AND m.status = 'active' GROUP BY s.number"
    ):
        if (active, terms) != (real_active, real_terms):
            yield Finding(
                "totals",
                f"{kind}:{key} counts {counted(active, 'memory')}, but there are {real_active}",
            )


def _build_words(connection: apsw.Connection, select: Select) -> Iterator[Finding]:
    """Build the full-text index again from the memories, for `_compare_words`."""
    # Temporary tables of this connection: SQLite deletes them itself, and those of an encrypted
    # file are encrypted too.
    connection.execute(
        "CREATE VIRTUAL TABLE temp.expected_terms USING fts5 (terms, content = '', tokenize = "
        "\"ascii tokenchars '_~'\")"
    )
    connection.executemany(
        "INSERT INTO temp.expected_terms (rowid, terms) VALUES (?, ?)", prefixed_terms(select)
    )
    yield from ()


def _compare_words(connection: apsw.Connection, select: Select) -> Iterator[Finding]:
    """Compare the full-text index term by term with the one that `_build_words` has built."""
    for schema, table, places in (
        ("temp", "expected_terms", "expected_places"),
        ("main", "memory_terms", "memory_places"),
    ):
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{places} USING fts5vocab ({schema}, {table}, instance)"
        )
    places = "SELECT term, doc, offset FROM temp.{}"
    wanted = select(places.format("expected_places"))
    # Not with `select`, which would count every term twice.
    there = connection.cursor().execute(places.format("memory_places"))
    for expected, found in zip_longest(wanted, there):
        if expected != found:
            word = (expected or found)[0]
            yield Finding(
                "words", f"the full-text index is not what the memories say, first at {word!r}"
            )
            return


def prefixed_terms(select: Select) -> Iterator[tuple[int, str]]:
    """Yield the expected terms of the full-text index for each memory."""
    for seq, scope, status, title, content, tags in select(
        "SELECT seq, scope, status, title, content, tags FROM memories ORDER BY seq"
    ):
        prefix = f"{scope}~" if status == "active" else f"{scope}_"
        yield seq, " ".join(prefix + term for term in terms_of(title, content, tags))


def _places(select: Select) -> Iterator[Finding]:
    for (count,) in select(
        "SELECT count(*) FROM vectors v JOIN memories m ON m.seq = v.seq WHERE m.scope <> v.scope"
    ):
        if count:
            yield Finding("vectors", f"{counted(count, 'vector')} in another scope than the memory")


def _gaps(select: Select) -> Iterator[Finding]:
    for (count,) in select(
        # Entry numbers have no gaps, so the last number minus the purged entries is the expected
        # count.
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) - count(*) "
        "- coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'erased_entries'), 0) "
        "FROM events"
    ):
        if count:
            yield Finding(
                "journal",
                f"{counted(count, 'journal entry is', 'journal entries are')} missing",
                repairable=False,
            )


def repair_sqlite(
    connection: apsw.Connection,
    execute: Statements,
    unpack: health.Unpack,
    *,
    at: Micros,
) -> None:
    """Repair damaged rows, rebuild indexes, full-text index, totals, references and watermarks, and
    drop unusable vectors.
    """
    _rebuild_indexes(connection)
    health.repair_rows(execute, unpack, SQLITE, at=at)
    connection.execute("INSERT INTO memory_terms (memory_terms) VALUES ('delete-all')")
    for seq, terms in list(prefixed_terms(partial(each_row, connection))):
        connection.execute("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (seq, terms))
    connection.execute(
        "UPDATE scopes SET active = (SELECT count(*) FROM memories m WHERE m.scope = number AND "
        "m.status = 'active'), "
        "terms = (SELECT coalesce(sum(m.terms), 0) FROM memories m WHERE m.scope = number AND "
        "m.status = 'active'), "
        # Vectors and jobs may be gone, which workers make again.
        "changed_at = 0"
    )


def _rebuild_indexes(connection: apsw.Connection) -> None:
    there = _definitions(connection)
    for name, definition in _expected().items():
        if _is_index(definition) and there.get(name) != definition:
            connection.execute(f"DROP INDEX IF EXISTS {name}")
            connection.execute(definition)
    connection.execute("REINDEX")
