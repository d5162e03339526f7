"""Operations on records, each within a transaction. The files are written when it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from ..errors import Conflict, InvalidInput
from ..ingest import commit, entity_linking
from ..storage.protocol import Transaction
from ..text import frontmatter
from ..text.frontmatter import Document
from ..text.secrets import find_secrets
from ..types import Events, Memory, Micros, Scope, new_id
from . import atomic_files
from .markdown import SECOND, document_of, file_name, patched
from .roots import CATEGORIES, RECORDS, SOURCE, RecordRoot
from .write_back import WAS


@dataclass(frozen=True, kw_only=True)
class Given:
    """Fields given by a caller; None leaves a field unchanged."""

    body: str | None = None
    category: str | None = None
    title: str | None = None
    keywords: Sequence[str] | None = None
    aliases: Sequence[str] | None = None
    source: Mapping[str, Any] | str | None = None
    expires: Micros | Literal["never"] | None = None
    confidence: float | None = None
    evidence: Sequence[Mapping[str, Any] | str] | None = None
    quote: str | None = None

    def over(self, old: Memory | None = None) -> commit.Draft:
        """Return a draft with the given fields, and the old values for the rest."""
        # `redacted` describes the old text; `commit.build` sets it again if need be.
        metadata = (
            {key: value for key, value in old.metadata.items() if key != "redacted"} if old else {}
        )
        had_aliases = list(metadata.get("aliases") or ())
        had_keywords = [tag for tag in old.tags if tag not in had_aliases] if old else []
        aliases = had_aliases if self.aliases is None else _words(self.aliases)
        keywords = had_keywords if self.keywords is None else _words(self.keywords)
        known = {"source": self.source, "evidence": self.evidence, "aliases": aliases}
        metadata |= {key: value for key, value in known.items() if value is not None}
        category = self.category or (old.category if old else "")
        return commit.Draft(
            content=self.body if self.body is not None else old.content if old else "",
            kind=CATEGORIES[category],
            category=category,
            title=self.title if self.title is not None else old.title if old else "",
            valid_until=self._until(old),
            confidence=self.confidence
            if self.confidence is not None
            else old.confidence
            if old
            else 1.0,
            source=SOURCE,
            quote=self.quote if self.quote is not None else old.quote if old else "",
            tags=tuple(dict.fromkeys((*keywords, *aliases))),
            metadata={key: value for key, value in metadata.items() if value},
        )

    def _until(self, old: Memory | None) -> Micros | None:
        if self.expires is None:
            return old.valid_until if old else None
        return None if self.expires == "never" else self.expires


def _words(words: Sequence[str]) -> list[str]:
    if isinstance(words, str):
        raise InvalidInput(f"Keywords and aliases are lists of texts, not {words!r}.")
    return [word for word in map(str.strip, words) if word]


def new(
    given: Given,
    place: RecordRoot,
    *,
    at: Micros,
    max_bytes: int,
) -> Memory:
    """Build a new record, with its id and file name."""
    draft = given.over()
    # Whole seconds, as in the file: otherwise the next sync would see a difference.
    moment = at - at % SECOND
    draft.event_time = moment
    made = commit.build(draft, place.scope, at=moment, max_bytes=max_bytes).with_(
        id=new_id("rec", at)
    )
    return made.with_(metadata={**made.metadata, "file": file_name(made)})


def add(
    tx: Transaction,
    record: Memory,
    *,
    at: Micros,
) -> Memory:
    """Store a new record."""
    added = tx.add(record)
    entity_linking.note(tx, [added], at=at)
    return added


def update(
    tx: Transaction,
    old: Memory,
    given: Given,
    *,
    at: Micros,
    max_bytes: int,
) -> Memory:
    """Update a record; equal values are no change."""
    made = commit.build(given.over(old), old.scope, at=at, max_bytes=max_bytes)
    if "redacted" in old.metadata and given.body is None:
        made = made.with_(metadata={**made.metadata, "redacted": old.metadata["redacted"]})
    told = ("title", "tags", "valid_until", "confidence", "quote", "metadata")
    wanted = {
        name: getattr(made, name) for name in told if getattr(made, name) != getattr(old, name)
    }
    if made.content == old.content and not wanted:
        return old
    moment = max(at - at % SECOND, old.updated_at)
    if made.content == old.content:
        return tx.change(old, **wanted, updated_at=moment)
    again = commit.rewrite(tx, old, old.with_(content=made.content, updated_at=moment, **wanted))
    entity_linking.note(tx, [again], at=at)
    return again


def reclassify(
    tx: Transaction,
    old: Memory,
    category: str,
    *,
    at: Micros,
) -> Memory:
    """Move a record to another category."""
    if old.category == category:
        return old
    name = PurePosixPath(str(old.metadata["file"])).name
    metadata = {**old.metadata, "file": f"{RECORDS}/{category}/{name}"}
    return tx.change(
        old,
        category=category,
        kind=CATEGORIES[category],
        metadata=metadata,
        updated_at=max(at, old.updated_at),
    )


def move(
    tx: Transaction,
    old: Memory,
    place: RecordRoot,
    places: Sequence[RecordRoot],
    *,
    at: Micros,
) -> Memory:
    """Move a record to another place under the same id. Links within the old place are dropped.

    Raises Conflict if the id is taken there.
    """
    if old.scope == place.scope:
        return old
    if tx.memory(place.scope, old.id) is not None:
        raise Conflict(f"There is a record {old.id} in {place.scope} already. Nothing was moved.")
    moved = old.with_(scope=place.scope, seq=0, updated_at=max(at - at % SECOND, old.updated_at))
    document = _own_text(old, places)
    if document is not None:
        moved = moved.with_(
            metadata={**old.metadata, WAS: patched(document, old, moved, place).text}
        )
    delete(tx, old, places)
    return add(tx, moved, at=at)


def delete(
    tx: Transaction,
    old: Memory,
    places: Sequence[RecordRoot],
) -> Memory:
    """Delete a record. The journal keeps it, with its file's text where that has more."""
    document = _own_text(old, places)
    if document is not None:
        tx.change(old, metadata={**old.metadata, WAS: document.text})
    tx.remove(old)
    return old


def undo(
    tx: Transaction,
    scopes: Sequence[Scope],
    run: str,
) -> Events:
    """Undo a run. Deleted records get back the text of their files, so that they can be
    rewritten.
    """
    events = tx.undo(scopes, run)
    for event in events:
        metadata = (
            json.loads((event.before or {}).get("metadata") or "{}")
            if event.noun == "memory"
            else {}
        )
        back = (
            tx.memory(event.scope, event.target)
            if event.after is None and WAS in metadata
            else None
        )
        if back is not None:
            tx.change(back, metadata={**back.metadata, WAS: metadata[WAS]})
    return events


def _own_text(record: Memory, places: Sequence[RecordRoot]) -> Document | None:
    """Return a record's file if it has more than the memory, and contains no secret."""
    place = next((place for place in places if place.scope == record.scope), None)
    content = atomic_files.read(place.root / str(record.metadata["file"])) if place else None
    if place is None or content is None:
        return None
    text = frontmatter.decode(content.bytes)
    return (
        None
        if text == document_of(record, place).text or find_secrets(text)
        else frontmatter.split(text)
    )
