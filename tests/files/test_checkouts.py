"""Several checkouts of one project on one machine share its memories."""

from __future__ import annotations

import shutil

import pytest
from shop import Shop, contents

from holdfast.records.roots import project_place


@pytest.fixture
def trees(shop, tmp_path, clock):
    """A project with two records, and a second checkout of it that shares the store."""
    shop.record("a", "Use tea.")
    shop.record("b", "Use rum.")
    shop.follow()
    shutil.copytree(shop.folder, tmp_path / "tree", copy_function=shutil.copy2)
    other = Shop.__new__(Shop)
    other.__dict__.update(shop.__dict__)
    other.folder, other.place = tmp_path / "tree", project_place(tmp_path / "tree")
    return shop, other


def test_a_second_checkout_brings_nothing_new(trees):
    shop, other = trees
    followed = other.follow()
    assert (followed.added, followed.changed, followed.removed, followed.warnings) == (
        [],
        [],
        [],
        [],
    )
    assert other.follow().read == shop.follow().read == 0


def test_what_one_learns_the_other_knows(trees):
    shop, other = trees
    other.follow()
    other.record("new", "Use milk.")
    other.follow()
    assert contents(shop.open(), "milk") == ["Use milk."]
    assert not (shop.place.records / "decisions" / "new.md").exists()


def test_a_record_goes_when_no_checkout_has_it(trees):
    shop, other = trees
    other.follow()
    (other.place.records / "decisions" / "a.md").unlink()
    assert other.follow().removed == []
    assert contents(other.open(), "tea") == ["Use tea."]
    (shop.place.records / "decisions" / "a.md").unlink()
    assert shop.follow().removed == ["rec_a"]


def test_an_old_checkout_does_not_take_back_what_is_newer(trees):
    shop, other = trees
    shop.open().records.update("rec_a", body="Use green tea.")
    assert other.follow().changed == []
    assert contents(other.open(), "tea")[0] == "Use green tea."
    other.record("a", "Use black tea.")
    other.follow()
    assert contents(shop.open(), "tea")[0] == "Use black tea."


def test_a_change_in_one_checkout_writes_only_what_it_is_about_in_its_file(trees):
    shop, other = trees
    other.follow()
    shop.open().records.update("rec_a", body="Use green tea.")
    other.open().archive("rec_a")
    text = (other.place.records / "decisions" / "a.md").read_text()
    assert "status: archived" in text and "Use tea." in text
    assert "status: active" in (shop.place.records / "decisions" / "a.md").read_text()
    assert other.open().admin.check() == []


def test_a_checkout_that_was_deleted_holds_nothing(trees):
    shop, other = trees
    other.follow()
    shutil.rmtree(other.folder)
    (shop.place.records / "decisions" / "a.md").unlink()
    assert shop.follow().removed == ["rec_a"]


def test_a_record_that_was_deleted_in_one_checkout_stays_so_until_its_file_changes_in_another(
    trees,
):
    shop, other = trees
    other.follow()
    hf = shop.open()
    hf.records.delete("rec_a")
    followed = other.follow()
    assert (followed.added, followed.warnings, other.open().admin.check()) == ([], [], [])
    assert [one.id for one in other.open().records.list()] == ["rec_b"]
    hf.undo()
    other.open().archive("rec_a")
    assert "status: archived" in (other.place.records / "decisions" / "a.md").read_text()
    hf.records.sync_files()
    hf.records.delete("rec_a")
    other.record("a", "Use tea after all.")
    assert other.follow().added == ["rec_a"]
