"""mem0 with infer=False: one user an owner, Qdrant on disk, vectors of the shared model, no
language model.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"
# Its language model is set up even where none takes part.
os.environ.setdefault("OPENAI_API_KEY", "unused")

from mem0 import Memory
from wire import Asked, Turn, serve


class Mem0:
    def __init__(self, start: dict[str, Any]) -> None:
        embedder = {
            "model": start["model"],
            "openai_base_url": start["embeddings"],
            "api_key": "unused",
        }
        store = {
            "path": f"{start['folder']}/qdrant",
            "embedding_model_dims": start["dimensions"],
            "collection_name": "bench",
            "on_disk": True,
        }
        self._memory = Memory.from_config(
            {
                "embedder": {"provider": "openai", "config": embedder},
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": f"{start['folder']}/history.db",
            }
        )

    def add(self, owner: str, turns: list[Turn]) -> None:
        for turn in turns:
            message = {"role": turn.get("role", "user"), "content": turn["text"]}
            self._memory.add([message], user_id=owner, metadata={"key": turn["key"]}, infer=False)

    def ask(self, owner: str, asked: Asked) -> list[str]:
        found = self._memory.search(asked["text"], filters={"user_id": owner}, top_k=asked["limit"])
        return [item["metadata"]["key"] for item in found["results"]]


if __name__ == "__main__":
    serve(Mem0, "mem0ai", "qdrant-client")
