"""What a store costs as it grows, step by step up to millions of memories, and what grows too fast.

    python bench/scale.py --locomo locomo10.json [--store file|scopes|postgres] [--steps 1x10000,…]
                          [--phases ingest,embed,…] [--writers N] [--originals N] [--work DIR]
                          [--fresh] [--write FILE]

A step is OWNERSxMEMORIES: so many scopes with so many memories each, every step in a store of its
own. The stores: `file`, one scope in an SQLite file; `scopes`, many scopes in one file; `postgres`,
many owners on a server that it starts itself, or at --url. The texts are conversations in LoCoMo's
words (bench/generated_conversations.py). `--list` names the phases.

Each phase runs in a process of its own and leaves its figures in `--work`, so a run that was
interrupted goes on where it stopped, inside an ingest too; `--fresh` measures the phases that
`--phases` names again. The stores stay in `--work` until `--remove`. `--writers` fills a server by
several processes. With `--originals` only so many owners are written and embedded, which takes
hours for ten million memories; the server then copies their rows for all others.

Growth is fitted between two steps, over processor time of this process and, with Postgres, of the
server: the machine may have other work, and by the clock that looks like growth. Whatever grows
faster than n log n from one step to the next is named, and the exit code says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import scale_growth
import scale_phases
import scale_store

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "scale"
STEPS = {
    "file": "1x10000,1x100000,1x1000000",
    "scopes": "100x100,1000x100,10000x20",
    "postgres": "10x1000,100x1000,1000x1000",
}
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """A store of one size."""

    store: str
    owners: int
    each: int

    @property
    def name(self) -> str:
        """What its files and databases are called."""
        return f"{self.store}-{self.owners}x{self.each}"

    @property
    def memories(self) -> int:
        """How many memories it is filled with."""
        return self.owners * self.each


def steps_of(store: str, text: str) -> list[Step]:
    """The steps that an option names, smallest first."""
    steps = []
    for part in text.split(","):
        owners, _, each = part.partition("x")
        if not (owners.isdigit() and each.isdigit() and int(owners) and int(each)):
            raise SystemExit(f"{part!r} is no step. Name it OWNERSxMEMORIES, such as 1000x1000.")
        if int(each) % scale_phases.EACH:
            raise SystemExit(f"{part!r}: memories come in sessions of {scale_phases.EACH}.")
        steps.append(Step(store, int(owners), int(each)))
    return sorted(steps, key=lambda step: step.memories)


class State:
    """What was measured so far: one file for each step, written after each phase."""

    def __init__(self, work: Path) -> None:
        self._work = work
        work.mkdir(parents=True, exist_ok=True)

    def figures(self, step: Step) -> dict[str, Figures]:
        """The figures of a step, by phase."""
        path = self._path(step)
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    def add(self, step: Step, phase: str, figures: Figures) -> None:
        """Keeps the figures of a phase."""
        found = self.figures(step) | {phase: figures}
        path = self._path(step)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(found, indent=1) + "\n")
        fresh.replace(path)

    def _path(self, step: Step) -> Path:
        return self._work / f"{step.name}.json"


def run(options: argparse.Namespace) -> dict[str, list[tuple[Step, dict[str, Figures]]]]:
    """Measures what is not there yet, and returns everything that is."""
    state = State(options.work)
    chosen = options.phases.split(",") if options.phases else list(scale_phases.PHASES)
    todo = [
        (step, phase) for step in options.steps for phase in scale_phases.PHASES if phase in chosen
    ]
    if not options.fresh:
        todo = [(step, phase) for step, phase in todo if phase not in state.figures(step)]
    for place, (step, phase) in enumerate(todo):
        left = scale_growth.estimate(todo[place:], state.figures, options.steps)
        _progress(place, len(todo), f"{step.name} {phase}", left)
        figures = _phase(options, step, phase)
        if figures is not None:
            state.add(step, phase, figures)
    if todo:
        _progress(len(todo), len(todo), "done", 0.0)
    return {options.store: [(step, state.figures(step)) for step in options.steps]}


def _phase(options: argparse.Namespace, step: Step, phase: str) -> Figures | None:
    """The figures of one phase, measured in a process of its own; None where it failed."""
    command = [sys.executable, str(Path(scale_phases.__file__)), phase, step.store]
    command += [str(step.owners), str(step.each), "--work", str(options.work)]
    command += ["--locomo", str(options.locomo), *(["--url", options.url] if options.url else [])]
    if phase in scale_phases.SHARED:
        command += ["--originals", str(options.originals), "--writers", str(options.writers)]
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"{step.name} {phase} failed (exit {done.returncode})", file=sys.stderr)
        return None
    figures = json.loads(done.stdout.splitlines()[-1])
    return figures | {"phase_seconds": round(time.monotonic() - start, 1)}


def _progress(done: int, all_: int, what: str, left: float | None) -> None:
    bar = "#" * round(20 * done / max(1, all_))
    more = "" if left is None else f", about {left / 60:.0f} min left"
    at = datetime.now(UTC).strftime("%H:%M:%S")
    print(f"{at} [{bar:<20}] {done}/{all_} {what}{more}", file=sys.stderr, flush=True)


def machine() -> Figures:
    """What the figures were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9),
        "python": platform.python_version(),
        "at": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def write(path: Path, store: str, rows: list[Figures], growth: list[Figures]) -> None:
    """Adds the figures of one kind of store on this machine to a file; those of others stay."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    here = machine()
    known["series"] = [
        one
        for one in known.get("series", ())
        if one["store"] != store or not scale_growth.same_machine(one["machine"], here)
    ]
    known["series"].append({"store": store, "machine": here, "rows": rows, "growth": growth})
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--store", choices=STEPS, default="file")
    parser.add_argument("--steps")
    parser.add_argument("--phases", default="")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--url")
    parser.add_argument("--originals", type=int, default=0, help="owners who are not copied")
    parser.add_argument("--writers", type=int, default=1, help="processes that fill a server")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--remove", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true", help="only print what is there")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:<10} {one.__doc__}" for name, one in scale_phases.PHASES.items()))
        return
    unknown = set(filter(None, options.phases.split(","))) - set(scale_phases.PHASES)
    if unknown:
        raise SystemExit(f"There is no phase {', '.join(sorted(unknown))}; --list names them.")
    if options.remove:
        scale_store.remove(options.work)
        return
    options.steps = steps_of(options.store, options.steps or STEPS[options.store])
    if options.report:
        options.phases, options.fresh = "none", False
    elif options.locomo is None or not options.locomo.is_file():
        raise SystemExit(
            "The conversations are made of LoCoMo's sentences: name its file with --locomo "
            "(locomo10.json of snap-research/locomo on GitHub)."
        )
    found = run(options)[options.store]
    rows = [scale_growth.row(step.owners, step.each, figures) for step, figures in found]
    growth = scale_growth.growth(rows)
    print(scale_growth.table(rows, growth))
    if options.write:
        write(options.write, options.store, rows, growth)
    if fast := [one for one in growth if one["faster_than_n_log_n"]]:
        sys.exit("grows faster than n log n: " + ", ".join(str(one["what"]) for one in fast))


if __name__ == "__main__":
    main()
