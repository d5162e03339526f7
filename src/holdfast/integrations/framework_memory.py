"""A memory beside an agent that somebody else's framework runs: told what is said, asked before a
model is.

Whatever goes wrong here is logged, and the agent's run goes on without it: a memory is never why a
run fails.
"""

from __future__ import annotations

import logging
from asyncio import to_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

from ..context.session_context import Context
from ..errors import HoldfastError
from ..memory import Holdfast, check_open
from .agent_tools import talking

log = logging.getLogger(__name__)
P = ParamSpec("P")
NOTHING = Context("", "", ())


class Hosted:
    """The memory of an agent, for its host. What is changed through it is journalled as the agent's
    own doing.
    """

    def __init__(self, hf: Holdfast, agent: str) -> None:
        self.hf = check_open(hf).scoped(*hf.scopes)
        self.hf.actor = f"agent:{agent}"

    async def listen(self, session: str, role: str, text: str) -> None:
        """Keeps a turn of the conversation."""
        await to_thread(self._listen, session, role, text)

    async def blocks(self, session: str, prompt: str) -> Context:
        """What goes before the model; empty blocks when memory cannot answer.

        The stable block shows what was known when the session's first turn was kept: listen before
        you ask, and it is the same for the whole session.
        """
        return await to_thread(self._blocks, session, prompt)

    def tools(self) -> list[Callable[..., dict[str, Any]]]:
        """What the agent can do with its memory. A tool that cannot do its work says why to the
        model.
        """
        return [_telling(tool) for tool in talking(self.hf)]

    def _listen(self, session: str, role: str, text: str) -> None:
        with _unharmed("a turn was not kept"):
            self.hf.capture(session, role, text)

    def _blocks(self, session: str, prompt: str) -> Context:
        with _unharmed("nothing was recalled for this prompt"):
            return self.hf.context(prompt, session=session)
        return NOTHING


def spoken(output: object) -> str:
    """What an agent answered, as text: words as they are, anything else as JSON."""
    if isinstance(output, str):
        return output
    # Every framework that gets here has it.
    from pydantic_core import to_json  # noqa: PLC0415

    return to_json(output, fallback=str).decode()


@contextmanager
def _unharmed(otherwise: str) -> Iterator[None]:
    """Keeps what goes wrong from the host."""
    try:
        yield
    except HoldfastError as error:
        log.warning("%s: %s", otherwise, error)
    except Exception:  # the border to a host that must not suffer from us
        log.exception("%s", otherwise)


def _telling(tool: Callable[P, dict[str, Any]]) -> Callable[P, dict[str, Any]]:
    @wraps(tool)
    def told(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except HoldfastError as error:
            log.warning("%s could not be done: %s", tool.__name__, error)
            return {"success": False, "message": str(error)}

    return told
