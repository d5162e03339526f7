"""`holdfast proxy` between the official OpenAI client and an API: memory comes in, and no byte of
an answer is changed.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import openai
import pytest

from fake_openai import (
    Reply,
    chat_completion,
    chat_events,
    document,
    fake_openai,
    packed,
    response,
    response_events,
    said,
)
from holdfast.client import Holdfast
from holdfast.errors import InvalidInput, StoreBusy
from holdfast.server.api_keys import KeyFile
from holdfast.server.process import listening, run, url_of
from holdfast.server.proxy.proxy_app import Proxy
from holdfast.server.proxy.upstream import check_upstream
from holdfast.types import Scope
from patience import PATIENCE
from servers import free_port

API_KEY = "sk-proj-Zx81Qm7vLw20Tn5bYc93Rk6dHs48Jf1g"
BOAT = "My boat is called Heron, and she leaks at the stern."
QUESTION = "What was wrong with my boat Heron?"


@pytest.fixture
def hf(words):
    """Ann's memory, where words decide what is relevant: the fake embedder knows no meaning."""
    return words


@pytest.fixture
def upstream():
    with fake_openai() as fake:
        yield fake


@contextmanager
def proxying(hf, url, keys, memory_seconds=PATIENCE):
    """A proxy on a free port; its base URL."""
    file, stop = KeyFile(keys), threading.Event()
    app = Proxy(hf, url, file, memory_seconds=memory_seconds)
    listener = listening("127.0.0.1", 0, file)
    more = {"lifespan": "on", "date_header": False}
    args = (app, app.conversations, listener, stop)
    thread = threading.Thread(target=run, args=args, kwargs=more)
    thread.start()
    try:
        yield url_of(listener) + "v1"
    finally:
        stop.set()
        thread.join()
        listener.close()


@pytest.fixture
def proxy(hf, upstream, keys):
    """The base URL of a proxy over Ann's memory."""
    with proxying(hf, upstream.url, keys) as url:
        yield url


@pytest.fixture
def client(proxy):
    """Makes official clients of the proxy."""
    with ExitStack() as stack:

        def make(user="", **more):
            headers = {"Holdfast-User": user} if user else {}
            http = stack.enter_context(httpx.Client(trust_env=False, timeout=PATIENCE))
            given = {"base_url": proxy, "api_key": API_KEY, "max_retries": 0} | more
            return openai.OpenAI(default_headers=headers, http_client=http, **given)

        yield make


@pytest.fixture
def raw(proxy):
    """A plain client, which sees the bytes of an answer."""
    with httpx.Client(base_url=proxy, trust_env=False, timeout=PATIENCE) as http:
        yield http


def turns(hf, user="ann"):
    """What is captured of a user, oldest first, by role."""
    view = hf.scoped(Scope("user", user))
    found = sorted(view.list(kinds=["turn"]), key=lambda one: one.seq)
    return [(one.role, one.content) for one in found]


def wait_for(hf, count, user="ann"):
    """The captured turns as soon as there are so many: the proxy stores them after its answer."""
    until = time.monotonic() + PATIENCE
    while len(turns(hf, user)) < count and time.monotonic() < until:
        time.sleep(0.01)  # another thread is at work
    return turns(hf, user)


def user(text):
    return {"role": "user", "content": text}


def ask(client, *messages, **more):
    return client.chat.completions.create(model="m", messages=list(messages), **more)


def told(received):
    """All text of a request that the upstream got."""
    return json.dumps(received.json, ensure_ascii=False)


def test_what_was_said_in_one_conversation_is_there_in_the_next(client, upstream, hf):
    assert ask(client(), user(BOAT)).choices[0].message.content == "Noted."
    assert wait_for(hf, 2) == [("user", BOAT), ("assistant", "Noted.")]
    ask(client(), {"role": "system", "content": "Be brief."}, user(QUESTION))
    system, prompt = upstream.last.json["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert prompt["role"] == "user" and prompt["content"].endswith("\n\n" + QUESTION)
    assert prompt["content"].startswith("<holdfast-memory ") and BOAT in prompt["content"]


def test_the_responses_api_is_served_alike(client, upstream, hf):
    assert client().responses.create(model="m", input=BOAT).output_text == "Noted."
    assert wait_for(hf, 2) == [("user", BOAT), ("assistant", "Noted.")]
    client().responses.create(model="m", input=QUESTION, instructions="Be brief.")
    assert BOAT in upstream.last.json["input"] and QUESTION in upstream.last.json["input"]
    assert upstream.last.json["instructions"] == "Be brief."
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}
    parts = [{"type": "input_text", "text": QUESTION}, picture]
    client().responses.create(model="m", input=[{"role": "user", "content": parts}])
    first, *rest = upstream.last.json["input"][0]["content"]
    assert first["type"] == "input_text" and BOAT in first["text"] and rest == parts


def test_nothing_is_added_when_nothing_is_relevant(raw, upstream, hf):
    hf.remember("The spare key is under the blue pot")
    body = b'{ "messages" : [{"role":"user", "content":"7 * 6?"}],\n "top_p":1.0, "new_field": [] }'
    raw.post("chat/completions", content=body)
    assert upstream.last.body == body


def test_rules_go_into_the_instructions(client, upstream, hf):
    hf.remember("Answer in French", kind="rule")
    ask(client(), user("7 * 6?"))
    rules, prompt = upstream.last.json["messages"]
    assert rules["role"] == "system" and "Answer in French" in rules["content"]
    assert prompt == user("7 * 6?")
    ask(client(), {"role": "developer", "content": "Be brief."}, user("7 * 6?"))
    rules, _ = upstream.last.json["messages"]
    assert rules["role"] == "developer" and rules["content"].startswith("Be brief.\n\n<holdfast")
    client().responses.create(model="m", input="7 * 6?")
    assert "Answer in French" in upstream.last.json["instructions"]
    assert upstream.last.json["input"].endswith("7 * 6?")


def test_unknown_fields_and_tools_reach_the_upstream_unchanged(client, upstream, hf):
    hf.remember(BOAT)
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    extra = {"x_new": {"deep": [1, 2.5, None, "😀"]}}
    ask(client(), user(QUESTION), tools=[tool], temperature=0.25, extra_body=extra)
    sent = upstream.last.json
    assert sent.pop("messages")[0]["content"] != QUESTION
    assert sent == {"model": "m", "tools": [tool], "temperature": 0.25, **extra}


@pytest.mark.parametrize("pack", [lambda reply: reply, packed], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("path", "reply"),
    [
        ("chat/completions", lambda: document(chat_completion("Aye. Schön 船"))),
        ("chat/completions", lambda: chat_events("Aye. ", "Schön ", "船")),
        ("responses", lambda: document(response("Aye. Schön 船"))),
        ("responses", lambda: response_events("Aye. ", "Schön ", "船")),
    ],
    ids=["chat", "chat stream", "responses", "responses stream"],
)
def test_no_byte_of_an_answer_is_changed(raw, upstream, hf, path, reply, pack):
    sent = pack(reply())
    sent.headers["X-Of-Upstream"] = "kept"
    upstream.reply = lambda asked: sent
    body = {"messages": [user(BOAT)], "input": BOAT, "stream": sent.chunks is not None}
    with raw.stream("POST", path, json=body) as answer:
        got = b"".join(answer.iter_raw())
    assert got == (sent.body if sent.chunks is None else b"".join(sent.chunks))
    kept = {name: answer.headers[name] for name in sent.headers}
    assert kept == sent.headers and len(answer.headers.get_list("date")) == 1
    assert wait_for(hf, 2) == [("user", BOAT), ("assistant", "Aye. Schön 船")]


def test_the_official_client_streams(client, upstream, hf):
    upstream.reply = lambda asked: chat_events("A", "ye", ".")
    stream = ask(client(), user(BOAT), stream=True)
    assert [one.choices[0].delta.content for one in stream] == ["", "A", "ye", ".", None]
    assert wait_for(hf, 2)[1] == ("assistant", "Aye.")
    upstream.reply = lambda asked: response_events("A", "ye", ".")
    events = list(client().responses.create(model="m", input="And the sails?", stream=True))
    assert events[-1].response.output_text == "Aye."
    assert wait_for(hf, 4)[2:] == [("user", "And the sails?"), ("assistant", "Aye.")]


def test_an_event_reaches_the_client_before_the_answer_ends(client, upstream):
    upstream.reply = lambda asked: chat_events("Aye", endless=True)
    with ask(client(), user("Ahoy"), stream=True) as stream:
        assert "Aye" in [next(stream).choices[0].delta.content for _ in range(2)]


def test_a_stream_that_the_client_stops_is_stopped_upstream_and_captured(client, upstream, hf):
    event = json.dumps({"choices": [{"index": 0, "delta": {"content": "Well, "}}]}).encode()
    upstream.reply = lambda asked: Reply(
        headers={"Content-Type": "text/event-stream"},
        chunks=[b"data: " + event + b"\n\n", b": wait\n\n"],
        endless=True,
    )
    with ask(client(), user(BOAT), stream=True) as stream:
        assert next(stream).choices[0].delta.content == "Well, "
    assert upstream.gone.wait(PATIENCE)
    assert wait_for(hf, 2) == [("user", BOAT), ("assistant", "Well,")]


def test_a_stream_that_breaks_off_breaks_off_for_the_client_too(client, upstream, hf):
    cut = chat_events("Aye, ", "but", breaks=True)
    cut.chunks = cut.chunks[:-3]
    upstream.reply = lambda asked: cut
    with pytest.raises((httpx.RemoteProtocolError, openai.APIError)):
        list(ask(client(), user(BOAT), stream=True))
    upstream.reply = said("Noted.")
    ask(client(), user("Ahoy"))
    assert wait_for(hf, 2)[0] == ("user", "Ahoy"), "what failed was not captured"


@pytest.mark.parametrize(
    ("status", "error"), [(429, openai.RateLimitError), (500, openai.InternalServerError)]
)
def test_errors_of_the_upstream_pass_through(client, raw, upstream, hf, status, error):
    body = {"error": {"message": "Slow down.", "type": "limit", "param": None, "code": "x"}}
    headers = {"Content-Type": "application/json", "Retry-After": "7"}
    upstream.reply = lambda asked: document(body, status=status, headers=headers)
    with pytest.raises(error, match=r"Slow down\.") as caught:
        ask(client(), user(BOAT))
    assert caught.value.response.headers["Retry-After"] == "7"
    answer = raw.post("responses", json={"input": BOAT})
    assert (answer.status_code, answer.content) == (status, document(body).body)
    assert turns(hf) == []


def test_a_failure_inside_a_stream_is_not_captured(client, upstream, hf):
    failed = b'data: {"error": {"message": "overloaded", "type": "server"}}\n\n'
    headers = {"Content-Type": "text/event-stream"}
    upstream.reply = lambda asked: Reply(headers=headers, chunks=[failed])
    with pytest.raises(openai.APIError, match="overloaded"):
        list(ask(client(), user(BOAT), stream=True))
    upstream.reply = said("Noted.")
    ask(client(), user("Ahoy"))
    assert wait_for(hf, 2)[0] == ("user", "Ahoy")


def test_a_request_that_is_no_json_is_the_upstreams_business(raw, upstream):
    for body in (b"{", b"[]", b'{"messages": 7}', b'{"messages": [7, null]}', b""):
        raw.post("chat/completions", content=body)
        assert upstream.last.body == body


def test_tool_calls_pass_and_the_user_is_captured_once(client, upstream, hf):
    call = {"id": "call_9", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    upstream.reply = lambda asked: document(chat_completion(None, tool_calls=[call]))
    reply = ask(client(), user(BOAT)).choices[0].message
    assert reply.tool_calls[0].id == "call_9" and reply.content is None
    wait_for(hf, 1)
    upstream.reply = said("She leaks, I see.")
    history = [user(BOAT), {"role": "assistant", "tool_calls": [call]}]
    ask(client(), *history, {"role": "tool", "tool_call_id": "call_9", "content": "wet"})
    assert upstream.last.json["messages"][1]["tool_calls"] == [call]
    assert wait_for(hf, 2) == [("user", BOAT), ("assistant", "She leaks, I see.")]
    assert len({one.session for one in hf.list(kinds=["turn"])}) == 1


def test_tool_calls_of_the_responses_api(client, upstream, hf):
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "look"}
    call |= {"arguments": "{}", "status": "completed"}
    upstream.reply = lambda asked: document(response("", call))
    first = client().responses.create(model="m", input=BOAT)
    wait_for(hf, 1)
    upstream.reply = said("She leaks, I see.")
    result = {"type": "function_call_output", "call_id": "call_9", "output": "wet"}
    client().responses.create(model="m", input=[result], previous_response_id=first.id)
    assert upstream.last.json["input"] == [result]
    assert wait_for(hf, 2) == [("user", BOAT), ("assistant", "She leaks, I see.")]
    assert len({one.session for one in hf.list(kinds=["turn"])}) == 1


def test_a_conversation_is_one_session_and_gets_nothing_of_itself(client, upstream, hf):
    history = [user(BOAT)]
    for number, question in enumerate((QUESTION, "And the sails of Heron?"), 1):
        reply = ask(client(), *history).choices[0].message
        wait_for(hf, 2 * number)
        history += [{"role": "assistant", "content": reply.content}, user(question)]
    ask(client(), *history)
    assert upstream.last.json["messages"] == history
    wait_for(hf, 6)
    assert len({one.session for one in hf.list(kinds=["turn"])}) == 1
    ask(client(), user(BOAT))
    wait_for(hf, 8)
    assert len({one.session for one in hf.list(kinds=["turn"])}) == 2


def test_a_client_may_name_its_session(client, hf):
    ask(client(), user(BOAT), extra_headers={"Holdfast-Session": "monday"})
    client().responses.create(model="m", input="Ahoy", conversation="conv_1")
    wait_for(hf, 4)
    assert {one.session for one in hf.list(kinds=["turn"])} == {"monday", "conv_1"}


def test_two_users_are_kept_apart(client, upstream, hf):
    ask(client("bea"), user(BOAT))
    assert wait_for(hf, 2, "bea") and turns(hf) == []
    ask(client(), user(QUESTION))
    assert BOAT not in told(upstream.last)
    ask(client("carl"), user(QUESTION))
    assert BOAT not in told(upstream.last)
    ask(client("bea"), user(QUESTION))
    assert BOAT in told(upstream.last)


def test_a_user_may_have_any_name_and_a_wrong_one_is_refused(raw, upstream, hf):
    body = {"messages": [user(BOAT)]}
    name = "Zoë 船".encode()
    assert raw.post("chat/completions", json=body, headers={b"Holdfast-User": name}).is_success
    assert wait_for(hf, 2, "Zoë 船")
    seen = len(upstream.received)
    for header in ("Holdfast-User", "Holdfast-Session"):
        answer = raw.post("chat/completions", json=body, headers={header: "x" * 2001})
        assert answer.status_code == 400 and "characters" in answer.json()["error"]["message"]
        answer = raw.post("chat/completions", json=body, headers={header.encode(): b"\xff"})
        assert answer.status_code == 400 and "UTF-8" in answer.json()["error"]["message"]
    assert len(upstream.received) == seen


def test_the_clients_key_goes_upstream_and_nowhere_else(client, upstream, hf, caplog, tmp_path):
    caplog.set_level(logging.INFO)
    said_secret = f"My key is {API_KEY}, keep it safe."
    ask(client("bea"), user(said_secret), extra_headers={"Holdfast-Session": "monday"})
    assert upstream.last.headers["authorization"] == f"Bearer {API_KEY}"
    assert not [name for name in upstream.last.headers if name.startswith("holdfast")]
    assert said_secret in told(upstream.last), "the request itself is the client's"
    captured = wait_for(hf, 2, "bea")
    assert "keep it safe" in captured[0][1] and API_KEY not in captured[0][1]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not any(API_KEY.encode() in path.read_bytes() for path in files)
    assert API_KEY not in caplog.text and "keep it safe" not in caplog.text


def test_memory_that_fails_fails_no_request_and_is_logged_once(
    client, upstream, hf, caplog, monkeypatch
):
    def busy(*_, **__):
        raise StoreBusy("The store is busy.")

    monkeypatch.setattr(type(hf), "context", busy)
    monkeypatch.setattr(type(hf), "capture_many", busy)
    for _ in range(3):
        assert ask(client(), user(BOAT)).choices[0].message.content == "Noted."
        assert list(ask(client(), user(BOAT), stream=True))
    assert upstream.last.json["messages"] == [user(BOAT)]
    logged = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert [one for one in logged if "added" in one] == [
        "memory failed, and nothing was added to a request: The store is busy."
    ]
    assert len(logged) <= 2, "one for recall and one for capture"


def test_memory_that_hangs_is_not_waited_for(hf, upstream, keys, monkeypatch):
    going_on = threading.Event()
    monkeypatch.setattr(type(hf), "context", lambda *_, **__: going_on.wait(PATIENCE))
    with proxying(hf, upstream.url, keys, memory_seconds=0.01) as url:
        body = {"messages": [user(BOAT)]}
        answer = httpx.post(f"{url}/chat/completions", json=body, trust_env=False, timeout=PATIENCE)
        going_on.set()
    assert answer.json() == chat_completion("Noted.")
    assert upstream.last.json["messages"] == [user(BOAT)]


def test_everything_else_is_passed_on(client, raw, upstream, hf):
    assert client().models.list().data == []
    assert (upstream.last.method, upstream.last.path) == ("GET", "/v1/models")
    raw.delete("files/a%2Fb?x=1&y=%20")
    assert (upstream.last.method, upstream.last.path) == ("DELETE", "/v1/files/a%2Fb?x=1&y=%20")
    raw.post("embeddings", content=b"\x00\xff" * 1000)
    assert upstream.last.body == b"\x00\xff" * 1000
    assert turns(hf) == []


def test_another_path_says_what_the_base_url_is(raw, proxy, upstream):
    answer = raw.post(proxy.replace("/v1", "/chat/completions"), json={})
    assert answer.status_code == 404 and "/v1" in answer.json()["error"]["message"]
    assert upstream.received == []


def test_an_upstream_that_is_not_there_is_named(hf, keys):
    with proxying(hf, "http://127.0.0.1:9/v1", keys) as url:
        http = httpx.Client(trust_env=False, timeout=PATIENCE)
        with http, pytest.raises(openai.InternalServerError, match="--upstream") as caught:
            client = openai.OpenAI(base_url=url, api_key=API_KEY, http_client=http, max_retries=0)
            ask(client, user(BOAT))
    assert caught.value.status_code == 502 and "http://127.0.0.1:9/v1" in str(caught.value)
    assert turns(hf) == []


def test_other_web_pages_are_refused_without_keys(raw, upstream):
    for headers in (
        {"Host": "evil.example"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        answer = raw.post("chat/completions", json={"messages": [user(BOAT)]}, headers=headers)
        assert answer.status_code == 403
    assert upstream.received == []


def test_with_keys_the_key_says_whose_memory_it_is(raw, upstream, hf, keys):
    key = KeyFile(keys).add("bea", at=0)
    body = {"messages": [user(BOAT)]}
    refused = raw.post("chat/completions", json=body)
    assert refused.status_code == 401 and "Holdfast-Key" in refused.json()["error"]["message"]
    shown = {"Holdfast-Key": key}
    other = raw.post("chat/completions", json=body, headers={**shown, "Holdfast-User": "ann"})
    assert other.status_code == 403 and upstream.received == []
    assert raw.post("chat/completions", json=body, headers=shown).is_success
    assert wait_for(hf, 2, "bea") and key not in str(upstream.last)


@pytest.mark.parametrize(
    "url", ["", "api.openai.com/v1", "ftp://host/v1", "http://", "http://[::1", "http://h:x/v1"]
)
def test_an_upstream_that_is_no_url_is_refused(url):
    with pytest.raises(InvalidInput, match=r"https://api\.openai\.com/v1"):
        check_upstream(url)


def test_an_upstream_may_hold_no_password():
    with pytest.raises(InvalidInput, match="its own key") as caught:
        check_upstream("https://me:hunter2@host/v1")
    assert "hunter2" not in str(caught.value)
    assert check_upstream("https://host/v1/") == "https://host/v1"


@pytest.fixture
def refused(cli, tmp_path, monkeypatch):
    """What the command says when it does not begin."""
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")

    def begin(*options, upstream="http://127.0.0.1:9/v1"):
        store = tmp_path / "memory.db"
        done = cli("proxy", "--upstream", upstream, "--store", store, *options)
        assert done.code == 2
        return done.err

    return begin


def test_the_command_says_why_it_does_not_begin(refused):
    assert "base URL" in refused(upstream="openai")
    assert "holdfast serve keys add" in refused("--host", "0.0.0.0", "--port", 0)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        said = refused("--port", other.getsockname()[1])
    assert "in use" in said and "--port" in said


def test_the_command_refuses_to_be_its_own_upstream(refused):
    port = free_port()
    said = refused("--port", port, upstream=f"http://localhost:{port}/v1")
    assert "this proxy itself" in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_command_says_where_it_is_and_ends_cleanly(upstream, tmp_path):
    command = [sys.executable, "-m", "holdfast", "proxy", "--upstream", upstream.url, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--json", "--store", str(tmp_path / "memory.db"), "--scope", "user:ann"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOLDFAST_EMBEDDING_MODELS": "none"},
    )
    try:
        assert process.stderr.readline().startswith("OPENAI_BASE_URL=http://127.0.0.1:")
        started = "".join(iter(process.stdout.readline, "}\n")) + "}"
        url = json.loads(started)["url"]
        body = {"messages": [user(BOAT)]}
        answer = httpx.post(f"{url}/chat/completions", json=body, trust_env=False, timeout=PATIENCE)
        assert answer.json() == chat_completion("Noted.")
        with Holdfast.open(tmp_path / "memory.db", scope="user:ann", background=False) as hf:
            wait_for(hf, 2)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0 and err.endswith("Stopped.\n")
    assert "POST chat/completions 200" in err and "Heron" not in err
