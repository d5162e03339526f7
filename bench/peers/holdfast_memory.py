"""Holdfast beside its peers: the same texts, the same endpoint for vectors, the same questions.

    python bench/peers/holdfast_memory.py [--plain]

As it is used, it is given turns: who spoke, in which session, when. With `--plain` it is given the
same strings as the others and nothing else.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from wire import Asked, Turn, embed, serve

from holdfast import Holdfast, Settings
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.embeddings.static import StaticEmbedder
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage import open_store
from holdfast.types import Micros, Scope


class Shared:
    """The better local model, as the endpoint serves it."""

    quick = False
    dimensions = OnnxEmbedder.dimensions

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self.identity = OnnxEmbedder().identity

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        return np.asarray(embed(self._start, list(texts)), dtype=np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        return np.asarray(embed(self._start, [text], asked=True), dtype=np.float32).ravel()


class Ours:
    def __init__(self, start: dict[str, Any], *, plain: bool) -> None:
        self._plain = plain
        tiers = Tiers.of(StaticEmbedder(), Shared(start))
        self._now = 0
        store = open_store(f"{start['folder']}/memory.db", clock=self._clock)
        self._memory = Holdfast(
            store, (Scope("project", "bench"),), settings=Settings(), tiers=tiers, clock=self._clock
        )
        self._keys: dict[str, list[str]] = {}

    def add(self, owner: str, turns: list[Turn]) -> None:
        self._now = max(turn["event_time"] for turn in turns)
        memory = self._memory.scoped(f"project:{owner}")
        stored = (
            memory.remember_many([turn["text"] for turn in turns])
            if self._plain
            else memory.capture_many([_turn(turn) for turn in turns])
        )
        memory.admin.reembed()
        for turn, kept in zip(turns, stored, strict=True):
            self._keys.setdefault(kept.id, []).append(turn["key"])

    def ask(self, owner: str, asked: Asked) -> list[str]:
        self._now = asked["now"]
        memory = self._memory.scoped(f"project:{owner}")
        # Like the peers it always answers; that nothing may be relevant is measured elsewhere.
        hits = memory.recall(asked["text"], limit=asked["limit"], min_score=0.0)
        return [key for hit in hits for key in self._keys[hit.memory.id]]

    def _clock(self) -> Micros:
        return self._now


def _turn(turn: Turn) -> dict[str, Any]:
    fields = {name: turn[name] for name in ("session", "role", "event_time") if name in turn}
    return (
        fields | {"text": turn["said"]} | ({"author": turn["author"]} if "author" in turn else {})
    )


if __name__ == "__main__":
    plain = "--plain" in sys.argv[1:]
    serve(lambda start: Ours(start, plain=plain), "holdfast-memory")
