"""AutoGen: long-term memory as a `Memory` of `autogen_core`.

    memory = HoldfastMemory(hf, session="chat-42")
    agent = AssistantAgent("helper", model_client, memory=[memory], tools=memory.tools)
    await agent.run(task="…")
    await memory.close()

Before each run the agent's context gets what memory knows about the prompt, and what both sides say
is captured.
"""

from __future__ import annotations

import json
from asyncio import ensure_future, to_thread
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from ..client import Holdfast, check_open
from ..context.blocks import join_blocks
from ..errors import InvalidInput, MissingExtra
from ..ingest.commit import check_session
from ..storage.sqlite.store import IN_MEMORY
from ..types import Memory as StoredMemory
from ..types import iso
from .framework_memory import Hosted, log_errors

try:
    from autogen_core import CancellationToken, Component
    from autogen_core.memory import (
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        UpdateContextResult,
    )
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage
    from pydantic import BaseModel
except ImportError as error:
    raise MissingExtra(
        "Memory for AutoGen needs its package. Try: pip install autogen-agentchat"
    ) from error

T = TypeVar("T")
Turn = tuple[str, str, str]
# Under this key a memory's metadata hold the MIME type it was added with.
MIME_TYPE = "mime_type"


class HoldfastMemoryConfig(BaseModel):
    """Where a memory is, as AutoGen writes it into the configuration of an agent."""

    store: str
    scopes: list[str]
    session: str | None = None
    people: list[str] = ["user"]


class HoldfastMemory(Memory, Component[HoldfastMemoryConfig]):
    """Long-term memory of an AutoGen agent. It never fails a run: on an error the agent answers
    without memory.

    `session` is the conversation; without one nothing is captured, which suits all but one agent of
    a team, since each of them sees the same messages. `people` are the message sources that are
    persons; the words of any other source are captured as an agent's. AutoGen calls a memory before
    an answer and never after it, so an answer is captured with the next prompt or by `close`.
    """

    component_type = "memory"
    component_provider_override = "holdfast.integrations.autogen.HoldfastMemory"
    component_config_schema = HoldfastMemoryConfig

    def __init__(
        self,
        hf: Holdfast,
        *,
        session: str | None = None,
        people: Sequence[str] = ("user",),
    ) -> None:
        if session is not None:
            check_session(session)
        self._hf = check_open(hf)
        self._memory = Hosted(hf, "autogen")
        self._session = session
        self._people = tuple(people)
        self._opened_here = False
        # Each context with the last message that was captured from it.
        self._seen = dict[int, tuple[ChatCompletionContext, LLMMessage]]()
        self.tools: list[Callable[..., str]] = self._memory.json_tools()
        """Tools that search, store, correct, confirm, count and describe an entity."""

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Capture what is new in the context, and add what memory knows about the prompt."""
        messages = await model_context.get_messages()
        await self._capture(model_context, messages)
        prompt = _prompt(messages)
        if not prompt:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        known = await self._memory.blocks(self._session, prompt)
        # The stable block is the same all through a session, so once in a context is enough.
        stable = "" if _stands_in(messages, known.stable) else known.stable
        if block := join_blocks(stable, known.turn):
            await model_context.add_message(SystemMessage(content=block))
        results = [_content(memory) for memory in known.memories]
        return UpdateContextResult(memories=MemoryQueryResult(results=results))

    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        *,
        limit: int | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        min_score: float | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> MemoryQueryResult:
        """Return memories for a query, best first, with id, kind, time and score as metadata; for
        an empty query the newest. Other parameters are ignored.
        """
        text = (query if isinstance(query, str) else _text(query)).strip()

        def find() -> list[MemoryContent]:
            if not text:
                with log_errors("memories were not listed", raising=InvalidInput):
                    listed = self._memory.hf.list(kinds=kinds, tags=tags, limit=limit)
                    return [_content(memory) for memory in listed]
                return []
            hits = self._memory.recall(
                text, limit=limit, kinds=kinds, tags=tags, min_score=min_score
            )
            return [_content(hit.memory, hit.score) for hit in hits]

        return MemoryQueryResult(results=await _linked(to_thread(find), cancellation_token))

    async def add(
        self,
        content: MemoryContent,
        cancellation_token: CancellationToken | None = None,
    ) -> None:
        """Store a fact: text, Markdown or JSON, with JSON metadata; an error of the store is
        logged. Raises InvalidInput for anything else.
        """
        text = _text(content)
        metadata = {**(content.metadata or {}), MIME_TYPE: _mime_type(content)}
        work = to_thread(
            self._memory.remember, text, source="tool", trust="agent", metadata=metadata
        )
        await _linked(work, cancellation_token)

    async def clear(self) -> None:
        """Forget everything in the scope; `Holdfast.undo` restores it. Errors are raised, because
        an incomplete deletion must not go unnoticed.
        """
        await to_thread(self._forget_all)

    async def close(self) -> None:
        """Capture the last answers, and close the store if this memory was loaded from a
        configuration.
        """
        for context, _ in list(self._seen.values()):
            await self._capture(context, await context.get_messages())
        self._seen.clear()
        if self._opened_here:
            await to_thread(self._hf.close)

    def _forget_all(self) -> None:
        own = self._hf.scoped(self._hf.scopes[0])
        if memories := own.list():
            own.forget(*(memory.id for memory in memories))

    async def _capture(
        self, context: ChatCompletionContext, messages: Sequence[LLMMessage]
    ) -> None:
        if self._session is None or not messages:
            return
        for role, text, author in self._turns(self._news(context, messages)):
            await self._memory.listen(self._session, role, text, author)
        self._seen[id(context)] = (context, messages[-1])

    def _news(
        self, context: ChatCompletionContext, messages: Sequence[LLMMessage]
    ) -> Sequence[LLMMessage]:
        """Return the messages after the last one captured. In a context that is new to this memory,
        perhaps loaded from a state, only the prompt is new.
        """
        known = id(context) in self._seen
        if known:
            last = self._seen[id(context)][1]
            for at in reversed(range(len(messages))):
                if messages[at] is last:
                    return messages[at + 1 :]
        # A context may show a window only, which the last one has left: the answer since is new.
        answers = [at for at, one in enumerate(messages) if isinstance(one, AssistantMessage)]
        start = answers[-1] + (0 if known else 1) if answers else 0
        return messages[start:]

    def _turns(self, messages: Sequence[LLMMessage]) -> Iterator[Turn]:
        for message in messages:
            if isinstance(message, UserMessage):
                person = message.source in self._people
                author = "" if person else message.source
                yield "user" if person else "assistant", _said(message), author
            elif isinstance(message, AssistantMessage):
                yield "assistant", _said(message), ""

    def _to_config(self) -> HoldfastMemoryConfig:
        store = self._hf.store.location
        if store == IN_MEMORY:
            raise InvalidInput(
                "A memory in ':memory:' cannot be part of a configuration. Open a file instead."
            )
        return HoldfastMemoryConfig(
            store=store,
            scopes=[str(scope) for scope in self._hf.scopes],
            session=self._session,
            people=list(self._people),
        )

    @classmethod
    def _from_config(cls, config: HoldfastMemoryConfig) -> Self:
        hf = Holdfast.open(config.store, scope=config.scopes)
        memory = cls(hf, session=config.session, people=config.people)
        memory._opened_here = True
        return memory


async def _linked(work: Coroutine[Any, Any, T], token: CancellationToken | None) -> T:
    """Await work that a token may cancel."""
    task = ensure_future(work)
    if token is not None:
        token.link_future(task)
    return await task


def _said(message: UserMessage | AssistantMessage) -> str:
    """Return the text of a message, without pictures and tool calls."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part for part in message.content if isinstance(part, str))


def _prompt(messages: Sequence[LLMMessage]) -> str:
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return _said(message)
    return ""


def _stands_in(messages: Sequence[LLMMessage], block: str) -> bool:
    return any(isinstance(one, SystemMessage) and block in one.content for one in messages)


def _mime_type(content: MemoryContent) -> str:
    given = content.mime_type
    return str(given.value if isinstance(given, MemoryMimeType) else given)


def _text(content: MemoryContent) -> str:
    if isinstance(content.content, str):
        return content.content
    if isinstance(content.content, Mapping):
        return json.dumps(content.content, ensure_ascii=False)
    raise InvalidInput(
        f"A memory is text or JSON, not {_mime_type(content)}. Describe the content in words."
    )


def _content(memory: StoredMemory, score: float | None = None) -> MemoryContent:
    noted = dict(memory.metadata)
    mime_type = noted.pop(MIME_TYPE, MemoryMimeType.TEXT.value)
    noted |= {"id": memory.id, "kind": memory.kind, "created_at": iso(memory.created_at)}
    if score is not None:
        noted["score"] = score
    return MemoryContent(
        content=_parsed(memory.content)
        if mime_type == MemoryMimeType.JSON.value
        else memory.content,
        mime_type=mime_type,
        metadata=noted,
    )


def _parsed(text: str) -> str | dict[str, Any]:
    """Return the object that a text is in JSON; somebody may have corrected it into anything."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text
