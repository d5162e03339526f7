"""`holdfast chat`, after option parsing. A person waits for its screen, so it loads little."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..text.terminal import plain
from .open_agent import agent_packages, open_agent, role_of

if TYPE_CHECKING:
    from ..agents.conversation import Conversation

STARTING = "Starting {}…"


def chat(
    file: str,
    *,
    resume: bool = False,
    no_memory: bool = False,
    memory_mode: str | None = None,
    user_id: str | None = None,
) -> None:
    """Chat with the agent of a role file on a full screen."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(
            "A full screen needs a terminal, and there is none here. Try: holdfast agent run "
            f"{file} -p '…'"
        )
    path = Path(file)
    # Shown first, because loading the screen library takes a moment.
    _tell(STARTING.format(path.name))
    if not path.is_file():
        role_of(path)  # says what is wrong
    with agent_packages():
        from ..agents.tui import chat as chat_screen
    from .crash_report import warn_in_lines

    warn_in_lines()
    with ExitStack() as stack:

        def opening(tell: Callable[[str], object]) -> Conversation:
            tell("Loading the agent…")
            with agent_packages():
                from ..agents.conversation import Conversation
            role = role_of(path)
            tell(f"Opening the memory of {role.name}…")
            opened = open_agent(role, use_memory=not no_memory, mode=memory_mode, user_id=user_id)
            return Conversation(stack.enter_context(opened))

        for line in chat_screen(opening, resume=resume, report=_tell):
            print(plain(line), file=sys.stderr)


def _tell(line: str) -> None:
    print(plain(line), file=sys.stderr, flush=True)
