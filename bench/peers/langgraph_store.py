"""LangGraph's InMemoryStore with a vector index: one namespace an owner, vectors of the shared
model.
"""

from __future__ import annotations

from typing import Any

from langgraph.store.memory import InMemoryStore
from wire import Asked, Turn, embed, serve


class LangGraph:
    def __init__(self, start: dict[str, Any]) -> None:
        index = {
            "dims": start["dimensions"],
            "embed": lambda texts: embed(start, list(texts)),
            "fields": ["text"],
        }
        self._store = InMemoryStore(index=index)

    def add(self, owner: str, turns: list[Turn]) -> None:
        for turn in turns:  # one by one: a batch in which a text occurs twice is refused
            self._store.put((owner,), turn["key"], {"text": turn["text"]})

    def ask(self, owner: str, asked: Asked) -> list[str]:
        return [
            item.key
            for item in self._store.search((owner,), query=asked["text"], limit=asked["limit"])
        ]


if __name__ == "__main__":
    serve(LangGraph, "langgraph", "langgraph-checkpoint")
