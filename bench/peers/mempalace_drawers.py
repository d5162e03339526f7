"""MemPalace: one wing an owner, each text a drawer, its own hybrid search over vectors of the
shared model.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from wire import Asked, Turn, serve

BATCH = 500


class MemPalace:
    def __init__(self, start: dict[str, Any]) -> None:
        os.environ |= {
            "HOME": start["folder"],  # its configuration is kept there
            "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
            "MEMPALACE_EMBEDDING_API_URL": start["embeddings"],
            "MEMPALACE_EMBEDDING_API_MODEL": start["model"],
            "MEMPALACE_EMBEDDING_API_KEY": "unused",
        }
        from mempalace.palace import get_collection
        from mempalace.searcher import search_memories

        self._search = search_memories
        self._palace = f"{start['folder']}/palace"
        self._drawers = get_collection(self._palace)

    def add(self, owner: str, turns: list[Turn]) -> None:
        for first in range(0, len(turns), BATCH):
            some = turns[first : first + BATCH]
            self._drawers.upsert(
                ids=[f"{owner} {turn['key']}" for turn in some],
                documents=[turn["text"] for turn in some],
                metadatas=[_drawer(owner, turn) for turn in some],
            )

    def ask(self, owner: str, asked: Asked) -> list[str]:
        found = self._search(asked["text"], self._palace, wing=owner, n_results=asked["limit"])
        if "error" in found:
            raise RuntimeError(found["error"])
        return [hit["source_file"] for hit in found["results"]]


def _drawer(owner: str, turn: Turn) -> dict[str, Any]:
    return {
        "wing": owner,
        "room": turn["session"],
        "source_file": turn["key"],
        "chunk_index": 0,
        "added_by": "bench",
        "filed_at": datetime.fromtimestamp(turn["event_time"] / 1e6, UTC).isoformat(),
    }


if __name__ == "__main__":
    serve(MemPalace, "mempalace", "chromadb")
