"""Memory for an agent that another framework runs: captures turns, provides context and tools.

Every error is logged, and the agent's run continues: memory never fails a run.
"""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

from ..client import Holdfast, check_open
from ..context.session_context import Context
from ..errors import HoldfastError
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
    ) -> None:
        """Capture a turn of the conversation."""
        await to_thread(self._listen, session, role, text)

    async def blocks(self, session: str, prompt: str) -> Context:
        """Return the blocks for the prompt; empty ones if memory cannot answer.

        The stable block reflects the time of the session's first captured turn: call `listen`
        first, and it stays the same for the whole session.
        """
        return await to_thread(self._blocks, session, prompt)

    def tools(self) -> list[Callable[..., dict[str, Any]]]:
        """Return the agent's memory tools. A tool that fails tells the model why."""
        return [_telling(tool) for tool in talking(self.hf)]

    def _listen(
        self,
        session: str,
        role: str,
        text: str,
    ) -> None:
        with _unharmed("a turn was not captured"):
            self.hf.capture(session, role, text)

    def _blocks(self, session: str, prompt: str) -> Context:
        with _unharmed("recall failed for this prompt"):
            return self.hf.context(prompt, session=session)
        return NOTHING


def spoken(output: object) -> str:
    """Return an agent's answer as text; anything but text becomes JSON."""
    if isinstance(output, str):
        return output
    # Every framework that gets here has installed it.
    from pydantic_core import to_json  # noqa: PLC0415

    return to_json(output, fallback=str).decode()


@contextmanager
def _unharmed(otherwise: str) -> Iterator[None]:
    """Log errors instead of raising them to the host."""
    try:
        yield
    except HoldfastError as error:
        log.warning("%s: %s", otherwise, error)
    except Exception:  # the host must not see errors of memory
        log.exception("%s", otherwise)


def _telling(tool: Callable[P, dict[str, Any]]) -> Callable[P, dict[str, Any]]:
    @wraps(tool)
    def safe(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except HoldfastError as error:
            log.warning("%s failed: %s", tool.__name__, error)
            return {"success": False, "message": str(error)}

    return safe
