"""Whoever is answered is told what the answer went without: damaged memories, and a model that does
not serve.
"""

from __future__ import annotations

import json
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import pytest

from holdfast import Holdfast, Settings
from holdfast.agents.role import load_role
from holdfast.agents.role_memory import RoleMemory
from holdfast.models.embeddings.remote import RemoteEmbedder
from holdfast.server.mcp.dispatch import WARNINGS, Methods
from live_server import serving

Told = namedtuple("Told", "code out err")
SCOPE = "user:ann"
MODEL = "custom:embedder"
WORDS_ONLY = Settings(embedding_models="none")
ROLE = """\
apiVersion: initrunner/v1
kind: Agent
metadata: {{name: tea}}
spec:
  role: Help.
  model: {{provider: offline}}
  memory:
    store_path: {store}
    embeddings: {{provider: openai, model: m, base_url: '{url}', api_key_env: A_KEY}}
"""


class Answers(BaseHTTPRequestHandler):
    """An OpenAI-compatible server of embeddings, whose vectors are as long as it is told."""

    length = 4

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = [
            {
                "object": "embedding",
                "index": place,
                "embedding": [float(len(text) % 7 + 1), *[1.0] * (self.length - 1)],
            }
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = json.dumps(
            {"object": "list", "model": "embedder", "data": data, "usage": usage}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class Server:
    """It, until it is stopped."""

    def __init__(self) -> None:
        self._handler = type("Own", (Answers,), {})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer_with(self, length: int) -> None:
        self._handler.length = length  # type: ignore[attr-defined]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.stop()


@pytest.fixture
def path(tmp_path: Path, server: Server) -> Path:
    """A memory that was embedded by the server."""
    place = tmp_path / "memory.db"
    with opened(place, server) as hf:
        hf.remember("Ann drinks green tea")
        hf.remember("Bob plays chess")
        assert sum(hf.admin.reembed().values()) == 2
        assert (hf.admin.embedding_problems(ask=True), hf.admin.warnings()) == ({}, [])
    return place


def opened(place: Path, server: Server) -> Holdfast:
    settings = Settings(embedding_models=MODEL, embedding_url=server.url)
    return Holdfast.open(place, scope=SCOPE, settings=settings, background=False)


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a server that is gone waits for seconds; how often it is asked is tried with
    the models.
    """
    monkeypatch.setitem(RemoteEmbedder.__init__.__kwdefaults__, "retries", 0)


@pytest.fixture
def holdfast(
    cli: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs a command for a memory, and with a server if there is one."""

    def run(place: Path, server: Server | None, *words: str) -> Any:
        if server:
            monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", MODEL)
            monkeypatch.setenv("HOLDFAST_EMBEDDING_URL", server.url)
        monkeypatch.setenv("HOLDFAST_STORE", str(place))
        monkeypatch.setenv("HOME", str(place.parent))
        monkeypatch.setenv("LOGNAME", "ann")
        monkeypatch.chdir(place.parent)
        try:
            return cli(*words)
        except SystemExit as ended:
            return Told(ended.code, *capsys.readouterr())

    return run


class TestAModelThatDoesNotAnswer:
    def test_recall_answers_by_words_and_warns(self, path: Path, server: Server) -> None:
        server.stop()
        with opened(path, server) as hf:
            assert hf.recall("green tea")[0].memory.content == "Ann drinks green tea"
            assert any(
                "by words alone" in warning and MODEL in warning for warning in hf.admin.warnings()
            )

    def test_stats_tell(self, path: Path, server: Server) -> None:
        server.stop()
        with opened(path, server) as hf:
            assert any(MODEL in name for name in hf.stats()["problems"])

    @pytest.mark.parametrize("more", [(), ("--json",), ("--limit", "1")])
    def test_the_command_answers_and_warns_beside_the_answer(
        self, path: Path, server: Server, more: tuple[str, ...], holdfast: Callable[..., Any]
    ) -> None:
        server.stop()
        told = holdfast(path, server, "recall", "green tea", *more)
        assert (told.code, "green tea" in told.out) == (0, True)
        assert "by words alone" in told.err

    def test_stats_and_doctor_do_not_say_that_it_is_ready(
        self, path: Path, server: Server, holdfast: Callable[..., Any]
    ) -> None:
        server.stop()
        assert "problem" in holdfast(path, server, "stats").out
        doctor = holdfast(path, server, "doctor").out
        assert (
            f"! embedding model {MODEL}:" in doctor
            and f"embedding model {MODEL}: ready" not in doctor
        )

    def test_http_tells(self, path: Path, server: Server, tmp_path: Path) -> None:
        server.stop()
        with opened(path, server) as hf, serving(hf, tmp_path / "keys") as live:
            page = live.client().get("/memories", params={"q": "green tea"}).json()
        assert page["items"][0]["content"] == "Ann drinks green tea"
        assert "by words alone" in page["warnings"][0]
        assert str(path) not in json.dumps(page), "where the store is concerns nobody outside"

    def test_mcp_tells(self, path: Path, server: Server) -> None:
        server.stop()
        asked = {"name": "memory_recall", "arguments": {"question": "green tea"}}
        with opened(path, server) as hf:
            called = Methods(lambda: hf).answer("tools/call", asked, client="test")
        assert "by words alone" in called["_meta"][WARNINGS][0]
        assert any("by words alone" in part["text"] for part in called["content"])


class TestAModelThatHasChanged:
    def test_another_length_is_told_with_the_command_for_this_store(
        self, path: Path, server: Server
    ) -> None:
        server.answer_with(6)
        with opened(path, server) as hf:
            assert hf.recall("green tea")[0].memory.content == "Ann drinks green tea"
            (warning,) = hf.admin.warnings()
            (problem,) = hf.stats()["problems"].values()
        command = f"holdfast store reembed --fresh --store {path} --scope {SCOPE}"
        assert "6 numbers now" in warning and "have 4" in warning
        assert warning.endswith(command) and problem.endswith(command)

    def test_the_command_that_is_named_mends_it(
        self, path: Path, server: Server, holdfast: Callable[..., Any]
    ) -> None:
        server.answer_with(6)
        with opened(path, server) as hf:
            hf.recall("green tea")
            command = hf.admin.warnings()[0].rpartition("holdfast ")[2].split()
        assert holdfast(path, server, *command).code == 0
        with opened(path, server) as hf:
            hf.recall("green tea")
            assert (hf.admin.warnings(), hf.stats()["problems"]) == ([], {})

    def test_doctor_tells(self, path: Path, server: Server, holdfast: Callable[..., Any]) -> None:
        server.answer_with(6)
        assert f"! meaning: {MODEL}" in holdfast(path, server, "doctor", "--scope", SCOPE).out

    def test_another_model_is_told(self, path: Path) -> None:
        other = Server()
        with opened(path, other) as hf:
            hf.recall("green tea")
            assert f"The memories were embedded by {MODEL}" in hf.admin.warnings()[0]
        other.stop()

    def test_the_store_of_a_role_is_told_the_command_for_the_role(
        self, tmp_path: Path, server: Server
    ) -> None:
        file = tmp_path / "my roles" / "role.yaml"
        file.parent.mkdir()
        file.write_text(ROLE.format(store=tmp_path / "role.db", url=server.url))

        def role_memory() -> RoleMemory:
            return RoleMemory(load_role(file), environ={"A_KEY": "k"}, settings=Settings())

        memory = role_memory()
        memory.remember("semantic", "Ann drinks green tea")
        memory.close()
        server.answer_with(6)
        memory = role_memory()
        memory.recall("green tea")
        (warning,) = memory.hf.admin.warnings()
        memory.close()
        assert warning.endswith(f"holdfast memory reembed '{file}'")


class TestADamagedMemory:
    @pytest.fixture
    def damaged(self, tmp_path: Path) -> tuple[Path, str]:
        place = tmp_path / "memory.db"
        with Holdfast.open(place, scope=SCOPE, settings=WORDS_ONLY, background=False) as hf:
            tea = hf.remember("Ann drinks green tea")
            hf.remember("Bob drinks tea as well")
        connection = apsw.Connection(str(place))
        connection.execute(
            "UPDATE memories SET content = CAST(CAST(content AS BLOB) || x'ff' AS TEXT) WHERE "
            "seq "
            "= 1"
        )
        connection.close()
        return place, tea.id

    @pytest.mark.parametrize(
        "words", [("list",), ("recall", "tea"), ("context", "tea"), ("list", "--json")]
    )
    def test_commands_answer_with_the_others_and_name_it(
        self, damaged: tuple[Path, str], words: tuple[str, ...], holdfast: Callable[..., Any]
    ) -> None:
        place, id_ = damaged
        told = holdfast(place, None, *words)
        assert (told.code, "Bob drinks tea" in told.out, id_ in told.err) == (
            0,
            True,
            True,
        ), told
        assert "piped" not in told.err

    @pytest.mark.parametrize("command", ["show", "history"])
    def test_commands_about_it_say_what_is_wrong_with_it(
        self, damaged: tuple[Path, str], command: str, holdfast: Callable[..., Any]
    ) -> None:
        place, id_ = damaged
        told = holdfast(place, None, command, id_)
        assert told.code == 1 and "its content is not UTF-8 text" in told.err
        assert "doctor --repair" in told.err and "piped" not in told.err

    def test_an_export_says_that_it_is_not_all(
        self, damaged: tuple[Path, str], holdfast: Callable[..., Any]
    ) -> None:
        place, id_ = damaged
        told = holdfast(place, None, "export", "-o", "all.jsonl")
        assert (told.code, id_ in told.err) == (3, True)
        assert "Bob drinks tea" in place.with_name("all.jsonl").read_text()

    @pytest.mark.parametrize(
        "words", [("store", "sync", "other.db"), ("store", "copy", "memory.db", "copy.db")]
    )
    def test_what_moves_memories_says_that_it_was_not_all(
        self, damaged: tuple[Path, str], words: tuple[str, ...], holdfast: Callable[..., Any]
    ) -> None:
        place, id_ = damaged
        told = holdfast(place, None, *words)
        assert (told.code, id_ in told.err) == (3, True), told

    def test_doctor_names_it_and_repair_puts_it_aside(
        self, damaged: tuple[Path, str], holdfast: Callable[..., Any]
    ) -> None:
        place, id_ = damaged
        assert (
            f"! rows: memory {id_}: its content is not UTF-8 text"
            in holdfast(place, None, "doctor").out
        )
        repaired = holdfast(place, None, "doctor", "--repair")
        assert repaired.code == 1 and f"! quarantine: {id_}" in repaired.out
        assert "in order" not in repaired.out
        assert id_ in holdfast(place, None, "list", "--status", "archived").out
        assert (
            "quarantined: its content is not UTF-8 text" in holdfast(place, None, "show", id_).out
        )

    def test_http_answers_with_the_others_and_names_it(
        self, damaged: tuple[Path, str], tmp_path: Path
    ) -> None:
        place, id_ = damaged
        with (
            Holdfast.open(place, scope=SCOPE, settings=WORDS_ONLY, background=False) as hf,
            serving(hf, tmp_path / "keys") as live,
        ):
            answer = live.client().get("/memories")
            asked = live.client().get(f"/memories/{id_}")
        assert [one["content"] for one in answer.json()["items"]] == ["Bob drinks tea as well"]
        assert id_ in answer.json()["warnings"][0] and id_ in answer.headers["Holdfast-Left-Out"]
        assert asked.status_code == 409 and id_ in asked.json()["detail"]

    def test_mcp_answers_with_the_others_and_names_it(self, damaged: tuple[Path, str]) -> None:
        place, id_ = damaged
        with Holdfast.open(place, scope=SCOPE, settings=WORDS_ONLY, background=False) as hf:
            called = Methods(lambda: hf).answer(
                "tools/call", {"name": "memory_list"}, client="test"
            )
        assert [one["text"] for one in called["structuredContent"]["memories"]] == [
            "Bob drinks tea as well"
        ]
        assert id_ in called["_meta"][WARNINGS][0]
