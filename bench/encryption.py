"""What encryption costs: the same work on an encrypted file and on one that is not, in one run.

    python bench/encryption.py [--count 10000]

Both sides take turns and use the same build of SQLite, so the ratio is that of the cipher alone. It
is of processor time: a busy machine interrupts both.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from common import finish, median, questions, texts
from holdfast import Holdfast, Settings
from holdfast.storage.sqlite import encryption

BATCH = 1_000
ASKED = 40
TURNS = 200
ROUNDS = 5


def processor_time(work: Callable[[], object]) -> float:
    """Seconds of processor time of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


class Side:
    """One of the two files."""

    def __init__(self, folder: Path, key_file: str) -> None:
        self._path = folder / ("encrypted.db" if key_file else "plain.db")
        self._settings = Settings(key_file=key_file, embedding_models="static")
        self.hf = self.opened()

    def opened(self) -> Holdfast:
        return Holdfast.open(
            self._path, scope="user:bench", settings=self._settings, background=False
        )

    def remember(self, batch: list[str]) -> float:
        return processor_time(lambda: self.hf.remember_many(batch))

    def capture(self, start: int) -> float:
        lines = [f"I moved house number {start + number} times." for number in range(TURNS)]
        return processor_time(
            lambda: [self.hf.capture(f"s{start}", "user", line) for line in lines]
        )

    def recall(self, asked: list[str]) -> float:
        return processor_time(lambda: [self.hf.recall(question) for question in asked])

    def first_recall(self, question: str) -> float:
        """Open the file and ask once, as a command does: nothing is in memory yet."""

        def once() -> None:
            with self.opened() as hf:
                hf.recall(question)

        return processor_time(once)


def measure(count: int) -> dict[str, object]:
    """Ratios of the encrypted side to the other; 1.1 is a tenth more time."""
    every = list(texts(count))
    batches = [every[start : start + BATCH] for start in range(0, count, BATCH)]
    asked = questions(ASKED)
    with tempfile.TemporaryDirectory() as folder:
        key = encryption.make_key(str(Path(folder) / "bench.key"))
        sides = Side(Path(folder), key), Side(Path(folder), "")

        turn = cycle((1, -1))

        def ratio(work: Callable[[Side], float]) -> float:
            # Who goes second finds the processor's caches warm.
            order = sides[:: next(turn)]
            took = {id(side): work(side) for side in order}
            return took[id(sides[0])] / took[id(sides[1])]

        ingest = [ratio(lambda side, batch=batch: side.remember(batch)) for batch in batches]
        for side in sides:
            side.hf.admin.reembed()
            # The second question to a scope loads its vectors into memory.
            side.recall(asked[:2])
        warm = [ratio(lambda side: side.recall(asked)) for _ in range(ROUNDS)]
        cold = [ratio(lambda side, one=one: side.first_recall(one)) for one in asked]
        capture = [
            ratio(lambda side, start=start: side.capture(start * TURNS)) for start in range(ROUNDS)
        ]
        for side in sides:
            side.hf.close()
        sizes = [(Path(folder) / f"{name}.db").stat().st_size for name in ("encrypted", "plain")]
    return {
        "memories": count,
        "remember_many": round(median(ingest), 3),
        "capture": round(median(capture), 3),
        "recall": round(median(warm), 3),
        "first_recall_of_a_process": round(median(cold), 3),
        "size": round(sizes[0] / sizes[1], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    driver = Path(sys.prefix) / "encryption"
    if not encryption.is_available() and (driver / "apsw").is_dir():
        # The apsw that was imported cannot be replaced in this process.
        path = os.pathsep.join(filter(None, (str(driver), os.environ.get("PYTHONPATH"))))
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONPATH": path})
    finish(measure(count))


if __name__ == "__main__":
    main()
