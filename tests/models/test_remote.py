"""The remote embedder against a real server on the loopback that speaks OpenAI's and Google's
formats.
"""

import asyncio
import hashlib
import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

import numpy as np
import pytest

from holdfast.errors import DimensionMismatchError, EmbedderError, InvalidInput, MissingExtra
from holdfast.models.embeddings import remote
from holdfast.models.embeddings.base import embedder_for
from holdfast.models.embeddings.remote import RemoteEmbedder
from holdfast.models.llm.run_sync import wait_for
from servers import free_port


class Server(ThreadingHTTPServer):
    """Answers with vectors of `width`; each entry of `failures` is a status to fail one request
    with.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.width = 3
        self.value: float | str = 2.0
        self.failures: list[int] = []
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = cast(Server, self.server)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.requests.append({**body, "path": self.path, "auth": self.headers["Authorization"]})
        status = server.failures.pop(0) if server.failures else 200
        self._answer(
            status,
            {"error": {"message": "out of order"}} if status != 200 else _vectors(server, body),
        )

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def _vectors(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    row = [server.value] * server.width
    if "requests" in body:  # Google's format
        return {"embeddings": [{"values": row} for _ in body["requests"]]}
    texts = body["input"]
    data = [{"object": "embedding", "index": n, "embedding": row} for n in range(len(texts))]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def embedder(url: str, *, retries: int = 0, timeout: float = 10) -> RemoteEmbedder:
    return RemoteEmbedder("openai", "m", environ={}, base_url=url, retries=retries, timeout=timeout)


def test_documents_come_back_normalised_and_teach_the_dimensions(server: Server) -> None:
    remote_embedder = embedder(server.url)
    assert remote_embedder.dimensions is None
    rows = remote_embedder.embed_documents(["tea", "rain"])
    assert rows.shape == (2, 3)
    assert remote_embedder.dimensions == 3
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert server.requests[0]["input"] == ["tea", "rain"]


def test_a_query_is_one_vector(server: Server) -> None:
    assert embedder(server.url).embed_query("tea").shape == (3,)


def test_blank_texts_are_zeros_and_never_sent(server: Server) -> None:
    rows = embedder(server.url).embed_documents(["", "tea", "  "])
    assert [bool(row.any()) for row in rows] == [False, True, False]
    assert server.requests[0]["input"] == ["tea"]


def test_only_blank_texts_still_get_their_rows(server: Server) -> None:
    assert embedder(server.url).embed_documents(["", " "]).shape == (2, 3)


def test_no_texts_need_no_request(server: Server) -> None:
    assert len(embedder(server.url).embed_documents([])) == 0
    assert server.requests == []


def test_many_texts_go_out_in_batches_and_long_ones_are_cut(server: Server) -> None:
    rows = embedder(server.url).embed_documents(["x" * 1_000_000] + ["tea"] * remote.BATCH)
    assert len(rows) == remote.BATCH + 1
    assert [len(request["input"]) for request in server.requests] == [remote.BATCH, 1]
    assert len(server.requests[0]["input"][0]) == remote.MAX_CHARACTERS


def test_a_model_that_changes_its_size_is_caught(server: Server) -> None:
    remote_embedder = embedder(server.url)
    remote_embedder.embed_query("tea")
    server.width = 4
    with pytest.raises(DimensionMismatchError, match="4 dimensions; 3 were expected"):
        remote_embedder.embed_query("tea")


def test_shorter_vectors_are_asked_for_and_longer_ones_cut(server: Server) -> None:
    """Models that put what matters first keep most of their quality in a fraction of the space."""
    short = RemoteEmbedder("openai", "m@2", environ={}, base_url=server.url)
    assert (short.dimensions, short.identity.split(":")[1]) == (2, "m@2")
    # This server knows nothing of dimensions, and answers with 3.
    rows = short.embed_documents(["tea", "rain"])
    assert (server.requests[0]["model"], server.requests[0]["dimensions"]) == ("m", 2)
    assert rows.shape == (2, 2)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    with pytest.raises(DimensionMismatchError, match="3 dimensions; 8 were expected"):
        RemoteEmbedder("openai", "m@8", environ={}, base_url=server.url).embed_query("tea")


@pytest.mark.parametrize("model", ["textembedding-gecko@003", "m@latest", "m@"])
def test_a_version_is_no_length(server: Server, model: str) -> None:
    RemoteEmbedder("openai", model, environ={}, base_url=server.url).embed_query("tea")
    assert server.requests[0]["model"] == model
    assert "dimensions" not in server.requests[0]


def test_not_a_number_is_an_error(server: Server) -> None:
    server.value = float("nan")
    with pytest.raises(EmbedderError, match="NaN"):
        embedder(server.url).embed_query("tea")


def test_a_server_error_is_an_embedder_error(server: Server) -> None:
    server.failures = [500]
    with pytest.raises(EmbedderError, match="500") as caught:
        embedder(server.url).embed_query("tea")
    assert caught.value.__cause__ is not None


def test_a_passing_failure_is_retried(server: Server) -> None:
    server.failures = [500, 429]
    assert embedder(server.url, retries=2).embed_query("tea").shape == (3,)
    assert len(server.requests) == 3


def test_retries_are_bounded(server: Server) -> None:
    server.failures = [500] * 9
    with pytest.raises(EmbedderError):
        embedder(server.url, retries=1).embed_query("tea")
    assert len(server.requests) == 2


def test_a_server_that_is_down_is_an_embedder_error() -> None:
    with pytest.raises(EmbedderError, match="failed"):
        embedder(f"http://127.0.0.1:{free_port()}/v1").embed_query("tea")


def test_a_server_that_never_answers_is_given_up() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(EmbedderError, match=r"(?i)timed? ?out"),
    ):
        embedder(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", timeout=0.05).embed_query("tea")


def test_it_works_inside_a_running_event_loop(server: Server) -> None:
    async def host() -> tuple[int, ...]:
        return embedder(server.url).embed_query("tea").shape

    assert asyncio.run(host()) == (3,)


def test_work_that_never_ends_is_cancelled() -> None:
    with pytest.raises(TimeoutError):
        wait_for(asyncio.sleep(3600), timeout=0.01)


def test_the_key_comes_from_the_named_variable_and_stays_out_of_errors(server: Server) -> None:
    key = "k" + "1a" * 20
    named = embedder_for(
        "openai:m", environ={"MY_KEY": key}, base_url=server.url, api_key_env="MY_KEY"
    )
    assert isinstance(named, RemoteEmbedder)
    server.failures = [401]
    with pytest.raises(EmbedderError) as caught:
        named.embed_query("tea")
    assert server.requests[0]["auth"] == f"Bearer {key}"
    assert key not in str(caught.value)


def test_a_custom_url_never_sees_the_providers_key(server: Server) -> None:
    environ = {"OPENAI_API_KEY": "not for strangers"}
    RemoteEmbedder("openai", "m", environ=environ, base_url=server.url).embed_query("tea")
    assert server.requests[0]["auth"] == "Bearer custom-provider"


def test_a_missing_key_names_the_variable_and_the_way_out() -> None:
    with pytest.raises(EmbedderError, match=r"OPENAI_API_KEY.*may differ.*'static'"):
        embedder_for("openai:text-embedding-3-small", environ={})
    with pytest.raises(EmbedderError, match="MY_KEY"):
        embedder_for("ollama:nomic-embed-text", environ={}, api_key_env="MY_KEY")


# The Google client warns when Python compiles it for the first time.
@pytest.mark.filterwarnings("ignore:.*invalid escape sequence")
def test_google_is_told_a_question_from_a_document(server: Server) -> None:
    environ = {"GOOGLE_API_KEY": "k1"}
    url = server.url.removesuffix("/v1")
    google = RemoteEmbedder(
        "google",
        "gemini-embedding-001",
        environ=environ,
        base_url=url,
        api_key_env="GOOGLE_API_KEY",
    )
    google.embed_query("tea")
    assert google.embed_documents(["tea", "rain"]).shape == (2, 3)
    tasks = [request["requests"][0]["taskType"] for request in server.requests]
    assert tasks == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]


def test_a_custom_url_is_part_of_the_identity() -> None:
    url = "http://127.0.0.1:9/v1"
    digest = hashlib.sha256(url.encode()).hexdigest()[:8]
    assert embedder(url).identity == f"openai:m:{digest}"
    assert RemoteEmbedder("openai", "m", environ={"OPENAI_API_KEY": "k"}).identity == "openai:m"


def test_an_unknown_provider_needs_a_url() -> None:
    with pytest.raises(InvalidInput, match="base_url"):
        RemoteEmbedder("elsewhere", "m", environ={})
    there = RemoteEmbedder("elsewhere", "m", environ={}, base_url="http://127.0.0.1:9/v1")
    assert there.identity.startswith("elsewhere:m:")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'holdfast-memory\[llm\]'"):
        embedder("http://127.0.0.1:9/v1")
