"""A fake embedder for tests: texts that share words are similar."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import EmbedderError
from .embeddings.checks import checked

# In scripts without spaces each character counts as a word, so that shared characters mean
# similarity.
_WORD = re.compile(r"[^\W぀-ヿ一-鿿]+|[぀-ヿ一-鿿]")

Fault = Literal["down", "slow", "wrong-sized", "nan"]


class FakeEmbedder:
    """Hashed bag of words: deterministic on every machine, no model, no network.

    Set `fault` to make it fail like a real one; `calls` counts the requests, including failed ones.

    >>> fake = FakeEmbedder()
    >>> texts = ["Ann likes tea", "tea for Ann", "rain tomorrow"]
    >>> tea, also_tea, rain = fake.embed_documents(texts)
    >>> bool(tea @ also_tea > tea @ rain)
    True
    """

    def __init__(
        self,
        *,
        dimensions: int = 256,
        identity: str = "fake:bag-of-words",
        fault: Fault | None = None,
    ) -> None:
        """Create a fake that works, unless `fault` is set."""
        self.identity = identity
        self.quick = True
        self.dimensions = dimensions
        self.fault = fault
        self.calls = 0

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a text without words gets a zero vector."""
        self.calls += 1
        width = self._width()
        rows = np.zeros((len(texts), width), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                place, sign = _place(word)
                row[place % width] += sign
        if self.fault == "nan":
            rows[:] = np.nan
        return checked(
            rows,
            count=len(texts),
            dimensions=self.dimensions,
            identity=self.identity,
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the same vector as for the document `text`."""
        return self.embed_documents([text]).ravel()

    def _width(self) -> int:
        if self.fault == "down":
            raise EmbedderError(f"{self.identity} cannot be reached.")
        if self.fault == "slow":
            raise EmbedderError(f"{self.identity} did not answer in time.") from TimeoutError(
                "timed out"
            )
        if self.fault == "wrong-sized":
            return self.dimensions + 1
        return self.dimensions


@lru_cache(maxsize=10_000)
def _place(word: str) -> tuple[int, int]:
    # Signed hashing: colliding words cancel as often as they add, so unrelated texts stay near
    # zero.
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest[:4], "big"), 1 if digest[4] & 1 else -1
