"""What is in an InitRunner database, in the shapes of this package."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw
import numpy as np
import sqlite_vec

from ...agents.initrunner import ROOT
from ...agents.role_memory import RoleMemory
from ...errors import Nothing, TooLarge
from ...extraction.episodes import EXTRACTED
from ...floats import Vector
from ...ingest import commit
from ...ingest.commit import Draft
from ...ingest.sanitize import guard_data
from ...types import ID_PREFIXES, MAIN_KINDS, Kind, Memory, Micros, from_iso, new_id
from .histories import UNREADABLE, OldConversation, read_history
from .row_types import loaded, rows
from .warnings_text import Remarks

Progress = Callable[[int], None]
SOURCE = ROOT
# Of vectors in files that do not say how long theirs are.
OLD_DIMENSIONS = 1536
_KINDS: Mapping[str, Kind] = {str(layer): kind for layer, kind in MAIN_KINDS.items()}
_LONGEST_CATEGORY = 200


class OldMemory(NamedTuple):
    """A memory of the database: its number there, what it becomes here, and whether its words came
    along unchanged.
    """

    number: int
    memory: Memory
    verbatim: bool


class Database:
    """An open database. What cannot be used as it is gets a remark; a text over the limit is
    TooLarge.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        memory: RoleMemory,
        remarks: Remarks,
        progress: Progress,
    ) -> None:
        self._connection = connection
        self._progress = progress
        self.remarks = remarks
        self._scope = memory.scope
        self._max_bytes = memory.settings.max_content_bytes
        self._now = memory.clock()
        self.blank = 0
        """How many memories without text have been met."""
        meta = {key: value for _, key, value in rows(connection, "store_meta", "key", "value")}
        self.model = (meta.get("embedding_model") or "").strip()
        length = meta.get("dimensions") or ""
        self._dimensions = int(length) if length.isdecimal() else OLD_DIMENSIONS

    def _time(self, text: str | None, row: str) -> Micros | None:
        """A time of a row, or None when it cannot be read."""
        try:
            return from_iso((text or "").strip())
        except (ValueError, OverflowError):
            self.remarks.note("Times that cannot be read became the time of this import, of", row)
            return None

    # Memories

    def memories(self) -> list[OldMemory]:
        """The memories, oldest first."""
        columns = (
            "content",
            "category",
            "created_at",
            "memory_type",
            "metadata_json",
            "consolidated_at",
        )
        found = []
        for number, *values in rows(self._connection, "memories", *columns):
            if (old := self._memory(number, *values)) is not None:
                found.append(old)
            self._progress(1)
        return sorted(found, key=lambda one: (one.memory.created_at, one.number))

    def _memory(
        self,
        number: int,
        content: str | None,
        category: str | None,
        created_at: str | None,
        type_: str | None,
        metadata: str | None,
        consolidated_at: str | None,
    ) -> OldMemory | None:
        """What a row becomes; None when there is no text in it."""
        row = f"memory {number}"
        said = content or ""
        if not said.strip():
            self._leave_out(number)
            return None
        created = self._time(created_at, row)
        draft = Draft(
            content=said,
            kind=self._kind(number, type_),
            category=self._category(number, category),
            source=SOURCE,
            trust="agent",
            metadata=self._metadata(number, metadata),
        )
        try:
            built = commit.build(
                draft,
                self._scope,
                at=self._now if created is None else created,
                max_bytes=self._max_bytes,
            )
        except Nothing:
            self._leave_out(number)
            return None
        except TooLarge as error:
            raise TooLarge(f"{row.capitalize()} cannot be imported: {error}") from error
        if built.metadata.get("redacted") != draft.metadata.get("redacted"):
            self.remarks.note("Secrets were taken out of memories", number)
        read = self._read_at(row, consolidated_at)
        id_ = _id(built.kind, created or 0, number, said)
        return OldMemory(number, built.with_(id=id_, **read), built.content == said.strip())

    def _leave_out(self, number: int) -> None:
        self.blank += 1
        self.remarks.note("Memories without text were left out", number)

    def _kind(self, number: int, type_: str | None) -> Kind:
        kind = _KINDS.get(type_ or "semantic")
        if kind is None:
            self.remarks.note(
                "Memories of unknown type were taken as semantic", f"{number} ({type_})"
            )
        return kind or "fact"

    def _category(self, number: int, category: str | None) -> str:
        line = " ".join((category or "").split())
        if len(line) > _LONGEST_CATEGORY:
            self.remarks.note(
                f"Categories were cut to {_LONGEST_CATEGORY} characters, of memories", number
            )
        return line[:_LONGEST_CATEGORY]

    def _metadata(self, number: int, text: str | None) -> dict[str, Any]:
        try:
            found = loaded(text or "null") or {}
            if isinstance(found, dict):
                return dict(guard_data(found, name="metadata"))
        except (ValueError, RecursionError):
            pass
        self.remarks.note("Metadata that is no JSON object was left out, of memories", number)
        return {}

    def _read_at(self, row: str, text: str | None) -> dict[str, Any]:
        """When consolidation was over it, as fields; with an unreadable time it was there all the
        same.
        """
        if not text:
            return {}
        at = self._time(text, row)
        return {"consolidated_at": self._now if at is None else at, "outcome": EXTRACTED}

    # Conversations

    def conversations(self) -> list[OldConversation]:
        """The conversations that have messages, in the order in which they were first saved."""
        found: dict[tuple[str, str], OldConversation] = {}
        columns = ("session_id", "agent_name", "timestamp", "messages_json")
        for number, session, agent, timestamp, messages in rows(
            self._connection, "sessions", *columns
        ):
            self._progress(1)
            try:
                history = read_history(session, agent or "", messages)
            except UNREADABLE:
                self.remarks.note("Saved histories that cannot be read were left out, rows", number)
                continue
            read = self._time(timestamp, f"saved history {number}")
            at = self._now if read is None else read
            key = (session, agent or "")
            found.setdefault(key, OldConversation(*key, at, at)).add(history, at)
        return [one for one in found.values() if one.messages]

    # Vectors

    def vectors(self) -> Iterator[tuple[int, bytes]]:
        """Memories by their numbers, and their vectors as bytes."""
        if not self._connection.execute(
            "SELECT 1 FROM sqlite_schema WHERE name = 'memories_vec'"
        ).fetchall():
            return
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.enable_load_extension(False)
        for number, vector in self._connection.execute("SELECT rowid, embedding FROM memories_vec"):
            yield int(str(number)), vector if isinstance(vector, bytes) else b""

    def vector(self, number: int, packed: bytes) -> Vector | None:
        """The vector of a memory; None, and a remark, when it is none."""
        vector = _unit(packed, self._dimensions)
        if vector is None:
            self.remarks.note(
                "Vectors of another length, of zeros or not finite were left out, of memories",
                number,
            )
        return vector


def _id(
    kind: Kind,
    created_at: Micros,
    number: int,
    content: str,
) -> str:
    """The id of a memory: the same at each import, and in the order of creation like any other."""
    digest = hashlib.sha256(f"{number}\n{content}".encode()).hexdigest()[:16]
    # In place of the eight that are chance.
    return new_id(ID_PREFIXES[kind], created_at)[:-8] + digest


def _unit(packed: bytes, dimensions: int) -> Vector | None:
    """A vector of length one; None for one of another size, of zeros, or with values that are not
    finite.
    """
    if not packed or len(packed) != 4 * dimensions:
        return None
    # Wide enough for the square of any float32.
    vector = np.frombuffer(packed, "<f4").astype(np.float64)
    length = float(np.linalg.norm(vector))
    if not length or not np.isfinite(length):
        return None
    return (vector / length).astype(np.float32)
