"""Marks of progress: how far each sink of the extraction has read a session."""

from __future__ import annotations

from functools import partial
from operator import methodcaller

from ..storage.protocol import Store, Transaction
from ..types import FACTS, PROJECTS, SUMMARY, Progress, Scope, Session
from .scene import ANN, BOB, START, Again, at, run_id, together, turn, undo, write


def mark(
    session: str,
    sink: str,
    position: int,
    *,
    scope: Scope = ANN,
    **detail: object,
) -> Progress:
    return Progress(scope, session, sink, position, at(1), detail)


def put_session(tx: Transaction, *, session: Session) -> None:
    tx.sessions.put(session)


def begin(
    store: Store,
    *names: str,
    scope: Scope = ANN,
) -> None:
    """Adds sessions that have ended, each with a turn."""
    for name in names:
        ended = Session(name, scope, START, START, ended_at=at(1))
        said = turn(f"said in {name}", name, 0).with_(scope=scope)
        together(store, partial(put_session, session=ended), methodcaller("add", said))


def record(store: Store, progress: Progress) -> None:
    """Puts one mark, in a transaction of its own."""
    write(store, lambda tx: tx.progress.put(progress))


class ProgressContract:
    """One mark for each session and sink."""

    def test_a_mark_is_there_for_its_session_its_sink_and_its_scope(
        self, store: Store, again: Again
    ) -> None:
        begin(store, "s", "t")
        begin(store, "s", scope=BOB)
        known = mark("s", FACTS, 3, private=True)
        write(store, lambda tx: tx.progress.put(known))
        assert again().progress.list(ANN, "s") == store.progress.list(ANN) == [known]
        assert (store.progress.list(ANN, "t"), store.progress.list(BOB)) == ([], [])
        assert write(store, lambda tx: tx.progress.get(ANN, "s", FACTS)) == known
        assert write(store, lambda tx: tx.progress.get(ANN, "s", SUMMARY)) is None

    def test_one_that_came_no_further_leaves_no_entry(self, store: Store) -> None:
        begin(store, "s")
        write(store, lambda tx: tx.progress.put(mark("s", FACTS, 3)))
        before = store.events([ANN])
        later = Progress(ANN, "s", FACTS, 3, at(9))
        write(store, lambda tx: tx.progress.put(later))
        assert (store.progress.list(ANN), store.events([ANN])) == ([mark("s", FACTS, 3)], before)

    def test_an_undo_takes_a_mark_back(self, store: Store) -> None:
        begin(store, "s")
        write(store, lambda tx: tx.progress.put(mark("s", FACTS, 3)))
        run = run_id()
        write(store, lambda tx: tx.progress.put(mark("s", FACTS, 5)), run=run)
        undo(store, run)
        assert [one.position for one in store.progress.list(ANN)] == [3]

    def test_a_mark_can_be_dropped_and_dropping_none_does_nothing(self, store: Store) -> None:
        begin(store, "s")
        write(store, lambda tx: tx.progress.put(mark("s", FACTS, 3)))
        for _ in range(2):
            write(store, lambda tx: tx.progress.drop(ANN, "s", FACTS))
        assert store.progress.list(ANN) == []

    def test_a_session_is_unread_until_its_summary_covers_it(self, store: Store) -> None:
        begin(store, "s", "t")
        assert [one.id for one in store.sessions.unread([ANN])] == ["s", "t"]
        write(store, lambda tx: tx.progress.put(mark("s", SUMMARY, START)))
        write(store, lambda tx: tx.progress.put(mark("t", SUMMARY, START - 1)))
        assert [one.id for one in store.sessions.unread([ANN])] == ["t"]

    def test_marks_of_this_store_alone_are_neither_journalled_nor_exported(
        self, store: Store
    ) -> None:
        begin(store, "s")
        before = store.events([ANN])
        write(store, lambda tx: tx.progress.put(mark("s", PROJECTS, 7)))
        assert [one.position for one in store.progress.list(ANN)] == [7]
        assert (store.events([ANN]), list(store.rows("progress", ANN))) == (before, [])
        write(store, lambda tx: tx.progress.drop(ANN, "s", PROJECTS))
        assert (store.progress.list(ANN), store.events([ANN])) == ([], before)

    def test_a_purge_of_the_session_erases_its_marks_and_its_name(self, store: Store) -> None:
        begin(store, "secret", "Secret")
        for name in ("secret", "Secret"):
            record(store, mark(name, FACTS, 3))
        write(store, lambda tx: tx.erasure.session(ANN, "secret"))
        assert [one.session for one in store.progress.list(ANN)] == ["Secret"]
        told = [event.target for event in store.events([ANN]) if event.noun == "progress"]
        assert '["Secret","facts"]' in told
        assert '["secret","facts"]' not in told
