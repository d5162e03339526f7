"""Strands Agents: a memory store for its memory manager, and a session manager.

    agent = Agent(
        memory_manager=MemoryManager(stores=[HoldfastMemoryStore(hf, session="chat-42")]),
        session_manager=HoldfastSessionManager(hf, "chat-42"),
    )

Either works without the other: the session is for one conversation, the memory for all of them.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..client import Holdfast
from ..errors import InvalidInput, MissingExtra
from ..ingest.commit import check_session
from ..types import Hit, iso
from .framework_memory import Hosted
from .history_redaction import redact
from .session_messages import Item, SessionMessages

try:
    from pydantic_core import to_jsonable_python
    from strands.memory import InvocationTrigger, MemoryEntry, MemoryStore
    from strands.multiagent.base import MultiAgentBase
    from strands.session import RepositorySessionManager, SessionRepository
    from strands.types.content import Message
    from strands.types.exceptions import SessionException
    from strands.types.session import Session, SessionAgent, SessionMessage
except ImportError as error:
    raise MissingExtra(
        "Memory for Strands Agents needs Strands. Try: pip install strands-agents"
    ) from error

AGENT = "strands"
_SAID = frozenset({"data", "message", "redact_message", "content", "text", "toolUse", "toolResult"})
_DONE = frozenset({"input", "json"})


class HoldfastMemoryStore(MemoryStore):
    """Long-term memory as a store of Strands' `MemoryManager`.

    Errors are raised: the manager logs them, and the agent goes on; the model is told if its own
    write failed. By default what was said is captured after every invocation, without a model call.
    """

    def __init__(
        self,
        hf: Holdfast,
        *,
        session: str = AGENT,
        name: str = "holdfast",
        description: str | None = None,
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: Any = None,
    ) -> None:
        """`session` is the conversation of what is captured; the other options are Strands' own.

        `extraction=False` captures nothing.
        """
        self._memory = Hosted(hf, AGENT)
        self._session = check_session(session)
        if not name.strip():
            raise InvalidInput("A memory store needs a name.")
        if max_search_results is not None and max_search_results < 1:
            raise InvalidInput(f"max_search_results must be at least 1, not {max_search_results}.")
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        by_default = {"trigger": InvocationTrigger()} if writable else False
        self.extraction = by_default if extraction is None else extraction

    async def search(
        self, query: str, options: Mapping[str, Any] | None = None
    ) -> list[MemoryEntry]:
        """Return memories for a query, best first."""
        most = (options or {}).get("max_search_results") or self.max_search_results
        hits = await to_thread(self._memory.hf.recall, query, limit=most)
        return [_entry(hit) for hit in hits]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Store a memory; return its id and status."""
        noted = to_jsonable_python(dict(metadata or {}), fallback=str)
        stored = await to_thread(self._memory.hf.remember, content, source=AGENT, metadata=noted)
        return {"id": stored.id, "status": stored.status}

    async def add_messages(self, messages: Sequence[Message], context: Any = None) -> int:  # noqa: ARG002
        """Capture what was said, in one transaction; return the number of turns."""
        turns = [
            {"session": self._session, "role": message["role"], "text": _text(message)}
            for message in messages
        ]
        return len(await to_thread(self._memory.hf.capture_many, turns))


class HoldfastSessionManager(RepositorySessionManager, SessionRepository):
    """Conversations and state of agents, in the store of their memories.

    Everything is an entry of the session's append-only log; the latest entry of a kind counts. If
    the store is busy, entries are buffered and written with the next ones, so a run never fails for
    it. Secrets in what was said are redacted; state is stored as it is.
    """

    def __init__(self, hf: Holdfast, session_id: str, **kwargs: Any) -> None:
        """The session is created if it does not exist."""
        self._hf = hf
        self._log = SessionMessages(hf, session_id)
        super().__init__(session_id=session_id, session_repository=self, **kwargs)

    def create_session(self, session: Session, **kwargs: Any) -> Session:  # noqa: ARG002
        """Create a session; SessionException if it exists."""
        if self.read_session(session.session_id) is not None:
            raise SessionException(f"Session {session.session_id} already exists")
        self._add(session.session_id, "session", "", session.to_dict())
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:  # noqa: ARG002
        """Return a session, or None."""
        found = self._latest(session_id, "session", "")
        return Session.from_dict(found) if found else None

    def delete_session(self, session_id: str, **kwargs: Any) -> None:  # noqa: ARG002
        """Erase a session permanently; SessionException if there is none."""
        if self.read_session(session_id) is None:
            raise SessionException(f"Session {session_id} does not exist")
        self._of(session_id).clear()

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:  # noqa: ARG002
        """Store the state of a new agent."""
        self._add(session_id, "agent", session_agent.agent_id, session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:  # noqa: ARG002
        """Return the state of an agent, or None."""
        found = self._latest(session_id, "agent", agent_id)
        return SessionAgent.from_dict(found) if found else None

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:  # noqa: ARG002
        """Replace the state of an agent; SessionException if there is none."""
        known = self.read_agent(session_id, session_agent.agent_id)
        if known is None:
            raise SessionException(
                f"Agent {session_agent.agent_id} in session {session_id} does not exist"
            )
        session_agent.created_at = known.created_at
        self.create_agent(session_id, session_agent)

    def create_message(
        self,
        session_id: str,
        agent_id: str,
        session_message: SessionMessage,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Append a message."""
        self._add(session_id, "message", agent_id, session_message.to_dict())

    def read_message(
        self,
        session_id: str,
        agent_id: str,
        message_id: int,
        **kwargs: Any,  # noqa: ARG002
    ) -> SessionMessage | None:
        """Return a message, or None."""
        found = self._messages(session_id, agent_id).get(message_id)
        return SessionMessage.from_dict(found) if found else None

    def update_message(
        self,
        session_id: str,
        agent_id: str,
        session_message: SessionMessage,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Replace a message, as a guardrail does; SessionException if there is none."""
        known = self.read_message(session_id, agent_id, session_message.message_id)
        if known is None:
            raise SessionException(f"Message {session_message.message_id} does not exist")
        session_message.created_at = known.created_at
        self.create_message(session_id, agent_id, session_message)

    def list_messages(
        self,
        session_id: str,
        agent_id: str,
        limit: int | None = None,
        offset: int = 0,
        **kwargs: Any,  # noqa: ARG002
    ) -> list[SessionMessage]:
        """Return messages by number; SessionException if the agent is unknown."""
        if self.read_agent(session_id, agent_id) is None:
            raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
        found = [body for _, body in sorted(self._messages(session_id, agent_id).items())]
        end = None if limit is None else offset + limit
        return [SessionMessage.from_dict(body) for body in found[offset:end]]

    def create_multi_agent(
        self,
        session_id: str,
        multi_agent: MultiAgentBase,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Store the state of several agents that work together."""
        self._add(session_id, "multi_agent", multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(
        self,
        session_id: str,
        multi_agent_id: str,
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Return the state of several agents, or None."""
        return self._latest(session_id, "multi_agent", multi_agent_id)

    def update_multi_agent(
        self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any
    ) -> None:
        """Replace the state of several agents; SessionException if there is none."""
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(
                f"MultiAgent state {multi_agent.id} in session {session_id} does not exist"
            )
        self.create_multi_agent(session_id, multi_agent, **kwargs)

    def _of(self, session_id: str) -> SessionMessages:
        """Return the log of a session: nearly always the one of this manager."""
        same = session_id == self._log.session
        return self._log if same else SessionMessages(self._hf, session_id)

    def _add(self, session_id: str, kind: str, of: str, data: Mapping[str, Any]) -> None:
        plain = to_jsonable_python(dict(data), fallback=str)
        entry = {"kind": kind, "of": of, "data": plain}
        self._of(session_id).add([redact(entry, _SAID, _DONE) if kind == "message" else entry])

    def _entries(self, session_id: str, kind: str, of: str) -> Iterator[dict[str, Any]]:
        """Yield the entries of a kind, oldest first."""
        entry: Item
        for entry in self._of(session_id).all():
            if entry.get("kind") == kind and entry.get("of") == of:
                yield dict(entry["data"])

    def _latest(self, session_id: str, kind: str, of: str) -> dict[str, Any] | None:
        return next(iter([*self._entries(session_id, kind, of)][-1:]), None)

    def _messages(self, session_id: str, agent_id: str) -> dict[int, dict[str, Any]]:
        """Return the messages of an agent by number; a later entry replaces an earlier one."""
        return {one["message_id"]: one for one in self._entries(session_id, "message", agent_id)}


def _entry(hit: Hit) -> MemoryEntry:
    memory = hit.memory
    known = {
        "id": memory.id,
        "score": round(hit.score, 3),
        "kind": memory.kind,
        "time": iso(memory.event_time),
        "role": memory.role,
    }
    return MemoryEntry(memory.content, metadata={**memory.metadata, **known})


def _text(message: Message) -> str:
    """Return the text of a message, without tools, pictures and files."""
    return "\n".join(block["text"] for block in message["content"] if "text" in block)
