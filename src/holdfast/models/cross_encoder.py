"""A small BERT of a pack that reads one text or several together; the reranker and the judges of
statements and of notes are such.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import EmbedderError
from ..floats import legible
from .embeddings.onnx import MODEL_FILE, load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

# Characters that hold more tokens than are read.
MOST_CHARACTERS = 1500


class CrossEncoder:
    """The model of a pack, loaded once per process.

    Texts run one by one, as in `OnnxEmbedder`: a score must not depend on its neighbours.
    """

    def __init__(self, pack: str, file: str = MODEL_FILE) -> None:
        self._pack = pack
        self._file = file
        self.identity = f"local:{pack.removesuffix('-int8')}"

    def load(self) -> tuple[Tokenizer, InferenceSession]:
        """Load the model now; an EmbedderError if that fails."""
        return load(self._pack, 1, self._file)

    def tokens(self, text: str, most: int) -> list[int]:
        """The first tokens of a text."""
        tokenizer, _ = self.load()
        found = tokenizer.encode(legible(text, MOST_CHARACTERS), add_special_tokens=False)
        return found.ids[:most]

    def read(self, first: list[int], others: list[list[int]]) -> list[NDArray[np.float32]]:
        """Run the model on the tokens of a first text and of those beside it."""
        # Numpy and the model load on first use.
        import numpy as np  # noqa: PLC0415

        tokenizer, session = self.load()
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        one = [start, *first, end]
        beside = [token for other in others for token in (*other, end)]
        ids = np.array([one + beside], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([[0] * len(one) + [1] * len(beside)], dtype=np.int64),
        }
        try:
            outputs: list[NDArray[np.float32]] = session.run(None, inputs)
        except Exception as error:  # onnxruntime's own errors share no base class
            raise EmbedderError(f"{self.identity} failed: {error}") from error
        return outputs
