"""Semantic Kernel: a thread of an agent with long-term memory, and a plugin.

    thread = HoldfastThread(hf, thread_id="chat-42")
    agent = ChatCompletionAgent(service=service, plugins=[memory_plugin(hf)])
    await agent.get_response("…", thread=thread)

The memory classes of Semantic Kernel for Python are deprecated; what an agent is told comes from
its thread.
"""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import AsyncIterator
from typing import Any

from ..client import Holdfast
from ..context.blocks import join_blocks
from ..errors import InvalidInput, MissingExtra
from .framework_memory import Hosted, log_errors
from .history_redaction import redact
from .session_messages import Item, SessionMessages

try:
    from pydantic_core import to_jsonable_python
    from semantic_kernel.agents import ChatHistoryAgentThread
    from semantic_kernel.contents import AuthorRole, ChatHistory, ChatMessageContent
    from semantic_kernel.functions import KernelPlugin, kernel_function
except ImportError as error:
    raise MissingExtra(
        "Memory for Semantic Kernel needs its package. Try: pip install semantic-kernel"
    ) from error

AGENT = "semantic-kernel"
# Keys of a message with conversation text.
_TEXTS = frozenset({"items", "text", "arguments", "result"})


class HoldfastThread(ChatHistoryAgentThread):
    """A conversation of a ChatCompletionAgent: its history is stored, what is said is captured, and
    each prompt recalls. It never fails a run.

    A thread with the id of an earlier one goes on with its history. What memory knows is shown to
    the agent while a prompt waits for its answer, and is not part of the history. `chat_history` is
    an empty ChatHistory, such as a reducer.
    """

    def __init__(
        self,
        hf: Holdfast,
        *,
        thread_id: str | None = None,
        chat_history: ChatHistory | None = None,
    ) -> None:
        if chat_history:
            raise InvalidInput("Give an empty chat_history: the thread loads its own messages.")
        super().__init__(chat_history, thread_id)
        self._memory = Hosted(hf, AGENT)
        self._session: str = self._id
        self._stored = SessionMessages(hf, self._session)
        self._load()

    async def get_messages(self) -> AsyncIterator[ChatMessageContent]:
        """Yield the history; while a prompt waits, with what memory knows before it."""
        history = [message async for message in super().get_messages()]
        waiting = bool(history) and history[-1].role == AuthorRole.USER
        block = await self._recall(history[-1]) if waiting else ""
        for message in history[:-1] if waiting else history:
            yield message
        if block:
            # Not a system message: some models take only one, and the agent's instructions are it.
            yield ChatMessageContent(role=AuthorRole.USER, content=block)
        if waiting:
            yield history[-1]

    async def reduce(self) -> ChatHistory | None:
        """Reduce the history, also the stored one."""
        reduced = await super().reduce()
        if reduced is not None:
            items = [_item(message) for message in self._chat_history.messages]
            with log_errors("the reduced history was not stored"):
                await to_thread(self._stored.replace, items)
        return reduced

    async def _on_new_message(self, new_message: str | ChatMessageContent) -> None:
        before = len(self)
        await super()._on_new_message(new_message)
        # A message that the thread has already is not added again.
        for message in self._chat_history.messages[before:]:
            with log_errors("a message was not stored"):
                await to_thread(self._stored.add, [_item(message)])
            if message.role in (AuthorRole.USER, AuthorRole.ASSISTANT):
                role = str(message.role.value)
                await self._memory.listen(self._session, role, message.content)

    async def _delete(self) -> None:
        # Raises: incomplete erasure must not go unnoticed.
        await to_thread(self._stored.clear)
        await super()._delete()

    async def _recall(self, prompt: ChatMessageContent) -> str:
        known = await self._memory.blocks(self._session, prompt.content)
        return join_blocks(known.stable, known.turn)

    def _load(self) -> None:
        items: list[Item] = []
        with log_errors("the history was not loaded"):
            items = self._stored.all()
        for item in items:
            with log_errors("a message of the history was skipped"):
                self._chat_history.add_message(ChatMessageContent.model_validate(item))


def memory_plugin(hf: Holdfast, name: str = "memory") -> KernelPlugin:
    """Return a plugin with tools that search, store, correct, confirm, count and describe an
    entity.
    """
    tools = {tool.__name__: kernel_function(tool) for tool in Hosted(hf, AGENT).json_tools()}
    return KernelPlugin.from_object(
        name, tools, description="Long-term memory: what earlier conversations said."
    )


def _item(message: ChatMessageContent) -> dict[str, Any]:
    item = to_jsonable_python(message.model_dump(exclude_none=True), fallback=str)
    # The answer of the service itself, an object of its package.
    item.pop("inner_content", None)
    return redact(item, _TEXTS)
