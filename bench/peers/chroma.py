"""Chroma: one collection an owner in a persistent client, cosine distance, vectors of the shared
model. With --dates each text begins with the day on which it was said.
"""

from __future__ import annotations

import sys
from typing import Any

import chromadb
from chromadb.config import Settings
from wire import Asked, Turn, embed, serve

BATCH = 500
TEXT = "dated" if "--dates" in sys.argv else "text"


class Chroma:
    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        settings = Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(f"{start['folder']}/chroma", settings=settings)

    def add(self, owner: str, turns: list[Turn]) -> None:
        collection = self._collection(owner)
        for first in range(0, len(turns), BATCH):
            some = turns[first : first + BATCH]
            texts = [turn[TEXT] for turn in some]
            collection.add(
                ids=[turn["key"] for turn in some],
                documents=texts,
                embeddings=embed(self._start, texts),
            )

    def ask(self, owner: str, asked: Asked) -> list[str]:
        vectors = embed(self._start, [asked["text"]], asked=True)
        return self._collection(owner).query(query_embeddings=vectors, n_results=asked["limit"])[
            "ids"
        ][0]

    def _collection(self, owner: str) -> chromadb.Collection:
        return self._client.get_or_create_collection(
            owner, metadata={"hnsw:space": "cosine"}, embedding_function=None
        )


if __name__ == "__main__":
    serve(Chroma, "chromadb")
