"""Haystack: long-term memory as hooks and tools of an agent, and as components of a pipeline.

    memory = HoldfastMemory(hf, session="chat-42")
    agent = Agent(chat_generator=generator, hooks=memory.hooks, tools=memory.tools)
    agent.run([ChatMessage.from_user("…")])

In a pipeline, `HoldfastRetriever(memory)` returns documents and a message with what memory knows,
and `HoldfastWriter(memory)` captures messages.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..client import Holdfast
from ..context.blocks import join_blocks
from ..errors import InvalidInput, MissingExtra
from ..ingest.commit import check_session
from ..storage.sqlite.store import IN_MEMORY
from ..types import Hit, iso
from .framework_memory import Hosted

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.components.agents.state import State, replace_values
    from haystack.core.serialization import generate_qualified_class_name
    from haystack.dataclasses import ChatMessage, ChatRole
    from haystack.hooks import AFTER_RUN, BEFORE_RUN, Hook, HookPoint
    from haystack.tools import Toolset, create_tool_from_function
except ImportError as error:
    raise MissingExtra(
        "Memory for Haystack needs its package. Try: pip install haystack-ai"
    ) from error

# The session of runs that name none.
DEFAULT_SESSION = "haystack"
# In the metadata of a message that memory added or changed: the original text, or None.
ORIGINAL = "holdfast_original"
# In an agent's `hook_context`: the memory of one run.
CONTEXT_KEY = "holdfast"


class HoldfastMemory:
    """Long-term memory of a Haystack agent or pipeline. It never fails a run: on an error the agent
    answers without memory.

    `session` is the conversation. One agent can serve many people and conversations: give the
    memory of a run as `agent.run(…, hook_context={"holdfast": HoldfastMemory(…)})`.
    """

    def __init__(self, hf: Holdfast, *, session: str = DEFAULT_SESSION) -> None:
        check_session(session)
        self.hosted = Hosted(hf, "haystack")
        self.session = session
        self._opened: Holdfast | None = None

    @property
    def hooks(self) -> dict[HookPoint, list[Hook]]:
        """Hooks that recall before a run and capture after it."""
        return {BEFORE_RUN: [RecallHook(self)], AFTER_RUN: [CaptureHook(self)]}

    @property
    def tools(self) -> HoldfastToolset:
        """Tools that search, store, correct, confirm, count and describe an entity."""
        return HoldfastToolset(self)

    def to_dict(self) -> dict[str, Any]:
        """Return where the memory is, never a password."""
        hf = self.hosted.hf
        store = hf.store.location
        if store == IN_MEMORY:
            raise InvalidInput(
                "A memory in ':memory:' cannot be part of a pipeline's file. Open a file instead."
            )
        scopes = [str(scope) for scope in hf.scopes]
        data: dict[str, Any] = default_to_dict(
            self, store=store, scopes=scopes, session=self.session
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the memory again."""
        given = data["init_parameters"]
        hf = Holdfast.open(given["store"], scope=given["scopes"])
        memory = cls(hf, session=given["session"])
        memory._opened = hf
        return memory

    def close(self) -> None:
        """Close the store if it was opened by `from_dict`."""
        if self._opened is not None:
            self._opened.close()


class _MemoryPart:
    """A hook or component with a memory, which is saved and loaded with it."""

    def __init__(self, memory: HoldfastMemory) -> None:
        self.memory = memory

    def to_dict(self) -> dict[str, Any]:
        """Return what it is made of, with the place of its memory."""
        data: dict[str, Any] = default_to_dict(self, memory=self.memory)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Build it again; its memory is opened."""
        built: Self = default_from_dict(cls, data)
        return built

    def close(self) -> None:
        """Close the memory if it was opened by `from_dict`."""
        self.memory.close()


class _MemoryHook(_MemoryPart):
    """A hook that finds the memory of a run."""

    def _of(self, state: State) -> HoldfastMemory:
        given = (state.data.get("hook_context") or {}).get(CONTEXT_KEY)
        return given if isinstance(given, HoldfastMemory) else self.memory


class RecallHook(_MemoryHook):
    """Captures the prompt of a run and puts before it what memory knows."""

    allowed_hook_points = (BEFORE_RUN,)

    def run(self, state: State) -> None:
        """Change the messages of the run."""
        messages: list[ChatMessage] = state.data["messages"]
        places = [at for at, one in enumerate(messages) if one.is_from(ChatRole.USER)]
        if not places:
            return
        memory, prompt = self._of(state), _text(messages[places[-1]])
        memory.hosted.capture(memory.session, "user", prompt)
        known = memory.hosted.context(memory.session, prompt)
        changed = list(messages)
        if known.turn:
            changed.insert(places[-1], ChatMessage.from_user(known.turn, meta={ORIGINAL: None}))
        if known.stable:
            changed = _with_stable(changed, known.stable)
        state.set("messages", changed, handler_override=replace_values)

    async def run_async(self, state: State) -> None:
        """Do the same without blocking the event loop."""
        await to_thread(self.run, state)


class CaptureHook(_MemoryHook):
    """Captures the answer of a run, and takes out of its messages what memory had added: they often
    become the history of the next run.
    """

    allowed_hook_points = (AFTER_RUN,)

    def run(self, state: State) -> None:
        """Change the messages of the run back."""
        messages: list[ChatMessage] = state.data["messages"]
        answers = _after_prompt(messages)
        if answers:
            memory = self._of(state)
            memory.hosted.capture(memory.session, "assistant", answers[-1])
        restored = [_restored(one) for one in messages]
        kept = [one for one in restored if one is not None]
        state.set("messages", kept, handler_override=replace_values)

    async def run_async(self, state: State) -> None:
        """Do the same without blocking the event loop."""
        await to_thread(self.run, state)


@dataclass(init=False)
class HoldfastToolset(Toolset):
    """The agent's memory tools."""

    def __init__(self, memory: HoldfastMemory) -> None:
        self.memory = memory
        super().__init__([create_tool_from_function(one) for one in memory.hosted.json_tools()])

    def to_dict(self) -> dict[str, Any]:
        """Return the place of the memory, from which the tools can be made again."""
        name = generate_qualified_class_name(type(self))
        return {"type": name, "data": {"memory": self.memory.to_dict()}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the memory again."""
        return cls(HoldfastMemory.from_dict(data["data"]["memory"]))

    def close(self) -> None:
        """Close the memory if it was opened by `from_dict`."""
        self.memory.close()


@component
class HoldfastRetriever(_MemoryPart):
    """A pipeline component that recalls for a query."""

    def __init__(self, memory: HoldfastMemory, *, top_k: int | None = None) -> None:
        # Not by super(): the decorator makes a second class, of which super() does not know.
        self.memory = memory
        self.top_k = top_k

    @component.output_types(documents=list[Document], messages=list[ChatMessage])
    def run(
        self,
        query: str,
        *,
        top_k: int | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        session: str | None = None,
    ) -> dict[str, Any]:
        """Return memories as documents, best first, and one system message with what memory knows,
        or none.

        `top_k`, `kinds` and `tags` restrict the documents. What was said in `session` is not in the
        message.
        """
        hosted = self.memory.hosted
        limit = self.top_k if top_k is None else top_k
        hits = hosted.recall(query, limit=limit, kinds=kinds, tags=tags)
        known = hosted.context(session or self.memory.session, query)
        block = join_blocks(known.stable, known.turn)
        return {
            "documents": [_document(hit) for hit in hits],
            "messages": [ChatMessage.from_system(block)] if block else [],
        }

    @component.output_types(documents=list[Document], messages=list[ChatMessage])
    async def run_async(
        self,
        query: str,
        *,
        top_k: int | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        session: str | None = None,
    ) -> dict[str, Any]:
        """Do the same without blocking the event loop."""
        return await to_thread(
            self.run, query, top_k=top_k, kinds=kinds, tags=tags, session=session
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what it is made of, with the place of its memory."""
        data: dict[str, Any] = default_to_dict(self, memory=self.memory, top_k=self.top_k)
        return data


@component
class HoldfastWriter(_MemoryPart):
    """A pipeline component that captures messages."""

    @component.output_types(messages_written=int)
    def run(self, messages: list[ChatMessage], session: str | None = None) -> dict[str, int]:
        """Capture what users and assistants say in these messages; return how many there were.

        Messages that memory itself added are left out, as are tool calls and their results.
        """
        written = 0
        for message in messages:
            role, text = message.role.value, _text(message)
            if role in ("user", "assistant") and text and ORIGINAL not in message.meta:
                self.memory.hosted.capture(session or self.memory.session, role, text)
                written += 1
        return {"messages_written": written}

    @component.output_types(messages_written=int)
    async def run_async(
        self, messages: list[ChatMessage], session: str | None = None
    ) -> dict[str, int]:
        """Do the same without blocking the event loop."""
        return await to_thread(self.run, messages, session)


def _text(message: ChatMessage) -> str:
    """Return the text of a message, without pictures and files."""
    return "\n".join(message.texts)


def _with_stable(messages: list[ChatMessage], stable: str) -> list[ChatMessage]:
    """Return the messages with a block at the end of the system message; some models take only one
    such message.
    """
    first = messages[0]
    if not first.is_from(ChatRole.SYSTEM):
        return [ChatMessage.from_system(stable, meta={ORIGINAL: None}), *messages]
    text = _text(first)
    meta = {**first.meta, ORIGINAL: text}
    system = ChatMessage.from_system(join_blocks(text, stable), meta=meta, name=first.name)
    return [system, *messages[1:]]


def _restored(message: ChatMessage) -> ChatMessage | None:
    """Return a message as it was before memory changed it; None if memory added it."""
    if ORIGINAL not in message.meta:
        return message
    meta = dict(message.meta)
    original = meta.pop(ORIGINAL)
    if original is None:
        return None
    return ChatMessage.from_system(original, meta=meta, name=message.name)


def _after_prompt(messages: Sequence[ChatMessage]) -> list[str]:
    """Return the texts of the assistant since the last prompt."""
    texts: list[str] = []
    for message in messages:
        if message.is_from(ChatRole.USER):
            texts.clear()
        elif message.is_from(ChatRole.ASSISTANT) and _text(message):
            texts.append(_text(message))
    return texts


def _document(hit: Hit) -> Document:
    memory = hit.memory
    meta = {**memory.metadata, "kind": memory.kind, "created_at": iso(memory.created_at)}
    return Document(id=memory.id, content=memory.content, meta=meta, score=hit.score)
