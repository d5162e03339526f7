"""Runtime of a role: its model, tools and memory."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial

from pydantic_ai import Agent, FunctionToolset, RunContext, Tool
from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    ModelMessage,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from .. import config
from ..context.blocks import join_blocks
from ..errors import HoldfastError, ModelFailed
from ..ingest.sanitize import clean
from ..models.llm.chat import Complete, completing
from ..models.llm.run_sync import wait_for
from ..types import Clock, system_clock
from . import models
from .delegate import delegate_tools
from .memory_tools import memory_tools
from .role import Role
from .role_memory import RoleMemory
from .watcher import Watcher

log = logging.getLogger(__name__)

# Retries of a model after invalid tool arguments.
TOOL_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Turn:
    """The agent's answer, and all messages exchanged for it."""

    text: str
    messages: tuple[ModelMessage, ...]


class RoleAgent:
    """A running agent. Close it when done."""

    def __init__(
        self,
        role: Role,
        model: Model,
        memory: RoleMemory | None,
        tools: Sequence[Tool[object]],
    ) -> None:
        self.role = role
        self.memory = memory
        self._tools = tools
        self.recalled = ""
        """Reminder for a resumed conversation; part of the system prompt while set."""
        self.guidance = ""
        """Memory of the project; part of the system prompt, constant for a session."""
        self.project_tools: Sequence[Tool[object]] = ()
        """Tools that belong to it."""
        self._running: set[Future[Turn]] = set()
        wanted = role.spec.model
        self._settings = ModelSettings()
        if wanted.temperature is not None:
            self._settings["temperature"] = wanted.temperature
        if wanted.max_tokens is not None:
            self._settings["max_tokens"] = wanted.max_tokens
        self._agent: Agent[object, str] = Agent(
            model,
            name=role.name,
            instructions=[role.spec.role, self._remembered],
            tools=tools,
            model_settings=self._settings,
            retries=TOOL_RETRIES,
        )

    @classmethod
    def open(
        cls,
        role: Role,
        *,
        clock: Clock = system_clock,
        use_memory: bool = True,
        model: Model | None = None,
        chain: tuple[str, ...] = (),
        settings: config.Settings | None = None,
        mode: str | None = None,
        user_id: str | None = None,
    ) -> RoleAgent:
        """Create the agent of a role. Missing prerequisites, such as a key, are reported here.

        `model` replaces the role's own; `chain` names the agents that delegated the task. `mode`
        and `user_id` set lifetime and owner of its memory: see `RoleMemory`.
        """
        environ = config.environment()
        answering = model or models.answering(role, environ)
        memory = None
        if use_memory and role.spec.memory is not None:
            complete = partial(_completing, role, model, environ)
            memory = RoleMemory(
                role,
                clock=clock,
                settings=settings,
                environ=environ,
                complete=complete,
                mode=mode,
                user_id=user_id,
            )
            memory.check()
            if notice := memory.left_behind:
                log.warning("%s", notice)
            if model is None and role.spec.memory.consolidation.enabled and not memory.incognito:
                # Fail now rather than at the end of the session if its key is missing.
                models.consolidating(role, environ)

        def open_agent(other: Role, chain: tuple[str, ...]) -> RoleAgent:
            return cls.open(
                other,
                clock=clock,
                model=model,
                chain=chain,
                settings=settings,
                mode=mode,
                user_id=user_id,
            )

        tools = memory_tools(memory) if memory else []
        return cls(
            role,
            answering,
            memory,
            [*tools, *delegate_tools(role, chain=chain, open_agent=open_agent)],
        )

    def run(
        self,
        prompt: str,
        *,
        history: Sequence[ModelMessage] = (),
        watcher: Watcher | None = None,
        more_tools: Sequence[Tool[object]] = (),
    ) -> Turn:
        """Run the agent and wait for its answer. Thread-safe.

        Raises ModelFailed if the model does not answer. Ctrl-C cancels the run; after `cancel`,
        raises `concurrent.futures.CancelledError`.
        """
        timeout = self.role.spec.guardrails.timeout_seconds
        work = self.turn(
            prompt,
            history=history,
            watcher=watcher,
            more_tools=more_tools,
        )
        try:
            return wait_for(work, timeout=timeout, started=self._note_running)
        except (HoldfastError, CancelledError, BrokenPipeError):
            # A broken pipe belongs to the reader of the answer, so it is raised as it is.
            raise
        except TimeoutError as error:
            raise ModelFailed(
                f"{self.role.name} did not answer within {timeout:g} seconds."
            ) from error
        except Exception as error:  # providers, their clients and pydantic-ai share no base class
            raise ModelFailed(f"{self.role.name} could not answer: {_reason(error)}") from error

    def cancel(self) -> None:
        """Cancel every `run` in progress. Thread-safe."""
        # A copy, because finished runs remove themselves from the set.
        for future in tuple(self._running):
            future.cancel()

    def _note_running(self, future: Future[Turn]) -> None:
        self._running.add(future)
        future.add_done_callback(self._running.discard)

    async def turn(
        self,
        prompt: str,
        *,
        history: Sequence[ModelMessage] = (),
        watcher: Watcher | None = None,
        more_tools: Sequence[Tool[object]] = (),
    ) -> Turn:
        """Like `run`, for callers in an event loop; errors are raised unchanged."""
        more = [*self.project_tools, *more_tools]
        result = await self._agent.run(
            clean(prompt),
            message_history=list(history) or None,
            usage_limits=_limits(self.role),
            toolsets=[FunctionToolset(more)] if more else None,
            event_stream_handler=partial(_follow, watcher) if watcher else None,
        )
        return Turn(result.output, tuple(result.new_messages()))

    def _remembered(self) -> str:
        """Memory sections of the system prompt, computed for every run."""
        # Constant parts first: providers cache the beginning of a prompt.
        procedures = self.memory.procedures() if self.memory else ""
        return join_blocks(self.guidance, procedures, self.recalled)

    def close(self) -> None:
        """Close the memory."""
        if self.memory is not None:
            self.memory.close()


async def _follow(
    watcher: Watcher,
    context: RunContext[object],  # noqa: ARG001
    events: AsyncIterable[AgentStreamEvent],
) -> None:
    async for event in events:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                if text:
                    watcher.text(text)
            case FunctionToolCallEvent(part=call):
                watcher.tool(call.tool_name, call.args_as_json_str())


def _reason(error: Exception) -> str:
    """Describe an error and, if a limit of the role caused it, which one."""
    message = str(error) or type(error).__name__
    if isinstance(error, UsageLimitExceeded):
        limit = {
            "request": "max_request_limit",
            "tool": "max_tool_calls",
            "token": "max_tokens_per_run",
        }
        name = next(
            (key for word, key in limit.items() if word in message.partition("limit")[0]),
            "max_request_limit",
        )
        return f"{message.partition('. ')[0]}. The role sets this limit as spec.guardrails.{name}."
    if isinstance(error, UnexpectedModelBehavior):
        return f"the model did not keep to what it was asked for ({message.partition('. ')[0]})."
    return message


def _limits(role: Role) -> UsageLimits:
    rails = role.spec.guardrails
    return UsageLimits(
        # The default of pydantic-ai, which None would lift.
        request_limit=rails.max_request_limit or 50,
        tool_calls_limit=rails.max_tool_calls,
        total_tokens_limit=rails.max_tokens_per_run,
    )


def _completing(
    role: Role,
    model: Model | None,
    environ: Mapping[str, str],
) -> Complete:
    return completing(model or models.consolidating(role, environ))
