"""The better local embedder: a BERT encoder on the CPU, in int8."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

from ...config import disable_vendor_telemetry
from ...errors import EmbedderError
from ...floats import legible
from . import packs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
# The model accepts 512 tokens at twice the cost; the first half usually tells what a memory is
# about.
MAX_TOKENS = 256
# More than MAX_TOKENS ever needs; spares the tokenizer the rest of a huge text.
MAX_CHARACTERS = 10_000
# Threads per text.
THREADS = 2
MODEL_FILE = "model_int8.onnx"
# `cache` alone would load the model twice if two threads start together.
_LOADING = Lock()


@cache
def check_installed() -> None:
    """Raise EmbedderError where there is no onnxruntime, as on platforms without a wheel of it."""
    if find_spec("onnxruntime") is None:
        raise EmbedderError(
            "The better embedding model and deep recall need the package onnxruntime, which is not "
            "installed. Without it recall uses the fast model. Try: pip install onnxruntime"
        )


class OnnxEmbedder:
    """The encoder of a pack, ours unless another is named. Loaded once per process; about 15 ms a
    short text.

    Texts run one by one: int8 scales are computed over a whole batch, so a text's vector would
    depend on its neighbours, and on a CPU batching saves almost no time.
    """

    quick = False
    dimensions = 384

    def __init__(self, pack: str = packs.ENCODER) -> None:
        self._pack = pack
        self.identity = f"local:{pack.removesuffix('-int8')}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a blank text gets a zero vector."""
        # A recall constructs this embedder to learn its identity and often embeds nothing with
        # it, so numpy waits for the first text.
        import numpy as np  # noqa: PLC0415

        from .checks import checked  # noqa: PLC0415

        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            if text.strip():
                row[:] = self._embed(text)
        return checked(
            rows,
            count=len(texts),
            dimensions=self.dimensions,
            identity=self.identity,
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the query vector of `text`; it differs from its document vector."""
        return self.embed_documents([QUERY_PREFIX + text if text.strip() else ""]).ravel()

    def _embed(self, text: str) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415

        tokenizer, session = load(self._pack)
        ids = np.array([tokenizer.encode(legible(text, MAX_CHARACTERS)).ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        try:
            hidden = session.run(None, inputs)[0]
        except Exception as error:  # onnxruntime's own errors share no base class
            raise EmbedderError(f"{self.identity} failed: {error}") from error
        first_token: NDArray[np.float32] = hidden[0, 0]
        return first_token


def load(
    pack: str, threads: int = THREADS, file: str = MODEL_FILE
) -> tuple[Tokenizer, InferenceSession]:
    """Return the tokenizer and a model of a pack, loaded once per process."""
    with _LOADING:
        return _load_once(pack, threads, file)


@cache
def _load_once(pack: str, threads: int, file: str) -> tuple[Tokenizer, InferenceSession]:
    check_installed()
    # Before the import, which reads it.
    disable_vendor_telemetry()
    # Deferred imports: slow, and not needed before the first text.
    from onnxruntime import InferenceSession, SessionOptions  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    folder = packs.find(pack)
    options = SessionOptions()
    options.intra_op_num_threads = threads
    # Threads must sleep between texts instead of spinning, because this runs inside other programs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        session = InferenceSession(str(folder / file), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # Neither library has a base class for errors of a damaged file.
        raise EmbedderError(
            f"The model pack {pack!r} cannot be read ({error}). Run `holdfast doctor`."
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer, session
