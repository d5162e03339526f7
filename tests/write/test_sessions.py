"""Sessions of captured turns: a new one ends the open ones, and who speaks in an ended one goes on
with it.
"""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def states(hf):
    return {session.id: session.end_reason for session in hf.sessions.list()}


def test_a_new_session_ends_the_open_one_and_not_itself(hf):
    """YO-03."""
    hf.capture("one", "user", "hello")
    assert states(hf) == {"one": ""}
    hf.capture("two", "user", "hello again")
    assert states(hf) == {"one": "another session began", "two": ""}


def test_a_session_is_registered_once_and_a_blank_turn_changes_nothing(hf):
    """YO-02."""
    hf.capture("one", "user", "hello")
    hf.capture("one", "assistant", "hi")
    assert hf.capture("two", "user", "   ") is None
    assert states(hf) == {"one": ""}


def test_who_speaks_in_an_ended_session_opens_it_again(hf):
    hf.capture("one", "user", "hello")
    hf.capture("two", "user", "hello")
    hf.capture("one", "user", "back again")
    assert states(hf) == {"one": "", "two": ""}


def test_sessions_of_other_scopes_and_of_agents_are_left_alone(hf):
    hf.sessions.append("of an agent", [{"x": 1}], agent="assistant")
    hf.scoped("user:bob").capture("of bob", "user", "hello")
    hf.capture("one", "user", "hello")
    hf.capture("two", "user", "hello")
    assert states(hf) == {"of an agent": "", "one": "another session began", "two": ""}
    assert states(hf.scoped("user:bob")) == {"of bob": ""}


def test_no_secret_in_what_is_noted_of_a_session_reaches_the_disk(hf, tmp_path):
    """Whatever an agent's framework calls the parts of its messages."""
    key, ids = (
        "AKIA" + "Q3EGR7DKXU2LW5ZB",
        {"tool_call_id": "toolu_01A09q90qw90lq917835lq9", "text": "kept"},
    )
    hf.sessions.append(
        "one", [{"said": [f"our key is {key}"], "password": "hunter2-x9"}, ids], metadata={"a": key}
    )
    hf.sessions.end("one", reason=f"{key} was pasted", metadata={"b": [key]})
    assert [message.body for message in hf.sessions.messages("one")][1] == ids
    assert set(hf.sessions.list()[0].metadata) == {"a", "b"}
    hf.close()
    on_disk = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert key.encode() not in on_disk
    assert b"hunter2-x9" not in on_disk


def test_many_turns_of_several_sessions_end_all_but_the_last(hf):
    hf.capture_many(
        [{"session": name, "role": "user", "text": f"in {name}"} for name in ("a", "a", "b", "c")]
    )
    assert states(hf) == {"a": "another session began", "b": "another session began", "c": ""}


@pytest.mark.parametrize(
    "order", ["aab", "aba", "abcacb", "oaob", "epae", "pep", "oneone"], ids=lambda order: order
)
def test_many_turns_at_once_leave_the_sessions_as_one_by_one(hf, order):
    """`o` is open and `e` has ended before; an agent leads `p`."""

    def told(mine):
        return [
            (one.id, one.end_reason, one.ended_at is None, one.agent, dict(one.metadata))
            for one in sorted(mine.sessions.list(), key=lambda one: one.id)
        ]

    def begun(owner):
        mine = hf.scoped(owner)
        mine.capture("e", "user", "said before")
        mine.sessions.end("e")
        mine.capture("o", "user", "said before")
        mine.sessions.append("p", [{"x": 1}], agent="assistant", metadata={"cwd": "/tmp"})
        return mine

    turns = [
        {"session": name, "role": "user", "text": f"{name} {place}"}
        for place, name in enumerate(order)
    ]
    at_once, one_by_one = begun("user:bob"), begun("user:eve")
    stored = at_once.capture_many(turns, noted={"of": "test"})
    each = [one_by_one.capture_many([turn], noted={"of": "test"})[0] for turn in turns]
    assert [one.position for one in stored] == [one.position for one in each]
    assert told(at_once) == told(one_by_one)


def test_an_undone_batch_leaves_the_sessions_as_they_were(hf):
    hf.capture("open", "user", "hello")
    before = hf.sessions.list()
    hf.capture_many([{"session": name, "role": "user", "text": f"in {name}"} for name in "abab"])
    hf.undo()
    assert hf.sessions.list() == before


def test_a_session_that_has_ended_is_unread_until_it_is_consolidated(hf, clock):
    hf.capture("one", "user", "hello")
    assert hf.store.sessions.unread(hf.scopes) == []
    hf.sessions.end("one")
    assert [session.id for session in hf.store.sessions.unread(hf.scopes)] == ["one"]
