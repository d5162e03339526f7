"""Microsoft Agent Framework: a history provider, and long-term memory as a context provider.

Either works without the other; the history is for one conversation, the memory for all of them.

    agent = Agent(client, context_providers=[HoldfastHistory(hf), HoldfastMemory(hf)])
    await agent.run("…", session=agent.create_session(session_id="chat-42"))
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from threading import Lock
from typing import Any

from ..client import Holdfast, check_open
from ..errors import MissingExtra
from ..ingest.commit import check_session
from .framework_memory import Hosted, log_errors
from .history_redaction import redact
from .session_messages import Item, SessionMessages

try:
    from agent_framework import (
        AgentSession,
        ContextProvider,
        FunctionTool,
        HistoryProvider,
        Message,
        SessionContext,
        SupportsAgentRun,
        tool,
    )
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise MissingExtra(
        "Memory for the Microsoft Agent Framework needs its package. Try: pip install "
        "agent-framework-core"
    ) from error

# Keys of a message with conversation text.
_TEXTS = frozenset(
    {"contents", "text", "arguments", "result", "items", "exception", "inputs", "outputs"}
)
# The session of calls that name none, as the framework's own providers call it.
DEFAULT_SESSION = "default"


class HoldfastMemory(ContextProvider):
    """Long-term memory of an agent. It never fails a run: on an error the agent answers without
    memory.

    `session` is the conversation of all runs; None uses the id of the framework's session. Recalled
    memories go into the request and into no history, so what is forgotten is gone from the next
    run. With `tools=False` the agent gets no memory tools.
    """

    DEFAULT_SOURCE_ID = "holdfast_memory"

    def __init__(
        self,
        hf: Holdfast,
        *,
        session: str | None = None,
        tools: bool = True,
        source_id: str = DEFAULT_SOURCE_ID,
    ) -> None:
        super().__init__(source_id)
        if session is not None:
            check_session(session)
        self._memory = Hosted(hf, "agent-framework")
        self._session = session
        given = self._memory.json_tools() if tools else []
        self.tools: list[FunctionTool] = [tool(one) for one in given]
        """Tools that search, store, correct, confirm, count and describe an entity."""

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Capture the prompt and add what memory knows about it, and the tools."""
        name = self._session or session.session_id
        await self._capture(name, context.input_messages)
        prompt = _prompt(context.input_messages)
        known = await self._memory.blocks(name, prompt)
        if known.stable:
            context.extend_instructions(self.source_id, known.stable)
        if known.turn:
            origins = {memory.session for memory in known.memories if memory.session}
            block = Message("user", [known.turn])
            context.extend_messages(self, [block], origin_session_ids=sorted(origins))
        context.extend_tools(self.source_id, self.tools)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Capture the answer."""
        if context.response is not None:
            await self._capture(self._session or session.session_id, context.response.messages)

    async def _capture(self, session: str, messages: Sequence[Message]) -> None:
        for message in messages:
            if message.role in ("user", "assistant"):
                author = (message.author_name or "") if message.role == "user" else ""
                await self._memory.listen(session, message.role, message.text, author)


class HoldfastHistory(HistoryProvider):
    """The history of conversations, in the store of their memories. It never fails a run.

    Secrets are redacted. If the store is busy, messages are buffered and written with the next
    ones. A full transcript that is passed again is stored once.
    """

    DEFAULT_SOURCE_ID = "holdfast_history"

    def __init__(
        self,
        hf: Holdfast,
        *,
        source_id: str = DEFAULT_SOURCE_ID,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
    ) -> None:
        """The options are the framework's: what is loaded before a run and stored after it."""
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self._hf = check_open(hf)
        self._waiting = dict[str, SessionMessages]()
        self._lock = Lock()

    async def get_messages(
        self,
        session_id: str | None,
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> list[Message]:
        """Return the messages of a session in order; what cannot be read is logged and left out."""
        items = await to_thread(self._load, session_id or DEFAULT_SESSION)
        messages = []
        for item in items:
            with log_errors("a message of the history was skipped"):
                messages.append(Message.from_dict(dict(item)))
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Append messages to a session, without those at its end already."""
        items = [_item(message) for message in messages]
        if items:
            await to_thread(self._save, session_id or DEFAULT_SESSION, items)

    async def clear(self, session_id: str | None) -> None:
        """Erase the history of a session permanently. Long-term memory of the conversation stays.
        Errors are raised.
        """
        await to_thread(self._clear, session_id or DEFAULT_SESSION)

    def _load(self, session: str) -> list[Item]:
        with log_errors("the history was not loaded"):
            return self._of(session).all()
        return []

    def _save(self, session: str, items: Sequence[Item]) -> None:
        with self._lock, log_errors("messages were not stored"):
            messages = self._of(session)
            stored = [*messages.stored(len(items)), *messages.held]
            messages.add(_new(stored, items))
            # One agent may lead many conversations: only those that wait are kept.
            if messages.held:
                self._waiting[session] = messages
            else:
                self._waiting.pop(session, None)

    def _clear(self, session: str) -> None:
        with self._lock:
            self._of(session).clear()
            self._waiting.pop(session, None)

    def _of(self, session: str) -> SessionMessages:
        return self._waiting.get(session) or SessionMessages(self._hf, session)


def _prompt(messages: Sequence[Message]) -> str:
    return next((one.text for one in reversed(messages) if one.role == "user" and one.text), "")


def _item(message: Message) -> dict[str, Any]:
    item = to_jsonable_python(message.to_dict(), fallback=str)
    return redact(item, _TEXTS)


def _new(stored: Sequence[Item], items: Sequence[Item]) -> Sequence[Item]:
    """Return the items after the longest overlap of the end of a history with their beginning."""
    for overlap in range(min(len(stored), len(items)), 0, -1):
        if [_key(item) for item in stored[-overlap:]] == [_key(item) for item in items[:overlap]]:
            # A person may say the same twice.
            if overlap == 1 and items[0]["role"] == "user" and not items[0].get("message_id"):
                continue
            return items[overlap:]
    return items


def _key(item: Item) -> object:
    return item.get("message_id") or (item.get("role"), item.get("contents"))
