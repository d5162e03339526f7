"""Long-term memory for a pydantic-ai agent, as one capability.

    agent = Agent(model, capabilities=[HoldfastMemory(hf, session="chat-42")])

Before each run the agent gets the stable block in its instructions, byte-identical for a session,
and relevant memories before the prompt. It has tools to search and store memories, and what both
sides say is captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from ..client import Holdfast
from ..errors import MissingExtra
from ..ingest.commit import check_session
from .agent_tools import toolset
from .framework_memory import NOTHING, Hosted, spoken

try:
    from pydantic_ai import AgentRunResult, DeferredToolRequests, FunctionToolset, RunContext
    from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextContent,
        UserContent,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
except ImportError as error:
    raise MissingExtra(
        "Memory for pydantic-ai needs an optional package. Try: pip install 'holdfast-memory[llm]'"
    ) from error


class HoldfastMemory(AbstractCapability[Any]):
    """Memory of a pydantic-ai agent. It never fails a run: on an error the agent answers without
    memory.

    `session` is the conversation of the runs; None uses pydantic-ai's `conversation_id`, so that
    one agent can lead many conversations. Recalled memories go into the request and not into the
    message history, so what is forgotten is gone from the next request.
    """

    def __init__(self, hf: Holdfast, *, session: str | None = None) -> None:
        if session is not None:
            check_session(session)
        self._memory = Hosted(hf, "pydantic-ai")
        self._session = session
        self._tools = toolset(self._memory.tools())
        self._known = NOTHING

    @classmethod
    def get_serialization_name(cls) -> None:
        """None: an open memory cannot be part of an agent's specification."""

    async def for_run(self, ctx: RunContext[Any]) -> HoldfastMemory:  # noqa: ARG002
        """Return a copy for one run, because runs may be concurrent."""
        return copy(self)

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the tools of the chat agent."""
        return self._tools

    def get_instructions(self) -> Any:
        """Return the stable block."""
        # A function, because pydantic-ai asks for instructions before `before_run` has recalled.
        return self._standing

    def _standing(self) -> str:
        return self._known.stable

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Capture the prompt and recall for it."""
        session = self._of(ctx)
        prompt = _text(ctx.prompt)
        await self._memory.listen(session, "user", prompt)
        self._known = await self._memory.blocks(session, prompt)

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Put the turn block before the prompt of this run, in the request only."""
        if self._known.turn:
            messages = _with_block(
                request_context.messages,
                self._known.turn,
                ctx.run_id,
            )
            request_context = replace(request_context, messages=messages)
        return await handler(request_context)

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Capture the answer; a deferred run has no answer yet."""
        if not isinstance(result.output, DeferredToolRequests):
            await self._memory.listen(
                self._of(ctx),
                "assistant",
                spoken(result.output),
            )
        return result

    def _of(self, ctx: RunContext[Any]) -> str:
        return self._session or ctx.conversation_id or "pydantic-ai"


def _text(prompt: str | Sequence[UserContent] | None) -> str:
    """Return the text of a prompt, without pictures and files."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    texts = []
    for part in prompt:
        content = part.content if isinstance(part, TextContent) else part
        if isinstance(content, str):
            texts.append(content)
    return "\n".join(texts)


def _with_block(
    messages: Sequence[ModelMessage],
    block: str,
    run: str | None,
) -> list[ModelMessage]:
    """Return a copy of the messages with a block before the prompt that started this run."""
    for at, message in enumerate(messages):
        if isinstance(message, ModelRequest) and message.run_id == run:
            for place, part in enumerate(message.parts):
                if isinstance(part, UserPromptPart):
                    parts = [*message.parts[:place], UserPromptPart(block), *message.parts[place:]]
                    return [*messages[:at], replace(message, parts=parts), *messages[at + 1 :]]
    return list(messages)
