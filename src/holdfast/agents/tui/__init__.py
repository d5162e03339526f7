"""Full-screen chat in the terminal.

Text of memories and models is shown literally: it cannot style the screen, control the terminal, or
hide a link behind other words.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import HoldfastError
from ..conversation import Conversation
from .chat_app import ENDING, ChatApp


def chat(
    conversation: Conversation, *, report: Callable[[str], object] = lambda line: None
) -> list[str]:
    """Run the chat until the user quits, then end the session; returns lines for the user.

    The session ends exactly once, after the screen has closed: it may take a while and can be
    interrupted. `report` is called with a message when it begins. Another session gets a new
    screen.
    """
    lines = list[str]()
    following = [conversation]
    while following:
        conversation = following.pop()
        conversation.project.begin()
        app = ChatApp(conversation)
        try:
            app.run()
        finally:
            report(ENDING)
            lines += conversation.end()
        if app.return_code:
            raise HoldfastError(
                "The screen failed, for the reason above. All messages until then are saved."
            )
        following += [app.following] if app.following else []
    return lines
