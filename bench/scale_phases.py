"""One phase of bench/scale.py, in a process of its own: prints its figures as one line of JSON.

python bench/scale_phases.py PHASE file|scopes|postgres OWNERS MEMORIES --locomo FILE --work DIR
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import apsw
import numpy as np
import psycopg

from common import median, quantile, resident_megabytes
from generated_conversations import EACH, texts
from holdfast import Holdfast
from holdfast.extraction.job_types import Worker
from holdfast.extraction.session_extraction import end_silent
from holdfast.maintenance import embedding_jobs, job_runner
from holdfast.model_access import worker_of
from holdfast.models.embeddings.static import StaticEmbedder
from holdfast.server import changes_view, entity_view, home_view, owner_view, timeline_view
from holdfast.storage.schema import MEMORY_COLUMNS
from holdfast.text.stopwords import STOP_WORDS
from holdfast.types import DAY, Scope
from ingest import BATCH, bare_rows, insert_bare, open_bare
from scale_store import Figures, Meter, Store, start_postgres

SESSIONS = 50  # that are written in one transaction
TOLD = 1_000  # sessions after which an ingest tells how far it is
ASKED = 40
CAPTURED = 300
GUEST = 1_000  # memories of the owner who moves in to be purged
OPENINGS = 3  # of each page
WAKES = 20  # of a worker
SHARED = ("ingest", "embed", "copies")  # by several writers, if that is asked for
SCHEDULED = ("decay", "reflect")  # beside what is always looked for


def ingest(store: Store) -> Figures:
    """Sessions of twenty memories, fifty in a transaction; an interrupted one goes on."""
    took = _by_writers(store, "ingest") or _ingest(store)
    return took | {
        "per_second": round(store.written / took["seconds"]),
        "per_processor_second": _rate(store.written, took),
    }


def _ingest(store: Store) -> Figures:
    known = json.loads(store.progress.read_text()) if store.progress.exists() else {}
    done, seconds, processor = (known.get(key, 0) for key in ("sessions", "seconds", "processor"))
    meter = Meter(store)
    per_owner = store.each // EACH
    owners = store.mine
    total = len(owners) * per_owner
    with store.open() as hf:
        while done < total:
            place, first = divmod(done, per_owner)
            owner = owners[place]
            numbers = range(first, min(first + SESSIONS, per_owner))
            sessions = [store.source.session(owner, number) for number in numbers]
            mine = hf.scoped(f"user:{owner}")
            start = meter.now()
            mine.capture_many([turn for one in sessions for turn in one.turns])
            mine.remember_many([fact for one in sessions for fact in one.facts])
            end = meter.now()
            done += len(sessions)
            seconds, processor = seconds + end[0] - start[0], processor + end[1] - start[1]
            store.progress.write_text(
                json.dumps({"sessions": done, "seconds": seconds, "processor": processor})
            )
            if done // TOLD > (done - len(sessions)) // TOLD or done == total:
                left = seconds / done * (total - done) / 60
                bar = "#" * round(20 * done / total)
                told = f"[{bar:<20}] {done * EACH:,} memories, about {left:.0f} min left"
                print(f"  {told}", file=sys.stderr, flush=True)
        return {"seconds": round(seconds, 6), "processor_seconds": round(processor, 6)}


def _rate(memories: int, took: Figures) -> int:
    # The processor's clock may be too coarse for a few.
    return round(memories / max(0.001, took["processor_seconds"]))


def _by_writers(store: Store, phase: str) -> Figures | None:
    """The same phase in several processes, each for its share of the owners; None for one process.

    The clock runs until the last has ended. Each counts its own processor time, and the server's
    is counted here, up to the last look if everything is interrupted.
    """
    if store.writers == 1 or store.writer is not None:
        return None
    store.open().close()  # The database with its tables is there before all of them want it.
    meter = Meter(store)
    known = json.loads(store.progress.read_text()) if store.progress.exists() else {}
    seconds, served = known.get("seconds", 0.0), known.get("served", 0.0)
    start, served_before = time.perf_counter(), meter.server_seconds()
    command = [sys.executable, __file__, phase, store.kind, str(store.owners), str(store.each)]
    command += ["--locomo", str(store.locomo), "--work", str(store.work)]
    command += ["--originals", str(store.originals), "--writers", str(store.writers)]
    command += ["--url", store.url] if store.url else []
    running = [
        subprocess.Popen([*command, "--writer", str(part)], stdout=subprocess.PIPE, text=True)
        for part in range(store.writers)
    ]
    while any(one.poll() is None for one in running):
        time.sleep(1)
        took = {
            "seconds": seconds + time.perf_counter() - start,
            "served": served + meter.server_seconds() - served_before,
        }
        store.progress.write_text(json.dumps(took))
    printed = [one.communicate()[0] for one in running]
    if any(one.returncode for one in running):
        raise SystemExit(f"A writer of {phase} failed; run it again to go on.")
    told = [json.loads(one.splitlines()[-1]) for one in printed]
    store.progress.unlink()
    processor = took["served"] + sum(one["processor_seconds"] for one in told)
    return {
        "seconds": round(took["seconds"], 6),
        "processor_seconds": round(processor, 6),
        "writers": store.writers,
    }


def embed(store: Store) -> Figures:
    """Every memory embedded anew with the fast model."""
    took = _by_writers(store, "embed") or _embed(store)
    if store.kind == "postgres" and store.writer is None:
        _settle(str(store.place))
    return took | {
        "per_second": round(store.written / took["seconds"]),
        "per_processor_second": _rate(store.written, took),
    }


def _embed(store: Store) -> Figures:
    with store.open() as hf:
        scopes = [Scope("user", str(owner)) for owner in store.mine] if store.writers > 1 else None
        return Meter(store).of(
            lambda: embedding_jobs.reembed(hf.store, hf.tiers, scopes=scopes, fresh=True)
        )


def copies(store: Store) -> Figures:
    """The owners beyond those that are written: every row of one of them under another scope."""
    if not store.originals:
        return {"owners": 0}
    if not isinstance(store.place, str):
        raise SystemExit("Owners are copied on a server only.")
    took = _by_writers(store, "copies") or Meter(store).of(partial(_copy, store, store.place))
    if store.writer is None:
        _settle(store.place)
    return took | {
        "owners": store.owners - store.originals,
        "per_processor_second": _rate(store.memories - store.written, took),
    }


def _copy(store: Store, url: str) -> None:
    """Copies owner by owner; those that are there already are left alone."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables: dict[str, list[str]] = {}
        for table, column in connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = 'holdfast' AND is_generated = 'NEVER' AND table_name IN ("
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'holdfast' AND column_name = 'scope')"
        ):
            tables.setdefault(table, []).append(column)
        numbers = dict(
            connection.execute("SELECT key, number FROM holdfast.scopes WHERE kind = 'user'")
        )
        others = range(store.originals, store.owners)
        for owner in others[store.writer or 0 :: store.writers]:
            if str(owner) in numbers:
                continue
            with connection.transaction():
                made = connection.execute(
                    "INSERT INTO holdfast.scopes (kind, key, created_at) "
                    "SELECT kind, %s, created_at FROM holdfast.scopes WHERE number = %s "
                    "RETURNING number",
                    (str(owner), numbers[str(owner % store.originals)]),
                ).fetchone()
                assert made is not None
                for table, columns in tables.items():
                    rest = [f'"{column}"' for column in columns if column != "scope"]
                    listed = ", ".join(rest)
                    connection.execute(
                        f"INSERT INTO holdfast.{table} (scope, {listed}) SELECT %s, {listed} "
                        f"FROM holdfast.{table} WHERE scope = %s".encode(),
                        (made[0], numbers[str(owner % store.originals)]),
                    )


def size(store: Store) -> Figures:
    """Bytes on disk, by table with its indexes."""
    sizes = _server_sizes(store) if isinstance(store.place, str) else _file_sizes(store)
    with store.open() as hf:
        stored = sum(owner.memories for owner in hf.store.sizes().owners)
    return {
        # Fewer than were written: a fact that is known already is not stored again.
        "stored": stored,
        "bytes": sum(sizes.values()),
        "bytes_per_memory": round(sum(sizes.values()) / store.memories),
        "journal_bytes_per_memory": round(sizes.get("events", 0) / store.memories),
        "tables": {
            name: round(size / store.memories)
            for name, size in sorted(sizes.items(), key=lambda one: -one[1])
            if size / store.memories >= 1
        },
    }


def _file_sizes(store: Store) -> dict[str, int]:
    store.checkpoint()
    connection = apsw.Connection(str(store.place), flags=apsw.SQLITE_OPEN_READONLY)
    tables = dict(connection.execute("SELECT name, tbl_name FROM sqlite_schema").fetchall())
    sizes: dict[str, int] = {}
    for name, pages in connection.execute("SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE"):
        table = tables.get(name, name)
        table = "memory_terms" if table.startswith("memory_terms") else table
        sizes[table] = sizes.get(table, 0) + pages
    return sizes


def _server_sizes(store: Store) -> dict[str, int]:
    with psycopg.connect(str(store.place)) as connection:
        return dict(
            connection.execute(
                "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
                "WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r'"
            ).fetchall()
        )


def recall(store: Store) -> Figures:
    """The first question of a process, then questions beside the floor of the same machine."""
    owners = [place * store.owners // ASKED for place in range(ASKED)]
    asked = [
        store.source.questions(owner, store.each // EACH, 1, seed=place)[0]
        for place, owner in enumerate(owners)
    ]
    before = resident_megabytes()
    opened, cold, cold_busy = _cold(store, asked[0])
    with store.open() as hf:
        mine = {owner: hf.scoped(f"user:{owner}") for owner in owners}
        for one in mine.values():  # The second question of a scope builds its matrix.
            for _ in range(2):
                one.recall(asked[0])
        meter, times, busy = Meter(store), [], []
        served = meter.server_seconds()
        for owner, question in zip(owners, asked, strict=True):
            start, mark = time.perf_counter(), time.thread_time()
            mine[owner].recall(question)
            times.append(time.perf_counter() - start)
            busy.append(time.thread_time() - mark)
        # The server's own clock is too coarse for one question.
        served = (meter.server_seconds() - served) / ASKED
        held = resident_megabytes()
        found = sum(
            bool(mine[owner].recall(question))
            for owner, question in zip(owners[:5], asked[:5], strict=True)
        )
    floors, floor_busy = _floor(store, owners, asked)
    processor = median(busy) + served
    return {
        "open_ms": round(opened * 1e3, 1),
        "cold_ms": round(cold * 1e3, 1),
        "cold_processor_ms": round(cold_busy * 1e3, 1),
        "p50_ms": round(median(times) * 1e3, 2),
        "p95_ms": round(quantile(times, 0.95) * 1e3, 2),
        "floor_p50_ms": round(median(floors) * 1e3, 2),
        "p50_processor_ms": round(processor * 1e3, 2),
        "floor_processor_ms": round(median(floor_busy) * 1e3, 2),
        "times_floor": round(median(times) / median(floors), 2),
        "times_floor_p95": round(quantile(times, 0.95) / quantile(floors, 0.95), 2),
        "times_floor_processor": round(processor / median(floor_busy), 2),
        "questions_answered_of_five": found,
        "rss_before_mb": round(before),
        "rss_mb": round(held),
        "processor_seconds": round(processor, 6),
        "seconds": round(median(times), 6),
    }


def _cold(store: Store, question: str) -> tuple[float, float, float]:
    """Seconds until the store is open, until the first question is answered after that, and what
    that took of the processors of this process. The file may be in the machine's cache.
    """
    start = time.perf_counter()
    hf = store.open()
    opened = time.perf_counter() - start
    start, busy = time.perf_counter(), time.process_time()
    hf.recall(question)
    cold, busy = time.perf_counter() - start, time.process_time() - busy
    hf.close()
    return opened, cold, busy


def _floor(store: Store, owners: list[int], asked: list[str]) -> tuple[list[float], list[float]]:
    """What no exact recall can do without: embed the question, scan the vectors once with numpy,
    and one FTS5 query over the same texts. By the clock and of the processor.
    """
    embedder = StaticEmbedder()
    vectors = np.random.default_rng(3).standard_normal(
        (store.each, StaticEmbedder.dimensions), dtype=np.float32
    )
    bare: dict[int, apsw.Connection] = {}
    for owner in owners:
        if owner not in bare:
            bare[owner] = _bare_words(store, owner)
    times, busy = [], []
    for owner, question in zip(owners, asked, strict=True):
        match = " OR ".join(f'"{word}"' for word in _words(question))
        start, mark = time.perf_counter(), time.thread_time()
        scores = vectors @ embedder.embed_query(question)
        np.argpartition(-scores, min(200, len(scores) - 1))[:200]
        bare[owner].execute(
            "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT 200", (match,)
        ).fetchall()
        times.append(time.perf_counter() - start)
        busy.append(time.thread_time() - mark)
    return times, busy


def _words(question: str) -> list[str]:
    words = [word.strip("?,.!'\"").lower() for word in question.split()]
    return [word.replace('"', "") for word in words if word and word not in STOP_WORDS["en"]]


def _written(store: Store, owner: int) -> Iterator[str]:
    """The texts of an owner: out of the file, where that is quicker than making them again."""
    if isinstance(store.place, str):
        yield from texts(store.source, owner, store.each)
        return
    connection = apsw.Connection(str(store.place), flags=apsw.SQLITE_OPEN_READONLY)
    for (text,) in connection.execute(
        "SELECT content FROM memories WHERE scope = "
        "(SELECT number FROM scopes WHERE kind = 'user' AND key = ?) ORDER BY seq",
        (str(owner),),
    ):
        yield text


def _bare_words(store: Store, owner: int) -> apsw.Connection:
    path = store.work / f"bare-{store.each}-{owner}.db"
    made = path.exists()
    fresh = path if made else path.with_suffix(".new")
    if not made:
        fresh.unlink(missing_ok=True)
    connection = apsw.Connection(str(fresh))
    for name, value in (("journal_mode", "wal"), ("synchronous", "off"), ("cache_size", -32_000)):
        connection.pragma(name, value)
    if not made:
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5 (content, tokenize = 'porter unicode61')"
        )
        with connection:
            connection.executemany(
                "INSERT INTO words (content) VALUES (?)",
                ((text,) for text in _written(store, owner)),
            )
        connection.pragma("wal_checkpoint(TRUNCATE)")
        connection.close()
        fresh.rename(path)
        connection = apsw.Connection(str(path))
        connection.pragma("cache_size", -32_000)
    return connection


def pages(store: Store) -> Figures:
    """What the Memory page asks for, each three times."""
    with store.open() as hf:
        asked: dict[str, Callable[[], object]] = {
            "home": partial(home_view.overview, hf, minutes_ahead=0),
            "totals": partial(owner_view.totals, hf, admin=False),
            "timeline": partial(
                timeline_view.timeline,
                hf,
                **dict.fromkeys(("entity", "since", "until", "before")),
                axis="happened",
                kinds=(),
                limit=50,
            ),
            "timeline_turns": partial(
                timeline_view.timeline,
                hf,
                **dict.fromkeys(("entity", "since", "until", "before")),
                axis="happened",
                kinds=("turn",),
                limit=50,
            ),
            "days": partial(timeline_view.days, hf, axis="happened"),
            "entities": partial(hf.entities.list, limit=100),
            "graph": partial(entity_view.graph, hf, entity=None, limit=30),
            "changes": partial(changes_view.latest, hf, limit=50),
            "list": partial(hf.list, limit=50),
            "stats": hf.stats,
            "duplicates": hf.entities.duplicates,
        }
        busiest = next(iter(hf.entities.list(limit=1)), None)
        if busiest is not None:
            asked["profile"] = partial(entity_view.profile, hf, busiest.name, limit=50)
        meter = Meter(store)
        figures: Figures = {}
        for name, work in asked.items():
            took = [meter.of(work) for _ in range(OPENINGS)]
            figures[name] = {key: median([one[key] for one in took]) for key in took[0]}
        return {"each": figures, "entities": len(hf.entities.list())}


def plans(store: Store) -> Figures:
    """Looking for due jobs: what a worker does each time it wakes, and the first time.

    `first` looks at every scope, ends its idle sessions and enqueues what it finds; after that
    nothing has changed.
    """
    kinds = (*job_runner.ALWAYS, *(job_runner.TASKS[task] for task in SCHEDULED))
    with store.open(0, store.copy) as hf:
        tracemalloc.start()
        scopes = hf.store.scopes()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # A day later, when all sessions are idle: otherwise some would become so meanwhile.
        later = hf.clock() + DAY
        worker = replace(worker_of(hf, None, complete=None), clock=lambda: later)
        # Twice, because the sessions that the first round ends are a change too.
        first = Meter(store).of(lambda: [end_and_plan(worker, kinds) for _ in range(2)])
        due = job_runner.plan(worker, kinds)
        wakes = Meter(store).of(lambda: [end_and_plan(worker, kinds) for _ in range(WAKES)])
    return {
        **{key: round(value / WAKES, 6) for key, value in wakes.items()},
        "first": first,
        "due": due,
        "scopes": len(scopes),
        "scope_bytes": round(held / len(scopes)),
    }


def end_and_plan(worker: Worker, kinds: Sequence[str]) -> None:
    """Look for idle sessions and for jobs, as a worker does before it runs any."""
    end_silent(worker)
    job_runner.enqueue_due(worker, kinds)


def doctor(store: Store) -> Figures:
    """Every check of the whole store."""
    with store.open() as hf:
        found: list[object] = []
        took = Meter(store).of(lambda: found.extend(hf.admin.check()))
    return took | {"findings": len(found), "per_second": round(store.memories / took["seconds"])}


def export(store: Store) -> Figures:
    """The bundle of an owner, history and all."""
    path = _bundle(store)
    with store.open() as hf, path.open("w", encoding="utf-8") as file:
        took = Meter(store).of(lambda: file.writelines(_lines(hf)))
    return took | {
        "bytes": path.stat().st_size,
        "per_second": round(store.each / took["seconds"]),
    }


def _lines(hf: Holdfast) -> Iterator[str]:
    return (line if line.endswith("\n") else f"{line}\n" for line in hf.admin.export())


def _bundle(store: Store) -> Path:
    return store.work / f"{store.name}.jsonl"


def import_(store: Store) -> Figures:
    """The same bundle into another store: an empty file, or another owner of the same server."""
    path = _bundle(store)
    if not path.exists():
        export(store)
    place = store.place if isinstance(store.place, str) else store.place.with_suffix(".into.db")
    _unlink(place)
    with store.open("imported", place) as hf, path.open(encoding="utf-8") as file:
        took = Meter(store).of(lambda: hf.admin.import_(file, into="user:imported"))
        if isinstance(place, str):
            hf.admin.purge(owner=True)
    _unlink(place)
    path.unlink()
    return took | {"per_second": round(store.each / took["seconds"])}


def capture(store: Store) -> Figures:
    """Turns captured one by one, each beside a bare insert of the same text with FTS5."""
    owner: int | str = "talker" if isinstance(store.place, str) else 0
    with store.open(owner, store.copy) as hf:
        if owner == "talker":
            _move_in(store, hf, store.each)
        bare = _bare_rows(store)
        marks = ",".join("?" * len(MEMORY_COLUMNS))
        insert = f"INSERT INTO memories ({', '.join(MEMORY_COLUMNS)}) VALUES ({marks})"
        meter, times, floors = Meter(store), [], []
        ours = bare_processor = 0.0
        served = meter.server_seconds()
        # Both sides take turns, so that a busy moment of the machine hits both.
        for text in texts(store.source, 1_000_003, CAPTURED):
            (row,) = bare_rows([text])
            start, busy = time.perf_counter(), time.process_time()
            _insert(bare, insert, row)
            between, busy_between = time.perf_counter(), time.process_time()
            hf.capture("now", "user", text)
            times.append(time.perf_counter() - between)
            ours += time.process_time() - busy_between
            floors.append(between - start)
            bare_processor += busy_between - busy
        ours += meter.server_seconds() - served
        with bare:
            bare.execute("DELETE FROM memories WHERE seq > ?", (store.each,))
    return {
        "p50_ms": round(median(times) * 1e3, 3),
        "p99_ms": round(quantile(times, 0.99) * 1e3, 2),
        "bare_p50_ms": round(median(floors) * 1e3, 3),
        "times_bare": round(median(times) / median(floors), 2),
        "times_bare_processor": round(ours / bare_processor, 2),
        "seconds": round(median(times), 6),
        "processor_seconds": round(ours / CAPTURED, 6),
    }


def _insert(bare: apsw.Connection, insert: str, row: tuple[object, ...]) -> None:
    with bare:
        bare.execute(insert, row)


def _bare_rows(store: Store) -> apsw.Connection:
    """As many rows of the same texts in a file that only has a table and FTS5."""
    path = store.work / f"rows-{store.each}.db"
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        connection = open_bare(fresh)
        every = _written(store, 0)
        while batch := list(islice(every, BATCH)):
            insert_bare(connection, [batch])
        connection.pragma("wal_checkpoint(TRUNCATE)")
        connection.close()
        fresh.rename(path)
    connection = apsw.Connection(str(path))
    for name, value in (("synchronous", "normal"), ("cache_size", -32_000)):
        connection.pragma(name, value)
    return connection


def guest(store: Store) -> Figures:
    """Purge of an owner with a thousand memories who lives beside the others."""
    count = min(GUEST, store.each)
    name = "small"
    with store.open(name, store.copy) as hf:
        _move_in(store, hf, count)
        hf.admin.reembed()
        took = Meter(store).of(partial(hf.admin.purge, owner=True))
    return took | {"memories": count}


def purge(store: Store) -> Figures:
    """Purge of an owner with as many memories as the step gives one. On a server it is one more
    owner, who moves in when all others are there.
    """
    owner: int | str = "guest" if isinstance(store.place, str) else 0
    meter, arrival = Meter(store), {}
    with store.open(owner, store.copy) as hf:
        if owner == "guest":
            ingested = meter.of(partial(_move_in, store, hf, store.each))
            embedded = meter.of(hf.admin.reembed)
            arrival = {
                "ingest_per_processor_second": _rate(store.each, ingested),
                "embed_per_processor_second": _rate(store.each, embedded),
            }
        took = meter.of(partial(hf.admin.purge, owner=True))
    if not isinstance(store.copy, str):
        _unlink(store.copy)
    return took | arrival | {"per_second": round(store.each / took["seconds"])}


def _move_in(store: Store, hf: Holdfast, memories: int) -> None:
    if hf.store.counts(hf.scopes):
        return
    for number in range(0, memories // EACH, SESSIONS):
        numbers = range(number, min(number + SESSIONS, memories // EACH))
        sessions = [store.source.session(1_000_001, one) for one in numbers]
        hf.capture_many([turn for one in sessions for turn in one.turns])
        hf.remember_many([fact for one in sessions for fact in one.facts])


PHASES: dict[str, Callable[[Store], Figures]] = {
    "ingest": ingest,
    "embed": embed,
    "copies": copies,
    "size": size,
    "recall": recall,
    "pages": pages,
    "plans": plans,
    "doctor": doctor,
    "export": export,
    "import": import_,
    "capture": capture,
    "guest": guest,
    "purge": purge,
}


def _unlink(place: str | Path) -> None:
    if not isinstance(place, str):
        for path in place.parent.glob(f"{place.name}*"):
            path.unlink()


def _settle(url: str) -> None:
    """What autovacuum would do a minute later."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phase", choices=PHASES)
    parser.add_argument("store", choices=("file", "scopes", "postgres"))
    parser.add_argument("owners", type=int)
    parser.add_argument("each", type=int)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--url")
    parser.add_argument("--originals", type=int, default=0)
    parser.add_argument("--writers", type=int, default=1)
    parser.add_argument("--writer", type=int, help="which of them this process is")
    options = parser.parse_args()
    store = Store(
        options.store,
        options.owners,
        options.each,
        options.work,
        options.locomo,
        options.url,
        options.originals,
        options.writers,
        options.writer,
    )
    if store.kind == "postgres" and store.url is None:
        # Before anything is measured.
        start_postgres(store.work)
    figures = PHASES[options.phase](store)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(figures | {"peak_rss_mb": round(peak / 1024)}))


if __name__ == "__main__":
    main()
