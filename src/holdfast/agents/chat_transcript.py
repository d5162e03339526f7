"""What was said, here and in earlier conversations with the same agent: searched, summed up,
written to a file.
"""

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
# results of each sort, and characters of each
FOUND = 10
WIDTH = 200
# Of turns that are read and never stored.
_HERE = Scope("user", "conversation")


def search(memory: RoleMemory | None, said: Sequence[message_history.Body], rest: str) -> str:
    """What was said, what is remembered, or both, about some words; the words may have one of
    `SORTS` before them.
    """
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
    hits = (
        memory.hf.recall(clean(words), limit=FOUND) if memory is not None and memory.exists else []
    )
    # A nearest memory there always is; that alone does not make it one about these words.
    every = (hit.memory for hit in fitting(hits))
    return [
        f"#{one.seq} [{one.layer}:{one.category}] {shorten(one.content, WIDTH)}" for one in every
    ]


def _in_history(
    memory: RoleMemory | None, said: Sequence[message_history.Body], words: str
) -> list[str]:
    """What has most of the words, the latest first."""
    terms = set(query_terms(words))
    shared = [(len(terms & set(index_terms(text))), line) for line, text in _uttered(memory, said)]
    most = max((count for count, _ in shared), default=0)
    return [line for count, line in shared if most and count == most][:FOUND]


def _uttered(
    memory: RoleMemory | None, said: Sequence[message_history.Body]
) -> Iterator[tuple[str, str]]:
    """What was said, the latest first: each as a line for a person, and the words themselves."""
    if memory is None or not memory.exists:
        yield from (
            (f"{who}: {shorten(text, WIDTH)}", text)
            for who, text in reversed(list(message_history.said(said)))
        )
        return
    for session in message_history.of_agent(memory.hf, memory.role.name):
        for message in reversed(memory.hf.messages(session.id)):
            at = iso(message.created_at)[:16].replace("T", " ")
            for who, text in reversed(list(message_history.said([message.body]))):
                yield f"{at} {who}: {shorten(text, WIDTH)}", text


def summary(memory: RoleMemory | None, said: Sequence[message_history.Body]) -> str:
    """What this conversation was about so far, by the role's model or without one; nothing of it is
    stored.
    """
    turns = [
        Memory(f"said_{number}", _HERE, "turn", text, 0, 0, 0, role=who)
        for number, (who, text) in enumerate(message_history.said(said))
    ]
    scripted = memory is None or memory.role.spec.model.provider == OFFLINE
    model = None if memory is None or scripted else metered(memory.hf, memory.complete)
    told = summarise_session(
        turns, vocabulary(memory.settings.vocabulary if memory else "general"), model
    )
    if told is None:
        return TOO_LITTLE
    lists = {"Themes": told.themes, "Settled": told.resolved, "Left open": told.open_loops}
    return "\n".join(
        (
            told.summary,
            *(f"{name}: {'; '.join(listed)}" for name, listed in lists.items() if listed),
        )
    )


def export(agent: str, session: str, said: Sequence[message_history.Body], file: str) -> str:
    """Writes a conversation as Markdown into a new file, by default one with the session's name;
    says where.

    InvalidInput where that cannot be: a file that is there is never written over.
    """
    every = list(message_history.said(said))
    if not every:
        raise InvalidInput("Nothing was said yet, so there is nothing to write.")
    path = Path(file).expanduser() if file else Path(f"{session}.md")
    text = "\n\n".join(
        (f"# A conversation with {agent}", *(f"**{who}**: {words.strip()}" for who, words in every))
    )
    try:
        with os.fdopen(
            os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
        ) as out:
            out.write(f"{text}\n")
    except FileExistsError as error:
        raise InvalidInput(
            f"{path} is there already. Nothing was written; name another file."
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    return f"Wrote {counted(len(every), 'message')} to {path}."
