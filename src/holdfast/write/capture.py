"""The hot path: one dialogue turn in, one transaction, no model and no network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from ..store.base import Writer
from ..types import Memories, Memory, Micros
from . import commit, entities
from .commit import Draft
from .sessions import end_others


def turn(
    *,
    session: str,
    role: str,
    text: str,
    author: str = "",
    event_time: int | None = None,
    trust: str = "user",
) -> Draft:
    """One turn of a conversation, as a draft."""
    return Draft(
        content=text,
        kind="turn",
        category="conversation",
        session=session,
        role=role,
        author=author,
        event_time=event_time,
        source="capture",
        trust=trust,
    )


def keep(writer: Writer, turns: Sequence[Memory], *, at: Micros) -> Memories:
    """Stores turns in order. The first of a session that was not heard of before ends the open ones."""
    stored: Memories = []
    for (scope, session), run in groupby(turns, key=attrgetter("scope", "session")):
        said, place = list(run), writer.go_on(scope, session, at=at)
        if place is None:
            if writer.session(scope, session) is None:
                end_others(writer, scope, session, at=at)
            place = commit.take_place(writer, said[0])
        stored += writer.add_many([one.with_(position=position) for position, one in enumerate(said, start=place)])
    entities.note(writer, stored, at=at)
    return stored
