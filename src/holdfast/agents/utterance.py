"""Memory requests in an utterance: as a whole by command cues, or in one sentence by grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..extraction.vocabulary import vocabulary
from ..text.memory_requests import is_about_memory
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
    """Parse the memory request of an utterance, as a whole or in one of its sentences.

    The vocabulary of the write policy knows phrases for what must not be stored and what is
    temporary.
    """
    found = command(text)
    policy = vocabulary(words)
    read = policy.asked(text)
    exact = found is not None and found.name.startswith("recall")
    if read is not None and not exact and (found is None or read.kind in READ):
        # "Forget everything I told you today" means this conversation, not everything that is
        # known.
        found = Command(_READ_AS.get(read.kind) or "list", read.topic)
    if found is not None and found.name.startswith("remember") and policy.says("turn_scoped", text):
        return None
    if found is not None and found.name == "forget_about" and read is None:
        return found if is_about_memory(text) else None
    if found is not None or dismissive(text) or not is_about_memory(text):
        return found
    request = policy.request(text)
    whole = request is not None and request.reach == "this" and only_courtesies(text[request.end :])
    return Command("forget_last") if whole else None


def heard_as(text: str) -> tuple[str, str]:
    """Intent of an utterance, "none" for none, and its subject."""
    found = understood(text)
    return (_KINDS.get(found.name, found.name), found.about) if found else ("none", "")


def remaining(text: str, words: str = "general") -> str:
    """Rest of a message that also contains a memory request; empty without one."""
    read = vocabulary(words).asked(text)
    return read.rest if read is not None and _ASKS.search(read.rest) else ""
