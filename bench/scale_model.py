"""What 100 million owners with 10 billion memories would take, computed from what was measured.

    python bench/scale_model.py [--owners 100000000] [--memories 10000000000] [--write]

The constants are the figures of bench/scale.json, which bench/scale.py measured; nothing else is
known about a memory here. What people do in a day and what a machine has are assumptions, named in
`Assumed`. `--write` puts both tables into docs/scale.md, and a test compares the page with them.
Whatever was measured at a smaller size is extrapolated in proportion, and says so.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "bench" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"
Figures = dict[str, Any]
DAY = 86_400
# The better of the two models that ship has vectors of this many numbers; the fast one has 256.
DIMENSIONS = (256, 384)


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is not measured: what owners do, and what a machine has."""

    owners: int = 100_000_000
    memories: int = 10_000_000_000
    active: float = 0.1
    """Share of the owners who use their memory on a day."""
    written: int = 20
    """Memories that an active owner writes in a day."""
    asked: int = 10
    """Questions that an active owner asks in a day."""
    peak: int = 3
    """Times the average in the busiest hour."""
    cores: int = 16
    disk: float = 4e12
    full: float = 0.7
    """Share of a disk, or of the processors, that may be used."""
    wake: int = 60
    """Seconds between two rounds of a worker."""
    first_look: int = 8 * 3600
    """Seconds in which a worker has to have looked at every owner once."""
    doctor: int = 8 * 3600
    """Seconds in which a database has to be checked."""
    restore: int = 4 * 3600
    """Seconds in which a database has to be back from a backup, at `disk_rate`."""
    disk_rate: float = 500e6
    process: float = 4e9
    """Bytes that a process may hold."""


@dataclass(frozen=True, slots=True)
class Constants:
    """What was measured, per memory, owner or question."""

    bytes_per_memory: float
    vector_bytes: float
    ingest: float
    embed: float
    recall: float
    doctor: float
    purge: float
    purge_each: int
    look: float
    """Looking for due jobs of one owner who has changed."""
    first_look: float
    idle: float
    """A round of a worker that finds that nothing has changed."""
    looked_at: int
    """Owners of the store in which looking for jobs was measured."""
    scope_bytes: float | None
    """None where no store had so many scopes that it could be told."""
    sizes: dict[str, tuple[int, int]]
    """Owners and memories of the step that each phase was measured in."""


def constants(measured: Figures) -> Constants:
    """Each constant from the largest Postgres step that has it, whatever the machine."""
    rows = [row for one in measured["series"] if one["store"] == "postgres" for row in one["rows"]]
    of = {phase: _largest(rows, phase) for phase in NEEDED}

    def per_memory(phase: str) -> float:
        return 1 / float(of[phase]["phases"][phase]["per_processor_second"])

    doctor = of["doctor"]
    size, recall, purge = (of[phase]["phases"][phase] for phase in ("size", "recall", "purge"))
    owners, jobs = _due_jobs(measured)
    return Constants(
        bytes_per_memory=size["bytes_per_memory"],
        vector_bytes=size["tables"]["vectors"],
        ingest=per_memory("ingest"),
        embed=per_memory("embed"),
        recall=recall["processor_seconds"],
        doctor=doctor["phases"]["doctor"]["processor_seconds"] / doctor["memories"],
        purge=purge["processor_seconds"],
        purge_each=of["purge"]["each"],
        look=jobs["changed"]["processor_ms"] / 1e3 / CHANGED,
        first_look=jobs["first"]["processor_ms"] / 1e3 / owners,
        idle=jobs["idle"]["processor_ms"] / 1e3,
        looked_at=owners,
        scope_bytes=_scope_bytes(measured),
        sizes={phase: (row["owners"], row["memories"]) for phase, row in of.items()},
    )


MANY = 1_000  # scopes
NEEDED = ("ingest", "embed", "size", "recall", "doctor", "purge")
CHANGED = 10  # owners in the figure `changed` of bench/due_jobs.py


def _largest(rows: Sequence[Figures], phase: str) -> Figures:
    """The largest step that has this phase."""
    found = [row for row in rows if phase in row["phases"]]
    if not found:
        raise SystemExit(
            f"bench/scale.json has no {phase} on Postgres. Run bench/scale.py --store postgres "
            "--write bench/scale.json first."
        )
    return max(found, key=lambda one: one["memories"])


def _scope_bytes(measured: Figures) -> float | None:
    """Bytes that a process holds for each scope: the same on every store, and told by many."""
    plans = [
        row["phases"]["plans"]
        for one in measured["series"]
        for row in one["rows"]
        if row["phases"].get("plans", {}).get("scopes", 0) >= MANY
    ]
    return max(plans, key=lambda one: int(one["scopes"]))["scope_bytes"] if plans else None


def _due_jobs(measured: Figures) -> tuple[int, Figures]:
    """The figures of bench/due_jobs.py for the most owners on Postgres, and how many these were."""
    found = measured.get("due_jobs", {}).get("postgres")
    if not found:
        raise SystemExit(
            "bench/scale.json has no due_jobs on Postgres. Run bench/due_jobs.py --store postgres "
            "--write bench/scale.json first."
        )
    most = max(found, key=int)
    return int(most), found[most]


@dataclass(frozen=True, slots=True)
class Limit:
    """How many owners one database may have before something takes too long or too much."""

    what: str
    owners: float
    bar: str


def limits(cost: Constants, assumed: Assumed) -> list[Limit]:
    """What one database of one machine can bear, the least first: there the design breaks first."""
    each = assumed.memories / assumed.owners
    size = each * both_models(cost)
    found = [
        Limit(
            "disk",
            assumed.disk * assumed.full / size,
            f"{assumed.disk * assumed.full / 1e12:.1f} TB",
        ),
        Limit(
            "writing, embedding and recall at the busiest hour",
            assumed.cores * assumed.full / (work_of_a_day(cost, assumed) * assumed.peak / DAY),
            f"{assumed.cores * assumed.full:.0f} cores",
        ),
        Limit(
            "one worker looking at the owners who have changed, at the busiest hour",
            1 / (cost.look * changes(assumed)),
            "1 core",
        ),
        Limit(
            "the first look at every owner, after an upgrade",
            assumed.first_look / cost.first_look,
            f"{assumed.first_look // 3600} h",
        ),
        Limit(
            "`holdfast doctor`",
            assumed.doctor / (cost.doctor * each),
            f"{assumed.doctor // 3600} h",
        ),
        Limit(
            "restore of a backup",
            assumed.restore * assumed.disk_rate / size,
            f"{assumed.restore // 3600} h",
        ),
    ]
    if cost.scope_bytes is not None:
        bar = f"{assumed.process / 1e9:.0f} GB"
        names = "names of all scopes in a worker's memory"
        found.append(Limit(names, assumed.process / cost.scope_bytes, bar))
    return sorted(found, key=lambda one: one.owners)


def both_models(cost: Constants) -> float:
    """Bytes of a memory with the vectors of both models; the fast one's were measured."""
    return cost.bytes_per_memory + cost.vector_bytes * DIMENSIONS[1] / DIMENSIONS[0]


def work_of_a_day(cost: Constants, assumed: Assumed) -> float:
    """Processor seconds that an average owner takes in a day."""
    return assumed.active * (
        assumed.written * (cost.ingest + cost.embed) + assumed.asked * cost.recall
    )


def changes(assumed: Assumed) -> float:
    """How often an average owner changes in a second of the busiest hour, each memory alone."""
    return assumed.active * assumed.written * assumed.peak / DAY


def simulate(cost: Constants, assumed: Assumed) -> Figures:
    """Databases, storage and work for all owners."""
    first, second, *_ = limits(cost, assumed)
    bears = math.floor(first.owners)
    databases = math.ceil(assumed.owners / bears)
    size = assumed.memories * both_models(cost)
    writes = assumed.owners * assumed.active * assumed.written / DAY
    asks = assumed.owners * assumed.active * assumed.asked / DAY
    return {
        "bytes": size,
        "databases": databases,
        "owners_per_database": bears,
        "breaks_first": first.what,
        "databases_without_that": math.ceil(assumed.owners / math.floor(second.owners)),
        "breaks_then": second.what,
        "bytes_per_database": size / databases,
        "writes_per_second": writes,
        "questions_per_second": asks,
        "cores": work_of_a_day(cost, assumed) * assumed.owners * assumed.peak / DAY,
        "planning_cores": assumed.owners * changes(assumed) * cost.look
        + databases * cost.idle / assumed.wake,
        "embedding_days_per_core": assumed.memories * cost.embed / DAY,
        "owner_bytes": assumed.memories / assumed.owners * both_models(cost),
        "owner_seconds_per_year": work_of_a_day(cost, assumed) * 365,
        "owner_plan_seconds_per_year": 365 * assumed.active * assumed.written * cost.look,
        "database_idle_seconds_per_year": 365 * DAY / assumed.wake * cost.idle,
    }


def model_text(cost: Constants, assumed: Assumed) -> str:
    """The simulation as a part of the page."""
    found = simulate(cost, assumed)
    lines = [
        f"Extrapolated from what was measured on Postgres: {_sizes(cost)}. Assumed: "
        f"{assumed.active:.0%} of the owners are active on a day, each of whom writes "
        f"{assumed.written} memories and asks {assumed.asked} questions; the busiest hour has "
        f"{assumed.peak} times the average; "
        f"a machine has {assumed.cores} cores like those that were measured and a disk of "
        f"{assumed.disk / 1e12:.0f} TB, of which {assumed.full:.0%} may be used.",
        "",
        f"| for {_short(assumed.owners)} owners, {_short(assumed.memories)} memories | "
        "extrapolated |",
        "|---|---|",
        f"| storage, vectors of both models, one copy | {_bytes(found['bytes'])} |",
        f"| storage of an owner ({assumed.memories / assumed.owners:,.0f} memories) | "
        f"{_bytes(found['owner_bytes'])} |",
        f"| databases (breaks first: {found['breaks_first']}) | {found['databases']:,} |",
        f"| databases if that were solved (then: {found['breaks_then']}) | "
        f"{found['databases_without_that']:,} |",
        f"| owners of a database | {_short(found['owners_per_database'])} |",
        f"| size of a database | {_bytes(found['bytes_per_database'])} |",
        f"| memories written, average | {found['writes_per_second']:,.0f} a second |",
        f"| questions, average | {found['questions_per_second']:,.0f} a second |",
        f"| cores for writing, embedding and recall at the busiest hour | {found['cores']:,.0f} |",
        f"| cores that only look for due jobs, at the busiest hour | "
        f"{found['planning_cores']:,.0f} |",
        "| embedding everything anew with the fast model | "
        f"{found['embedding_days_per_core']:,.0f} days of one core |",
        f"| use of an owner in a year | {found['owner_seconds_per_year']:,.1f} s of one core |",
        f"| looking for due jobs of an owner, for a year | "
        f"{found['owner_plan_seconds_per_year']:,.1f} s of one core |",
        f"| a worker that finds nothing every {assumed.wake} s, for a year, whatever the owners | "
        f"{found['database_idle_seconds_per_year']:,.0f} s of one core |",
        f"| purge of an owner with {cost.purge_each:,} memories (measured) | "
        f"{cost.purge:,.2f} s of one core |",
        "",
        "Where the design breaks first: how many owners one database bears before a bar is missed.",
        "",
        "| what | bar | owners |",
        "|---|---|---|",
        *(f"| {one.what} | {one.bar} | {_short(one.owners)} |" for one in limits(cost, assumed)),
    ]
    return "\n".join(lines)


def _sizes(cost: Constants) -> str:
    """Which phases were measured at which size."""
    by_size: dict[tuple[int, int], list[str]] = {}
    for phase, size in cost.sizes.items():
        by_size.setdefault(size, []).append(phase)
    return (
        "; ".join(
            f"{', '.join(phases)} with {owners:,} owners and {memories:,} memories"
            for (owners, memories), phases in sorted(by_size.items(), reverse=True)
        )
        + f"; looking for due jobs with {cost.looked_at:,} owners"
    )


CELLS: dict[str, Callable[[dict[str, Figures]], str]] = {
    "memories stored": lambda p: f"{p['size']['stored']:,}",
    "owners whose rows were copied": lambda p: f"{p['copies']['owners'] or '–'}",
    "ingest, memories per core second": lambda p: f"{p['ingest']['per_processor_second']:,}",
    "embedding, memories per core second": lambda p: f"{p['embed']['per_processor_second']:,}",
    "ingest of one more owner": lambda p: f"{p['purge']['ingest_per_processor_second']:,}",
    "embedding of one more owner": lambda p: f"{p['purge']['embed_per_processor_second']:,}",
    "bytes of a memory, one model": lambda p: f"{p['size']['bytes_per_memory']:,}",
    "of which journal": lambda p: f"{p['size']['journal_bytes_per_memory']:,}",
    "recall, times the floor": lambda p: f"{p['recall']['times_floor_processor']:.1f}",
    "recall, core ms": lambda p: f"{p['recall']['p50_processor_ms']:,.0f}",
    "first question of a process, core ms": lambda p: f"{p['recall']['cold_processor_ms']:,.0f}",
    "memory of the process, MB": lambda p: f"{p['recall']['rss_mb']:,}",
    "capture of one turn, core ms": lambda p: f"{p['capture']['processor_seconds'] * 1e3:.2f}",
    "doctor, core s": lambda p: f"{p['doctor']['processor_seconds']:,.1f}",
    "export of an owner, core s": lambda p: f"{p['export']['processor_seconds']:,.1f}",
    "import of an owner, core s": lambda p: f"{p['import']['processor_seconds']:,.1f}",
    "purge of an owner, core s": lambda p: f"{p['purge']['processor_seconds']:,.2f}",
    "purge of a small owner beside them, core s": lambda p: (
        f"{p['guest']['processor_seconds']:,.2f}"
    ),
    "a worker wakes, nothing has changed, core ms": lambda p: (
        f"{p['plans']['processor_seconds'] * 1e3:,.1f}"
    ),
    "first look at all scopes, with the end of all sessions, core ms": lambda p: (
        f"{p['plans']['first']['processor_seconds'] * 1e3:,.0f}"
    ),
    "page: home, core ms": lambda p: _page(p, "home"),
    "page: totals, core ms": lambda p: _page(p, "totals"),
    "page: timeline, core ms": lambda p: _page(p, "timeline"),
    "page: entities, core ms": lambda p: _page(p, "entities"),
    "page: changes, core ms": lambda p: _page(p, "changes"),
}
STORES = {
    "file": "SQLite, one scope",
    "scopes": "SQLite, many scopes in one file",
    "postgres": "Postgres",
}


def _place(series: Figures) -> tuple[int, str]:
    """Where a series stands on the page: by kind of store, then by machine."""
    return list(STORES).index(series["store"]), series["machine"]["processor"]


def _page(phases: dict[str, Figures], name: str) -> str:
    return f"{phases['pages']['each'][name]['processor_seconds'] * 1e3:,.0f}"


def measured_text(measured: Figures) -> str:
    """What was run, as a part of the page. A dash is what was not."""
    lines = [
        "Times are of the processor, because the machines had other work. A dash is what was not "
        "run.",
    ]
    for series in sorted(measured["series"], key=_place):
        rows, machine = series["rows"], series["machine"]
        title = f"{STORES[series['store']]}; {machine['cores']} cores, {machine['processor']}"
        heads = " | ".join(f"{row['owners']:,} × {row['each']:,}" for row in rows)
        lines += ["", f"| {title} | {heads} |", "|---" * (len(rows) + 1) + "|"]
        for name, cell in CELLS.items():
            cells = [_cell(cell, row["phases"]) for row in rows]
            if any(one != "–" for one in cells):
                lines.append(f"| {name} | {' | '.join(cells)} |")
        fast = [one for one in series["growth"] if one["faster_than_n_log_n"]]
        told = "; ".join(
            f"{one['what']} ({one['from']:,} to {one['to']:,}: exponent {one['exponent']})"
            for one in fast
        )
        if series["growth"]:
            lines += [
                "",
                f"Of what was run at two sizes, faster than n log n: {told or 'nothing'}.",
            ]
        else:
            lines += ["", "How it grows is not known: it was run at one size."]
    return "\n".join([*lines, *_due_jobs_table(measured.get("due_jobs", {}))])


ROUNDS = {
    "idle": "a worker wakes, nothing has changed",
    "changed": f"it looks at {CHANGED} owners who have changed",
    "ten": "it looks at them and embeds what they wrote",
    "claim": "one job is claimed, while every owner has one waiting",
    "first": "the first look at all owners",
}
PLACES = {"sqlite": "SQLite", "postgres": "Postgres"}


def _due_jobs_table(found: dict[str, dict[str, Figures]]) -> list[str]:
    """What looking for jobs takes by the number of owners, as bench/due_jobs.py measured it."""
    lines: list[str] = []
    for store, title in PLACES.items():
        if by_owners := found.get(store):
            owners = sorted(by_owners, key=int)
            heads = " | ".join(f"{int(one):,} owners" for one in owners)
            lines += ["", f"| {title}, core ms | {heads} |", "|---" * (len(owners) + 1) + "|"]
            for figure, what in ROUNDS.items():
                took = " | ".join(
                    f"{by_owners[one][figure]['processor_ms']:,.2f}" for one in owners
                )
                lines.append(f"| {what} | {took} |")
    return lines


def _cell(of: Callable[[dict[str, Figures]], str], phases: dict[str, Figures]) -> str:
    try:
        return of(phases)
    except KeyError:
        return "–"


def _bytes(count: float) -> str:
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count / 1e3:,.0f} kB"


def _short(count: float) -> str:
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if count >= unit:
            return f"{count / unit:,.3g} {name}"
    return f"{float(f'{count:.2g}'):,.0f}"


def section(name: str, text: str, page: str) -> str:
    """The page with this text between its marks."""
    begin, end = f"<!-- {name}: bench/scale_model.py --write -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"docs/scale.md has no place for it: write {begin} and {end} there.")
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page)


def page_with(measured: Figures, page: str, assumed: Assumed | None = None) -> str:
    """The page with what was measured and what follows from it."""
    page = section("measured", measured_text(measured), page)
    return section("simulated", model_text(constants(measured), assumed or Assumed()), page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=Assumed().owners)
    parser.add_argument("--memories", type=int, default=Assumed().memories)
    parser.add_argument("--measured", type=Path, default=MEASURED)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not options.measured.is_file():
        raise SystemExit(f"There is no {options.measured}. bench/scale.py --write makes it.")
    measured = json.loads(options.measured.read_text("utf-8"))
    if options.write:
        PAGE.write_text(page_with(measured, PAGE.read_text("utf-8")), encoding="utf-8")
        return
    assumed = Assumed(owners=options.owners, memories=options.memories)
    print(measured_text(measured), "", model_text(constants(measured), assumed), sep="\n")


if __name__ == "__main__":
    main()
