"""Patterns that are compiled on first use."""

from __future__ import annotations

import threading

from holdfast.text.lazy_regex import later
from patience import PATIENCE

THREADS = 8


def test_threads_that_need_a_pattern_at_once_compile_it_once() -> None:
    begun = threading.Barrier(THREADS)
    made: list[int] = []
    found: list[bool] = []

    def source() -> str:
        made.append(threading.get_ident())
        return "|".join(f"word{n}" for n in range(2000))

    pattern = later(source)

    def search() -> None:
        begun.wait(PATIENCE)
        found.append(bool(pattern.search("a word1999 here")))

    threads = [threading.Thread(target=search) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == [True] * THREADS and len(made) == 1
