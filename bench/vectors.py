"""One embedding model for everybody that is compared: each text embedded once, kept in a file,
served on loopback.

The server speaks as much of OpenAI's embeddings interface as clients need. Questions have to be
made known to it beforehand: that interface does not tell a question from a text, and a model that
reads them differently should not be held back by the client in front of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.models.embeddings.base import Embedder

Rows = NDArray[np.float32]


class Vectors:
    """A model whose vectors are kept, so that each text is embedded once: an Embedder as well."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = Lock()
        self._questions: set[str] = set()
        self.seconds = 0.0
        """How long the model took so far."""
        self.questions_anew = False
        """Whether each question is embedded whenever it is asked: what asking takes in use."""
        self._file = apsw.Connection(str(path))
        self._file.pragma("journal_mode", "wal")
        self._file.pragma("synchronous", "off")
        self._file.set_busy_timeout(60_000)
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
        )

    @property
    def identity(self) -> str:
        """The model's own: the vectors are."""
        return self._embedder.identity

    @property
    def dimensions(self) -> int | None:
        """The length of every vector."""
        return self._embedder.dimensions

    @property
    def quick(self) -> bool:
        """Whether the model is."""
        return self._embedder.quick

    def embed_documents(self, texts: Sequence[str]) -> Rows:
        """One row per text, in order."""
        return self.of(texts)

    def embed_query(self, text: str) -> Rows:
        """The vector of a question."""
        return self.of([text], asked=True)[0]

    def expect(self, questions: Iterable[str]) -> None:
        """From now on these texts are embedded as questions."""
        self._questions |= {_plain(question) for question in questions}

    def of(self, texts: Sequence[str], *, asked: bool = False) -> Rows:
        """One row per text, in order; with `asked`, each text is a question."""
        with self._lock:
            return np.stack([self._one(_plain(text), asked=asked) for text in texts])

    def _one(self, text: str, *, asked: bool) -> Rows:
        asked = asked or text in self._questions
        if asked and self.questions_anew:
            return self._embed(text, asked=True)
        key = hashlib.blake2b(
            f"{self._embedder.identity} {asked} {text}".encode(), digest_size=16
        ).digest()
        kept = self._file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        if kept:
            return np.frombuffer(kept[0], dtype=np.float32)
        vector = self._embed(text, asked=asked)
        self._file.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?)", (key, vector.tobytes()))
        return vector

    def _embed(self, text: str, *, asked: bool) -> Rows:
        start = time.perf_counter()
        vector = (
            self._embedder.embed_query(text) if asked else self._embedder.embed_documents([text])[0]
        )
        self.seconds += time.perf_counter() - start
        return np.asarray(vector, dtype=np.float32)


def _plain(text: str) -> str:
    """The text as it is embedded: some clients turn line ends into spaces, and nobody is to gain or
    lose by that.
    """
    return " ".join(text.split())


@contextmanager
def served(vectors: Vectors) -> Iterator[str]:
    """The base URL at which `vectors` are to be had while the context lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(vectors))
    # How soon it notices the end.
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(vectors: Vectors) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
            encode = _base64 if request.get("encoding_format") == "base64" else np.ndarray.tolist
            rows = [
                {"object": "embedding", "index": index, "embedding": encode(row)}
                for index, row in enumerate(vectors.of(texts, asked=request.get("asked", False)))
            ]
            self._answer(
                {"object": "list", "model": request["model"], "data": rows, "usage": _usage(texts)}
            )

        def _answer(self, body: dict[str, object]) -> None:
            content = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Says nothing: there is a line for each of thousands of requests otherwise."""

    return Handler


def _base64(row: Rows) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _usage(texts: Sequence[str]) -> dict[str, int]:
    words = sum(len(text.split()) for text in texts)
    return {"prompt_tokens": words, "total_tokens": words}
