"""One daemon for one file: a second would do everything twice.

The lock is the system's own, so it goes when its process does, however that ends.
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
except ImportError:  # Windows has no such locks; there a second daemon is not noticed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Holds the right to run the triggers of a file; Conflict names the process that has it
    already.
    """
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
                f"{file} is running already, as process {lock.read().strip() or 'unknown'}: a "
                "second one would do "
                "everything twice. Nothing was started. Stop that one first, or run another file."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
