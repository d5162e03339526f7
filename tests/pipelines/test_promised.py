"""What undo, sync, copy and export promise to be equal, and what is only observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast, Settings
from holdfast.replication.bundle import comparable
from holdfast.storage import SQLiteStore
from holdfast.storage.postgres import PostgresStore

SCOPE = "user:ann"


class Ticking:
    """A clock that is a second later each time it is asked."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now


@pytest.fixture(params=["sqlite", "postgres"])
def hf(request: pytest.FixtureRequest, tmp_path) -> Iterator[Holdfast]:
    clock = Ticking()
    if request.param == "sqlite":
        store = SQLiteStore(tmp_path / "memory.db", clock=clock)
    else:
        store = PostgresStore(request.getfixturevalue("postgres_store_url"), clock=clock)
    with Holdfast(store, SCOPE, settings=Settings(embedding_models="none"), clock=clock) as memory:
        memory.capture("s1", "user", "We drink tea")
        memory.remember("Ann drinks green tea")
        yield memory


def everything(hf: Holdfast) -> list[str]:
    """What is promised, without the journal, which only grows."""
    return comparable(hf.admin.export(history=False))


CHANGES: dict[str, Callable[[Holdfast], object]] = {
    "capture": lambda hf: hf.capture("s1", "user", "and coffee at times"),
    "several turns": lambda hf: hf.capture_many(
        [{"session": "s1", "role": "user", "text": text} for text in ("one", "two")]
    ),
    "a new session": lambda hf: hf.capture("s2", "user", "hello again"),
    "remember": lambda hf: hf.remember("Bob plays chess"),
    "correct": lambda hf: hf.correct(hf.list(kinds=["fact"])[0].id, "Ann drinks black tea"),
    "forget": lambda hf: hf.forget(hf.list(kinds=["fact"])[0].id),
    "end of a session": lambda hf: hf.sessions.end("s1"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_an_undo_brings_back_everything_that_is_promised(
    hf: Holdfast, change: Callable[[Holdfast], object]
) -> None:
    before = everything(hf)
    change(hf)
    hf.recall("tea")
    hf.undo()
    assert everything(hf) == before


def test_undoing_a_restore_leaves_only_what_is_observed(hf: Holdfast) -> None:
    tea = hf.list(kinds=["fact"])[0]
    hf.forget(tea.id)
    before = everything(hf)
    hf.restore(tea.id)
    hf.undo()
    assert everything(hf) == before


def test_a_session_is_as_active_as_what_is_left_of_it(hf: Holdfast) -> None:
    before = hf.sessions.list()[0].last_activity
    hf.capture("s1", "user", "and coffee at times")
    assert hf.sessions.list()[0].last_activity > before
    hf.undo()
    assert hf.sessions.list()[0].last_activity == before


def test_a_session_whose_latest_turn_stays_is_not_set_back(hf: Holdfast) -> None:
    hf.capture("s1", "user", "first")
    first = hf.last_run
    hf.capture("s1", "user", "second")
    latest = hf.sessions.list()[0].last_activity
    hf.undo(first)
    assert hf.sessions.list()[0].last_activity == latest


def test_after_a_sync_two_exports_are_equal_in_what_is_promised(hf: Holdfast, tmp_path) -> None:
    place = tmp_path / "other.db"
    hf.admin.sync(place)
    hf.capture("s1", "user", "and coffee at times")
    hf.recall("tea")
    hf.admin.sync(place)
    with Holdfast.open(
        place, scope=SCOPE, settings=Settings(embedding_models="none"), background=False
    ) as other:
        assert sorted(everything(other)) == sorted(everything(hf))
        assert [one.last_activity for one in other.sessions.list()] == [
            one.last_activity for one in hf.sessions.list()
        ]


def test_an_undo_travels_with_when_the_session_was_active(hf: Holdfast, tmp_path) -> None:
    place = tmp_path / "other.db"
    hf.capture("s1", "user", "and coffee at times")
    hf.admin.sync(place)
    hf.undo()
    hf.admin.sync(place)
    with Holdfast.open(
        place, scope=SCOPE, settings=Settings(embedding_models="none"), background=False
    ) as other:
        assert sorted(everything(other)) == sorted(everything(hf))
        assert [one.last_activity for one in other.sessions.list()] == [
            one.last_activity for one in hf.sessions.list()
        ]
