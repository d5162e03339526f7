"""Long-term memory for a smolagents agent.

    memory = HoldfastMemory(hf, session="chat-42")
    agent = memory.attach(CodeAgent(tools=memory.tools, model=model))
    agent.run("…")

smolagents has no interface for long-term memory. This takes the place of the agent's `AgentMemory`,
which it builds every request from, and of a callback that hears the final answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..client import Holdfast
from ..context.blocks import join_blocks
from ..errors import MissingExtra
from ..ingest.commit import check_session
from .framework_memory import Hosted, spoken

try:
    from smolagents import AgentMemory, ChatMessage, MessageRole, MultiStepAgent, Tool
    from smolagents.memory import FinalAnswerStep, MemoryStep, SystemPromptStep, TaskStep
    from smolagents.tools import get_json_schema
except ImportError as error:
    raise MissingExtra(
        "Memory for smolagents needs its package. Try: pip install smolagents"
    ) from error

Agent = TypeVar("Agent", bound=MultiStepAgent)


class HoldfastMemory:
    """Long-term memory for one conversation of an agent. It never fails a run: on an error the
    agent answers without memory.
    """

    def __init__(self, hf: Holdfast, *, session: str) -> None:
        check_session(session)
        self._memory = Hosted(hf, "smolagents")
        self._session = session
        self.tools: list[Tool] = [_MemoryTool(tool) for tool in self._memory.tools()]
        """Tools that search, store, correct, confirm, count and describe an entity."""

    def attach(self, agent: Agent) -> Agent:
        """Let an agent recall and capture; return it. A memory attached before is replaced, and the
        agent's steps stay.
        """
        recalling = _RecallingMemory(agent.memory, self._memory, self._session)
        agent.memory = recalling
        agent.step_callbacks.register(FinalAnswerStep, recalling.answered)
        return agent


class _RecallingMemory(AgentMemory):
    """The steps of an agent, which recalls for each new task.

    Recalled memories stand before the latest task only, so what is forgotten is gone from the next
    one.
    """

    def __init__(self, old: AgentMemory, memory: Hosted, session: str) -> None:
        self._memory = memory
        self._session = session
        self._stable = ""
        self._prompt = _without_memory(old)
        self.steps = old.steps

    @property
    def system_prompt(self) -> SystemPromptStep:
        """The agent's own system prompt with the stable block."""
        return SystemPromptStep(join_blocks(self._prompt.system_prompt, self._stable))

    @system_prompt.setter
    def system_prompt(self, prompt: SystemPromptStep) -> None:
        self._prompt = prompt

    @property
    def steps(self) -> _Steps:
        """The steps so far; a task that is appended is captured and recalled for."""
        return self._steps

    @steps.setter
    def steps(self, steps: Iterable[MemoryStep]) -> None:
        self._steps = _Steps(steps, self._begin)

    def answered(self, step: FinalAnswerStep, agent: MultiStepAgent) -> None:
        """Capture the final answer."""
        # A memory that another took the place of is still called.
        if agent.memory is self:
            self._memory.capture(self._session, "assistant", spoken(step.output))

    def _begin(self, task: TaskStep) -> TaskStep:
        self._memory.capture(self._session, "user", task.task)
        known = self._memory.context(self._session, task.task)
        self._stable = known.stable
        for step in self._steps:
            if isinstance(step, _RecalledTask):
                step.block = ""
        return _RecalledTask(task.task, task.task_images, known.turn)


@dataclass
class _RecalledTask(TaskStep):
    """A task with what memory knows about it."""

    block: str = ""

    def to_messages(self, summary_mode: bool = False) -> list[ChatMessage]:
        messages: list[ChatMessage] = super().to_messages(summary_mode)
        if not self.block:
            return messages
        content = [{"type": "text", "text": self.block}]
        return [ChatMessage(role=MessageRole.USER, content=content), *messages]


class _Steps(list[MemoryStep]):
    """Steps that turn a task which is appended into another one."""

    def __init__(self, steps: Iterable[MemoryStep], begin: Callable[[TaskStep], TaskStep]) -> None:
        super().__init__(steps)
        self._begin = begin

    def append(self, step: MemoryStep) -> None:
        super().append(self._begin(step) if isinstance(step, TaskStep) else step)


class _MemoryTool(Tool):
    """One memory tool. smolagents would read the source code of a function to make a tool of it."""

    output_type = "object"
    skip_forward_signature_validation = True

    def __init__(self, function: Callable[..., dict[str, Any]]) -> None:
        schema = get_json_schema(function)["function"]
        self.name = schema["name"]
        self.description = schema["description"]
        self.inputs = schema["parameters"]["properties"]
        self._function = function
        super().__init__()

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return self._function(*args, **kwargs)


def _without_memory(old: AgentMemory) -> SystemPromptStep:
    return old._prompt if isinstance(old, _RecallingMemory) else old.system_prompt
