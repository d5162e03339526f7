"""One turn captured, entities and all, against a bare insert of the same row with an FTS5 trigger,
in one run.

    python bench/capture.py [--stored 100000] [--turns 2000]

The bar: on a store that holds 100,000 turns, at most 3 times a bare insert with its own
transaction. Three rounds: first SQLite as it comes beside Holdfast as it comes; then, harder, both
with a write-ahead log and both waiting for the disk alike, with `synchronous = FULL` and with
`NORMAL`, which is Holdfast's own and loses the last moments at most if the power fails. The 99th
percentile, as Holdfast runs, is shown beside the 50 ms that a conversation would notice; it says
more about the machine than about us.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import apsw

from common import finish, median, quantile, texts, timed
from holdfast import Holdfast, Settings
from holdfast.storage.schema import MEMORY_COLUMNS
from ingest import BATCH, bare_rows, insert_bare, open_bare

Row = tuple[object, ...]
NOTICED = 0.05  # seconds
# The journal of the bare side, and how either side waits for the disk.
MODES = {
    "as it comes": ("delete", "full", "normal"),
    "full": ("wal", "full", "full"),
    "normal": ("wal", "normal", "normal"),
}
MENTIONS = ("@priya", "@tomasz", "#apollo", "see https://example.org/x", "mail ann@example.org")


def spoken(count: int, seed: int) -> list[str]:
    """Turns, every third with something to recognise in it."""
    return [
        f"{text} {MENTIONS[number % len(MENTIONS)]}" if number % 3 == 0 else text
        for number, text in enumerate(texts(count, seed))
    ]


def measure(stored: int, turns: int) -> dict[str, object]:
    """What `turns` captures take on a store that holds `stored` of them."""
    marks = ",".join("?" * len(MEMORY_COLUMNS))
    insert = f"INSERT INTO memories ({', '.join(MEMORY_COLUMNS)}) VALUES ({marks})"
    with tempfile.TemporaryDirectory() as folder:
        bare = open_bare(Path(folder) / "bare.db")
        settings = Settings(embedding_models="none")
        hf = Holdfast.open(
            Path(folder) / "memory.db", scope="user:bench", settings=settings, background=False
        )
        before = iter(spoken(stored, seed=3))
        while batch := list(islice(before, BATCH)):
            insert_bare(bare, [batch])
            hf.capture_many({"session": "before", "role": "user", "text": text} for text in batch)

        def insert_one(row: Row) -> None:
            with bare:
                bare.execute(insert, row)

        times = {mode: _measured(mode, bare, insert_one, hf, turns) for mode in MODES}
        linked = sum(entity.mentions for entity in hf.entities.list())
        hf.close()
    ratios = {
        mode: round(median(ours) / median(theirs), 2) for mode, (theirs, ours) in times.items()
    }
    late = quantile(times["normal"][1], 0.99)
    return {
        "stored": stored,
        "turns": turns,
        "bare_microseconds": {
            mode: round(median(theirs) * 1e6) for mode, (theirs, _) in times.items()
        },
        "capture_microseconds": {
            mode: round(median(ours) * 1e6) for mode, (_, ours) in times.items()
        },
        "ratio": ratios,
        "p99_milliseconds": round(late * 1e3, 2),
        "mentions": linked,
        "met_three_times_as_it_comes": ratios["as it comes"] <= 3,
        "met_three_times_full": ratios["full"] <= 3,
        "met_three_times_normal": ratios["normal"] <= 3,
        "met_50_ms": late <= NOTICED,
    }


def _measured(
    mode: str, bare: apsw.Connection, insert_one: Callable[[Row], None], hf: Holdfast, turns: int
) -> tuple[list[float], list[float]]:
    """Seconds of each insert, bare and ours, with the log and the waits of this mode."""
    journal, theirs_waits, ours_waits = MODES[mode]
    bare.pragma("journal_mode", journal)
    bare.pragma("synchronous", theirs_waits)
    hf.store._writer.pragma("synchronous", ours_waits)
    theirs, ours = [], []
    for text in spoken(turns, seed=5):  # both sides take turns, so that a busy moment hits both
        (row,) = bare_rows([text])
        theirs.append(timed(lambda row=row: insert_one(row)))
        ours.append(timed(lambda text=text: hf.capture(f"now {mode}", "user", text)))
    return theirs, ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=2_000)
    options = parser.parse_args()
    finish(measure(options.stored, options.turns))


if __name__ == "__main__":
    main()
