"""Google ADK: a memory service for long-term memory, and a session service for conversations.

    runner = Runner(
        app_name="helper",
        agent=agent,
        session_service=HoldfastSessionService(hf),
        memory_service=HoldfastMemoryService(hf),
    )

Either works without the other. Each user of an app has a scope of their own in the store of `hf`.
"""

from __future__ import annotations

import json
from asyncio import to_thread
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any
from uuid import uuid4

from ..client import Holdfast, check_open
from ..errors import MissingExtra, NotFound, Nothing, StoreClosed, StoreError
from ..ingest import capture, commit, session_log
from ..ingest.commit import Draft, check_session
from ..storage import Transaction
from ..types import Hit, Memory, from_iso, iso
from ..types import Session as StoredSession
from .framework_memory import log, log_errors
from .history_redaction import redact

try:
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.base_session_service import (
        BaseSessionService,
        GetSessionConfig,
        ListSessionsResponse,
    )
    from google.adk.sessions.session import Session
    from google.adk.sessions.state import State
    from google.genai.types import Content, Part
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise MissingExtra(
        "Memory for Google ADK needs Google ADK. Try: pip install google-adk"
    ) from error

SOURCE = "google-adk"
STATE = f"{SOURCE}:state"
"""Session whose metadata is the state of a user, or of an app."""
# As in ADK's own memory service.
MOST_MEMORIES = 10
# Messages in which an event is looked for that is delivered twice.
RECENT = 50
Scoping = Callable[[str, str], str]
_SAID = frozenset(
    {"content", "parts", "text", "function_call", "function_response", "executable_code", "code"}
    | {"code_execution_result", "output"}
)
_DONE = frozenset({"args", "response"})


def own_scope(app_name: str, user_id: str) -> str:
    """Return the scope of one user of one app; no other app sees it.

    >>> own_scope("helper", "ann")
    'user:helper/ann'
    """
    return f"user:{_escaped(app_name)}/{_escaped(user_id)}"


def _escaped(name: str) -> str:
    """Return a name without a slash, so that an app and a user cannot be taken for others."""
    return name.replace("%", "%25").replace("/", "%2F")


class _Users:
    """The memory of each user of an app, in one store."""

    def __init__(self, hf: Holdfast, *, scope: Scoping = own_scope) -> None:
        """`scope` names the scope of a user; by default, apps share nothing."""
        self._hf = check_open(hf)
        self._scope = scope

    def _of(self, app_name: str, user_id: str) -> Holdfast:
        return self._hf.scoped(self._scope(app_name, user_id))


class HoldfastMemoryService(_Users, BaseMemoryService):
    """ADK's memory service. It never fails a run: errors are logged, and the agent goes on.

    Deleting raises its errors, because what was not deleted must not go unnoticed.
    """

    async def add_session_to_memory(self, session: Session) -> None:
        """Capture what was said in a session; what was captured before is not repeated."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Capture what was said in some events; `custom_metadata` is stored with each turn."""
        with log_errors("events were not captured"):
            hf = self._of(app_name, user_id)
            noted = to_jsonable_python(dict(custom_metadata or {}), fallback=str)
            await to_thread(_capture, hf, session_id or SOURCE, list(events), noted)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are; one that cannot be stored is logged."""
        for entry in memories:
            with log_errors("a memory was not stored"):
                hf = self._of(app_name, user_id)
                noted = {**dict(custom_metadata or {}), **entry.custom_metadata}
                await to_thread(
                    hf.remember,
                    _text(entry.content),
                    author=entry.author or "",
                    event_time=from_iso(entry.timestamp) if entry.timestamp else None,
                    source=SOURCE,
                    metadata=to_jsonable_python(noted, fallback=str),
                )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what this user's memory knows for a query, best first."""
        with log_errors("recall failed for this query"):
            hf = self._of(app_name, user_id)
            hits = await to_thread(hf.recall, query, limit=MOST_MEMORIES)
            return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])
        return SearchMemoryResponse()

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget a memory; an unknown id is ignored, and its event is not captured again."""
        with suppress(NotFound):
            if memory_id:
                await to_thread(self._of(app_name, user_id).forget, memory_id)


class HoldfastSessionService(_Users, BaseSessionService):
    """ADK's session service: events and state of conversations, in the store of their memories.

    Secrets in what was said are redacted; state is stored as it is. If the store is busy, events
    are buffered and written with the next ones, so a run never fails for it.
    """

    def __init__(self, hf: Holdfast, *, scope: Scoping = own_scope) -> None:
        """`scope` names the scope of a user; by default, apps share nothing."""
        super().__init__(hf, scope=scope)
        self._held: dict[tuple[str, str, str], list[Event]] = {}
        self._lock = Lock()

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; AlreadyExistsError if there is one with this id."""
        id_ = (session_id or "").strip() or uuid4().hex
        await to_thread(self._create, app_name, user_id, check_session(id_), dict(state or {}))
        created = await self.get_session(app_name=app_name, user_id=user_id, session_id=id_)
        assert created is not None
        return created

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session with its events and all state, or None."""
        return await to_thread(
            self._read, app_name, user_id, session_id.strip(), config or GetSessionConfig()
        )

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users of an app, without events."""
        found = await to_thread(self._list, app_name, user_id)
        found.sort(key=lambda one: (one.last_update_time, one.user_id, one.id))
        return ListSessionsResponse(sessions=found)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erase a session with its events permanently. Long-term memory of it stays."""
        with suppress(NotFound):
            await to_thread(self._of(app_name, user_id).sessions.purge, session_id.strip())
        self._held.pop((app_name, user_id, session_id.strip()), None)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state of a user, with keys without prefix."""
        return await to_thread(_state, self._of(app_name, user_id), STATE)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event to a session and apply its changes of state; once, however often it is
        delivered.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        if not await to_thread(self._append, session, event):
            return event
        session.last_update_time = event.timestamp
        return self._commit_event_to_session(session, event)

    def _app(self, app_name: str) -> Holdfast:
        return self._hf.scoped(f"agent:{app_name}")

    def _create(self, app_name: str, user_id: str, id_: str, given: dict[str, Any]) -> None:
        hf = self._of(app_name, user_id)
        app, user, own = _parts(to_jsonable_python(given, fallback=str))
        at = hf.clock()

        def work(tx: Transaction) -> None:
            scope = hf.scopes[0]
            if tx.sessions.get(scope, id_) is not None:
                raise AlreadyExistsError(f"Session with id {id_} already exists.")
            kept = {"app": app_name, "user": user_id, "state": own, "updated": at / 1_000_000}
            tx.sessions.put(StoredSession(id_, scope, at, at, SOURCE, metadata={SOURCE: kept}))
            _merge(tx, hf, user)

        hf.admin.write("create", work)
        self._merge_app(app_name, app)

    def _merge_app(self, app_name: str, changes: Mapping[str, Any]) -> None:
        if changes:
            hf = self._app(app_name)
            hf.admin.write("state", lambda tx: _merge(tx, hf, changes))

    def _read(
        self, app_name: str, user_id: str, id_: str, config: GetSessionConfig
    ) -> Session | None:
        hf = self._of(app_name, user_id)
        row = hf.store.sessions.get(hf.scopes[0], id_)
        if row is None or _kept(row).get("app") != app_name:
            return None
        session = self._session(hf, row)
        recent = config.num_recent_events
        if recent != 0:
            last = recent if config.after_timestamp is None else None
            session.events = [_event(one.body) for one in hf.sessions.messages(id_, last=last)]
        for event in self._held.get((app_name, user_id, id_), ()):
            session.events.append(event)
            self._update_session_state(session, event)
        if config.after_timestamp is not None:
            since = config.after_timestamp
            session.events = [one for one in session.events if one.timestamp >= since]
        if recent is not None:
            session.events = session.events[-recent:] if recent else []
        return session

    def _list(self, app_name: str, user_id: str | None) -> list[Session]:
        views = (
            [self._hf.scoped(one) for one in self._hf.store.scopes()]
            if user_id is None
            else [self._of(app_name, user_id)]
        )
        return [
            self._session(hf, row)
            for hf in views
            for row in hf.store.sessions.list(hf.scopes)
            if _kept(row).get("app") == app_name and user_id in (None, _kept(row)["user"])
        ]

    def _session(self, hf: Holdfast, row: StoredSession) -> Session:
        kept = _kept(row)
        state = dict(kept["state"])
        for prefix, view in ((State.APP_PREFIX, self._app(kept["app"])), (State.USER_PREFIX, hf)):
            state |= {prefix + key: value for key, value in _state(view, STATE).items()}
        return Session(
            id=row.id,
            app_name=kept["app"],
            user_id=kept["user"],
            state=state,
            last_update_time=kept["updated"],
        )

    def _append(self, session: Session, event: Event) -> bool:
        """Store an event after those that wait; return whether it is new."""
        key = (session.app_name, session.user_id, session.id)
        with self._lock:
            held = self._held.get(key, [])
            is_held = _body(event) in [_body(one) for one in held]
            waiting = held if is_held else [*held, event]
            try:
                new = self._store(session, waiting)
            except StoreClosed:
                # A closed store will never accept the buffer.
                raise
            except StoreError as error:
                self._held[key] = waiting
                log.warning("session %s: buffered, not stored: %s", session.id, error)
                return not is_held
            self._held.pop(key, None)
            return new and not is_held

    def _store(self, session: Session, events: Sequence[Event]) -> bool:
        """Store events in one transaction; return whether the last one is new."""
        hf = self._of(session.app_name, session.user_id)

        def work(tx: Transaction) -> bool:
            scope = hf.scopes[0]
            row = _existing(tx.sessions.get(scope, session.id), session.id)
            recent = tx.sessions.messages(scope, session.id, last=RECENT)
            known = [one.body for one in recent]
            bodies = [body for body in map(_body, events) if body not in known]
            for event in events:
                row = _updated(row, event)
                _merge(tx, hf, _parts(_changes(event))[1])
            session_log.append(tx, scope, session.id, bodies, at=hf.clock())
            tx.sessions.put(replace(row, last_activity=max(hf.clock(), row.last_activity)))
            return _body(events[-1]) in bodies

        _existing(hf.store.sessions.get(hf.scopes[0], session.id), session.id)
        # First: if the transaction below fails, all events wait, and merging twice does no harm.
        for event in events:
            self._merge_app(session.app_name, _parts(_changes(event))[0])
        return hf.admin.write("append", work)


def _capture(hf: Holdfast, session: str, events: Sequence[Event], noted: Mapping[str, Any]) -> None:
    """Capture the texts of events as turns, in one transaction, without those captured before."""
    check_session(session)
    at, scope = hf.clock(), hf.scopes[0]
    turns = []
    for event in events:
        draft = Draft(
            content=_text(event.content),
            kind="turn",
            role="user" if event.author == "user" else "assistant",
            author="" if event.author == "user" else event.author,
            session=session,
            event_time=round(event.timestamp * 1_000_000),
            metadata={**noted, "event": event.id},
        )
        # No text: a call of a tool, or a picture.
        with suppress(Nothing):
            limit = hf.settings.max_content_bytes
            turns.append(commit.build(draft, scope, at=at, max_bytes=limit))

    def work(tx: Transaction) -> None:
        # In any status: what was forgotten does not come back.
        known = {one.metadata.get("event") for one in tx.sessions.memories(scope, session)}
        new = [one for one in turns if one.metadata["event"] not in known]
        if new:
            capture.save_turns(tx, new, at=at)

    if turns:
        hf.admin.write("capture", work)


def _text(content: Content | None) -> str:
    """Return the text of a content, without thoughts, calls, pictures and files."""
    parts: Iterable[Part] = (content.parts if content else None) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _entry(hit: Hit) -> MemoryEntry:
    memory: Memory = hit.memory
    role = "model" if memory.role == "assistant" else "user"
    return MemoryEntry(
        id=memory.id,
        content=Content(role=role, parts=[Part(text=memory.content)]),
        author=memory.author or memory.role or None,
        timestamp=iso(memory.event_time),
        custom_metadata=dict(memory.metadata),
    )


def _body(event: Event) -> dict[str, Any]:
    """Return an event as it is stored."""
    body = json.loads(event.model_dump_json(exclude_none=True, fallback=str))
    return redact(body, _SAID, _DONE)


def _event(body: Mapping[str, Any]) -> Event:
    # From JSON: only then pictures and signatures become bytes again.
    return Event.model_validate_json(json.dumps(dict(body)))


def _changes(event: Event) -> dict[str, Any]:
    """Return the changes of state that an event brings."""
    changes: dict[str, Any] = to_jsonable_python(
        (event.actions.state_delta if event.actions else None) or {}, fallback=str
    )
    return changes


def _parts(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the state of the app, of the user and of the session, without prefixes."""
    app: dict[str, Any] = {}
    user: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, value in state.items():
        if key.startswith(State.APP_PREFIX):
            app[key.removeprefix(State.APP_PREFIX)] = value
        elif key.startswith(State.USER_PREFIX):
            user[key.removeprefix(State.USER_PREFIX)] = value
        elif not key.startswith(State.TEMP_PREFIX):
            own[key] = value
    return app, user, own


def _existing(row: StoredSession | None, id_: str) -> StoredSession:
    if row is None:
        raise SessionNotFoundError(f"Session {id_} not found.")
    return row


def _kept(row: StoredSession) -> Mapping[str, Any]:
    """Return what a session says about itself; empty for a session of somebody else."""
    kept: Mapping[str, Any] = row.metadata.get(SOURCE) or {}
    return kept


def _updated(row: StoredSession, event: Event) -> StoredSession:
    kept = _kept(row)
    state = {**kept["state"], **_parts(_changes(event))[2]}
    changed = {**kept, "state": state, "updated": event.timestamp}
    return replace(row, metadata={**row.metadata, SOURCE: changed})


def _state(hf: Holdfast, session: str) -> dict[str, Any]:
    row = hf.store.sessions.get(hf.scopes[0], session)
    return dict(row.metadata) if row is not None else {}


def _merge(tx: Transaction, hf: Holdfast, changes: Mapping[str, Any]) -> None:
    """Change the state of a user, or of an app."""
    if not changes:
        return
    scope, at = hf.scopes[0], hf.clock()
    row = tx.sessions.get(scope, STATE) or StoredSession(STATE, scope, at, at, SOURCE)
    tx.sessions.put(replace(row, metadata={**row.metadata, **changes}))
