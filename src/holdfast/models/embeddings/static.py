"""The fast local embedder: the vector of a text is the mean of its token vectors. Thousands of
texts a second.

A single query is embedded without numpy and tokenizers, which take longer to import than to answer
it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import EmbedderError
from ...floats import legible, unit
from . import packs
from .mapped import HalfFloats, Vocabulary
from .wordpiece import pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

T = TypeVar("T")
# About 2,000 tokens: the mean of more says little about any of it, and a huge paste stays cheap.
MAX_CHARACTERS = 10_000
# Loading the same file in two threads would cost time and memory twice.
_LOADING = Lock()


class StaticEmbedder:
    """The table of a pack, ours unless another is named. Its files are mapped once per process,
    however many embedders there are.
    """

    quick = True
    dimensions = 256

    def __init__(self, pack: str = packs.STATIC) -> None:
        self._pack = pack
        self.identity = f"local:{pack}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a text without a known word gets a zero vector."""
        # Deferred import: a single query does without numpy.
        from .checks import checked  # noqa: PLC0415

        return checked(
            self.word_vectors(texts),
            count=len(texts),
            dimensions=self.dimensions,
            identity=self.identity,
        )

    def embed_query(self, text: str) -> array[float]:
        """Return the same vector as for the document `text`, apart from rounding."""
        asked = legible(text, MAX_CHARACTERS)
        table = _once(_table, self._pack)
        rows = [
            table.row(piece)
            for piece in pieces(asked, _once(_vocabulary, self._pack).lookup(len(asked)))
        ]
        # The sum points where the mean does.
        return unit(map(sum, zip(*rows, strict=True)) if rows else [0.0] * self.dimensions)

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per word, not normalised: rare words have longer vectors and so more
        weight.
        """
        # Deferred import: a single query does without numpy.
        import numpy as np  # noqa: PLC0415

        table, (tokenizer, unknown) = (
            _once(_table, self._pack).matrix(),
            _once(_tokenizer, self._pack),
        )
        rows = np.zeros((len(words), self.dimensions), dtype=np.float32)
        for row, ids in zip(rows, _token_ids(tokenizer, words), strict=True):
            if known := [i for i in ids if i != unknown]:
                table[known].mean(
                    axis=0,
                    dtype=np.float32,
                    out=row,
                )
        return rows


def _token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    # The fast variant skips character offsets, which are not used here; older versions lack it.
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    encodings = encode([legible(text, MAX_CHARACTERS) for text in texts], add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def _once(load: Callable[[Path], T], pack: str) -> T:
    with _LOADING:
        loaded: T = _loaded(load, pack)
        return loaded


@lru_cache(maxsize=6)
def _loaded(load: Callable[[Path], Any], pack: str) -> Any:
    folder = packs.find(pack)
    try:
        return load(folder)
    except Exception as error:
        # tokenizers raises bare Exception for a damaged file.
        raise EmbedderError(
            f"The model pack {pack!r} cannot be read ({error}). Run `holdfast doctor`."
        ) from error


def _table(folder: Path) -> HalfFloats:
    return HalfFloats.open(folder / "model_f16.safetensors", "embeddings")


def _vocabulary(folder: Path) -> Vocabulary:
    return Vocabulary(folder / "tokenizer.json")


def _tokenizer(folder: Path) -> tuple[Tokenizer, int | None]:
    # Deferred import: a single query does without it.
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return tokenizer, tokenizer.token_to_id("[UNK]")
