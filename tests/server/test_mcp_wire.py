"""The protocol by pipe, byte by byte: what a client may send, and what it hears."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from holdfast.server.mcp.dispatch import Methods
from holdfast.server.mcp.resources import url_of
from holdfast.server.mcp.stdio import Conversation, serve

META = "io.modelcontextprotocol/"
MODERN = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}


@pytest.fixture
def talk(hf):
    """Sends lines and returns what was answered, by id."""

    def call(*messages):
        lines = [
            one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode()
            for one in messages
        ]
        sink = io.BytesIO()
        serve(Methods(lambda: hf), io.BytesIO(b"\n".join(lines) + b"\n"), sink)
        return {one.get("id"): one for one in map(json.loads, sink.getvalue().splitlines())}

    return call


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2099-01-01", "2025-11-25"),
        (None, "2025-11-25"),
    ],
)
def test_a_handshake_agrees_on_a_version(talk, wanted, spoken):
    params = {"protocolVersion": wanted, "clientInfo": {"name": "x"}, "capabilities": {}}
    assert (
        talk({"id": 1, "method": "initialize", "params": params})[1]["result"]["protocolVersion"]
        == spoken
    )


def test_a_version_to_come_is_refused_with_those_that_are_spoken(talk):
    params = {"_meta": {**MODERN, f"{META}protocolVersion": "2099-01-01"}}
    error = talk({"id": 1, "method": "server/discover", "params": params})[1]["error"]
    assert error["code"] == -32022 and error["data"] == {
        "supported": ["2026-07-28"],
        "requested": "2099-01-01",
    }


GREETING = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x"}, "capabilities": {}}


def test_what_is_announced_is_a_method_and_refuses_nonsense(talk):
    answers = talk(
        {"id": 1, "method": "initialize", "params": GREETING},
        {"id": 2, "method": "logging/setLevel", "params": {"level": "debug"}},
        {"id": 3, "method": "logging/setLevel", "params": {"level": "loud"}},
        {"id": 4, "method": "resources/subscribe", "params": {"uri": "memory://no/such/thing"}},
        {"id": 5, "method": "completion/complete", "params": {"ref": {"type": "ref/prompt"}}},
        {"id": 6, "method": "server/discover", "params": {"_meta": MODERN}},
    )
    announced = answers[1]["result"]["capabilities"]
    assert announced["resources"]["subscribe"] and {"logging", "completions"} <= announced.keys()
    assert answers[2]["result"] == {}
    assert [answers[number]["error"]["code"] for number in (3, 4, 5)] == [-32602] * 3
    # Later versions of the protocol deprecate logging.
    modern = answers[6]["result"]["capabilities"]
    assert "completions" in modern and "logging" not in modern


@pytest.fixture
def conversation(hf):
    """One client's conversation, with a list of what it was told without asking."""
    told = []
    held = Conversation(Methods(lambda: hf), lambda method, params: told.append((method, params)))

    def ask(method, params, **id_):
        return held.answer({"jsonrpc": "2.0", "method": method, "params": params, **id_})

    return ask, told


def test_warnings_are_log_messages_for_a_client_that_wants_them(conversation, monkeypatch):
    ask, told = conversation
    monkeypatch.setattr("holdfast.namespaces.admin.Admin.warnings", lambda self: ["1 is damaged."])
    ask("initialize", GREETING, id=1)
    ask("tools/call", {"name": "memory_status"}, id=2)
    ask("logging/setLevel", {"level": "error"}, id=3)
    ask("tools/call", {"name": "memory_status"}, id=4)
    message = {"level": "warning", "logger": "holdfast", "data": "1 is damaged."}
    assert told == [("notifications/message", message)]


def test_a_stream_of_changes_tells_of_those_alone_until_it_is_cancelled(hf, conversation):
    ask, told = conversation
    calls = {"id": 1}

    def call(tool, **arguments):
        answer = ask("tools/call", {"name": tool, "arguments": arguments, "_meta": MODERN}, **calls)
        return answer["result"]["structuredContent"]["memories"][0]["id"]

    tea, milk = (call("memory_remember", content=f"Prefers {what}") for what in ("tea", "milk"))
    uri = url_of(hf.get(tea))
    wanted = {"notifications": {"resourceSubscriptions": [uri]}, "_meta": MODERN}
    assert ask("subscriptions/listen", wanted, id="s") is None
    call("memory_forget", ids=[milk])
    call("memory_correct", id=tea, content="Prefers green tea")
    mark = {f"{META}subscriptionId": "s"}
    assert told == [
        (
            "notifications/subscriptions/acknowledged",
            {"notifications": {"resourceSubscriptions": [uri]}, "_meta": mark},
        ),
        ("notifications/resources/updated", {"uri": uri, "_meta": mark}),
    ]
    ask("notifications/cancelled", {"requestId": "s"})
    call("memory_forget", ids=[tea])
    assert len(told) == 2


def test_what_is_no_request_is_told_and_the_conversation_goes_on(talk):
    answers = talk(
        b"{nonsense",
        b"[1, 2]",
        {"method": "notifications/initialized"},
        {"id": 9, "result": {}},
        {"id": "a", "method": "tools/dream"},
        {"id": "b", "method": "tools/list", "params": [1]},
        {"id": "c", "method": "ping"},
    )
    assert answers["a"]["error"]["code"] == -32601
    assert answers["b"]["error"]["code"] == -32602
    assert answers["c"]["result"] == {}
    assert answers[None]["error"]["code"] in (-32700, -32600)
    assert 9 not in answers


def test_a_fault_of_ours_is_an_answer_too_and_tells_nothing(hf, talk, caplog):
    hf.close()
    call = {"name": "memory_recall", "arguments": {"question": "tea"}}
    answer = talk({"id": 1, "method": "ping"}, {"id": 2, "method": "tools/call", "params": call})[2]
    assert (
        answer["result"]["isError"] is True and "closed" in answer["result"]["content"][0]["text"]
    )


def test_only_the_protocol_is_on_standard_output(tmp_path):
    """Whatever a library prints must not reach the client."""
    code = (
        "import sys; from holdfast.server.mcp import dispatch, stdio\n"
        "class Loud(dispatch.Methods):\n"
        "    def open(self):\n"
        "        print('hello', flush=True)\n"
        "with stdio.own_pipes() as (source, sink):\n"
        "    stdio.serve(Loud(lambda: None), source, sink)\n"
    )
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    done = subprocess.run(
        [sys.executable, "-c", code], input=asked, capture_output=True, text=True, check=True
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"jsonrpc": "2.0", "id": 1, "result": {}}
    ]
    assert "hello" in done.stderr


def test_a_store_that_cannot_be_opened_is_told_when_it_is_needed(tmp_path):
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_status"}},
    ]
    (tmp_path / "memory.db").write_bytes(b"not a database" * 100)
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "mcp",
        "--store",
        str(tmp_path / "memory.db"),
        "--scope",
        "user:ann",
    ]
    done = subprocess.run(
        command, input="\n".join(map(json.dumps, asked)), capture_output=True, text=True, check=True
    )
    answers = {one["id"]: one["result"] for one in map(json.loads, done.stdout.splitlines())}
    assert len(answers[1]["tools"]) == 10
    assert answers[2]["isError"] and "not a Holdfast store" in answers[2]["content"][0]["text"]


def test_starting_loads_neither_the_sdk_nor_the_parser_nor_any_model():
    code = (
        "import sys; sys.argv = ['holdfast', 'mcp', '--store', ':memory:', '--scope', 'user:ann']\n"
        "from holdfast.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = ('mcp', 'pydantic', 'typer', 'onnxruntime', 'tokenizers')\n"
        "print(*(name for name in heavy if name in sys.modules), file=sys.stderr)"
    )
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    done = subprocess.run(
        [sys.executable, "-c", code], input=asked, capture_output=True, text=True, check=True
    )
    assert done.stderr.split() == [] and len(json.loads(done.stdout)["result"]["tools"]) == 10


@pytest.mark.skipif(sys.platform == "win32", reason="it needs a Unix terminal")
def test_a_person_who_starts_it_by_hand_is_told_what_it_waits_for(terminal, tmp_path):
    started = terminal("mcp", "--store", str(tmp_path / "memory.db"))
    started.hear("holdfast mcp install")
    started.type("\x03")
    started.hear("Stopped.")
