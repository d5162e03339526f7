"""Where there are many files, one seal tells that none was changed; whatever is, breaks it."""

from __future__ import annotations

import os
from contextlib import closing
from functools import cached_property

import pytest
from shop import Shop, contents, file_of

from holdfast.client import Holdfast
from holdfast.errors import StoreReadOnly
from holdfast.models.embeddings.tiers import Tiers
from holdfast.records import file_sync
from holdfast.records.roots import CATEGORIES, RecordRoot
from holdfast.records.scan import Listing
from holdfast.storage import SQLiteStore
from holdfast.storage.file_table import SQLFileReads


@pytest.fixture
def sealed(shop, monkeypatch):
    """A project whose two records are as many as are sealed, and are sealed."""
    monkeypatch.setattr(file_sync, "MANY", 2)
    shop.record("tea", "Drink tea.")
    shop.record("rum", "Drink rum.", category="incidents")
    shop.follow()
    shop.follow()
    assert seal_of(shop) == Listing(shop.place).seal()
    return shop


def seal_of(shop):
    """The seal that the store has for the project; empty when it has none."""
    with closing(SQLiteStore(shop.store, clock=shop.clock)) as store:
        (mark,) = store.files.list(shop.place.scope, "")
    return mark.hash


class UncomparedFiles(SQLFileReads):
    def stats(self, scope, root):
        raise AssertionError(f"{root} was compared file by file")


class Uncompared(SQLiteStore):
    """A store that is not asked for file after file."""

    @cached_property
    def files(self):
        return UncomparedFiles(self)


class Unwritable(SQLiteStore):
    """A store on a disk that cannot be written."""

    def write(self, author, work):
        raise StoreReadOnly


def opened(shop, store):
    return Holdfast(
        store,
        [shop.place.scope],
        places=[shop.place],
        clock=shop.clock,
        tiers=Tiers.of(clock=shop.clock),
    )


def test_where_nothing_was_changed_no_file_is_compared(sealed):
    with opened(sealed, Uncompared(sealed.store, clock=sealed.clock)) as hf:
        assert contents(hf, "tea") == ["Drink tea."]
        (sealed.place.records / "decisions" / ".tea.md.swp").touch()  # an editor's own, and hidden
        assert hf.records.sync_files().read == 0


CHANGES = {
    "an edit in place of the same length": lambda shop, file: shop.write(
        "decisions/tea.md", _otherwise(file)
    ),
    "a time before the last one": lambda shop, file: (
        file.write_text(_otherwise(file)),
        os.utime(file, (1, 1)),
    ),
    "a move": lambda shop, file: file.rename(shop.place.records / "incidents" / "tea.md"),
    "another name": lambda shop, file: file.rename(file.with_name("chai.md")),
    "two that change names": lambda shop, file: _exchange(
        file, shop.place.records / "incidents" / "rum.md"
    ),
    "a new one": lambda shop, file: shop.record("gin"),
    "one that is gone": lambda shop, file: file.unlink(),
}


def _otherwise(file):
    return file.read_text().replace("Drink", "Brew!")


def _exchange(one, two):
    third = one.with_name("third")
    one.rename(third), two.rename(one), third.rename(two)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_followed_and_then_sealed(sealed, change):
    CHANGES[change](sealed, sealed.place.records / "decisions" / "tea.md")
    followed = sealed.follow()
    assert [*followed.added, *followed.changed, *followed.removed], change
    for _ in range(2):
        assert sealed.follow().read == 0
    left = [*sealed.place.records.rglob("*.md")]
    assert bool(seal_of(sealed)) == (len(left) >= file_sync.MANY)
    assert sealed.open().admin.check() == []


def test_the_only_file_of_a_folder_in_any_other_is_another_seal(shop):
    file = shop.record("tea")
    folders = [shop.place.records / category for category in CATEGORIES]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    seals = set()
    for folder in folders:
        file = file.rename(folder / "tea.md")
        seals.add(Listing(shop.place).seal())
    assert len(seals) == len(folders)


def test_what_is_passed_over_is_told_each_time(sealed):
    (sealed.place.records / "decisions" / "link.md").symlink_to(sealed.folder)
    for _ in range(3):
        assert len(sealed.follow().warnings) == 1
    (sealed.place.records / "decisions" / "link.md").unlink()
    sealed.write("ideas/a.md", "x")
    for _ in range(3):
        assert len(sealed.follow().warnings) == 1


def test_a_file_of_equal_size_and_time_that_became_a_link_is_seen(sealed):
    file = sealed.place.records / "decisions" / "tea.md"
    then = file.stat()
    file.unlink()
    file.symlink_to("x" * then.st_size)
    os.utime(file, ns=(then.st_mtime_ns, then.st_mtime_ns), follow_symlinks=False)
    assert "is a link" in sealed.follow().warnings[0]


def test_a_record_changed_by_a_command_is_not_taken_for_a_change_by_hand(sealed):
    hf = sealed.open()
    hf.records.update("rec_tea", body="Drink chai.")
    assert seal_of(sealed) == ""
    assert (sealed.follow().changed, contents(sealed.open(), "chai")) == ([], ["Drink chai."])


def test_a_record_that_a_sync_changed_gets_its_file_though_no_file_was_touched(sealed, tmp_path):
    other = Shop(tmp_path / "other" / "shop", sealed.clock)
    other.place = RecordRoot(other.place.root, sealed.place.scope, "project")
    there = other.open()
    there.admin.sync(sealed.store)
    sealed.clock.forward(minutes=1)
    there.records.update("rec_tea", body="Drink chai.")
    there.admin.sync(sealed.store)
    hf = sealed.open()
    assert "Drink chai." in file_of(hf, hf.get("rec_tea")).read_text()
    other.close()


def test_a_purged_record_whose_file_comes_back_is_told_of(sealed):
    text = (sealed.place.records / "decisions" / "tea.md").read_text()
    sealed.record("gin")
    sealed.follow()
    sealed.follow()
    sealed.open().admin.purge("rec_tea")
    assert sealed.follow().warnings == []
    sealed.write("decisions/tea.md", text)
    for _ in range(2):
        assert "erased for good" in sealed.follow().warnings[0]


def test_a_store_that_cannot_be_written_is_not_sealed_and_read_all_the_same(shop, monkeypatch):
    shop.record("tea", "Drink tea.")
    shop.record("rum", "Drink rum.")
    shop.follow()
    monkeypatch.setattr(file_sync, "MANY", 2)
    with opened(shop, Unwritable(shop.store, clock=shop.clock)) as hf:
        assert contents(hf, "tea") == ["Drink tea."] and hf.records.sync_report.warnings == []
    assert seal_of(shop) == ""
    shop.follow()
    assert seal_of(shop) == Listing(shop.place).seal()


def test_few_files_are_not_sealed(shop):
    shop.record("tea")
    shop.follow()
    shop.follow()
    assert seal_of(shop) == ""
