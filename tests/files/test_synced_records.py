"""Records on two machines that are kept equal: what one writes, the other has as a file."""

from __future__ import annotations

import pytest
from shop import Shop, file_of

from holdfast.base_client import author_of
from holdfast.records.roots import RecordRoot


@pytest.fixture
def machines(tmp_path, clock):
    """Two machines of one person, with the same project and a store each."""
    one, two = (Shop(tmp_path / name / "shop", clock) for name in ("one", "two"))
    two.place = RecordRoot(two.place.root, one.place.scope, "project")
    yield one, two
    one.close(), two.close()


def test_a_record_of_one_machine_becomes_a_file_on_the_other(machines, clock):
    one, two = machines
    here, there = one.open(), two.open()
    record = here.records.add("Likes tea.", category="preferences", place="assistant", title="Tea")
    there.admin.sync(one.store)
    assert file_of(there, record).read_text() == file_of(here, record).read_text()
    clock.forward(minutes=1)
    there.records.update(record.id, body="Likes rum.")
    # What is written there has the files of this machine at hand, and not those of the other.
    there.admin.sync(one.store)
    assert here.records.sync_files().read == 1
    assert file_of(here, record).read_text() == file_of(there, record).read_text()
    assert here.records.sync_files().changed == []
    clock.forward(minutes=1)
    here.records.delete(record.id)
    there.admin.sync(one.store)
    assert not file_of(there, record).exists()
    for hf in (one.open(), two.open()):
        assert (hf.list(), hf.records.sync_report.warnings, hf.admin.check()) == ([], [], [])


def test_a_record_that_was_deleted_elsewhere_takes_its_file_along(machines):
    one, two = machines
    here, there = one.open(), two.open()
    record = here.records.add("Likes tea.", category="preferences", place="assistant")
    there.admin.sync(one.store)
    there.records.delete(record.id)
    there.admin.sync(one.store)
    assert one.open().records.list() == [] and not file_of(here, record).exists()
    assert one.open().admin.check() == []


def test_a_record_that_arrives_where_its_place_is_not_open_gets_its_file_when_it_is_changed(
    machines,
):
    one, two = machines
    here, there = one.open(), two.open()
    record = there.records.add("Likes tea.", category="preferences", place="assistant")
    there.admin.sync(one.store)
    here.records.update(record.id, title="Tea")
    assert "Likes tea." in file_of(here, record).read_text()


def test_records_of_places_that_are_not_open_are_synced_all_the_same(machines, clock):
    one, two = machines
    here = one.open()
    record = here.records.add("Use tea.", category="decisions")
    there = two.open(two.own)
    assert there.scoped(one.place.scope).admin.sync(one.store)
    assert there.scoped(one.place.scope).get(record.id).content == "Use tea."
    assert not list(two.place.records.rglob("*.md"))


def test_a_file_that_a_person_changed_meanwhile_wins(machines, clock):
    one, two = machines
    here, there = one.open(), two.open()
    record = here.records.add("Likes tea.", category="preferences", place="assistant")
    there.admin.sync(one.store)
    there.records.update(record.id, body="Likes rum.")
    file = file_of(here, record)
    file.write_text(file.read_text().replace("tea", "milk"))
    there.admin.sync(one.store)
    here.records.sync_files()
    assert here.get(record.id).content == "Likes milk."
    there.admin.sync(one.store)
    assert "Likes milk." in file_of(there, record).read_text()


def test_what_was_purged_on_one_machine_does_not_come_back_on_the_other(machines):
    one, two = machines
    here, there = one.open(), two.open()
    record = here.records.add("Likes tea.", category="preferences", place="assistant")
    there.admin.sync(one.store)
    here.admin.purge(record.id)
    here.admin.sync(two.store)
    assert "erased for good" in there.records.sync_files().warnings[0]
    assert there.records.list() == [] and file_of(there, record).exists()


def test_a_row_from_elsewhere_cannot_name_a_file_outside_its_place(machines, tmp_path):
    one, two = machines
    here, there = one.open(), two.open()
    record = here.records.add("Likes tea.", category="preferences", place="assistant")
    outside = {**record.metadata, "file": "records/../../../evil.md"}
    here._files.bare.write(author_of(here, "x"), lambda tx: tx.change(record, metadata=outside))
    there.admin.sync(one.store)
    assert there.scoped(two.own.scope).get(record.id).content == "Likes tea."
    assert not list(tmp_path.rglob("evil.md"))
