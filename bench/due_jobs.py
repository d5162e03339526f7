"""What it takes to find the jobs that are due, by the number of owners in one store.

    python bench/due_jobs.py [--store sqlite|postgres] [--owners 100,1000,5000,10000] [--write FILE]

Every owner has a session that somebody is still in, and nothing to do. Measured are a worker that
wakes and finds nothing (`idle`), that looks at ten owners who changed (`changed`), that does their
work too (`ten`: it plans and embeds), one claim while every owner has a job waiting (`claim`), and
the first look at all owners (`first`). Times are of the processor, this process and the server
together; beside each is how often it asked the store.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast import Holdfast, Settings
from holdfast.extraction.job_types import LEASE, Worker
from holdfast.maintenance import embedding_jobs
from holdfast.maintenance.job_runner import ALWAYS, drain
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.storage import open_store
from holdfast.types import Scope
from scale_phases import end_and_plan
from scale_store import Meter, Store, database, remove

Figures = dict[str, Any]
OWNERS = "100,1000,5000,10000"
WAKES = 5
TEN = 10
CLAIMS = 20


class Counted:
    """How many statements a store runs."""

    def __init__(self, store: Any) -> None:
        self.statements = 0
        for name in ("read", "transact"):
            setattr(store, name, self._counting(getattr(store, name)))

    def _counting(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self.statements += 1
            return run(*args, **options)

        return counted


def fill(hf: Holdfast, owners: int) -> None:
    """One open session for each owner, and the vectors of it."""
    for owner in range(owners):
        mine = hf.scoped(f"user:{owner}")
        mine.capture_many([{"text": f"Owner {owner} says hello.", "role": "user", "session": "s"}])
    embedding_jobs.reembed(hf.store, hf.tiers)


def measure(place: str | Path, meter: Meter, owners: int) -> Figures:
    """All four figures of a store with so many owners."""
    store = open_store(place)
    tiers = Tiers.of(FakeEmbedder())
    with Holdfast(
        store, [Scope("user", "0")], settings=Settings(), tiers=tiers, background=False
    ) as hf:
        fill(hf, owners)
        worker = Worker(store, tiers)
        counted = Counted(store)

        def of(work: Callable[[], object], times: int = 1) -> Figures:
            before = counted.statements
            took = meter.of(lambda: [work() for _ in range(times)])
            return {
                "processor_ms": round(took["processor_seconds"] * 1e3 / times, 2),
                "statements": round((counted.statements - before) / times, 1),
            }

        figures = {"first": of(lambda: drain(worker))}
        figures["idle"] = of(lambda: drain(worker), WAKES)

        def ten_say(what: str) -> None:
            for owner in range(TEN):
                hf.scoped(f"user:{owner * owners // TEN}").remember(f"Owner {owner} {what}.")

        ten_say("likes tea")
        figures["changed"] = of(lambda: end_and_plan(worker, ALWAYS))
        drain(worker)
        ten_say("likes coffee")
        figures["ten"] = of(lambda: drain(worker))
        for owner in range(owners):
            store.jobs.enqueue(Scope("user", str(owner)), "tidy", "k", watermark=1)
        now = worker.clock()

        def claim() -> None:
            assert store.jobs.claim(["tidy"], worker="w", now=now, lease=LEASE) is not None

        figures["claim"] = of(claim, CLAIMS)
    return figures


@contextmanager
def places(kind: str) -> Iterator[Callable[[int], tuple[str | Path, Meter]]]:
    """Where a store with so many owners goes, and what measures it."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)

        def place(owners: int) -> tuple[str | Path, Meter]:
            name = f"due_{owners}"
            at = database(work, None, name) if kind == "postgres" else work / f"{name}.db"
            return at, Meter(Store(kind, owners, 1, work, Path()))

        try:
            yield place
        finally:
            remove(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--owners", default=OWNERS)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    found: dict[str, Figures] = {}
    with places(options.store) as place:
        for owners in map(int, options.owners.split(",")):
            found[str(owners)] = measure(*place(owners), owners)
            print(owners, json.dumps(found[str(owners)]), file=sys.stderr, flush=True)
    if options.write:
        known = json.loads(options.write.read_text()) if options.write.exists() else {}
        known.setdefault("due_jobs", {})[options.store] = found
        options.write.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
