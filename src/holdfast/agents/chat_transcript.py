"""Transcripts of conversations with an agent: search, summary, export."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..context.brief import fitting
from ..errors import InvalidInput
from ..extraction.summaries import summarise_session
from ..extraction.vocabulary import vocabulary
from ..ingest.sanitize import clean
from ..model_access import metered
from ..text.terminal import counted, shorten
from ..text.tokens import index_terms, query_terms
from ..types import Memory, Scope, iso
from . import message_history
from .role import OFFLINE
from .role_memory import RoleMemory

SORTS = ("history", "memory", "all")
USAGE = "Usage: /search [history|memory|all] WORDS"
NOTHING = "Nothing was found."
TOO_LITTLE = "There is not enough yet to sum up."
# Results per kind, and characters per result.
FOUND = 10
WIDTH = 200
# Scope for turns that are read and never stored.
_HERE = Scope("user", "conversation")


def search(
    memory: RoleMemory | None,
    said: Sequence[message_history.Body],
    rest: str,
) -> str:
    """Search transcripts, memories or both; the words may start with one of `SORTS`."""
    sort, _, words = rest.partition(" ")
    if sort not in SORTS:
        sort = "all"
        words = rest
    if not words.strip():
        return USAGE
    said_of_it = "" if sort == "memory" else _titled("Said:", _in_history(memory, said, words))
    known_of_it = "" if sort == "history" else _titled("Remembered:", _in_memory(memory, words))
    return "\n\n".join(filter(None, (said_of_it, known_of_it))) or NOTHING


def _titled(title: str, lines: Sequence[str]) -> str:
    return "\n".join((title, *lines)) if lines else ""


def _in_memory(memory: RoleMemory | None, words: str) -> list[str]:
    if memory is None or not memory.exists:
        return []
    hits = memory.hf.recall(clean(words), limit=FOUND)
    # There is always a nearest memory; it need not be about these words.
    every = (hit.memory for hit in fitting(hits))
    return [
        f"#{one.seq} [{one.layer}:{one.category}] {shorten(one.content, WIDTH)}" for one in every
    ]


def _in_history(
    memory: RoleMemory | None,
    said: Sequence[message_history.Body],
    words: str,
) -> list[str]:
    """Messages with the most matching words, latest first."""
    terms = set(query_terms(words))
    shared = []
    for line, text in _uttered(memory, said):
        shared.append((len(terms & set(index_terms(text))), line))
    most = max((count for count, _ in shared), default=0)
    if not most:
        return []
    return [line for count, line in shared if count == most][:FOUND]


def _uttered(
    memory: RoleMemory | None, said: Sequence[message_history.Body]
) -> Iterator[tuple[str, str]]:
    """Messages, latest first: each as a line to show, and its text."""
    if memory is None or not memory.exists:
        for who, text in reversed(list(message_history.said(said))):
            yield f"{who}: {shorten(text, WIDTH)}", text
        return
    for session in message_history.of_agent(memory.hf, memory.role.name):
        for message in reversed(memory.hf.sessions.messages(session.id)):
            at = iso(message.created_at)[:16].replace("T", " ")
            for who, text in reversed(list(message_history.said([message.body]))):
                yield f"{at} {who}: {shorten(text, WIDTH)}", text


def summary(memory: RoleMemory | None, said: Sequence[message_history.Body]) -> str:
    """Summarise this conversation so far, with the role's model or without one. Stores nothing."""
    turns = [
        Memory(f"said_{number}", _HERE, "turn", text, 0, 0, 0, role=who)
        for number, (who, text) in enumerate(message_history.said(said))
    ]
    scripted = memory is None or memory.role.spec.model.provider == OFFLINE
    model = None if memory is None or scripted else metered(memory.hf, memory.complete)
    arc = summarise_session(
        turns,
        vocabulary(memory.settings.vocabulary if memory else "general"),
        model,
    )
    if arc is None:
        return TOO_LITTLE
    lists = {
        "Themes": arc.themes,
        "Decided": arc.decided,
        "Settled": arc.resolved,
        "Left open": arc.open_loops,
    }
    lines = [arc.summary]
    for name, items in lists.items():
        if items:
            lines.append(f"{name}: {'; '.join(items)}")
    return "\n".join(lines)


def export(
    agent: str,
    session: str,
    said: Sequence[message_history.Body],
    file: str,
) -> str:
    """Export a conversation as Markdown to a new file, by default named after the session; return a
    message.

    Raises InvalidInput if the file exists or cannot be written.
    """
    every = list(message_history.said(said))
    if not every:
        raise InvalidInput("The conversation is empty, so there is nothing to write.")
    path = Path(file).expanduser() if file else Path(f"{session}.md")
    text = "\n\n".join(
        (f"# A conversation with {agent}", *(f"**{who}**: {words.strip()}" for who, words in every))
    )
    try:
        # O_EXCL refuses an existing file without a race; the transcript is private.
        with os.fdopen(
            os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
        ) as out:
            out.write(f"{text}\n")
    except FileExistsError as error:
        raise InvalidInput(
            f"{path} already exists. Nothing was written; name another file."
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    return f"Wrote {counted(len(every), 'message')} to {path}."
