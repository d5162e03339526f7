"""What the processes of test_processes.py and of the storms in test_postgres_faults.py do, until
they are told to stop.

A writer keeps a log of its own and puts a text into it, flushed to the disk, only after the write
has returned: what is in the log was promised to be there. A reader checks that it never sees half
of a write.
"""

from __future__ import annotations

import os
import random
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from holdfast.client import Holdfast
from holdfast.config import Settings

SETTINGS = Settings(embedding_models="none")
SCOPES = ("user:ann", "user:bob")
TWIN = (
    " and its twin"  # written in one batch with the text before it, so that half a batch would show
)
LONGEST = (
    200  # seconds after which a process stops unasked: a test that failed must not leave it behind
)


def stop(folder: Path) -> None:
    """Tells every process that has its log in this folder to end."""
    (folder / "stop").touch()


def _going_on(log: Path) -> Iterator[int]:
    """Counts the rounds until it is time to stop."""
    until = time.monotonic() + LONGEST
    for number in count(1):
        if (log.parent / "stop").exists() or time.monotonic() > until:
            return
        yield number


def promised(folder: Path) -> list[str]:
    """Every text that a write had returned for."""
    return [line for log in folder.glob("writer*.log") for line in log.read_text().splitlines()]


def write(hf: Holdfast, log: Path, name: str) -> None:
    """Remembers, captures, archives, corrects and undoes; each text says which writer made it, and
    its number.
    """
    chance = random.Random(name)
    descriptor = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    for number in _going_on(log):
        text = f"note {number} of {name}"
        match chance.randrange(8):
            case 0 | 1:
                hf.capture(f"session {chance.randrange(3)}", "user", text)
            case 2:
                hf.archive(hf.remember(text).id)
            case 3:
                hf.correct(hf.remember(f"{text}, as a draft").id, text)
            case 4:
                hf.remember(f"{text}, withdrawn")
                hf.undo(hf.last_run)
                hf.remember(text)
            case _:
                hf.remember_many([text, text + TWIN])
        os.write(descriptor, f"{text}\n".encode())
        os.fsync(descriptor)


def read(hf: Holdfast, log: Path, name: str) -> None:
    """Recalls and lists, and checks what it sees."""
    chance = random.Random(name)
    for _ in _going_on(log):
        hits = hf.recall(f"note {chance.randrange(40)}", limit=5)
        assert all(0.0 <= hit.score <= 1.0 for hit in hits)
        texts = {
            memory.content for memory in hf.list(statuses=("active", "archived", "superseded"))
        }
        halves = [
            text for text in texts if text.endswith(TWIN) and text.removesuffix(TWIN) not in texts
        ]
        assert not halves, halves
        log.write_text(str(len(texts)))


def run(
    role: Callable[[Holdfast, Path, str], None], store: Path | str, log: Path, name: str
) -> None:
    """A whole process; an error goes into a file beside the log."""
    try:
        scope = SCOPES[sum(name.encode()) % len(SCOPES)]
        with Holdfast.open(store, scope=scope, settings=SETTINGS, background=False) as hf:
            role(hf, log, name)
    except BaseException:
        log.with_suffix(".error").write_text(traceback.format_exc())
        raise
