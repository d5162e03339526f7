"""Marks of progress: how far each sink of the extraction has read a session."""

from __future__ import annotations

from operator import methodcaller

from ..storage.protocol import Store
from ..types import FACTS, PROJECTS, SUMMARY, Progress, Scope, Session
from .scene import ANN, BOB, START, Again, at, run_id, turn, undo, write


def mark(
    session: str, sink: str, position: int, *, scope: Scope = ANN, **detail: object
) -> Progress:
    return Progress(scope, session, sink, position, at(1), detail)


def begin(store: Store, *names: str, scope: Scope = ANN) -> None:
    """Adds sessions that have ended, each with a turn."""
    for name in names:
        ended = Session(name, scope, START, START, ended_at=at(1))
        write(store, methodcaller("put_session", ended))
        said = turn(f"said in {name}", name, 0).with_(scope=scope)
        write(store, methodcaller("add", said))


class ProgressContract:
    """One mark for each session and sink."""

    def test_a_mark_is_there_for_its_session_its_sink_and_its_scope(
        self, store: Store, again: Again
    ) -> None:
        begin(store, "s", "t")
        begin(store, "s", scope=BOB)
        known = mark("s", FACTS, 3, private=True)
        write(store, lambda tx: tx.put_progress(known))
        assert again().progress(ANN, "s") == store.progress(ANN) == [known]
        assert (store.progress(ANN, "t"), store.progress(BOB)) == ([], [])
        assert write(store, lambda tx: tx.progress(ANN, "s", FACTS)) == known
        assert write(store, lambda tx: tx.progress(ANN, "s", SUMMARY)) is None

    def test_one_that_came_no_further_leaves_no_entry(self, store: Store) -> None:
        begin(store, "s")
        write(store, lambda tx: tx.put_progress(mark("s", FACTS, 3)))
        before = store.events([ANN])
        later = Progress(ANN, "s", FACTS, 3, at(9))
        write(store, lambda tx: tx.put_progress(later))
        assert (store.progress(ANN), store.events([ANN])) == ([mark("s", FACTS, 3)], before)

    def test_an_undo_takes_a_mark_back(self, store: Store) -> None:
        begin(store, "s")
        write(store, lambda tx: tx.put_progress(mark("s", FACTS, 3)))
        run = run_id()
        write(store, lambda tx: tx.put_progress(mark("s", FACTS, 5)), run=run)
        undo(store, run)
        assert [one.position for one in store.progress(ANN)] == [3]

    def test_a_mark_can_be_dropped_and_dropping_none_does_nothing(self, store: Store) -> None:
        begin(store, "s")
        write(store, lambda tx: tx.put_progress(mark("s", FACTS, 3)))
        for _ in range(2):
            write(store, lambda tx: tx.drop_progress(ANN, "s", FACTS))
        assert store.progress(ANN) == []

    def test_a_session_is_unread_until_its_summary_covers_it(self, store: Store) -> None:
        begin(store, "s", "t")
        assert [one.id for one in store.unread([ANN])] == ["s", "t"]
        write(store, lambda tx: tx.put_progress(mark("s", SUMMARY, START)))
        write(store, lambda tx: tx.put_progress(mark("t", SUMMARY, START - 1)))
        assert [one.id for one in store.unread([ANN])] == ["t"]

    def test_marks_of_this_store_alone_are_neither_journalled_nor_exported(
        self, store: Store
    ) -> None:
        begin(store, "s")
        before = store.events([ANN])
        write(store, lambda tx: tx.put_progress(mark("s", PROJECTS, 7)))
        assert [one.position for one in store.progress(ANN)] == [7]
        assert (store.events([ANN]), list(store.rows("progress", ANN))) == (before, [])
        write(store, lambda tx: tx.drop_progress(ANN, "s", PROJECTS))
        assert (store.progress(ANN), store.events([ANN])) == ([], before)

    def test_a_purge_of_the_session_erases_its_marks_and_its_name(self, store: Store) -> None:
        begin(store, "secret", "Secret")
        for name in ("secret", "Secret"):
            write(store, methodcaller("put_progress", mark(name, FACTS, 3)))
        write(store, lambda tx: tx.purge_session(ANN, "secret"))
        assert [one.session for one in store.progress(ANN)] == ["Secret"]
        told = [event.target for event in store.events([ANN]) if event.noun == "progress"]
        assert '["Secret","facts"]' in told
        assert '["secret","facts"]' not in told
