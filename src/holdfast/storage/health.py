"""Checks of `holdfast doctor` for every SQL backend, and rebuilding derived data from the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from ..floats import Vector
from ..text.terminal import counted
from ..types import Micros, new_id
from .check_progress import IN_DATABASE, Check, Select
from .damage import NOT_TEXT, QUARANTINED, GarbledRow
from .filters import Dialect
from .repair import SELECT_ALL, mend, read_as, unreadable, wrong_columns
from .row_codec import damaged, terms_of
from .schema import EVENTS, MEMORIES, TABLES, Statements
from .store_types import BEHIND, Finding

Unpack = Callable[[Any], Vector]

# Rows that refer to missing rows. The repair turns each query into a DELETE by replacing what
# precedes its first FROM. A file whose hash has the prefix BEHIND is skipped: a sync is still at
# work on it.
ORPHANS = {
    "edges": "SELECT source || ' → ' || target FROM edges AS e WHERE NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.source) OR NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.target)",
    "mentions": "SELECT memory || ' → ' || entity FROM mentions AS t WHERE NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = t.scope AND m.id = t.memory) OR NOT EXISTS "
    "(SELECT 1 FROM entities n WHERE n.scope = t.scope AND n.id = t.entity)",
    "entity_names": "SELECT name FROM entity_names AS a WHERE NOT EXISTS "
    "(SELECT 1 FROM entities n WHERE n.scope = a.scope AND n.id = a.entity)",
    "files": "SELECT path FROM files AS f WHERE memory <> '' AND substr(hash, 1, 1) <> "
    f"'{BEHIND}' AND NOT EXISTS "
    "(SELECT 1 FROM memories m WHERE m.scope = f.scope AND m.id = f.memory)",
}
# Every memory has an entry without a `before` image: the one that added it.
_UNEXPLAINED = (
    "NOT EXISTS (SELECT 1 FROM events e WHERE e.scope = m.scope AND e.noun = 'memory' AND "
    "e.target = m.id "
    "AND e.before IS NULL)"
)
# Watermark per model and scope: all memories up to it have a vector. It stands just before the
# first memory without one, or at the last memory.
_MARKS = """
INSERT INTO embedded (model, scope, seq)
SELECT v.model, v.scope, coalesce(
    (SELECT min(m.seq) - 1 FROM memories m WHERE m.scope = v.scope AND NOT EXISTS
        (SELECT 1 FROM vectors w WHERE w.model = v.model AND w.scope = m.scope AND w.seq = m.seq)),
    (SELECT max(m.seq) FROM memories m WHERE m.scope = v.scope))
FROM vectors v GROUP BY v.model, v.scope
"""


def orphans(select: Select) -> Iterator[Finding]:
    """Rows that refer to missing rows."""
    for table, sql in ORPHANS.items():
        for (what,) in select(sql):
            yield Finding("orphans", f"{table}: {what} points to nothing")


def rows(select: Select) -> Iterator[Finding]:
    """Unreadable rows, and memories whose text does not match its hash."""
    for row in select(SELECT_ALL):
        if wrong := wrong_columns(row):
            told = "; ".join(f"its {column} {fault}" for column, fault in wrong.items())
            name = f"#{row[0]}" if "id" in wrong else row[3]
            yield Finding("rows", f"memory {name}: {told}")
    for table in TABLES.values():
        if table is not MEMORIES:
            for row, wrong in unreadable(select, table):
                # The journal is never rewritten, and without its key a row cannot be matched to the
                # journal.
                lasting = table is EVENTS or any(column in table.key for column in wrong)
                named = damaged(table, read_as(table), row, None).fields["damage"]
                yield Finding("rows", str(named), repairable=not lasting)
    for row in select("SELECT number, kind, key FROM scopes ORDER BY number"):
        if isinstance(row, GarbledRow):
            yield Finding("rows", f"scope number {row[0]}: its name {NOT_TEXT}", repairable=False)
    for row in select("SELECT scope, kind, key, error, worker FROM jobs"):
        if isinstance(row, GarbledRow):
            yield Finding("rows", f"job {row[1]} {row[2]}: its text {NOT_TEXT}")


def quarantined(select: Select) -> Iterator[Finding]:
    """Damaged memories that are archived until a person decides."""
    for id_, reason in select(
        f"SELECT id, status_reason FROM memories WHERE status_reason LIKE '{QUARANTINED}%' "
        "ORDER "
        "BY seq"
    ):
        what = f"{id_} is archived ({reason}). To use it as it is: holdfast restore {id_}"
        yield Finding("quarantine", f"{what}; to erase it: holdfast purge {id_}", repairable=False)


def lengths(select: Select) -> Iterator[Finding]:
    """Memories whose stored term count does not match their text."""
    for id_, _ in wrong_lengths(select):
        yield Finding("lengths", f"{id_}: its length does not fit its text")


def wrong_lengths(select: Select) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Id of each memory with a wrong term count, with the right count, its scope and its number."""
    for scope, seq, id_, title, content, tags, length in select(
        "SELECT scope, seq, id, title, content, tags, terms FROM memories ORDER BY seq"
    ):
        terms = len(terms_of(title, content, tags))
        if terms != length:
            yield id_, (terms, scope, seq)


def vectors(select: Select, unpack: Unpack, dialect: Dialect) -> Iterator[Finding]:
    """Unusable vectors."""
    for number, identity, dimensions in unsound_vectors(select, unpack, dialect):
        yield Finding(
            "vectors", f"vector {number} of {identity} is not a unit vector of {dimensions} numbers"
        )


def unsound_vectors(
    select: Select, unpack: Unpack, dialect: Dialect
) -> Iterator[tuple[int, str, int]]:
    """Number, model and expected length of each vector of another length or not of unit norm."""
    for number, identity, dimensions, vector in select(
        "SELECT v.number, d.identity, d.dimensions, v.vector FROM vectors v JOIN models d ON "
        f"{dialect.of_model('v')}"
    ):
        if not _sound(vector, dimensions, unpack):
            yield number, identity, dimensions


def _sound(
    packed: Any,
    dimensions: int,
    unpack: Unpack,
) -> bool:
    try:
        vector = unpack(packed)
    except ValueError:  # not a whole number of floats
        return False
    length = math.hypot(*vector)
    # A vector of zeros is valid: it is what text without known words gets. The tolerance covers
    # rounding to 32 bits and the precision of remote embedders.
    return len(vector) == dimensions and (length == 0.0 or abs(length - 1.0) < 1e-2)


def watermarks(select: Select, dialect: Dialect) -> Iterator[Finding]:
    """Models whose watermark claims more vectors than exist."""
    for identity, count in select(
        f"SELECT d.identity, count(*) FROM embedded e JOIN models d ON {dialect.of_model('e')} "
        "JOIN memories m ON m.scope = e.scope AND m.seq <= e.seq WHERE NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.model = e.model AND v.scope = m.scope AND v.seq = m.seq) "
        "GROUP BY e.model, d.identity"
    ):
        yield Finding(
            "vectors",
            f"{counted(count, 'memory')} without a vector that should have one of {identity}",
        )


def journal(select: Select) -> Iterator[Finding]:
    """Memories that were added or deleted without a journal entry."""
    for (id_,) in select(f"SELECT id FROM memories m WHERE {_UNEXPLAINED}"):
        yield Finding("journal", f"{id_} has no entry that says who added it")
    for (target,) in select(
        "SELECT target FROM events e WHERE noun = 'memory' AND NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.scope = e.scope AND m.id = e.target) GROUP BY scope, "
        "target "
        "HAVING sum(CASE WHEN before IS NOT NULL AND after IS NULL THEN 1 ELSE 0 END) = 0"
    ):
        yield Finding(
            "journal",
            f"{target} is gone, but the journal does not say who removed it",
            repairable=False,
        )


def messages(select: Select) -> Iterator[Finding]:
    """Sessions with missing messages, and messages without a session."""
    # Positions count from 0 without gaps, so the highest one must be the count minus 1.
    for session, count, last in select(
        "SELECT session, count(*), max(position) FROM messages GROUP BY scope, session HAVING "
        "count(*) <= max(position)"
    ):
        yield Finding(
            "messages",
            f"{counted(last + 1 - count, 'message')} of session {session} missing",
            repairable=False,
        )
    for (session,) in select(
        "SELECT session FROM messages g WHERE NOT EXISTS "
        "(SELECT 1 FROM sessions s WHERE s.scope = g.scope AND s.id = g.session) GROUP BY scope, "
        "session"
    ):
        yield Finding(
            "messages", f"session {session} is gone, but its messages are there", repairable=False
        )


ROWS = Check(
    lambda select: chain(rows(select), quarantined(select)),
    [*(table.name for table in TABLES.values()), "scopes", "jobs"],
)
ORPHANED = Check(orphans, tuple(ORPHANS), IN_DATABASE)
LENGTHS = Check(lengths, ["memories"])
JOURNAL = Check(journal, ["memories", "events"], IN_DATABASE)
MESSAGES = Check(messages, ["messages"], IN_DATABASE)


def sound_vectors(unpack: Unpack, dialect: Dialect) -> Check:
    """The check of each vector."""
    return Check(lambda select: vectors(select, unpack, dialect), ["vectors"])


def true_watermarks(dialect: Dialect) -> Check:
    """The check of what is embedded."""
    return Check(lambda select: watermarks(select, dialect), ["vectors"], IN_DATABASE)


def repair_rows(
    execute: Statements,
    unpack: Unpack,
    dialect: Dialect,
    *,
    at: Micros,
) -> None:
    """Fix damaged rows, rebuild term counts, references and watermarks, and drop unusable vectors.

    Memories without a journal entry get one.
    """
    # Must run first: rows that refer to a memory with a damaged id would look like orphans.
    mend(execute, at=at)
    for sql in ORPHANS.values():
        execute("DELETE FROM" + sql.split("FROM", 1)[1])
    execute(
        "DELETE FROM vectors WHERE NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.scope = vectors.scope AND m.seq = vectors.seq)"
    )
    wrong = [place for _, place in wrong_lengths(execute)]
    execute.many("UPDATE memories SET terms = ? WHERE scope = ? AND seq = ?", wrong)
    unsound = [(number,) for number, _, _ in unsound_vectors(execute, unpack, dialect)]
    execute.many("DELETE FROM vectors WHERE number = ?", unsound)
    # After the vectors: the watermarks are computed from those that remain.
    execute("DELETE FROM embedded")
    execute(_MARKS)
    execute(
        "INSERT INTO events (scope, run, at, actor, verb, noun, target) SELECT scope, ?, ?, "
        "'doctor', 'repair', "
        f"'memory', id FROM memories m WHERE {_UNEXPLAINED}",
        (new_id("run", at), at),
    )
