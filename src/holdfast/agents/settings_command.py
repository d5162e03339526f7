"""`/settings` in a conversation: memory, proactive recall, and project memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .memory_commands import GUEST

if TYPE_CHECKING:
    from .conversation import Conversation

USAGE = """\
/settings                        show all switches
/settings memory on|off          store this conversation
/settings recall on|off          proactive recall
/settings project memory on|off  build and use the memory of this project"""


class Switch(NamedTuple):
    """A switch: its title, state, setter and effect."""

    title: str
    is_on: Callable[[], bool]
    set_to: Callable[[bool], str]


def switches(conversation: Conversation) -> Mapping[str, Switch]:
    """Switches of a conversation with memory, by name."""
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
    """Answer `/settings …`."""
    memory = conversation.agent.memory
    if memory is None or memory.incognito:
        return GUEST
    known = switches(conversation)
    words = rest.lower().replace("-", " ").split()
    if not words:
        lines = []
        for title, one in known.items():
            state = "on" if one.is_on() else "off"
            lines.append(f"{one.title}: {state} (/settings {title} on|off)")
        return "\n".join(lines)
    *name, wanted = words
    switch = known.get(" ".join(name))
    if switch is None or wanted not in ("on", "off"):
        return USAGE
    return switch.set_to(wanted == "on")
