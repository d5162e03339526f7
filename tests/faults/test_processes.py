"""Sixteen writers and four readers on one file, half of them killed at random moments."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import worker

from holdfast.storage import Filter, SQLiteStore
from holdfast.types import STATUSES, Scope
from patience import PATIENCE

# It lasts at least so long, and until enough has happened.
SECONDS = float(os.environ.get("FAULT_SECONDS", "5"))
WRITERS, READERS, KILLS = 16, 4, 25

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


@dataclass
class Crowd:
    """The processes of the test, by the place they hold."""

    folder: Path
    places: dict[str, Any] = field(default_factory=dict)
    started: int = 0
    killed: int = 0
    ended: list[Any] = field(default_factory=list)

    def start(self, place: str) -> None:
        """Puts a new process, under a name that nobody had before, in a place."""
        self.started += 1
        name = f"{place}x{self.started}"
        role = worker.write if place.startswith("writer") else worker.read
        arguments = (role, self.folder / "memory.db", self.folder / f"{name}.log", name)
        process = multiprocessing.get_context("fork").Process(target=worker.run, args=arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours holds anything
            process.start()
        self.places[place] = process

    def kill(self, place: str) -> None:
        """SIGKILL: no clean-up, wherever the process is."""
        process = self.places.pop(place)
        process.kill()
        process.join()
        self.killed += process.exitcode == -9
        self.ended.append(process)

    def is_storm(self) -> bool:
        """Whether enough were killed, and enough was written and read meanwhile."""
        read = sum(log.stat().st_size > 0 for log in self.folder.glob("reader*.log"))
        return (
            self.killed >= KILLS
            and read >= READERS // 2
            and len(worker.promised(self.folder)) > 10 * WRITERS
        )

    def end(self) -> None:
        """Until the last one has ended by itself."""
        worker.stop(self.folder)
        for process in self.places.values():
            process.join(PATIENCE)
            self.ended.append(process)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    """What is left after the storm."""
    crowd, begun = Crowd(tmp_path_factory.mktemp("storm")), time.monotonic()
    places = [f"writer{n}" for n in range(WRITERS)] + [f"reader{n}" for n in range(READERS)]
    for place in places:
        crowd.start(place)
    doomed, chance = places[::2], random.Random()
    while time.monotonic() < begun + SECONDS or not (
        crowd.is_storm() or time.monotonic() > begun + worker.LONGEST
    ):
        time.sleep(chance.uniform(0.02, 0.4))
        place = chance.choice(doomed)
        if place in crowd.places:
            crowd.kill(place)
        if chance.random() < 0.7:
            crowd.start(place)
    crowd.end()
    return crowd


@pytest.fixture(scope="module")
def texts(crowd: Crowd) -> Counter[str]:
    """How often each text is in the store, whatever its scope and status."""
    store = SQLiteStore(crowd.folder / "memory.db")
    everything = store.list(Filter(tuple(map(Scope.parse, worker.SCOPES)), statuses=STATUSES))
    store.close()
    return Counter(memory.content for memory in everything)


def test_the_storm_was_one(crowd: Crowd) -> None:
    assert crowd.is_storm()


def test_nobody_failed_who_was_not_killed(crowd: Crowd) -> None:
    assert [error.read_text() for error in crowd.folder.glob("*.error")] == []
    assert {process.exitcode for process in crowd.ended} <= {0, -9}


def test_the_store_is_sound(crowd: Crowd) -> None:
    store = SQLiteStore(crowd.folder / "memory.db")
    assert list(store.check()) == []
    store.close()


def test_every_acknowledged_write_is_there_exactly_once(crowd: Crowd, texts: Counter[str]) -> None:
    promised = worker.promised(crowd.folder)
    assert len(promised) == len(set(promised))
    assert [text for text in promised if texts[text] != 1] == []


def test_nothing_is_there_twice_and_no_batch_by_half(texts: Counter[str]) -> None:
    assert [text for text, count in texts.items() if count > 1] == []
    assert [
        text
        for text in texts
        if text.endswith(worker.TWIN) and text.removesuffix(worker.TWIN) not in texts
    ] == []


def test_the_turns_of_a_session_stand_in_one_row(crowd: Crowd) -> None:
    store = SQLiteStore(crowd.folder / "memory.db")
    for scope in map(Scope.parse, worker.SCOPES):
        assert store.sessions.list([scope])
        for session in store.sessions.list([scope]):
            turns = store.list(Filter((scope,), sessions=(session.id,)), order="oldest")
            assert [turn.position for turn in turns] == list(range(len(turns)))
    store.close()
