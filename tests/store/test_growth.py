"""A large memory costs what is shown of it: the work of SQLite's machine is counted, not timed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from holdfast import Holdfast, Settings
from holdfast.ingest import duplicate_entities
from holdfast.server import changes_view, owner_view
from holdfast.storage import SQLiteStore
from holdfast.storage.sqlite import vector_table
from holdfast.types import Entity, Scope

ANN = Scope("user", "ann")
FEW = 600
MANY = 2400


@contextmanager
def steps_of(hf: Holdfast) -> Iterator[list[int]]:
    """The steps of SQLite's machine in the statements of the block, one number each."""
    store = hf.store
    assert isinstance(store, SQLiteStore)
    steps: list[int] = []

    def profiled(trace: dict[str, Any]) -> None:
        steps.append(trace["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    store._reader().trace_v2(apsw.SQLITE_TRACE_PROFILE, profiled)
    yield steps
    store._reader().trace_v2(0, None)


def filled(path: Path, count: int, *, retired: int = 0) -> Holdfast:
    """Turns and a fact for every ten of them, some of which mention people; a few retired."""
    hf = Holdfast.open(
        path, scope=ANN, settings=Settings(embedding_models="none"), background=False, actor="ann"
    )
    for start in range(0, count, 300):
        hf.capture_many(
            {
                "session": f"s{number // 20}",
                "role": "user",
                "text": f"Turn {number}: I met @maria and @joao{number % 7}",
            }
            for number in range(start, start + 300)
        )
        hf.remember_many(f"Fact {number} is about @maria" for number in range(start, start + 30))
    for memory in hf.list(kinds=["fact"], limit=retired):
        hf.archive(memory.id)
    return hf


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Holdfast, Holdfast]]:
    folder = tmp_path_factory.mktemp("growth")
    few, many = (filled(folder / f"{count}.db", count) for count in (FEW, MANY))
    yield few, many
    few.close()
    many.close()


def work(sizes: tuple[Holdfast, Holdfast], do: Callable[[Holdfast], object]) -> tuple[int, int]:
    """The steps in a small and in a large memory."""
    counts = []
    for hf in sizes:
        do(hf)  # What is read once is read now.
        with steps_of(hf) as steps:
            do(hf)
        counts.append(sum(steps))
    return counts[0], counts[1]


@pytest.mark.parametrize(
    "do",
    [
        pytest.param(lambda hf: hf.admin.log(limit=20), id="log"),
        pytest.param(
            lambda hf: hf.store.events(hf.scopes, after=50, limit=20, order="oldest"),
            id="page of a sync",
        ),
        pytest.param(lambda hf: changes_view.latest(hf, limit=5), id="changes"),
        pytest.param(lambda hf: hf.list(limit=20), id="list"),
    ],
)
def test_what_shows_a_few_reads_a_few(
    sizes: tuple[Holdfast, Holdfast], do: Callable[[Holdfast], object]
) -> None:
    few, many = work(sizes, do)
    assert many < 1.2 * few


def test_the_log_of_several_scopes_reads_what_it_shows(tmp_path: Path) -> None:
    counts = []
    for count in (FEW, MANY):
        with filled(tmp_path / f"{count}.db", count) as hf:
            hf.scoped("agent:tidy").remember_many(f"Tidied {number}" for number in range(count))
            both = hf.scoped(ANN, "agent:tidy")
            with steps_of(both) as steps:
                shown = both.admin.log(limit=10)
            counts.append(sum(steps))
            everything = both.admin.log(limit=None)
            assert [event.seq for event in shown] == [event.seq for event in everything[:10]]
            assert [event.seq for event in everything] == sorted(
                (event.seq for event in everything), reverse=True
            )
    assert counts[1] < 1.2 * counts[0]


def test_counting_by_kind_reads_no_turn(sizes: tuple[Holdfast, Holdfast]) -> None:
    few, many = work(sizes, lambda hf: hf.store.counts(hf.scopes))
    # Only the facts are counted one by one: a turn for each would be ten times as many.
    assert (many - few) / (MANY - FEW) < 3


def test_totals_read_no_turn(sizes: tuple[Holdfast, Holdfast]) -> None:
    few, many = work(sizes, lambda hf: owner_view.totals(hf, admin=False))
    assert (many - few) / (MANY - FEW) < 3


def test_entities_are_counted_without_their_memories(
    sizes: tuple[Holdfast, Holdfast], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, plans = sizes[1].store.read, []

    def planned(reach: Any, sql: str, values: Any = ()) -> Any:
        plans.extend(row[3] for row in read(reach, f"EXPLAIN QUERY PLAN {sql}", values))
        return read(reach, sql, values)

    monkeypatch.setattr(sizes[1].store, "read", planned)
    assert sizes[1].entities.list(limit=1)[0].mentions == MANY + MANY // 10
    of_memories = [plan for plan in plans if " m " in plan]
    assert of_memories and all("memories_put_away" in plan for plan in of_memories)
    monkeypatch.undo()
    # One step or two for each of some two mentions of a memory; with its row it was a dozen.
    few, many = work(sizes, lambda hf: hf.entities.list(limit=1))
    assert (many - few) / (MANY - FEW) < 10


def test_what_is_put_away_is_not_counted(tmp_path: Path) -> None:
    with filled(tmp_path / "memory.db", 300, retired=4) as hf:
        turn = hf.list(kinds=["turn"], limit=1)[0]
        hf.forget(turn.id)
        (status,) = {hf.get(turn.id).status}
        found = {one.name: one.mentions for one in hf.entities.list()}
        # Of 300 turns and 30 facts, one and four.
        assert found["maria"] == 300 + 30 - 5
        assert sum(count for name, count in found.items() if name != "maria") == 299
        assert hf.store.counts([ANN]) == {
            "fact": {"active": 26, "archived": 4},
            "turn": {"active": 299, status: 1},
        }
        hf.store.vectors.add(
            [ANN], "some:model", {one.seq: np.ones(4) / 2 for one in hf.list(limit=None)}
        )
        assert hf.store.vectors.coverage([ANN]) == {"some:model": 325}
        hf.archive(hf.list(kinds=["fact"], limit=1)[0].id)
        assert hf.store.vectors.coverage([ANN]) == {"some:model": 324}
        assert hf.store.vectors.coverage() == {"some:model": 324}
        assert hf.admin.check() == []


def people(count: int) -> list[Entity]:
    """As many people whose names begin alike, each with a surname of one's own."""
    return [
        Entity(f"e{number}", ANN, f"Mar{chr(97 + number % 26)} Marsen{number}", "person", 0)
        for number in range(count)
    ]


def test_duplicates_are_not_looked_for_among_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    reason = duplicate_entities._reason

    def counted(*pair: Any) -> str:
        compared.append(pair)
        return reason(*pair)

    monkeypatch.setattr(duplicate_entities, "_reason", counted)
    known = [*people(2000), Entity("m", ANN, "Mara", "person", 0)]
    found = list(duplicate_entities.duplicates(known))
    named_so = [one for one in known if one.name.startswith("Mara ")]
    assert {(one.keep.id, one.other.id) for one in found} == {(one.id, "m") for one in named_so}
    # Pairs of names that begin alike are two million.
    assert len(compared) == len(named_so)


def test_a_large_scope_is_read_in_parts_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path / "memory.db", 600) as hf:
        rows = np.random.default_rng(7).standard_normal((660, 8)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        every = hf.list(limit=None)
        vectors = {memory.seq: rows[place] for place, memory in enumerate(every)}
        # The same vector twice: equally near ones keep their order.
        vectors[every[1].seq] = vectors[every[500].seq]
        hf.store.vectors.add([ANN], "some:model", vectors)
        store = hf.store
        assert isinstance(store, SQLiteStore)
        index = store.vector_index
        assert isinstance(index, vector_table.SQLiteVectors)
        question = rows[3]
        whole = index._nearest_rows(1, 1, question, 50)
        monkeypatch.setattr(vector_table, "READ_ALONE", 100)
        monkeypatch.setattr("os.cpu_count", lambda: 3)
        parts = index._parts(1, 1)
        assert len(parts) == 3
        assert parts[0][0] == every[-1].seq and parts[-1][1] >= every[0].seq
        assert all(before[1] + 1 == after[0] for before, after in pairwise(parts))
        assert index._nearest_rows(1, 1, question, 50) == whole
        assert len(whole) == 50


@pytest.mark.skipif(os.name != "posix", reason="Windows cannot shorten a file that is mapped.")
def test_the_file_is_mapped_only_while_its_vectors_are_read(tmp_path: Path) -> None:
    with filled(tmp_path / "memory.db", 20) as hf:
        every = hf.list(limit=None)
        hf.store.vectors.add(
            [ANN], "some:model", {one.seq: np.ones(8, np.float32) for one in every}
        )
        store = hf.store
        assert isinstance(store, SQLiteStore)
        store.read((), "SELECT 1")
        seen: list[tuple[str, int]] = []

        def traced(cursor: apsw.Cursor, sql: str, values: object) -> bool:
            mapped = cursor.connection.pragma("mmap_size") if "vec_distance" in sql else -1
            seen.append((sql, mapped))
            return True

        reader = store._reader()
        reader.set_exec_trace(traced)
        rows = store.vector_index._nearest_rows(1, 1, np.ones(8, np.float32), 5)
        reader.set_exec_trace(None)
        assert len(rows) == 5
        assert [mapped for _, mapped in seen if mapped >= 0] == [vector_table.MAPPED]
        assert reader.pragma("mmap_size") == 0
