"""Databases as InitRunner leaves them behind: the older kind without types of memory (v0), and the
newer one (v1).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec

MODEL = "openai:text-embedding-3-small"
DIMENSIONS = 4
EARLY = "2025-06-01T10:00:00+00:00"
_SESSIONS = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, agent_name TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    messages_json TEXT NOT NULL)
"""
_MEMORIES = """
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT, category TEXT NOT NULL DEFAULT 'general',
    created_at TEXT NOT NULL{more})
"""
_TYPED = ", memory_type TEXT NOT NULL DEFAULT 'semantic', metadata_json TEXT, consolidated_at TEXT"


class OldDatabase:
    """A database of InitRunner at `path`; `connection` is open until `close`."""

    def __init__(
        self,
        path: Path,
        *,
        version: int = 1,
        model: str | None = MODEL,
        dimensions: int | None = DIMENSIONS,
        vectors: bool = True,
        log: bool = False,
    ) -> None:
        """`dimensions` None leaves out what the file says of them, and vectors are as long as they
        then are.
        """
        self.path, self._version = path, version
        self.connection = apsw.Connection(str(path))
        if log:
            self.connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        self.connection.execute(_SESSIONS)
        self.connection.execute(_MEMORIES.format(more=_TYPED if version else ""))
        meta = {"dimensions": dimensions, "embedding_model": model}
        if said := {key: str(value) for key, value in meta.items() if value is not None}:
            self.connection.execute(
                "CREATE TABLE store_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
            )
            self.connection.executemany("INSERT INTO store_meta VALUES (?, ?)", said.items())
        if vectors:
            self._make_vectors(dimensions or 1536)

    def _make_vectors(self, dimensions: int) -> None:
        self.connection.enable_load_extension(True)
        self.connection.load_extension(sqlite_vec.loadable_path())
        self.connection.enable_load_extension(False)
        self.connection.execute(
            f"CREATE VIRTUAL TABLE memories_vec USING vec0(embedding float[{dimensions}])"
        )

    def memory(
        self,
        content: str | None,
        *,
        id: int | None = None,
        category: str = "general",
        created_at: str = EARLY,
        type_: str = "semantic",
        metadata: Any = None,
        consolidated_at: str | None = None,
        vector: Sequence[float] | None = None,
    ) -> int:
        """Adds a memory and returns its number; `metadata` that is text goes in as it is."""
        values: dict[str, Any] = {
            "id": id,
            "content": content,
            "category": category,
            "created_at": created_at,
        }
        if self._version:
            text = (
                metadata if metadata is None or isinstance(metadata, str) else json.dumps(metadata)
            )
            values |= {
                "memory_type": type_,
                "metadata_json": text,
                "consolidated_at": consolidated_at,
            }
        self.connection.execute(
            f"INSERT INTO memories ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
            tuple(values.values()),
        )
        number = self.connection.last_insert_rowid()
        if vector is not None:
            packed = np.asarray(vector, "<f4").tobytes()
            self.connection.execute(
                "INSERT INTO memories_vec (rowid, embedding) VALUES (?, ?)", (number, packed)
            )
        return number

    def session(
        self,
        session: str,
        messages: Sequence[Mapping[str, Any]] | str,
        *,
        agent: str = "assistant",
        at: str = EARLY,
    ) -> None:
        """Saves a history; text goes in as it is."""
        text = messages if isinstance(messages, str) else json.dumps(messages)
        sql = (
            "INSERT INTO sessions (session_id, agent_name, timestamp, messages_json) VALUES (?, "
            "?, ?, ?)"
        )
        self.connection.execute(sql, (session, agent, at, text))

    def close(self) -> Path:
        """Closes it and says where it is."""
        self.connection.close()
        return self.path
