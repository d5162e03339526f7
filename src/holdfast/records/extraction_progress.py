"""Which sessions are read for records: those that are meant, and were not read as far as they have
come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InvalidInput
from ..extraction.coding import Note
from ..storage.protocol import Store
from ..text.terminal import counted
from ..types import Scope, Session

STAMP = "extracted"
"""The key under which a session keeps how far it was read for records, and what was noted."""


def is_due(session: Session) -> bool:
    """Whether a session was never read for records, or went on since."""
    return stamp_of(session).get("to") != so_far(session)


def stamp_of(session: Session) -> Mapping[str, Any]:
    """What a session keeps about having been read."""
    found = session.metadata.get(STAMP)
    return found if isinstance(found, Mapping) else {}


def so_far(session: Session) -> list[Any]:
    """How far a session has come: when somebody spoke last, and how much of its transcript there
    is.
    """
    cursor = session.metadata.get("cursor")
    return [session.last_activity, *(cursor if isinstance(cursor, list) else ())]


def stamped(session: Session, found: Sequence[Note], *, by: str) -> Session:
    """A session that was read as far as it has come, with what was noted now and before."""
    noted = dict.fromkeys((*stamp_of(session).get("noted", ()), *map(mark_of, found)))
    stamp = {"to": so_far(session), "by": by, "noted": list(noted)}
    return replace(session, metadata={**session.metadata, STAMP: stamp})


def mark_of(note: Note) -> str:
    """What a note is known by in its session, whatever becomes of its record."""
    told = f"{note.category}\0{' '.join(note.quote.split())}"
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()


def sessions_of(store: Store, scope: Scope, wanted: Sequence[str]) -> Iterator[Session | str]:
    """The sessions of a project that are meant, oldest first; of what names none, the name itself.

    A session is meant by its id, the beginning of it, or the file it was read from; without names
    all are. InvalidInput for a name that may mean several.
    """
    every = sorted(store.sessions([scope]), key=lambda one: (one.last_activity, one.id))
    if not wanted:
        yield from (one for one in every if not one.metadata.get("private"))
        return
    for name in dict.fromkeys(wanted):
        meant = [one for one in every if one.id == name or one.metadata.get("path") == name]
        meant = meant or [one for one in every if one.id.startswith(name) or _ends_with(one, name)]
        if len(meant) > 1:
            likely = ", ".join(one.id for one in meant[:3])
            raise InvalidInput(
                f"{name!r} may be {counted(len(meant), 'session')}, such as {likely}. Give "
                "more "
                "of the id."
            )
        yield meant[0] if meant else name


def _ends_with(session: Session, name: str) -> bool:
    path = str(session.metadata.get("path") or "")
    return bool(path) and (path.endswith(f"/{name}") or name.endswith(f"/{path}"))
