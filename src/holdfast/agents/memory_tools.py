"""Memory tools of an agent: up to five, as its role enables them, and one more in a project.

Existing prompts rely on names, parameters and answers, so they must not change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from pydantic_ai import ModelRetry, Tool

from ..context.blocks import Line, fill, render_line
from ..errors import InvalidInput, Refused
from ..types import Memory, iso
from .answer_memories import AnswerMemory
from .record_tool import record_functions
from .role_memory import RoleMemory, ScoredMemory

P = ParamSpec("P")
T = TypeVar("T")
NOTHING_STORED = "No memories stored yet."
NOTHING_RELEVANT = "No relevant memories found."
NOTHING_LISTED = "No memories found."


class MemoryTools:
    """Memory operations, one method per tool."""

    def __init__(self, memory: RoleMemory) -> None:
        self._memory = memory

    def remember(self, content: str, category: str = "general") -> str:
        """Save a fact or a piece of knowledge to long-term memory.

        Args:
            content: What to remember, as a sentence that can be understood on its own.
            category: One word that says what it is about, such as preferences or project.
        """
        stored = self._memory.remember("semantic", content, category=category)
        return _describe("Remembered", stored)

    def recall(
        self,
        query: str,
        top_k: int = 5,
        memory_types: list[str] | None = None,
    ) -> str:
        """Search long-term memory for what is relevant to a query.

        Args:
            query: What to look for, in plain words.
            top_k: How many memories to return at most.
            memory_types: Only these types: episodic, semantic, procedural. Default: all.
        """
        if not self._memory.exists:
            return NOTHING_STORED
        found = self._memory.recall(query, top_k=top_k, types=memory_types)
        self._memory.answer_memories.add(
            AnswerMemory(one.memory, _why(query, one)) for one in found
        )
        return "\n\n---\n\n".join(map(_found, found)) or NOTHING_RELEVANT

    def list_memories(
        self,
        category: str | None = None,
        limit: int = 20,
        memory_type: str | None = None,
    ) -> str:
        """List the most recent memories.

        Args:
            category: Only memories of this category.
            limit: How many to list at most.
            memory_type: Only this type: episodic, semantic or procedural.
        """
        if not self._memory.exists:
            return NOTHING_STORED
        listed = self._memory.listed(
            type_=memory_type,
            category=category,
            limit=limit,
        )
        self._memory.answer_memories.add(AnswerMemory(one, "listed by the agent") for one in listed)
        return "\n".join(map(_listed, listed)) or NOTHING_LISTED

    def learn_procedure(self, content: str, category: str = "general") -> str:
        """Save a procedure, policy or pattern that should be followed from now on.

        Args:
            content: The procedure, as an instruction that can be understood on its own.
            category: One word that says what it is about, such as deployment.
        """
        stored = self._memory.remember(
            "procedural",
            content,
            category=category,
        )
        return _describe("Learned procedure", stored)

    def record_episode(self, content: str, category: str = "general") -> str:
        """Record what happened during a task: an outcome, a decision, an error.

        Args:
            content: What happened.
            category: One word that says what it is about.
        """
        stored = self._memory.remember("episodic", content, category=category)
        return _describe("Recorded episode", stored)


def memory_tools(memory: RoleMemory) -> list[Tool[object]]:
    """Tools of a role's memory. `recall` and `list_memories` are always present; `add_record` needs
    records.
    """
    tools = MemoryTools(memory)
    enabled = memory.config
    functions: tuple[tuple[Callable[..., str], bool], ...] = (
        (tools.remember, enabled.semantic.enabled),
        (tools.recall, True),
        (tools.list_memories, True),
        (tools.learn_procedure, enabled.procedural.enabled),
        (tools.record_episode, enabled.episodic.enabled),
    )
    chosen = [function for function, wanted in functions if wanted]
    chosen += record_functions(memory, Path.cwd())
    return [Tool(retried(function), takes_ctx=False) for function in chosen]


def _describe(done: str, stored: Memory) -> str:
    if stored.status == "proposed":
        done = "Not remembered yet: proposed for review, a person decides"
    return f"{done} (id={stored.seq}, category={stored.category})"


def _listed(memory: Memory) -> str:
    line = Line(
        memory.content,
        bullet="",
        labels=(f"{memory.layer}:{memory.category}",),
        attribution=(iso(memory.created_at),),
    )
    return render_line(line)


def _found(found: ScoredMemory) -> str:
    memory = found.memory
    return fill(
        "[Type: {layer} | Category: {category} | Score: {score} | {created}]\n{content}",
        layer=memory.layer,
        category=memory.category,
        score=f"{found.score:.3f}",
        created=iso(memory.created_at),
        content=memory.content,
    )


def _why(query: str, found: ScoredMemory) -> str:
    return f"found for “{query}”: {found.found_by}, similarity {found.score:.2f}"


def retried(tool: Callable[P, T]) -> Callable[P, T | str]:
    """Wrap a tool so that the model gets its own errors back and can retry."""

    @wraps(tool)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T | str:
        try:
            return tool(*args, **kwargs)
        except InvalidInput as error:
            raise ModelRetry(str(error)) from error
        except Refused as error:
            return str(error)

    return guarded
