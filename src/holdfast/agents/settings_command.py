"""What `/settings` shows and switches from inside a conversation: memory, recall, and the memory of
the project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .memory_commands import GUEST

if TYPE_CHECKING:
    from .conversation import Conversation

USAGE = """\
/settings                        what is on and what is off
/settings memory on|off          whether anything of this conversation is kept
/settings recall on|off          whether memories are brought up unasked
/settings project memory on|off  whether past sessions of this project are read, and told to the agent"""


class Switch(NamedTuple):
    """Something that can be on or off: whether it is, how it is set, and what that means for
    whom.
    """

    title: str
    is_on: Callable[[], bool]
    set_to: Callable[[bool], str]


def switches(conversation: Conversation) -> Mapping[str, Switch]:
    """The switches of a conversation that has a memory, by name."""
    memory = conversation.agent.memory
    control = conversation.control
    project = conversation.project
    assert memory is not None
    return {
        "memory": Switch("memory of this conversation", lambda: not memory.paused, control.keep),
        "recall": Switch("recall unasked", lambda: not memory.recall_is_off, control.recall),
        "project memory": Switch(
            "memory of this project", lambda: project.enabled and project.is_on, project.switch
        ),
    }


def settings(conversation: Conversation, rest: str) -> str:
    """The reply to `/settings …`."""
    memory = conversation.agent.memory
    if memory is None or memory.incognito:
        return GUEST
    known = switches(conversation)
    words = rest.lower().replace("-", " ").split()
    if not words:
        told = [
            f"{one.title}: {'on' if one.is_on() else 'off'} (/settings {name} on|off)"
            for name, one in known.items()
        ]
        return "\n".join(told)
    *name, wanted = words
    switch = known.get(" ".join(name))
    if switch is None or wanted not in ("on", "off"):
        return USAGE
    return switch.set_to(wanted == "on")
