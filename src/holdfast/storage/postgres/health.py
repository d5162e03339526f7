"""Checks of `holdfast doctor` on a server: schema, row-level security, full-text index, totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from ...text.terminal import counted
from ...types import Micros
from .. import health, migrations_runner
from ..check_progress import IN_DATABASE, Check, CheckedRows, Select
from ..filters import POSTGRES
from ..health import Unpack
from ..row_codec import terms_of
from ..schema import Statements
from ..store_types import Finding
from .scoped_session import APP, WORKER
from .transaction import marked

_POSTINGS = """
SELECT m.scope, m.seq, m.id, m.status = 'active', m.title, m.content, m.tags,
       array_agg(p.term ORDER BY p.term), array_agg(p.times ORDER BY p.term),
       min(p.length), max(p.length)
FROM memories m LEFT JOIN memory_terms p ON p.scope = m.scope AND p.seq = m.seq
GROUP BY m.scope, m.seq ORDER BY m.scope, m.seq
"""
_ACTIVE = "SELECT {} FROM memories m WHERE m.scope = t.scope AND m.status = 'active'"
_TRUE_TOTALS = (
    f"({_ACTIVE.format('count(*)')}), ({_ACTIVE.format('coalesce(sum(m.terms), 0)::bigint')}), "
    "(SELECT count(*) FROM events e WHERE e.scope = t.scope)"
)


def check(
    select: Select,
    unpack: Unpack,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Finding]:
    """Yield every finding. If the schema is incomplete, only that: other checks would fail on it
    too.
    """
    missing = list(_schema(select))
    yield from missing
    if missing:
        return
    checks = (
        health.ORPHANED,
        health.ROWS,
        health.LENGTHS,
        Check(_totals, ["memories", "events"], IN_DATABASE),
        # The terms of a memory come with it.
        Check(_words, ["memories"], 2.0),
        health.sound_vectors(unpack, POSTGRES),
        health.true_watermarks(POSTGRES),
        health.JOURNAL,
        health.MESSAGES,
    )
    checked = CheckedRows(select, checks, progress)
    for check in checks:
        yield from checked.findings(check)


def _schema(select: Select) -> Iterator[Finding]:
    """Report tables, indexes and policies that the migrations create and that are missing or not in
    force.
    """
    wanted: set[str] = set()
    for step in migrations_runner.migrations("postgres"):
        wanted = (wanted - _dropped(step.sql)) | _made(step.sql)
    there: dict[str, bool] = dict(
        select(
            "SELECT c.relname, coalesce(i.indisvalid, true) FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid "
            "WHERE n.nspname = 'holdfast'"
        )
    )
    for name in sorted(wanted - there.keys()):
        yield Finding("schema", f"{name} is missing", repairable=False)
    for name in sorted(name for name, valid in there.items() if not valid):
        yield Finding("schema", f"{name} was not built to its end", repairable=False)
    # `meta` is readable for everybody, so it needs no forced policy.
    for (name,) in select(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "
        "n.nspname = 'holdfast' "
        "AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND (c.relforcerowsecurity OR "
        "c.relname = 'meta') "
        "AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid)) ORDER BY c.relname"
    ):
        yield Finding("schema", f"{name} is not kept apart by row-level security", repairable=False)
    # A policy that does not test the transaction's scopes would show every owner's rows.
    for table, policy in select(
        "SELECT tablename, policyname FROM pg_policies WHERE schemaname = 'holdfast' AND "
        "tablename <> 'meta' AND "
        f"roles && ARRAY['public', '{APP}']::name[] AND permissive = 'PERMISSIVE' AND NOT "
        "(coalesce(qual, with_check) ~ 'holdfast\\.(scopes|names)' AND coalesce(with_check, qual) "
        "~ 'holdfast\\.')"
    ):
        yield Finding(
            "schema",
            f"the policy {policy} on {table} lets owners see each other's rows",
            repairable=False,
        )
    for (name,) in select(
        f"SELECT rolname FROM pg_roles WHERE rolname IN ('{APP}', '{WORKER}') AND (rolsuper OR "
        "rolbypassrls)"
    ):
        yield Finding("schema", f"the role {name} passes over row-level security", repairable=False)


def _made(sql: str) -> set[str]:
    return set(re.findall(r"^CREATE (?:UNIQUE )?(?:TABLE|INDEX|SEQUENCE) (\w+)", sql, re.MULTILINE))


def _dropped(sql: str) -> set[str]:
    return set(re.findall(r"^DROP INDEX IF EXISTS (\w+)", sql, re.MULTILINE))


def _totals(select: Select) -> Iterator[Finding]:
    for kind, key in select(
        "SELECT s.kind, s.key FROM (SELECT DISTINCT scope FROM events) e "
        "LEFT JOIN totals t ON t.scope = e.scope JOIN scopes s ON s.number = e.scope "
        "WHERE t.scope IS NULL"
    ):
        yield Finding("totals", f"{kind}:{key} counts nothing at all")
    for kind, key, active, terms, entries, *real in select(
        f"SELECT s.kind, s.key, t.active, t.terms, t.entries, {_TRUE_TOTALS} "
        "FROM totals t JOIN scopes s ON s.number = t.scope ORDER BY s.number"
    ):
        if [active, terms] != real[:2]:
            yield Finding(
                "totals",
                f"{kind}:{key} counts {counted(active, 'memory')}, but there are {real[0]}",
            )
        if entries > real[2]:
            yield Finding(
                "journal",
                f"{counted(entries - real[2], 'journal entry is', 'journal entries are')} missing",
                repairable=False,
            )
        elif entries < real[2]:
            yield Finding(
                "journal",
                f"{kind}:{key} counts {counted(entries, 'journal entry')}, but there are {real[2]}",
            )


def _words(select: Select) -> Iterator[Finding]:
    """Compare the postings of each memory with its text."""
    for _, _, id_, active, title, content, tags, terms, times, shortest, longest in select(
        _POSTINGS
    ):
        wanted = terms_of(title, content, tags)
        expected = Counter(marked(term, active=active) for term in wanted)
        found = dict(zip(terms, times, strict=True)) if terms != [None] else {}
        if found != dict(expected) or (found and (shortest, longest) != (len(wanted), len(wanted))):
            yield Finding(
                "words", f"the full-text index is not what the memories say, first at {id_}"
            )
            return
    for (count,) in select(
        "SELECT count(*) FROM memory_terms p WHERE NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.scope = p.scope AND m.seq = p.seq)"
    ):
        if count:
            yield Finding(
                "words", f"{counted(count, 'entry')} of the full-text index without a memory"
            )


def repair(
    execute: Statements,
    unpack: Unpack,
    *,
    at: Micros,
) -> None:
    """Repair damaged rows, rebuild postings, totals, references and watermarks, and drop unusable
    vectors. Blocks all writers.
    """
    execute("SET LOCAL statement_timeout = 0")
    # Writers lock their row in `totals` first, so this lock keeps all of them out.
    execute("LOCK TABLE totals IN EXCLUSIVE MODE")
    health.repair_rows(execute, unpack, POSTGRES, at=at)
    execute("DELETE FROM memory_terms")
    for scope, seq, active, title, content, tags in execute(
        "SELECT scope, seq, status = 'active', title, content, tags FROM memories ORDER BY "
        "scope, "
        "seq"
    ):
        terms = terms_of(title, content, tags)
        execute.many(
            "INSERT INTO memory_terms (scope, seq, times, length, term) VALUES (?, ?, ?, ?, ?)",
            [
                (scope, seq, n, len(terms), marked(term, active=active))
                for term, n in Counter(terms).items()
            ],
        )
    execute("INSERT INTO totals (scope) SELECT number FROM scopes ON CONFLICT DO NOTHING")
    real = execute(f"SELECT {_TRUE_TOTALS}, t.scope FROM totals t")
    execute.many(
        # Changed too: vectors and jobs may be gone, which workers make again.
        "UPDATE totals SET active = ?, terms = ?, entries = ?, changed_at = 0 WHERE scope = ?",
        real,
    )
