"""Records in a store that several machines share."""

from __future__ import annotations

import shutil

import pytest
from shop import contents, file_of

from holdfast.client import Holdfast
from holdfast.config import Settings

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def opened(shop, clock, postgres_store_url, monkeypatch):
    """Opens the project as a machine of that name does: `opened("laptop")`."""
    memories = []

    def machine(name):
        monkeypatch.setattr("platform.node", lambda: name)
        memories.append(
            Holdfast.open(
                postgres_store_url,
                scope=[shop.place.scope, shop.own.scope],
                places=[shop.place, shop.own],
                settings=OFFLINE,
                clock=clock,
                background=False,
            )
        )
        return memories[-1]

    yield machine
    for hf in memories:
        hf.close()


def test_files_and_memories_follow_each_other_on_a_server_too(shop, opened):
    file = shop.record("a", "Use tea.")
    hf = opened("laptop")
    assert contents(hf, "tea") == ["Use tea."]
    hf.records.update("rec_a", body="Use rum.")
    assert "Use rum." in file.read_text()
    hf.undo()
    assert "Use tea." in file.read_text()
    moved = hf.records.move("rec_a", "assistant")
    assert file_of(hf, moved).exists() and not file.exists()
    hf.undo()
    hf.admin.purge("rec_a")
    assert not file.exists() and opened("laptop").records.list() == []


def test_a_machine_without_the_files_takes_nothing_away(shop, opened, tmp_path):
    """The folder has the same path on both, as in two containers, and holds other files."""
    shop.record("a", "Use tea.")
    assert contents(opened("one"), "tea") == ["Use tea."]
    shutil.move(shop.place.records, tmp_path / "the disk of one")
    shop.record("b", "Use rum.")
    other = opened("two")
    assert sorted(one.id for one in other.records.list()) == ["rec_a", "rec_b"]
    shutil.rmtree(shop.place.records)
    shutil.move(tmp_path / "the disk of one", shop.place.records)
    again = opened("one")
    assert sorted(one.id for one in again.records.list()) == ["rec_a", "rec_b"]
    assert again.records.sync_report.read == 0
