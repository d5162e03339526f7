"""Memory for an agent that another framework runs: captures turns, provides context and tools.

Every error is logged, and the agent's run continues: memory never fails a run.
"""

from __future__ import annotations

import hashlib
import json
import logging
from asyncio import to_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

from ..client import Holdfast, check_open
from ..context.session_context import Context
from ..errors import HoldfastError, InvalidInput
from ..ingest import commit, entity_linking
from ..storage import Transaction
from ..types import Hits, Memory
from .agent_tools import talking

log = logging.getLogger(__name__)
P = ParamSpec("P")
NOTHING = Context("", "", ())


class Hosted:
    """Memory of an agent, for its host. The journal records changes under the agent's name."""

    def __init__(self, hf: Holdfast, agent: str) -> None:
        # A view of its own, so that the caller's memory keeps its actor.
        self.hf = check_open(hf).scoped(*hf.scopes)
        self.hf.actor = f"agent:{agent}"

    async def listen(
        self,
        session: str,
        role: str,
        text: str,
        author: str = "",
    ) -> None:
        """Capture a turn of the conversation."""
        await to_thread(self.capture, session, role, text, author)

    async def blocks(self, session: str | None, prompt: str) -> Context:
        """Return the blocks for the prompt; empty ones if memory cannot answer.

        The stable block reflects the time of the session's first captured turn: call `listen`
        first, and it stays the same for the whole session.
        """
        return await to_thread(self.context, session, prompt)

    def tools(self) -> list[Callable[..., dict[str, Any]]]:
        """Return the agent's memory tools. A tool that fails tells the model why."""
        return [_telling(tool) for tool in talking(self.hf)]

    def json_tools(self) -> list[Callable[..., str]]:
        """Return the same tools with results as JSON, for a host that would use Python's repr."""
        return [_in_json(tool) for tool in self.tools()]

    def capture(
        self,
        session: str,
        role: str,
        text: str,
        author: str = "",
    ) -> None:
        """Capture a turn of the conversation, from code that cannot await."""
        with log_errors("a turn was not captured"):
            self.hf.capture(session, role, text, author=author)

    def context(self, session: str | None, prompt: str) -> Context:
        """Return the blocks for the prompt, to code that cannot await."""
        with log_errors("recall failed for this prompt"):
            return self.hf.context(prompt, session=session)
        return NOTHING

    def recall(self, question: str, **options: Any) -> Hits:
        """Return memories for a question, none if memory cannot answer; bad options raise
        InvalidInput.
        """
        with log_errors("recall failed for this question", raising=InvalidInput):
            return self.hf.recall(question, **options)
        return []

    def remember(self, content: str, **fields: Any) -> None:
        """Store a memory; an invalid one raises InvalidInput."""
        with log_errors("a memory was not stored", raising=InvalidInput):
            self.hf.remember(content, **fields)


def put(tx: Transaction, memory: Memory) -> Memory:
    """Store a memory under an id that its framework chose, in place of one that has it."""
    old = tx.memory(memory.scope, memory.id)
    stored = tx.add(memory) if old is None else commit.rewrite(tx, old, memory)
    entity_linking.note(tx, [stored], at=memory.updated_at)
    return stored


def id_of(framework: str, key: str) -> str:
    """Return the id of the memory that holds an item of a framework."""
    return f"fact_{hashlib.sha256(f'{framework}:{key}'.encode()).hexdigest()[:24]}"


def spoken(output: object) -> str:
    """Return an agent's answer as text; anything but text becomes JSON."""
    if isinstance(output, str):
        return output
    # Every framework that gets here has installed it.
    from pydantic_core import to_json  # noqa: PLC0415

    return to_json(output, fallback=str).decode()


@contextmanager
def log_errors(outcome: str, *, raising: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Log errors with what became of the call, instead of raising them to the host; those of the
    type `raising` are raised.
    """
    try:
        yield
    except raising:
        raise
    except HoldfastError as error:
        log.warning("%s: %s", outcome, error)
    except Exception:  # the host must not see errors of memory
        log.exception("%s", outcome)


def _telling(tool: Callable[P, dict[str, Any]]) -> Callable[P, dict[str, Any]]:
    @wraps(tool)
    def safe(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except HoldfastError as error:
            log.warning("%s failed: %s", tool.__name__, error)
            return {"success": False, "message": str(error)}

    return safe


def _in_json(tool: Callable[P, dict[str, Any]]) -> Callable[P, str]:
    @wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> str:
        return json.dumps(tool(*args, **kwargs), ensure_ascii=False)

    return call
