"""Full-screen chat in the terminal.

Text of memories and models is shown literally: it cannot style the screen, control the terminal, or
hide a link behind other words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import HoldfastError
from .chat_app import ENDING, ChatApp, Opening

if TYPE_CHECKING:
    from ..conversation import Conversation


def chat(
    opening: Opening,
    *,
    resume: bool = False,
    report: Callable[[str], object] = lambda line: None,
) -> list[str]:
    """Run the chat until the user quits, then end the session; returns lines for the user.

    `opening` opens the conversation while the screen is already there. The session ends exactly
    once, after the screen has closed: it may take a while and can be interrupted. `report` is
    called with a message when it begins. Another session gets a new screen.
    """
    lines = list[str]()
    apps = [ChatApp(opening, resume=resume)]
    while apps:
        app = apps.pop()
        try:
            app.run()
        finally:
            if app.conversation is not None:
                report(ENDING)
                lines += app.conversation.end()
        if app.failure:
            raise app.failure
        if app.return_code:
            raise HoldfastError(
                "The screen failed, for the reason above. All messages until then are saved."
            )
        if following := app.following:
            apps.append(ChatApp(_open_already(following)))
    return lines


def _open_already(conversation: Conversation) -> Opening:
    """Opening of a conversation that needs none."""
    return lambda tell: conversation
