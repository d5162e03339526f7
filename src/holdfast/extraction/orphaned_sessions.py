"""Sessions whose server is gone, for example because it was killed before it could end them.

A server records its process with each session. On the same machine, any process can tell later that
it is gone. Sessions from other machines end only when they have been idle for long.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
from functools import lru_cache
from uuid import uuid4

from ..types import Session

SERVED_BY = "served_by"
"""Where a session keeps the process of the server that hears it."""
# A machine, a process, and one life of it: numbers of processes are used again.
_PROCESS = re.compile(r"([0-9a-f]{12})-(\d{1,10})-([0-9a-f]{12})")


def this_process() -> str:
    """A unique name for this process that reveals nothing about the machine."""
    return _named(os.getpid())


@lru_cache(maxsize=1)
def _named(process: int) -> str:
    return f"{_machine()}-{process}-{uuid4().hex[:12]}"


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode("utf-8", "surrogateescape")).hexdigest()[:12]


def is_orphaned(session: Session) -> bool:
    """Whether a session belongs to a server on this machine that is no longer running."""
    mark = session.metadata.get(SERVED_BY)
    found = _PROCESS.fullmatch(mark) if isinstance(mark, str) else None
    if found is None or found[1] != _machine():
        return False
    process = int(found[2])
    if process == os.getpid():
        return mark != this_process()
    return not _is_alive(process)


def _is_alive(process: int) -> bool:
    """Whether the process exists; True where that cannot be checked safely."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is somebody else's
    return True
