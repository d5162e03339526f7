"""What hooks did, a JSON object a line, beside the memory file: lengths, ids, times, errors; never
what was said.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ... import config
from ...errors import HoldfastError

# Bytes; then the file makes room for a new one, and the one before that goes.
LARGEST = 1_000_000


def note(**what: Any) -> None:
    """Adds a line. A log that cannot be written is no reason for anything else to fail."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = json.dumps(
        {"at": at, **{name: value for name, value in what.items() if value not in ("", None, ())}}
    )
    with suppress(OSError):
        _append(f"{line}\n".encode())


def describe_error(error: BaseException) -> str:
    """An error for the log. The message of one that is not ours may repeat what was said, so only
    its name is kept.
    """
    if isinstance(error, HoldfastError):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OSError):
        return f"{type(error).__name__}: {error.strerror}"
    return type(error).__name__


def entries() -> Iterator[dict[str, Any]]:
    """Every line of the log, newest first; one that was cut off is left out."""
    for file in config.hook_logs():
        with suppress(OSError):
            for line in reversed(file.read_text("utf-8").splitlines()):
                with suppress(ValueError):
                    yield json.loads(line)


def _append(line: bytes) -> None:
    file, older = config.hook_logs()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if file.stat().st_size + len(line) > LARGEST:
            file.replace(older)
    # One write of a whole line at the end: lines of several processes stand one after the other.
    out = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.write(out, line)
    finally:
        os.close(out)
