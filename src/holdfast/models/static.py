"""The fast local embedder: a text is the mean of its token vectors. Thousands a second."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import EmbedderError
from . import packs
from .vectors import checked, legible

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# About 2,000 tokens: the mean of more than that says little about any of it, and a huge paste stays cheap.
MAX_CHARACTERS = 10_000
_LOADING = Lock()


class StaticEmbedder:
    """potion-base-8M. The files are mapped once per process, however many embedders there are."""

    identity = "local:potion-base-8M"
    quick = True
    dimensions = 256

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text; a text without a known word is a row of zeros."""
        return checked(self.word_vectors(texts), count=len(texts), dimensions=self.dimensions, identity=self.identity)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The same vector as the document `text` has."""
        return self.embed_documents([text]).ravel()

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """One row per word, not normalised: a longer vector is a rarer, weightier word."""
        tokenizer, table, unknown = _load()
        rows = np.zeros((len(words), self.dimensions), dtype=np.float32)
        for row, ids in zip(rows, _token_ids(tokenizer, words), strict=True):
            if known := [i for i in ids if i != unknown]:
                table[known].mean(axis=0, dtype=np.float32, out=row)
        return rows


def read_matrix(path: Path, name: str) -> NDArray[np.float16]:
    """The float16 matrix `name` of a safetensors file, mapped from disk and not read."""
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(header_size))[name]
    if entry["dtype"] != "F16":
        raise ValueError(f"{name} is {entry['dtype']}, not F16")
    offset = 8 + header_size + entry["data_offsets"][0]
    return np.memmap(path, dtype="<f2", mode="r", offset=offset, shape=tuple(entry["shape"]))


def _token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    # The fast variant leaves out character offsets, which nobody here reads; older tokenizers lack it.
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    encodings = encode([legible(text, MAX_CHARACTERS) for text in texts], add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def _load() -> tuple[Tokenizer, NDArray[np.float16], int | None]:
    with _LOADING:
        return _load_once()


@lru_cache(maxsize=1)
def _load_once() -> tuple[Tokenizer, NDArray[np.float16], int | None]:
    from tokenizers import Tokenizer  # noqa: PLC0415 (a heavy import waits for the first text)

    folder = packs.find(packs.POTION)
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        table = read_matrix(folder / "model_f16.safetensors", "embeddings")
    except Exception as error:  # tokenizers raises bare Exception for a damaged file
        raise EmbedderError(
            f"The model pack {packs.POTION!r} cannot be read ({error}). Run `holdfast doctor`."
        ) from error
    return tokenizer, table, tokenizer.token_to_id("[UNK]")
