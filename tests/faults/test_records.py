"""Records when processes die, and when several change them at once: the file is the truth, and
nothing is lost.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import warnings
from pathlib import Path

import pytest

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import Conflict
from holdfast.records.roots import RecordRoot, init_project
from holdfast.records.scan import Listing
from holdfast.storage import SQLiteStore
from patience import PATIENCE

OFFLINE = Settings(embedding_models="none")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


class Deadly(SQLiteStore):
    """A store whose process dies at the last moment before a commit, when all else is done."""

    deadly = False

    def write(self, author, work):
        def then_die(tx):
            result = work(tx)
            if self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return super().write(author, then_die)


def opened(folder: Path, place: RecordRoot, store: type[SQLiteStore] = SQLiteStore) -> Holdfast:
    return Holdfast(store(folder / "memory.db"), [place.scope], places=[place], settings=OFFLINE)


def in_a_process(work, *args) -> int:
    process = multiprocessing.get_context("fork").Process(target=work, args=args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    process.join(PATIENCE)
    return process.exitcode


def die(folder: Path, place: RecordRoot, verb: str, ids: list[str]) -> None:
    hf = opened(folder, place, Deadly)
    hf.list()
    hf._files.bare.deadly = True
    match verb:
        case "add":
            hf.records.add("Use milk.", category="decisions")
        case "update":
            hf.records.update(ids[0], body="Use rum.")
        case "archive":
            hf.archive(ids[0])
        case "reclassify":
            hf.records.reclassify(ids[0], "principles")
        case "delete":
            hf.records.delete(*ids)
    sys.exit(0)


@pytest.mark.parametrize("verb", ["add", "update", "archive", "reclassify", "delete"])
def test_a_process_that_dies_between_file_and_commit(tmp_path, verb):
    """The next one finds the file changed, and brings the memory to what it says."""
    place = init_project(tmp_path / "shop")
    hf = opened(tmp_path, place)
    ids = [hf.records.add(text, category="decisions").id for text in ("Use tea.", "Use water.")]
    hf.close()
    assert in_a_process(die, tmp_path, place, verb, ids) == -signal.SIGKILL
    hf = opened(tmp_path, place)
    known = {one.id: one for one in (*hf.records.list(), *hf.records.list(archived=True))}
    match verb:
        case "add":
            assert sorted(one.content for one in known.values()) == [
                "Use milk.",
                "Use tea.",
                "Use water.",
            ]
        case "update":
            assert known[ids[0]].content == "Use rum."
        case "archive":
            assert known[ids[0]].status == "archived"
        case "reclassify":
            assert known[ids[0]].category == "principles"
        case "delete":
            assert known == {}
    assert (hf.records.sync_report.warnings, hf.admin.check()) == ([], [])
    assert len(list(place.records.rglob("*.md"))) == len(known)
    hf.close()


def crowd(folder: Path, place: RecordRoot, name: int, shared: str) -> None:
    """Adds records of its own, and changes one that everybody changes."""
    hf, conflicts = opened(folder, place), 0
    for number in range(8):
        mine = hf.records.add(
            f"Note {number} of {name}.", category="decisions", title=f"t{name}x{number}"
        )
        hf.records.update(mine.id, body=f"Note {number} of {name}, again.")
        try:
            hf.records.update(shared, keywords=[f"k{name}x{number}"])
        except Conflict:
            conflicts += 1
    hf.close()
    sys.exit(0)


def test_a_record_that_is_added_after_the_files_were_listed_stays(tmp_path, monkeypatch):
    place = init_project(tmp_path / "shop")
    first, second = opened(tmp_path, place), opened(tmp_path, place)
    first.records.add("Use tea.", category="decisions")
    (place.records / "extra.md").write_text("Use milk.\n")
    listed, added = Listing.records, []

    def list_then_add(self, warnings):
        tree = listed(self, warnings)
        if not added:
            added.append("")
            added[0] = second.records.add("Use water.", category="decisions").id
        return tree

    monkeypatch.setattr(Listing, "records", list_then_add)
    followed = first._files.follow()
    assert followed.removed == []
    assert first.get(added[0]).content == "Use water."
    first.close()
    second.close()


def test_a_directory_with_the_name_of_a_record_does_not_keep_it(tmp_path):
    place = init_project(tmp_path / "shop")
    hf = opened(tmp_path, place)
    record = hf.records.add("Use tea.", category="decisions")
    file = place.root / record.metadata["file"]
    file.unlink()
    file.mkdir()
    assert hf._files.follow().removed == [record.id]
    hf.close()


def test_four_processes_add_and_update_at_once(tmp_path):
    place = init_project(tmp_path / "shop")
    hf = opened(tmp_path, place)
    shared = hf.records.add("Shared.", category="decisions").id
    hf.close()
    processes = [
        multiprocessing.get_context("fork").Process(
            target=crowd, args=(tmp_path, place, name, shared)
        )
        for name in range(4)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for process in processes:
            process.start()
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0] * 4
    hf = opened(tmp_path, place)
    records = {one.id: one for one in hf.records.list()}
    assert len(records) == 33 == len(list(place.records.rglob("*.md")))
    assert sum("again" in one.content for one in records.values()) == 32
    assert (
        hf.records.sync_report.added,
        hf.records.sync_report.changed,
        hf.records.sync_report.removed,
        hf.admin.check(),
    ) == (
        [],
        [],
        [],
        [],
    )
    (tag,) = records[shared].tags
    assert f"keywords: [{tag}]" in (place.root / records[shared].metadata["file"]).read_text()
    hf.close()
