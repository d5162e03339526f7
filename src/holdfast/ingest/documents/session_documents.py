"""Coding-agent sessions: transcripts as turns, and the metadata of each session."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ...errors import InvalidInput, Nothing
from ...storage.protocol import Transaction
from ...text.reference import BRANCH
from ...transcripts.base import Cursor, Entry, Transcript
from ...types import SUMMARY, Memories, Memory, Micros, Progress, Scope, Session
from .. import commit
from ..commit import Draft
from ..sanitize import guard_data, guard_lines
from . import upsert
from .chunking import HARDLY_MORE, chunks
from .upsert import SOURCE, Changed, fixed_id

TRUST = {
    "user": "user",
    "assistant": "agent",
    "tool": "external",
}
INDEXED = "indexed"


ORIGINS = "branched_from"
"""Key of a session's metadata: the sessions that it began with a copy of."""


@dataclass(frozen=True, slots=True)
class SessionDocument:
    """One session as its transcript tells it."""

    id: str
    scope: Scope
    transcript: Transcript
    """Read to its end."""
    name: str
    """The file it was read from, as it is cited."""
    turns: Memories


def session_document(
    transcript: Transcript,
    name: str,
    scope: Scope,
    *,
    at: Micros,
    max_bytes: int,
) -> SessionDocument:
    """Read a transcript to its end, skipping what must not be remembered."""
    id_ = _session_id(transcript)
    turns = list(
        _turns(
            transcript,
            id_,
            name,
            scope,
            at=at,
            max_bytes=max_bytes,
        )
    )
    return SessionDocument(
        id_,
        scope,
        transcript,
        name,
        [] if transcript.private else turns,
    )


class Unsure(Exception):
    """Raised if the text after a cursor does not say if turns are new: reread from the start."""


def put(
    tx: Transaction,
    told: SessionDocument,
    *,
    at: Micros,
) -> Changed:
    """Store the new turns; unless they follow the known ones, they replace them.

    Raises Unsure if one of the following turns is known: it may be a copy, or repeat one before the
    cursor.
    """
    known = tx.sessions.get(told.scope, told.id)
    if known is None and not told.turns:
        return Changed()
    if told.transcript.continued:
        if any(tx.memory(turn.scope, turn.id) for turn in told.turns):
            raise Unsure
        place = tx.sessions.next_position(told.scope, told.id)
        follow = [
            turn.with_(position=position) for position, turn in enumerate(told.turns, start=place)
        ]
        changed = Changed(len(upsert.add(tx, follow, at=at)))
    else:
        turns = [turn.with_(position=position) for position, turn in enumerate(told.turns)]
        turns = [_own(tx, turn, copies=told.transcript.copies, at=at) for turn in turns]
        changed = upsert.replace(
            tx,
            told.scope,
            told.id,
            turns,
            kind="turn",
            at=at,
        )
    if known is not None or changed.added:
        session = _session(told, known, at=at)
        tx.sessions.put(session)
        _mark_as_read(tx, session, at=at)
    if changed.added or changed.removed:
        return changed + Changed(sessions=(told.id,))
    return changed


def drop(
    tx: Transaction,
    session: Session,
    name: str,
) -> Changed:
    """Remove the turns read from a deleted file, unless the session has moved to another.

    The session stays, and so do the memories learned from it, with the words they rest on.
    """
    current = tx.sessions.get(session.scope, session.id)
    if current is None or current.metadata.get("path") != name:
        return Changed()
    # Should the file come back, it is read from its beginning.
    unread = {key: value for key, value in current.metadata.items() if key != "cursor"}
    tx.sessions.put(replace(current, metadata=unread))
    return upsert.drop(tx, session.scope, session.id, kind="turn")


def cursor_of(session: Session) -> Cursor | None:
    """How far a session's transcript was read."""
    match session.metadata.get("cursor"):
        case [int(position), int(lines), str(digest)]:
            return Cursor(position, lines, digest)
    return None


def _session_id(transcript: Transcript) -> str:
    try:
        return commit.check_session(transcript.id)
    except InvalidInput:
        return hashlib.sha256(
            f"{transcript.agent} {transcript.id}".encode("utf-8", "replace")
        ).hexdigest()[:32]


def _own(
    tx: Transaction,
    turn: Memory,
    *,
    copies: bool,
    at: Micros,
) -> Memory:
    """The turn as it should be stored if another session holds one with its id.

    A copy is stored once. A turn that is a branch there and the conversation here moves here. Where
    sessions are never copied, it is a different turn with the same text and time, and gets its own
    id.
    """
    other = tx.memory(turn.scope, turn.id)
    if other is None or other.session == turn.session:
        return turn
    if not copies and not _is_origin(tx, turn, other):
        return turn.with_(id=fixed_id("turn", turn.session, turn.id))
    if BRANCH in other.metadata and BRANCH not in turn.metadata:
        metadata = {
            key: value
            for key, value in {**other.metadata, **turn.metadata}.items()
            if key != BRANCH
        }
        tx.change(
            other, session=turn.session, position=turn.position, metadata=metadata, updated_at=at
        )
    return turn


def _is_origin(tx: Transaction, turn: Memory, other: Memory) -> bool:
    """Whether the other turn is a copy of this one: its session was branched off this one's, and
    stood before it in the file.
    """
    branch = tx.sessions.get(other.scope, other.session or "")
    return branch is not None and turn.session in branch.metadata.get(ORIGINS, ())


def _turns(
    transcript: Transcript,
    session: str,
    name: str,
    scope: Scope,
    *,
    at: Micros,
    max_bytes: int,
) -> Iterator[Memory]:
    said_at = transcript.started_at
    said: Counter[tuple[object, ...]] = Counter()
    for entry in transcript.entries:
        said_at = entry.at if entry.at is not None else said_at
        # Without a time the same words may be said twice, and only their place tells them apart.
        identity: tuple[object, ...] = (
            (entry.hash,) if entry.at is not None else (session, entry.lines, entry.hash)
        )
        said[identity] += 1
        if (
            said[identity] > 1
        ):  # said again at the same time: which repeat it is, is the same in every copy
            identity = (*identity, "repeat", said[identity] - 1)
        for part, text in enumerate(_pieces(entry.text)):
            draft = _draft(
                entry,
                text,
                session,
                name,
                said_at,
            )
            # Blank, or nothing but what memory itself had injected.
            with suppress(Nothing):
                turn = commit.build(draft, scope, at=at, max_bytes=max_bytes)
                yield turn.with_(id=fixed_id("turn", *identity, part))


def _pieces(message: str) -> list[str]:
    """Split a message into searchable pieces; a long one is sanitised before it is cut."""
    if len(message) <= HARDLY_MORE:
        return [message]
    return [chunk.text for chunk in chunks(guard_lines(message))]


def _draft(
    entry: Entry,
    text: str,
    session: str,
    name: str,
    said_at: Micros | None,
) -> Draft:
    metadata: dict[str, Any] = {"at": {"path": name, "lines": list(entry.lines)}}
    if entry.tool:
        metadata["tool"] = entry.tool
    if entry.failed is not None:
        metadata["failed"] = entry.failed
    if entry.branch:
        metadata[BRANCH] = True
    return Draft(
        content=text,
        kind="turn",
        category="conversation",
        role=entry.role,
        session=session,
        event_time=said_at,
        source=SOURCE,
        trust=TRUST[entry.role],
        metadata=metadata,
    )


def _own_title(told: SessionDocument) -> str:
    """A session's title, unless a turn begins with it: those words would outlive the turn."""
    title = told.transcript.title
    begins = " ".join(title.rstrip("…").split())
    if any(" ".join(turn.content.split()).startswith(begins) for turn in told.turns):
        return ""
    return title


def _session(
    told: SessionDocument,
    known: Session | None,
    *,
    at: Micros,
) -> Session:
    """Build a session that, as far as is known, has ended."""
    transcript = told.transcript
    metadata = dict(known.metadata) if known else {}
    metadata |= guard_data({"path": told.name, "cwd": transcript.cwd}, name="metadata")
    if title := metadata.get("title") or _own_title(told):
        metadata |= guard_data({"title": title}, name="metadata")
    if transcript.branched_from:
        origins = list(transcript.branched_from)
        metadata |= guard_data({ORIGINS: origins}, name="metadata")
    metadata.pop("cursor", None)
    if transcript.cursor is not None:
        metadata["cursor"] = [
            transcript.cursor.position,
            transcript.cursor.lines,
            transcript.cursor.digest,
        ]
    said = [turn.event_time for turn in told.turns]
    started = known.started_at if known else transcript.started_at or min(said, default=at)
    last = max(
        known.last_activity if known else started,
        transcript.updated_at or max(said, default=started),
    )
    return Session(
        told.id,
        told.scope,
        started,
        last,
        agent=transcript.agent,
        ended_at=last,
        end_reason=INDEXED,
        metadata=metadata,
    )


def _mark_as_read(
    tx: Transaction,
    session: Session,
    *,
    at: Micros,
) -> None:
    """Mark a session as read for conversational extraction.

    Its knowledge is extracted as records; extracting facts too would store everything twice.
    """
    known = tx.progress.get(session.scope, session.id, SUMMARY)
    outcome = (known.detail.get("outcome") if known else "") or INDEXED
    last = session.last_activity
    mark = Progress(
        session.scope,
        session.id,
        SUMMARY,
        last,
        at,
        {"outcome": outcome},
    )
    tx.progress.put(mark)
