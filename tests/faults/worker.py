"""One process of test_processes.py: `worker.py write|read STORE LOG SECONDS NAME`.

A writer keeps a log of its own and adds an id to it, flushed to disk, only after the write has returned: what is in
the log was promised to be there. A reader checks that it never sees half of anything.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from holdfast.config import Settings
from holdfast.errors import Conflict, NotFound
from holdfast.memory import Holdfast

SETTINGS = Settings(embedding_models="none")
SCOPES = ("user:ann", "user:bob")
PAIR = 2  # memories that are written together, so that half a write would show


def write(hf: Holdfast, log: int, name: str, until: float) -> None:
    """Remembers, captures, archives and undoes; each memory says which writer made it, and its number."""
    chance, number = random.Random(name), 0
    while time.monotonic() < until:
        number += 1
        text = f"{name} note {number}"
        match chance.randrange(8):
            case 0:
                hf.capture(f"session {chance.randrange(3)}", "user", text)
            case 1:
                archived = hf.remember(text)
                hf.archive(archived.id)
            case 2:
                hf.remember(f"{text} withdrawn")
                hf.undo(hf.last_run)
                continue
            case 3:
                first = hf.remember(f"{text} draft")
                hf.correct(first.id, text)
            case _:
                hf.remember_many([text, f"{text} twin"])
        acknowledge(log, text)


def acknowledge(log: int, text: str) -> None:
    """Puts a line into the log and waits until it is on the disk."""
    os.write(log, f"{text}\n".encode())
    os.fsync(log)


def read(hf: Holdfast, log: int, name: str, until: float) -> None:
    """Recalls and lists; a twin without its other half would be half a write."""
    chance, seen = random.Random(name), 0
    while time.monotonic() < until:
        hits = hf.recall(f"note {chance.randrange(40)}", limit=5)
        assert all(0.0 <= hit.score <= 1.0 for hit in hits)
        with hf.store.snapshot():
            texts = {memory.content for memory in hf.list(statuses=("active", "archived", "superseded"))}
        assert len(texts) >= seen or "withdrawn" in str(texts), "memories disappeared"
        halves = [text for text in texts if text.endswith(" twin") and text.removesuffix(" twin") not in texts]
        assert not halves, halves
        seen = len(texts)
        acknowledge(log, str(seen))


def main() -> None:
    verb, store, log, seconds, name = sys.argv[1:]
    descriptor = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    until = time.monotonic() + float(seconds)
    scope = SCOPES[hash_of(name) % len(SCOPES)]
    with Holdfast.open(Path(store), scope=scope, settings=SETTINGS, background=False) as hf:
        (write if verb == "write" else read)(hf, descriptor, name, until)


def hash_of(name: str) -> int:
    """The same in every process, unlike `hash`."""
    return sum(name.encode())


if __name__ == "__main__":
    sys.modules.setdefault("worker", sys.modules["__main__"])
    assert issubclass(Conflict, Exception) and issubclass(NotFound, Exception)
    main()
