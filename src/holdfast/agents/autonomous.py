"""Autonomous runs: an agent works on a task in steps until it finishes or the steps run out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic_ai import Tool
from pydantic_ai.messages import ModelMessage

from .agent_runner import RoleAgent
from .conversation import NO_LIMIT, answers, opens
from .conversation_project import ProjectMemory
from .message_history import trimmed
from .watcher import Watcher

Status = Literal["completed", "blocked", "failed"]
Ending = Literal["completed", "blocked", "failed", "unfinished"]
CATEGORY = "autonomous_run"
CONTINUE = (
    "Go on with the task. Call finish_task with a summary when it is done, or when you "
    "cannot go on."
)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Result of a task: the agent's summary and the number of steps. `unfinished` if the steps ran
    out.
    """

    status: Ending
    summary: str
    steps: int
    text: str
    lines: tuple[str, ...] = ()
    """Lines for the user about the end of the session."""


def pursue(
    agent: RoleAgent,
    task: str,
    *,
    most_steps: int | None = None,
    watcher: Watcher | None = None,
) -> RunOutcome:
    """Run the agent on a task. Each call of `finish_task` stores one episode, even if a later step
    fails.
    """
    finished: list[tuple[Status, str]] = []

    def finish_task(summary: str, status: Status = "completed") -> str:
        """End the task.

        Args:
            summary: What was done and what came of it, to be remembered.
            status: completed, blocked when something is missing, or failed.
        """
        finished.append((status, summary))
        if agent.memory is not None and summary.strip():
            agent.memory.capture(
                summary,
                category=CATEGORY,
                metadata={"status": status},
            )
        return "The task is ended."

    most = most_steps or agent.role.spec.guardrails.max_iterations
    session = agent.memory.open_session("autonomous") if agent.memory else ""
    project = ProjectMemory(agent, Path.cwd(), session=session)
    project.begin()
    history: list[ModelMessage] = []
    text = ""
    steps = 0
    try:
        while steps < most and not finished:
            prompt = CONTINUE if steps else task
            turn = agent.run(
                prompt,
                history=history,
                watcher=watcher,
                more_tools=[Tool(finish_task, takes_ctx=False)],
            )
            messages = list(turn.messages)
            if steps:
                # Only the first prompt is the user's; the later ones just say to continue.
                messages = [one for one in messages if not opens(one)]
            project.hear(messages)
            history = _kept(agent, [*history, *turn.messages])
            text = turn.text
            steps = steps + 1
    finally:
        project.end()
        lines = _ended(agent, session)
    ending: tuple[Ending, str] = finished[-1] if finished else ("unfinished", "")
    return RunOutcome(*ending, steps, text, tuple(lines))


def _kept(agent: RoleAgent, history: list[ModelMessage]) -> list[ModelMessage]:
    """Trim the history to its end and the task at its beginning."""
    most = 2 * agent.memory.config.max_resume_messages if agent.memory else NO_LIMIT
    end = trimmed(history, most, opens, answers)
    return end if end and end[0] is history[0] else [history[0], *end[-most + 1 :]]


def _ended(agent: RoleAgent, session: str) -> list[str]:
    if agent.memory is None:
        return []
    due = agent.memory.config.consolidation.interval == "after_autonomous"
    return agent.memory.end_session(
        session,
        reason="autonomous run ended",
        consolidate=due,
    )
