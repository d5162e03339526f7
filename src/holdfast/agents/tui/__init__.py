"""Full-screen chat in the terminal.

What a memory or a model says is text and nothing else here: it cannot style the screen, steer the
terminal, or put a link under words that say something else.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import HoldfastError
from ..conversation import Conversation
from .chat_app import ENDING, ChatApp


def chat(
    conversation: Conversation, *, told: Callable[[str], object] = lambda line: None
) -> list[str]:
    """Talks on a screen until the person has enough, then ends the session: lines for the person
    come back.

    The session ends once, however the screen did, and after it has closed: that may take a while,
    and can then be interrupted like any command. `told` hears that it begins. Whoever wants another
    session gets a new screen.
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
            told(ENDING)
            lines += conversation.end()
        if app.return_code:
            raise HoldfastError(
                "The screen failed, for the reason above. What was said until then is kept."
            )
        following += [app.following] if app.following else []
    return lines
