"""What a message asks of memory: as a whole, by the cues of commands, or in one of its sentences,
by the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..extraction.vocabulary import vocabulary
from ..text.spoken_commands import READ, Command, Name, command, dismissive, only_courtesies

_READ_AS: Mapping[str, Name] = {
    "forget_topic": "forget_about",
    "remember": "remember_fact",
    "list": "list",
    "forget_last": "forget_last",
    "forget_session": "forget_session",
    "pause": "pause",
    "resume": "resume",
}
_KINDS: Mapping[str, str] = {
    "forget_about": "forget_topic",
    "remember_fact": "remember",
    "remember_rule": "remember",
    "status": "list",
}
# A question in the rest of a message is for the agent.
_ASKS = re.compile(r"[?？](?:\s|$)|[かの][。]?$")


def understood(text: str, words: str = "general") -> Command | None:
    """What an utterance asks of memory: as a whole, or in one of its sentences.

    The write policy's vocabulary knows how people say what is not to be kept, and what is only for
    this moment.
    """
    found = command(text)
    policy = vocabulary(words)
    read = policy.asked(text)
    if read is not None and (found is None or read.kind in READ):
        # "Forget everything I told you today" is about this conversation rather than about all that
        # is known.
        found = Command(_READ_AS.get(read.kind) or "list", read.topic)
    if (
        found is not None
        and found.name.startswith("remember")
        and policy.says("turn_scoped", found.about)
    ):
        return None
    if found is not None or dismissive(text):
        return found
    request = policy.request(text)
    whole = request is not None and request.reach == "this" and only_courtesies(text[request.end :])
    return Command("forget_last") if whole else None


def heard_as(text: str) -> tuple[str, str]:
    """The kind of request that a conversation takes an utterance for, "none" for none, and what it
    is about.
    """
    found = understood(text)
    return (_KINDS.get(found.name, found.name), found.about) if found else ("none", "")


def remaining(text: str, words: str = "general") -> str:
    """What else is asked in a message that asks something of memory; empty where nothing is."""
    read = vocabulary(words).asked(text)
    return read.rest if read is not None and _ASKS.search(read.rest) else ""
