"""What the benchmarks share: texts that look like what people say, and how a run is reported.

Absolute times depend on the machine and on what else it does, so every figure is a ratio against a
baseline that is run in the same process, next to what it is compared with.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SUBJECTS = (
    "the billing service",
    "my sister",
    "our landlord",
    "the new laptop",
    "Priya",
    "the garden",
    "the quarterly report",
    "Tomasz",
    "the training plan",
    "the search index",
    "our trip to Porto",
    "the dentist",
    "the choir",
    "the old bike",
    "the deploy script",
    "Biscuit",
    "the kitchen",
    "the mobile app",
    "grandmother",
    "the book club",
)
VERBS = (
    "needs",
    "broke again because of",
    "was finally fixed with",
    "reminds me of",
    "starts after",
    "depends on",
    "will be replaced by",
    "was moved to make room for",
    "costs more than",
    "should never run without",
    "likes",
    "arrived together with",
    "is waiting for",
    "surprised everyone with",
    "was late because of",
)
OBJECTS = (
    "a second review",
    "the blue paint",
    "a connection pool",
    "fresh basil",
    "the Tuesday meeting",
    "a stale cache",
    "two tickets for Saturday",
    "the spare key",
    "a proper backup",
    "more sleep",
    "the signed contract",
    "cheap flights",
    "an index on created_at",
    "peanut butter",
    "the winter tyres",
    "a password rotation",
    "the school holidays",
)
TAILS = (
    "and I said so last week",
    "which nobody expected",
    "before the end of the month",
    "so please remind me",
    "although Anna disagrees",
    "and that is fine",
    "for the third time this year",
    "as we agreed on the phone",
)


def texts(count: int, seed: int = 7) -> Iterator[str]:
    """Distinct short statements with a realistic spread of common and rare words."""
    chance = random.Random(seed)
    rare = [
        f"{chance.choice('bcdfglmnprstv')}{chance.choice('aeiou')}{chance.choice('lmnrst')}{n}"
        for n in range(5000)
    ]
    for number in range(count):
        words = (
            chance.choice(SUBJECTS),
            chance.choice(VERBS),
            chance.choice(OBJECTS),
            chance.choice(TAILS),
        )
        yield f"{' '.join(words)}, see {chance.choice(rare)} and item {number}."


def questions(count: int, seed: int = 11) -> list[str]:
    """Questions about such statements."""
    chance = random.Random(seed)
    return [
        f"What about {chance.choice(SUBJECTS)} and {chance.choice(OBJECTS)}?" for _ in range(count)
    ]


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` took."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def quantile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def median(values: list[float]) -> float:
    """The middle value."""
    return statistics.median(values)


def resident_megabytes() -> float:
    """How much memory this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if sys.platform == "linux" else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def finish(report: dict[str, object]) -> None:
    """Prints the report as JSON, and tells whether its bars were met by the exit code."""
    print(json.dumps(report, indent=2))
    missed = [name for name, met in report.items() if name.startswith("met") and not met]
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)
