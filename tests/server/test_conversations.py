"""Conversations over HTTP: considered after a reply, ended in every way there is, learned from
once.
"""

from __future__ import annotations

import threading

import pytest

from holdfast.extraction.orphaned_sessions import SERVED_BY
from holdfast.extraction.progress import is_unread
from holdfast.server import session_watch
from holdfast.server.session_watch import Conversations
from live_server import serving
from patience import PATIENCE, wait_until

SAID = "My name is Ann. I live in Lisbon and I work as a nurse."


def say(http, text=SAID, role="user", session="s1", **params):
    answer = http.post(
        "/capture", json={"session": session, "role": role, "text": text}, params=params
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def learned(hf):
    """What was made of what was said, in any status."""
    from holdfast.types import STATUSES

    return hf.list(kinds=["fact", "rule", "episode"], statuses=STATUSES)


def test_a_session_that_is_ended_is_learned_from_at_once(hf, http):
    say(http)
    say(http, "Nice to meet you.", role="assistant")
    ended = http.post("/sessions/s1/end").json()
    assert ended["ended"] is True and ended["learned"] is not None
    assert any("Lisbon" in one.content for one in learned(hf))
    before = learned(hf)
    assert http.post("/sessions/s1/end").json()["ended"] is False and learned(hf) == before


def test_whoever_led_a_session_may_say_how_it_went_when_they_end_it(hf, http):
    for text in (SAID, "My boss shouted at me again.", "I could not sleep at all."):
        say(http, text)
    assert http.post("/sessions/s1/end", json={"crisis_level_max": 4}).status_code == 422
    led = {
        "approach_used": "cbt",
        "approach_context": {"thought_record": "the boss"},
        "crisis_level_max": 1,
    }
    assert http.post("/sessions/s1/end", json=led).json()["ended"] is True
    (arc,) = [one for one in learned(hf) if one.kind == "episode"]
    assert {name: arc.metadata[name] for name in led} == led


def test_after_a_reply_what_was_said_is_considered(hf, keys):
    with serving(hf, keys) as live:
        say(live.client())
        assert "consider" not in {event.verb for event in hf.admin.log()}
        say(live.client(), "Nice to meet you.", role="assistant")
        wait_until(lambda: "consider" in {event.verb for event in hf.admin.log()})


def test_a_session_waits_once_however_many_replies_it_had(hf, monkeypatch):
    begun, go_on, read = threading.Event(), threading.Event(), []

    def consider(view, session):
        read.append((view.scopes[0].key, session))
        begun.set()
        go_on.wait(PATIENCE)

    monkeypatch.setattr(session_watch, "_consider", consider)
    conversations = Conversations(hf)
    reply = hf.capture("s1", "assistant", "Nice to meet you.")
    conversations.consider_soon(hf, reply)
    assert begun.wait(PATIENCE)
    for _ in range(3):
        conversations.consider_soon(hf, reply)
    bob = hf.scoped("user:bob")
    conversations.consider_soon(bob, bob.capture("s2", "assistant", "Hello."))
    conversations.consider_soon(hf, hf.capture("s1", "user", "Not a reply."))
    go_on.set()
    wait_until(lambda: len(read) == 3)
    conversations.close()
    assert read == [("ann", "s1"), ("ann", "s1"), ("bob", "s2")]


def test_a_session_that_goes_on_in_another_process_is_not_ended_here(hf):
    conversations = Conversations(hf)
    for session in ("s1", "s2"):
        view = hf.scoped(f"user:{session}")
        conversations.capture(view, {"session": session, "role": "user", "text": SAID})
    turn = {"session": "s1", "role": "user", "text": "And I have a cat."}
    hf.scoped("user:s1").capture_many([turn], noted={SERVED_BY: "another process"})
    conversations.close()
    ended = [hf.scoped(f"user:{name}").sessions.list()[0].ended_at for name in ("s1", "s2")]
    assert ended[0] is None and ended[1] is not None


def test_what_another_process_reads_is_left_to_it(hf):
    hf.capture("s1", "user", SAID)
    hf.sessions.end("s1")
    (session,) = hf.sessions.list()
    hf.store.jobs.enqueue(session.scope, "learn", "s1", watermark=session.last_activity)
    job = hf.store.jobs.claim(
        ["learn"], worker="another", now=hf.clock(), lease=60_000_000, scopes=[session.scope]
    )
    Conversations(hf).tend(threading.Event())
    assert is_unread(hf.store, session)
    assert hf.store.jobs.release(job)
    Conversations(hf).tend(threading.Event())
    assert not is_unread(hf.store, session)


def test_the_end_of_the_server_is_the_end_of_what_was_said_to_it(hf, keys):
    hf.capture("of another program", "user", "Hello from elsewhere.")
    with serving(hf, keys) as live:
        say(live.client(), user_id="bob")
    (session,) = hf.scoped("user:bob").sessions.list()
    assert session.end_reason == "shutdown" and not is_unread(hf.store, session)
    assert any("Lisbon" in one.content for one in learned(hf.scoped("user:bob")))
    assert [one.ended_at for one in hf.sessions.list()] == [None]


def test_when_time_is_up_sessions_are_ended_and_learning_is_left_to_workers(hf):
    conversations = Conversations(hf)
    for session in ("s1", "s2"):
        conversations.capture(
            hf.scoped(f"user:{session}"), {"session": session, "role": "user", "text": SAID}
        )
    moments = iter([0.0, 1.0, 99.0, 99.0])
    conversations.close(seconds=6, now=lambda: next(moments))
    states = [hf.scoped(f"user:{name}").sessions.list()[0] for name in ("s1", "s2")]
    assert [one.end_reason for one in states] == ["shutdown", "shutdown"]
    assert [is_unread(hf.store, one) for one in states] == [False, True]
    Conversations(hf).tend(threading.Event())
    assert not is_unread(hf.store, hf.scoped("user:s2").sessions.list()[0])


def test_silence_ends_a_session_of_any_owner(hf, clock):
    conversations = Conversations(hf)
    conversations.capture(hf.scoped("user:bob"), {"session": "s1", "role": "user", "text": SAID})
    clock.forward(minutes=19)
    conversations.tend(threading.Event())
    assert hf.scoped("user:bob").sessions.list()[0].ended_at is None
    clock.forward(minutes=2)
    conversations.tend(threading.Event())
    (session,) = hf.scoped("user:bob").sessions.list()
    assert session.end_reason == "idle" and not is_unread(hf.store, session)


def test_an_empty_store_has_nothing_to_tend_to(hf):
    Conversations(hf).tend(threading.Event())


def test_a_store_that_is_gone_does_not_stop_the_server(open_memory, caplog):
    hf = open_memory("user:ann")
    conversations = Conversations(hf)
    for owner in ("ann", "bob", "cleo"):
        turn = {"session": "s1", "role": "user", "text": SAID}
        conversations.capture(hf.scoped(f"user:{owner}"), turn)
    hf.store.close()
    conversations.tend(threading.Event())
    conversations.close()
    # Each attempt may take half a minute on a server that is away.
    assert caplog.text.count("ending a session failed") == 1


# Guests


def test_a_guest_leaves_nothing_and_sees_nothing(hf, http):
    hf.remember("Prefers green tea")
    guest = {"memory_mode": "guest"}
    assert say(http, **guest)["memory"]["content"] == SAID
    assert http.post("/memories", json={"content": "Has a cat"}, params=guest).status_code == 201
    assert http.get("/facts", params=guest).json() == []
    assert http.post("/recall", json={"question": "tea"}, params=guest).json() == {"items": []}
    status = http.get("/status", params=guest).json()
    assert (status["memory_mode"], status["counts"]["semantic"]) == ("incognito", 0)
    assert [one.content for one in hf.list()] == ["Prefers green tea"] and hf.sessions.list() == []


def test_a_request_asks_for_less_and_never_for_more(http):
    modes = [
        http.get("/status", params={"memory_mode": mode}).json()["memory_mode"]
        for mode in ("synced", "local")
    ]
    assert modes == ["local", "local"]
    assert http.get("/status", params={"memory_mode": "forever"}).status_code == 422


def test_only_a_guest_is_given_an_empty_memory(open_memory, keys):
    from holdfast.config import Settings

    hf = open_memory("user:ann", settings=Settings(memory_mode="synced"))
    hf.remember("Has a cat")
    with serving(hf, keys) as live:
        status = live.client().get("/status", params={"memory_mode": "local"}).json()
    assert status["counts"]["semantic"] == 1


@pytest.mark.parametrize("mode", ["incognito", "synced"])
def test_an_incognito_server_serves_nothing_else(tmp_path, clock, mode):
    from holdfast.client import Holdfast
    from holdfast.config import Settings

    guest = Holdfast.open(
        scope="user:ann", settings=Settings(), clock=clock, mode="incognito", background=False
    )
    with guest as hf, serving(hf, tmp_path / "keys.jsonl") as live:
        http = live.client()
        http.post("/memories", json={"content": "Has a cat"})
        status = http.get("/status", params={"memory_mode": mode}).json()
        assert (status["memory_mode"], status["counts"]["semantic"]) == ("incognito", 1)
    assert list(tmp_path.iterdir()) == []
