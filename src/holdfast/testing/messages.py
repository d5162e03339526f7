"""Messages of sessions: a log that only grows, and goes only with its session."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from ..errors import Conflict, InvalidInput, NotFound, Refused
from ..storage.protocol import Store, Transaction
from ..types import Message, Scope, Session
from .exporting import copy_scope
from .scene import ANN, BOB, NOUNS, START, TEAM, Again, at, put, together, truth, turn, undo, write

Body = dict[str, Any]


def says(text: str) -> Body:
    """A message."""
    return {"role": "user", "parts": [{"kind": "text", "content": text}]}


def begin(
    store: Store,
    session: str = "s",
    *,
    scope: Scope = ANN,
    run: str = "",
    **fields: Any,
) -> Session:
    """Adds a session."""
    new = Session(session, scope, START, START, **fields)
    write(store, lambda tx: tx.sessions.put(new), run=run)
    return new


def append(
    store: Store,
    *texts: str,
    session: str = "s",
    scope: Scope = ANN,
    seconds: float = 0,
    run: str = "",
) -> int:
    """Appends messages in one transaction, and says how many the session has now."""
    bodies = [says(text) for text in texts]
    return write(
        store,
        lambda tx: tx.sessions.add_messages(scope, session, bodies),
        when=at(seconds),
        run=run,
    )


def told(messages: Sequence[Message]) -> list[str]:
    """What messages say."""
    return [message.body["parts"][0]["content"] for message in messages]


class MessagesContract:
    """Appended in order, read back as they were, purged with their session."""

    def test_messages_come_back_in_order_with_their_place_and_time(self, store: Store) -> None:
        begin(store)
        assert append(store, "one", "two", seconds=1) == 2
        assert append(store, "three", seconds=2) == 3
        assert store.sessions.messages(ANN, "s") == [
            Message(ANN, "s", 0, says("one"), at(1)),
            Message(ANN, "s", 1, says("two"), at(1)),
            Message(ANN, "s", 2, says("three"), at(2)),
        ]

    def test_appending_nothing_says_how_many_there_are(self, store: Store) -> None:
        begin(store)
        assert append(store) == 0
        append(store, "one")
        assert append(store) == 1

    def test_a_writer_appends_behind_what_it_appended(self, store: Store) -> None:
        def work(tx: Transaction) -> list[int]:
            tx.sessions.put(Session("s", ANN, START, START))
            return [tx.sessions.add_messages(ANN, "s", [says(text)]) for text in ("one", "two")]

        assert write(store, work) == [1, 2]
        assert told(store.sessions.messages(ANN, "s")) == ["one", "two"]

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"text": "", "n": [1, 2.5, None, True, {"deep": {"deeper": [[]]}}]},
            {"é": "日本 👩‍👩‍👧 \u2028 \\ \" '; DROP TABLE messages;", "\n": "\t\x00\x1f"},
            {"long": "x" * 300_000},
            {"type": "message", "scope": "user:bob", "session": "t", "position": 9},
        ],
        ids=["empty", "nested", "odd texts", "long", "names of columns"],
    )
    def test_any_json_object_is_kept_as_it_is(self, store: Store, body: Body) -> None:
        begin(store)
        write(store, lambda tx: tx.sessions.add_messages(ANN, "s", [body, body]))
        assert [message.body for message in store.sessions.messages(ANN, "s")] == [body, body]
        copied = [json.loads(json.dumps(row)) for row in store.rows("message", ANN)]
        assert [row["body"] for row in copied] == [body, body]

    @pytest.mark.parametrize(
        "body", [["a list"], "text", None, {"set": {1}}, {"half": "\ud800"}], ids=repr
    )
    def test_what_is_no_json_object_is_refused_with_all_of_its_batch(
        self, store: Store, body: Any
    ) -> None:
        begin(store)
        with pytest.raises(InvalidInput):
            write(store, lambda tx: tx.sessions.add_messages(ANN, "s", [says("good"), body]))
        assert store.sessions.messages(ANN, "s") == []

    def test_a_session_must_be_there(self, store: Store) -> None:
        begin(store, scope=BOB)
        for session in ("s", "nobody"):
            with pytest.raises(NotFound):
                append(store, "lost", session=session)
        assert (
            store.sessions.messages(ANN, "s"),
            store.sessions.message_counts(ANN, ["s"]),
            store.scopes(),
        ) == (
            [],
            {},
            [BOB],
        )

    def test_an_exception_leaves_no_message_behind(self, store: Store) -> None:
        begin(store)
        append(store, "kept")
        with pytest.raises(ZeroDivisionError):
            together(
                store,
                lambda tx: tx.sessions.add_messages(ANN, "s", [says("lost")]),
                lambda tx: 1 // 0,
            )
        append(store, "next")
        assert told(store.sessions.messages(ANN, "s")) == ["kept", "next"]

    @pytest.mark.parametrize(
        ("last", "expected"), [(0, 0), (-1, 0), (1, 1), (3, 3), (5, 5), (99, 5)]
    )
    def test_the_last_messages_come_in_order_too(
        self,
        store: Store,
        last: int,
        expected: int,
    ) -> None:
        begin(store)
        append(store, *"abcde")
        assert told(store.sessions.messages(ANN, "s", last=last)) == list("abcde")[5 - expected :]

    def test_more_than_ten_messages_keep_the_order_of_their_numbers(self, store: Store) -> None:
        begin(store)
        for number in range(12):
            append(store, str(number))
        assert told(store.sessions.messages(ANN, "s")) == [str(number) for number in range(12)]
        assert [row["position"] for row in store.rows("message", ANN)] == list(range(12))

    def test_each_message_is_stored_once(self, store: Store) -> None:
        begin(store)
        for number in range(30):
            assert append(store, f"message {number}") == number + 1
        rows = [row for noun in (*NOUNS, "event") for row in store.rows(noun, ANN)]
        assert (
            sum("message " in json.dumps(row) for row in rows)
            == len(list(store.rows("message", ANN)))
            == 30
        )

    def test_messages_are_not_journalled(self, store: Store) -> None:
        begin(store, run="run_begin")
        append(store, "one", run="run_append")
        assert [(event.noun, event.run) for event in store.events([ANN])] == [
            ("session", "run_begin")
        ]
        with pytest.raises(NotFound):
            undo(store, "run_append")

    def test_sessions_and_scopes_are_kept_apart(self, store: Store) -> None:
        for scope, session in ((ANN, "s"), (ANN, "t"), (BOB, "s")):
            begin(store, session, scope=scope)
            append(store, f"{scope.key} {session}", session=session, scope=scope)
        assert append(store, "more") == 2
        assert told(store.sessions.messages(ANN, "s")) == ["ann s", "more"]
        assert told(store.sessions.messages(ANN, "t")) == ["ann t"]
        assert told(store.sessions.messages(BOB, "s")) == ["bob s"]
        assert store.sessions.messages(BOB, "t") == store.sessions.messages(TEAM, "s") == []

    def test_counts_leave_out_sessions_without_messages(self, store: Store) -> None:
        for session in "abc":
            begin(store, session)
        begin(store, "a", scope=BOB)
        append(store, "one", "two", session="a")
        append(store, "three", session="c")
        assert store.sessions.message_counts(ANN, ["a", "b", "c", "nobody", "a"]) == {
            "a": 2,
            "c": 1,
        }
        assert (
            store.sessions.message_counts(ANN, ["b"])
            == store.sessions.message_counts(ANN, [])
            == {}
        )
        assert (
            store.sessions.message_counts(BOB, ["a"])
            == store.sessions.message_counts(TEAM, ["a"])
            == {}
        )

    def test_any_number_of_sessions_can_be_counted(self, store: Store) -> None:
        sessions = [f"session {number}" for number in range(1100)]

        def work(tx: Transaction) -> None:
            for session in sessions:
                tx.sessions.put(Session(session, ANN, START, START))
            for session in sessions[::100]:
                tx.sessions.add_messages(ANN, session, [says("here")])

        write(store, work)
        assert store.sessions.message_counts(ANN, sessions) == dict.fromkeys(sessions[::100], 1)

    def test_a_session_is_found_by_its_id(self, store: Store) -> None:
        session = begin(store, agent="claude", metadata={"cwd": "/tmp"})
        begin(store, "t")
        assert store.sessions.get(ANN, "s") == session
        assert store.sessions.get(ANN, "nobody") is store.sessions.get(BOB, "s") is None

    def test_threads_that_append_to_one_session_never_collide(self, store: Store) -> None:
        begin(store)
        failures: list[BaseException] = []

        def talk(name: str) -> None:
            try:
                for number in range(10):
                    append(store, f"{name} {number}", f"{name} {number} again")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=talk, args=(name,)) for name in ("ann", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        messages = store.sessions.messages(ANN, "s")
        assert (failures, [message.position for message in messages]) == ([], list(range(40)))
        for name in ("ann", "bob"):
            own = [text for text in told(messages) if text.startswith(name)]
            assert own == [
                f"{name} {number}{again}" for number in range(10) for again in ("", " again")
            ]
        pairs = told(messages)
        assert all(pairs[place + 1] == f"{pairs[place]} again" for place in range(0, 40, 2))

    def test_two_store_objects_append_to_one_session(self, store: Store, again: Again) -> None:
        other = again()
        begin(store)
        assert [append(one, "more") for one in (store, other, other, store)] == [1, 2, 3, 4]
        assert store.sessions.messages(ANN, "s") == other.sessions.messages(ANN, "s")

    def test_a_purged_session_takes_its_messages_along(self, store: Store) -> None:
        for scope, session in ((ANN, "s"), (ANN, "t"), (BOB, "s")):
            begin(store, session, scope=scope)
            append(store, "one", "two", session=session, scope=scope)
        put(store, turn("a turn is a memory", "s", 0))
        assert write(store, lambda tx: tx.erasure.session(ANN, "s")) == 2
        assert (store.sessions.get(ANN, "s"), store.sessions.messages(ANN, "s")) == (None, [])
        assert store.sessions.message_counts(ANN, ["s", "t"]) == {"t": 2}
        assert told(store.sessions.messages(BOB, "s")) == ["one", "two"]
        assert [row["content"] for row in store.rows("memory", ANN)] == ["a turn is a memory"]

    def test_only_a_session_that_is_there_can_be_purged(self, store: Store) -> None:
        begin(store)
        append(store, "kept")
        for scope, session in ((ANN, "nobody"), (BOB, "s"), (TEAM, "s")):
            with pytest.raises(NotFound):
                write(store, lambda tx, place=(scope, session): tx.erasure.session(*place))  # type: ignore[misc]
        assert told(store.sessions.messages(ANN, "s")) == ["kept"]

    def test_a_purged_session_leaves_entries_without_words_in_the_journal(
        self, store: Store
    ) -> None:
        begin(store, agent="zanzibar", metadata={"k": "zanzibar"})
        ended = Session(
            "s", ANN, START, START, agent="other zanzibar", ended_at=at(1), end_reason="zanzibar"
        )
        write(store, lambda tx: tx.sessions.put(ended))
        append(store, "zanzibar")
        entries = len(store.events([ANN]))
        assert (
            write(store, lambda tx: tx.erasure.session(ANN, "s"), run="run_purge", verb="purge")
            == 1
        )
        store.scrub()
        events = store.events([ANN])
        assert len(events) == entries + 1
        assert (events[0].run, events[0].noun, events[0].before, events[0].after) == (
            "run_purge",
            "session",
            {"purged": True},
            None,
        )
        assert "zanzibar" not in str(events) + str([list(store.rows(noun, ANN)) for noun in NOUNS])

    def test_a_purged_session_cannot_come_back(self, store: Store) -> None:
        session = begin(store, run="run_begin")
        ended = Session("s", ANN, START, START, ended_at=at(1))
        write(store, lambda tx: tx.sessions.put(ended), run="run_end")
        append(store, "one")
        write(store, lambda tx: tx.erasure.session(ANN, "s"), run="run_purge")
        for run in ("run_purge", "run_end", "run_begin"):
            with pytest.raises(Refused):
                undo(store, run)
        assert store.sessions.list([ANN]) == []
        # But a new one may have its name.
        write(store, lambda tx: tx.sessions.put(session), run="run_anew")
        assert append(store, "two") == 1
        assert told(store.sessions.messages(ANN, "s")) == ["two"]

    def test_a_session_with_messages_cannot_be_undone(self, store: Store) -> None:
        begin(store, run="run_begin")
        append(store, "one")
        state = truth(store)
        with pytest.raises(Conflict, match="has messages"):
            undo(store, "run_begin")
        assert truth(store) == state

    def test_a_session_without_messages_can_be_undone(self, store: Store) -> None:
        begin(store, run="run_begin")
        append(store)
        undo(store, "run_begin")
        assert store.sessions.list([ANN]) == []

    @pytest.mark.parametrize("journal", [False, True])
    def test_messages_are_restored_without_a_word_in_the_journal(
        self, store: Store, journal: bool
    ) -> None:
        begin(store)
        append(store, "one", "two")
        assert copy_scope(store, ANN, BOB, journal=journal) == (3 if journal else 4)
        assert list(store.rows("message", BOB)) == list(store.rows("message", ANN))
        assert [event.noun for event in store.events([BOB])] == ["session"]
        assert copy_scope(store, ANN, BOB, journal=journal) == 0
        assert append(store, "three", scope=BOB) == 3

    @pytest.mark.parametrize(
        "changed",
        [
            {"session": "nobody"},
            {"body": ["a list"]},
            {"body": None},
            {"position": -1},
            {"created_at": None},
        ],
        ids=str,
    )
    def test_a_row_that_is_no_message_of_a_session_is_refused(
        self, store: Store, changed: Body
    ) -> None:
        begin(store)
        row = {
            "scope": str(ANN),
            "session": "s",
            "position": 0,
            "body": says("one"),
            "created_at": START,
        } | changed
        with pytest.raises(InvalidInput):
            write(store, lambda tx: tx.restore_row("message", row, journal=False))
        assert list(store.rows("message", ANN)) == []

    def test_another_message_at_the_same_place_is_a_conflict(self, store: Store) -> None:
        begin(store)
        append(store, "one")
        row = {**next(store.rows("message", ANN)), "scope": str(ANN)}
        assert not write(store, lambda tx: tx.restore_row("message", row, journal=True))
        with pytest.raises(Conflict):
            write(
                store,
                lambda tx: tx.restore_row("message", {**row, "body": says("two")}, journal=True),
            )
        assert told(store.sessions.messages(ANN, "s")) == ["one"]
