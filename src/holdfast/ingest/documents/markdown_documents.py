"""Tickets and notes: detect a file's format and turn its pieces into memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import InvalidInput, Nothing
from ...types import Memories, Micros, Scope
from .. import commit
from ..commit import Draft
from .tickets import Piece, markdown, tickets
from .upsert import SOURCE, fixed_id, key_of

TEXTS = frozenset((".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".org", ".adoc"))
TICKETS = frozenset((".json",))
# a longer text is data: nobody wrote it, and nobody would read what recall brings up of it
MOST_BYTES = 5_000_000


def pieces(path: Path, data: bytes) -> list[Piece]:
    """The pieces of a file. Raises InvalidInput with the reason if it cannot be indexed."""
    suffix = path.suffix.lower()
    if suffix not in TEXTS | TICKETS:
        raise InvalidInput(
            "it is no transcript, and neither Markdown, plain text nor JSON by its name"
        )
    if b"\0" in data[:8192]:
        raise InvalidInput("it is a binary file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("it is not UTF-8 text") from None
    text = text.replace("\r\n", "\n")
    if suffix in TICKETS:
        return tickets(text)
    return markdown(text, name=path.stem)


def memories(
    found: Sequence[Piece],
    name: str,
    scope: Scope,
    *,
    written: Micros,
    at: Micros,
    max_bytes: int,
) -> Memories:
    """The pieces of file `name` as memories in order; `written` is the default date."""
    made: Memories = []
    again: Counter[str] = Counter()
    for piece in found:
        draft = Draft(
            content=piece.text,
            kind="document",
            category=piece.category,
            title=piece.title,
            session=key_of(name),
            event_time=written if piece.at is None else piece.at,
            source=SOURCE,
            tags=piece.tags,
            metadata={"at": {"path": name, "lines": list(piece.lines)}},
        )
        # Nothing but what memory itself had injected.
        with suppress(Nothing):
            one = commit.build(draft, scope, at=at, max_bytes=max_bytes)
            id_ = fixed_id("document", name, one.content, again[one.content])
            again[one.content] += 1
            made.append(one.with_(id=id_, position=len(made)))
    return made
