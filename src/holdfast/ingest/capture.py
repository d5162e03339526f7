"""The hot path: one dialogue turn in, one transaction, no model and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from ..errors import RowDamaged
from ..storage.protocol import Transaction
from ..types import Memories, Memory, Micros
from . import commit, entity_linking
from .commit import Draft
from .session_log import end_others, note, take_places


def turn(
    *,
    session: str,
    role: str,
    text: str,
    author: str = "",
    event_time: int | None = None,
    trust: str = "user",
) -> Draft:
    """Build the draft of one dialogue turn."""
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


def save_turns(
    tx: Transaction,
    turns: Sequence[Memory],
    *,
    at: Micros,
    noted: Mapping[str, Any] | None = None,
) -> Memories:
    """Store turns in order. The first turn of a new session ends the open sessions.

    `noted` is added to the metadata of the turns' sessions.
    """
    runs = [list(run) for _, run in groupby(turns, key=attrgetter("scope", "session"))]
    if len(runs) == 1:
        places = [_place(tx, runs[0][0], at=at, noted=noted)]
    else:
        try:
            places = take_places(tx, runs, at=at, noted=noted)
        except RowDamaged:
            # A session that cannot be read can still go on; nothing has been written yet.
            return [one for run in runs for one in save_turns(tx, run, at=at, noted=noted)]
    stored = tx.add_many(
        [
            one.with_(position=position)
            for place, said in zip(places, runs, strict=True)
            for position, one in enumerate(said, start=place)
        ]
    )
    entity_linking.note(tx, stored, at=at)
    return stored


def _place(
    tx: Transaction,
    first: Memory,
    *,
    at: Micros,
    noted: Mapping[str, Any] | None,
) -> int:
    """Return the position of a turn, whose session goes on or begins with it."""
    scope, session = first.scope, first.session
    assert session is not None
    place = tx.sessions.go_on(scope, session, at=at)
    if place is None:
        if tx.sessions.get(scope, session) is None:
            end_others(tx, scope, session, at=at)
        place = commit.take_place(tx, first)
    if noted:
        note(tx, scope, session, noted)
    return place
