"""Single-instance lock: one daemon per file.

It is a lock of the operating system, so it is released however the process ends.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..config import data_folder
from ..errors import Conflict

try:
    import fcntl
except ImportError:  # Windows has no such locks; a second daemon is not detected there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold the lock for the triggers of a file; Conflict names the process that has it."""
    if fcntl is None:
        yield
        return
    folder = data_folder() / "daemons"
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    name = hashlib.sha256(os.fsencode(file.resolve())).hexdigest()[:16]
    with (folder / f"{name}.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise Conflict(
                f"{file} is already running as process {lock.read().strip() or 'unknown'}. "
                "A second one would do everything twice. Nothing was started. Stop that "
                "one first, or run another file."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
