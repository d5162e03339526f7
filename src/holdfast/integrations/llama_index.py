"""LlamaIndex: a chat memory with long-term recall, and a block for LlamaIndex's own `Memory`.

    memory = HoldfastMemory(hf, session="chat-42")
    await agent.run("…", memory=memory)

`HoldfastMemory` keeps the history of one conversation, captures what is said and puts before the
model what is known from others. `HoldfastMemoryBlock` does the latter two inside `Memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..client import Holdfast
from ..context.blocks import join_blocks
from ..context.session_context import Context
from ..errors import InvalidInput, MissingExtra
from ..text.token_count import count_tokens
from .framework_memory import Hosted
from .history_redaction import redact
from .session_messages import SessionMessages

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemory, BaseMemoryBlock
except ImportError as error:
    raise MissingExtra(
        "Memory for LlamaIndex needs LlamaIndex. Try: pip install llama-index-core"
    ) from error

AGENT = "llama-index"
# As in LlamaIndex's own memory.
DEFAULT_TOKEN_LIMIT = 30_000
_SAID = frozenset({"blocks", "text", "content", "tool_kwargs", "cited_content"})
_DONE = frozenset({"tool_kwargs"})
_CAPTURED = (MessageRole.USER, MessageRole.ASSISTANT)


class HoldfastMemory(BaseMemory):
    """The history of one conversation, with what is known from all others. Memory never fails a
    run.

    Recalled memories go into what `get` returns and into no history, so what is forgotten is gone
    from the next call. If the store is busy, messages are buffered and written with the next ones.
    """

    session: str = Field(description="The conversation.")
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, description="Tokens of history in `get`.")
    _memory: Hosted = PrivateAttr()
    _messages: SessionMessages = PrivateAttr()

    def __init__(
        self, hf: Holdfast, *, session: str, token_limit: int = DEFAULT_TOKEN_LIMIT
    ) -> None:
        messages = SessionMessages(hf, session)
        if token_limit < 1:
            raise InvalidInput(f"token_limit must be at least 1, not {token_limit!r}.")
        super().__init__(session=session, token_limit=token_limit)
        self._memory = Hosted(hf, AGENT)
        self._messages = messages

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex knows this class."""
        return "HoldfastMemory"

    @classmethod
    def from_defaults(
        cls,
        hf: Holdfast | None = None,
        session: str = "",
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        chat_history: Sequence[ChatMessage] | None = None,
        **kwargs: Any,  # noqa: ARG003
    ) -> HoldfastMemory:
        """Create a memory; `chat_history` replaces the stored history."""
        # Bad input is refused by the constructor, which says what to give.
        memory = cls(hf, session=session, token_limit=token_limit)  # type: ignore[arg-type]
        if chat_history is not None:
            memory.set(list(chat_history))
        return memory

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: ARG002
        """Return the latest history within the token limit, with memories for the last prompt.

        `input` is the prompt if it is not in the history yet.
        """
        history = _within(self.get_all(), self.token_limit)
        place = _prompt_at(history)
        prompt = _text(history[place]) if place is not None else ""
        if input and input != prompt:
            place, prompt = len(history), input
        if place is None:
            return history
        return _with_blocks(history, place, self._memory.context(self.session, prompt))

    def get_all(self) -> list[ChatMessage]:
        """Return the whole history, without memories."""
        return [ChatMessage.model_validate(one) for one in self._messages.all()]

    def put(self, message: ChatMessage) -> None:
        """Append a message, and capture it if the user or the assistant said it."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Append messages, and capture what the user and the assistant said."""
        self._messages.add([_item(message) for message in messages])
        for message in messages:
            _capture(self._memory, self.session, message)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the history. Nothing is captured: these messages were said before."""
        self._messages.replace([_item(message) for message in messages])

    def reset(self) -> None:
        """Erase the history permanently. Long-term memory of the conversation stays."""
        self._messages.clear()


class HoldfastMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory as a block of LlamaIndex's `Memory`. It never fails a run.

    It captures the messages that leave the short-term memory and recalls for the last prompt.
    """

    name: str = "holdfast"
    _memory: Hosted = PrivateAttr()

    def __init__(self, hf: Holdfast, **fields: Any) -> None:
        """`fields` are those of a memory block: name, description, priority…"""
        memory = Hosted(hf, AGENT)
        super().__init__(**fields)
        self._memory = memory

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,  # noqa: ARG002
    ) -> str:
        place = _prompt_at(messages or ())
        if messages is None or place is None:
            return ""
        known = await self._memory.blocks(session_id, _text(messages[place]))
        return join_blocks(known.stable, known.turn)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            session = message.additional_kwargs.get("session_id") or AGENT
            if message.role in _CAPTURED:
                await self._memory.listen(session, message.role.value, _text(message))


def _item(message: ChatMessage) -> dict[str, Any]:
    return redact(message.model_dump(mode="json", fallback=str), _SAID, _DONE)


def _capture(memory: Hosted, session: str, message: ChatMessage) -> None:
    if message.role in _CAPTURED:
        memory.capture(session, message.role.value, _text(message))


def _text(message: ChatMessage) -> str:
    """Return the text of a message, without pictures, files and thoughts."""
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))


def _prompt_at(messages: Sequence[ChatMessage]) -> int | None:
    """Return the index of the last message of the user."""
    places = reversed(range(len(messages)))
    return next((at for at in places if messages[at].role == MessageRole.USER), None)


def _within(history: list[ChatMessage], tokens: int) -> list[ChatMessage]:
    """Return the latest turns within a token limit: at least the last one, and system messages."""
    system = [one for one in history if one.role == MessageRole.SYSTEM]
    said = [one for one in history if one.role != MessageRole.SYSTEM]
    left = tokens - sum(map(_tokens, system))
    # A turn begins with a prompt: cut elsewhere, a tool's result would lose its call.
    begins = [at for at, one in enumerate(said) if one.role == MessageRole.USER]
    start = len(said)
    for begin in reversed(begins):
        left -= sum(map(_tokens, said[begin:start]))
        if left < 0 and start < len(said):
            break
        start = begin
    # What comes before the first prompt goes with it.
    if not begins or (start == begins[0] and left >= sum(map(_tokens, said[:start]))):
        start = 0
    return [*system, *said[start:]]


def _tokens(message: ChatMessage) -> int:
    return count_tokens(str(message.model_dump(mode="json", fallback=str)["blocks"]))


def _with_blocks(history: list[ChatMessage], place: int, known: Context) -> list[ChatMessage]:
    """Return a history with one block in its system message, and the other before `place`."""
    turn = [ChatMessage(role=MessageRole.USER, content=known.turn)] if known.turn else []
    result = [*history[:place], *turn, *history[place:]]
    if not known.stable:
        return result
    first = next((at for at, one in enumerate(result) if one.role == MessageRole.SYSTEM), None)
    if first is None:
        return [ChatMessage(role=MessageRole.SYSTEM, content=known.stable), *result]
    blocks = [*result[first].blocks, TextBlock(text=known.stable)]
    result[first] = result[first].model_copy(update={"blocks": blocks})
    return result
