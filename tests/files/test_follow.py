"""Memories follow files: whatever people, editors and git do to them, and whatever is wrong with
them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest
from shop import RECORD, contents

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.errors import Refused, StoreReadOnly
from holdfast.models.embeddings.tiers import Tiers
from holdfast.storage import SQLiteStore
from holdfast.storage.store_types import Author
from holdfast.types import STATUSES, Edge


def rows(shop):
    return {one.id: one for one in shop.open().list(statuses=STATUSES)}


def test_a_file_that_somebody_writes_is_recalled(shop):
    shop.record("pnpm", "Use pnpm because of its workspaces.")
    hf = shop.open()
    assert contents(hf, "which workspaces?") == ["Use pnpm because of its workspaces."]
    assert hf.records.sync_report.added == ["rec_pnpm"] and hf.records.sync_report.warnings == []


def test_a_changed_text_is_found_by_its_new_words_and_keeps_its_links(shop):
    shop.record("pnpm", "Use pnpm.")
    shop.record("yarn", "Use yarn.")
    hf = shop.open()
    hf.admin.write(
        "link",
        lambda tx: tx.link(Edge(shop.place.scope, "rec_pnpm", "rec_yarn", "supersedes", 1)),
    )
    shop.record("pnpm", "Use bun.")
    assert shop.follow().changed == ["rec_pnpm"]
    assert contents(shop.open(), "bun") == ["Use bun."]
    assert contents(shop.open(), "pnpm?") != ["Use pnpm."]
    assert [edge.target for edge in shop.open().admin.links("rec_pnpm")] == ["rec_yarn"]


def test_an_unchanged_tree_is_not_read_and_of_a_changed_one_one_file(shop):
    for number in range(30):
        shop.record(f"r{number}", category=("decisions", "incidents")[number % 2])
    assert (shop.follow().read, shop.follow().read) == (30, 0)
    shop.record("r7", "Something else.", category="incidents")
    followed = shop.follow()
    assert (followed.read, followed.changed) == (1, ["rec_r7"])


def test_a_file_that_was_only_touched_changes_nothing(shop):
    file = shop.record("a")
    shop.follow()
    os.utime(file)
    followed = shop.follow()
    assert (followed.read, followed.changed) == (1, [])
    assert len({event.run for event in shop.open().admin.log() if event.verb == "follow"}) == 1


def test_a_change_in_the_moment_after_the_last_look_is_not_missed(shop):
    """Two saves of equal length that the file system's clock cannot tell apart."""
    file, moment = shop.record("a", "Use tea."), time.time_ns() + 10**10
    os.utime(file, ns=(moment, moment))
    hf = shop.open()
    assert contents(hf, "tea") == ["Use tea."]
    file.write_text(file.read_text().replace("tea", "rum"))
    os.utime(file, ns=(moment, moment))
    assert hf.records.sync_files().changed == ["rec_a"]


def test_a_file_moved_by_hand_keeps_its_id_and_changes_its_category(shop):
    old = shop.record("pnpm")
    before = shop.open().get("rec_pnpm")
    (shop.place.records / "principles").mkdir()
    old.rename(shop.place.records / "principles" / "other name.md")
    assert shop.follow().changed == ["rec_pnpm"]
    after = shop.open().get("rec_pnpm")
    assert (after.category, after.kind, after.seq) == ("principles", "rule", before.seq)
    assert after.metadata["file"] == "records/principles/other name.md"
    assert shop.follow().read == 0


def test_a_file_without_an_id_keeps_the_one_it_has_when_it_is_renamed(shop):
    old = shop.write("decisions/a.md", "Just text.")
    (id_,) = rows(shop)
    old.rename(old.with_name("b.md"))
    assert shop.follow().removed == []
    assert list(rows(shop)) == [id_]
    old.with_name("b.md").write_text("Other text.")
    shop.follow()
    assert [(one.id, one.content) for one in rows(shop).values()] == [(id_, "Other text.")]


def test_files_that_change_names_with_each_other_stay_who_they_are(shop):
    one, two = shop.record("one"), shop.record("two")
    shop.follow()
    third = one.with_name("third")
    one.rename(third), two.rename(one), third.rename(two)
    followed = shop.follow()
    assert followed.warnings == followed.removed == followed.added == []
    assert rows(shop)["rec_one"].metadata["file"] == "records/decisions/two.md"
    assert rows(shop)["rec_two"].metadata["file"] == "records/decisions/one.md"


def test_a_file_deleted_by_hand_takes_its_memory_along(shop):
    file = shop.record("a")
    shop.record("b")
    shop.follow()
    file.unlink()
    assert shop.follow().removed == ["rec_a"]
    assert list(rows(shop)) == ["rec_b"]
    assert shop.open().admin.check() == []


def test_another_id_in_a_file_is_another_record(shop):
    file = shop.record("a")
    shop.follow()
    shop.write("decisions/a.md", file.read_text().replace("rec_a", "rec_z"))
    followed = shop.follow()
    assert (followed.added, followed.removed) == (["rec_z"], ["rec_a"])


def test_a_branch_with_forty_other_records_and_back(shop):
    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args],
            cwd=shop.folder,
            check=True,
            capture_output=True,
        )

    for number in range(50):
        shop.record(f"r{number}")
    git("init", "-b", "main"), git("add", "."), git("commit", "-m", "records")
    before = {id_: (one.content, one.category) for id_, one in rows(shop).items()}
    git("checkout", "-b", "other")
    for number in range(20):
        shop.record(f"r{number}", f"Changed {number}.")
    for number in range(20, 30):
        (shop.place.records / "decisions" / f"r{number}.md").unlink()
    for number in range(10):
        shop.record(f"new{number}", category="incidents")
    (
        git("add", "."),
        git("commit", "-m", "changes"),
        git("checkout", "main"),
        git("checkout", "other"),
    )
    followed = shop.follow()
    assert (len(followed.changed), len(followed.removed), len(followed.added)) == (20, 10, 10)
    assert (
        len({event.run for event in shop.open().admin.log(limit=None) if event.verb == "follow"})
        == 2
    )
    git("checkout", "main")
    shop.follow()
    assert {id_: (one.content, one.category) for id_, one in rows(shop).items()} == before


# What is wrong with files


BROKEN = {
    "not YAML": ("---\nid: rec_a\ntitle: [\n---\ntext\n", ":4: "),
    "a conflict": (
        "---\nid: rec_a\n---\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> b\n",
        ":4: git left a conflict",
    ),
    "a conflict above": (
        "---\n<<<<<<< HEAD\nid: rec_a\n=======\nid: rec_b\n>>>>>>> b\n---\nx",
        ":2: git left",
    ),
    "empty": ("", "no text"),
    "not UTF-8": (b"---\nid: rec_a\n---\n\nna\xefve\n", ":5: is not UTF-8"),
    "of 1 MB": ("---\nid: rec_a\n---\n" + "word " * 200_000, "over the limit"),
    "over the limit": ("---\nid: rec_a\n---\n" + "word " * 25_000, "limit"),
    "of no status": ("---\nid: rec_a\nstatus: done\n---\ntext", ":3: status"),
    "open": ("---\nid: rec_a\ntext", "does not end"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_told_with_its_line_and_what_was_known_stays(shop, what):
    text, says = BROKEN[what]
    shop.record("a", "The good text.")
    shop.record("b")
    shop.follow()
    file = shop.write("decisions/a.md", text)
    shop.record("b", "Changed.")
    followed = shop.follow()
    (warning,) = followed.warnings
    assert says in warning and str(file) in warning
    assert followed.changed == ["rec_b"]
    assert rows(shop)["rec_a"].content == "The good text."
    assert shop.follow().warnings == [warning]  # until it is mended
    shop.record("a", "Mended.")
    assert shop.follow().warnings == []
    assert rows(shop)["rec_a"].content == "Mended."


def test_a_broken_file_alone_does_not_make_every_command_write(shop):
    shop.write("decisions/a.md", "---\n[\n---\nx")
    shop.follow()
    hf = shop.open()
    hf.list()
    assert hf.admin.log() == [] and hf.records.sync_report.warnings


def test_a_copied_file_is_reported_and_the_first_keeps_the_id(shop):
    file = shop.record("a", "The first.")
    shop.follow()
    copy = shop.write("decisions/0 copy.md", file.read_text().replace("first", "copy"))
    (warning,) = shop.follow().warnings
    assert str(copy) in warning and "a.md" in warning and "rec_a" in warning
    assert rows(shop)["rec_a"].content == "The first."
    shop.write("decisions/a.md", file.read_text().replace("first", "first, edited"))
    shop.follow()
    assert rows(shop)["rec_a"].content == "The first, edited."
    file.unlink()
    assert shop.follow().warnings == []
    assert rows(shop)["rec_a"].content == "The copy."


def test_of_two_new_files_with_one_id_the_one_named_by_it_has_it(shop):
    shop.write("decisions/a.md", RECORD.format(name="x", category="decisions", text="By hand."))
    shop.write(
        "decisions/rec_x-about.md", RECORD.format(name="x", category="decisions", text="By name.")
    )
    assert len(shop.follow().warnings) == 1
    assert rows(shop)["rec_x"].content == "By name."


def test_a_file_cannot_take_the_id_of_something_else(shop):
    hf = shop.open()
    turn = hf.capture("s", "user", "hello")
    shop.write("decisions/a.md", f"---\nid: {turn.id}\n---\nEvil.")
    (warning,) = shop.follow().warnings
    assert "another memory" in warning
    assert shop.open().get(turn.id).content == "hello"


def test_nothing_behind_a_link_is_read(shop, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("The secret plan.")
    folder = shop.place.records / "decisions"
    folder.mkdir(parents=True)
    (folder / "link.md").symlink_to(outside / "secret.md")
    (shop.place.records / "incidents").symlink_to(outside)
    hf = shop.open()
    assert hf.list() == []
    assert len(hf.records.sync_report.warnings) == 2 and all(
        "passed over" in one for one in hf.records.sync_report.warnings
    )


def test_a_place_whose_records_are_a_link_keeps_what_was_known(shop, tmp_path):
    shop.record("a")
    shop.follow()
    shop.place.records.rename(tmp_path / "elsewhere")
    shop.place.records.symlink_to(tmp_path / "elsewhere")
    assert "is a link" in shop.follow().warnings[0]
    assert list(rows(shop)) == ["rec_a"]


def test_names_with_spaces_and_other_letters_are_names(shop):
    shop.write("decisions/ein Name, mit Umläuten — 日本語.md", "---\nid: rec_a\n---\nText.")
    shop.write("decisions/A.md", "---\nid: rec_b\n---\nText.")
    shop.write("decisions/a.md", "---\nid: rec_c\n---\nOther text.")
    hf = shop.open()
    hf.list()
    assert (
        sorted(hf.records.sync_report.added) == ["rec_a", "rec_b", "rec_c"]
        and hf.records.sync_report.warnings == []
    )
    hf.archive("rec_a")
    assert (
        "status: archived"
        in (shop.place.records / "decisions/ein Name, mit Umläuten — 日本語.md").read_text()
    )


def test_a_name_that_is_not_utf_8_is_told(shop):
    shop.record("a")
    os.close(os.open(os.fsencode(shop.place.records / "decisions") + b"/\xff.md", os.O_CREAT))
    followed = shop.follow()
    assert followed.added == ["rec_a"] and "not UTF-8" in followed.warnings[0]


def test_what_is_in_no_folder_of_a_category_is_told(shop):
    shop.write("ideas/a.md", "x")
    shop.write("b.md", "x")
    shop.write("README.md", "What this is.")
    shop.write("decisions/README.md", "What this is.")
    shop.write("decisions/.hidden.md", "x")
    shop.write("decisions/notes.txt", "x")
    followed = shop.follow()
    assert len(followed.warnings) == 2 and followed.added == []
    assert "decisions, procedures" in followed.warnings[0]


def test_a_folder_in_other_case_is_the_same_category(shop):
    shop.write("Decisions/a.md", "---\nid: rec_a\n---\nText.")
    hf = shop.open()
    assert hf.get("rec_a").category == "decisions"
    hf.archive("rec_a")
    assert hf.get("rec_a").metadata["file"] == "records/Decisions/a.md"


# What files say of recall


def test_a_record_that_has_expired_is_not_recalled_and_its_file_stays(shop, clock):
    file = shop.write(
        "incidents/a.md", "---\nid: rec_a\nexpires: 2026-03-19\n---\nThe build is red.\n"
    )
    hf = shop.open()
    assert contents(hf, "build") == ["The build is red."]
    clock.forward(days=2)
    assert contents(hf, "build") == []
    assert file.exists() and [one.id for one in hf.records.list()] == ["rec_a"]


def test_a_record_archived_by_hand_is_not_recalled(shop):
    file = shop.record("a", "Use tea.")
    shop.follow()
    shop.write("decisions/a.md", file.read_text().replace("status: active", "status: archived"))
    hf = shop.open()
    assert contents(hf, "tea") == []
    assert [one.id for one in hf.records.list(archived=True)] == [
        "rec_a"
    ] and hf.records.list() == []
    assert hf.get("rec_a").status_reason == "changed in its file"


def test_keywords_and_aliases_are_found(shop):
    shop.write(
        "decisions/a.md",
        "---\nid: rec_a\nkeywords: [yarn]\naliases: package manager\n---\nUse pnpm.\n",
    )
    hf = shop.open()
    assert contents(hf, "yarn") == contents(hf, "package manager") == ["Use pnpm."]


def test_a_secret_in_a_file_is_told_and_kept_out_of_the_store(shop):
    text = "---\nid: rec_a\n---\n\nexport DB_PASSWORD=hunter2\n"
    file = shop.write("decisions/a.md", text)
    hf = shop.open()
    assert contents(hf, "password") == ["export DB_PASSWORD=[REDACTED:password]"]
    (warning,) = hf.records.sync_report.warnings
    assert f"{file}:5: " in warning and "hunter2" not in warning
    hf.archive("rec_a")
    head = "---\nid: rec_a\nupdated: 2026-03-18T12:00:00+00:00\nstatus: archived\n---\n"
    assert file.read_text() == head + "\nexport DB_PASSWORD=hunter2\n"
    hf.undo()
    hf.records.delete("rec_a")
    hf.close()
    assert not any(b"hunter2" in one.read_bytes() for one in shop.store.parent.glob("memory.db*"))


# Stores and folders that cannot be written, and undo


def test_undoing_what_people_did_to_files_is_refused_with_what_to_do(shop):
    shop.record("a")
    hf = shop.open()
    hf.list()
    with pytest.raises(Refused, match="git"):
        hf.undo()
    assert list(rows(shop)) == ["rec_a"]


def test_undo_passes_over_what_followed_from_files(shop):
    hf = shop.open()
    told = hf.records.add("Use tea.", category="decisions")
    hf.close()
    shop.record("a", "Use milk.")
    again = shop.open()
    again.list()
    again.undo()
    assert list(rows(shop)) == ["rec_a"] and told.id not in rows(shop)


def test_a_read_only_project_can_be_read(shop):
    shop.record("a", "Use tea.")
    for folder in (
        shop.place.records / "decisions",
        shop.place.records,
        shop.place.root,
        shop.folder,
    ):
        folder.chmod(0o555)
    try:
        assert contents(shop.open(), "tea") == ["Use tea."]
    finally:
        for folder in (
            shop.folder,
            shop.place.root,
            shop.place.records,
            shop.place.records / "decisions",
        ):
            folder.chmod(0o755)


def test_a_store_that_somebody_else_writes_is_read_as_it_was_known(shop, monkeypatch):
    for module in ("sqlite.store", "sqlite.connection"):  # both say how long a connection waits
        monkeypatch.setattr(f"holdfast.storage.{module}.BUSY_MILLISECONDS", 1)
    shop.record("a", "Use tea.")
    shop.follow()
    shop.record("b", "Use rum.")
    hf, other = shop.open(), SQLiteStore(shop.store, clock=shop.clock)

    def hold(tx):
        tx.profiles.put(shop.own.scope, {"enabled": True})
        assert contents(hf, "tea") == ["Use tea."]

    other.write(Author("x", "run_x", 1, "profile"), hold)
    other.close()
    assert "not taken in yet" in hf.records.sync_report.warnings[0]
    assert shop.follow().added == ["rec_b"]


class Sealed(SQLiteStore):
    """A store on a disk that cannot be written."""

    def write(self, author, work):
        raise StoreReadOnly


def test_a_store_that_cannot_be_written_is_read_as_it_was_known(shop):
    shop.record("a", "Use tea.")
    shop.follow()
    shop.record("b", "Use rum.")
    store = Sealed(shop.store, clock=shop.clock)
    hf = Holdfast(
        store,
        [shop.place.scope],
        places=[shop.place],
        clock=shop.clock,
        tiers=Tiers.of(clock=shop.clock),
    )
    assert contents(hf, "tea") == ["Use tea."]
    assert "not taken in yet. The store cannot be written" in hf.records.sync_report.warnings[0]
    hf.close()


def test_a_store_that_cannot_be_written_is_no_matter_when_nothing_changed(shop):
    file = shop.record("a", "Use tea.")
    shop.follow()
    os.utime(file)
    store = Sealed(shop.store, clock=shop.clock)
    hf = Holdfast(
        store,
        [shop.place.scope],
        places=[shop.place],
        clock=shop.clock,
        tiers=Tiers.of(clock=shop.clock),
    )
    assert contents(hf, "tea") == ["Use tea."] and hf.records.sync_report.warnings == []
    hf.close()


def test_many_files_are_followed_piece_by_piece(shop, monkeypatch):
    monkeypatch.setattr("holdfast.records.file_sync.CHUNK", 10)
    for number in range(35):
        shop.record(f"r{number:02}")
    told = []
    hf = shop.open()
    followed = hf.records.sync_files(progress=lambda done, total: told.append((done, total)))
    assert (len(followed.added), followed.read) == (35, 35)
    assert told == [(10, 35), (20, 35), (30, 35), (35, 35)]
    shutil.rmtree(shop.place.records / "decisions")
    assert len(hf.records.sync_files().removed) == 35


def test_a_store_that_was_deleted_is_made_again_from_the_files(shop):
    for number in range(5):
        shop.record(f"r{number}", f"Fact number {number} about tea.")
    before = contents(shop.open(), "fact about tea 3")
    shop.close()
    for file in shop.store.parent.glob("memory.db*"):
        file.unlink()
    assert contents(shop.open(), "fact about tea 3") == before != []


def test_an_incognito_memory_reads_no_records(shop, clock):
    shop.record("a")
    hf = Holdfast.open(
        scope=shop.place.scope,
        places=[shop.place],
        mode="incognito",
        settings=Settings(embedding_models="none"),
        clock=clock,
    )
    assert hf.list() == [] and hf.records.places == ()
    hf.close()


def test_a_view_of_other_scopes_follows_too(shop):
    shop.record("a")
    hf = shop.open()
    assert [one.id for one in hf.scoped(shop.place.scope).list()] == ["rec_a"]


def test_looking_at_the_attributes_of_a_store_touches_no_file(shop, monkeypatch):
    shop.record("a", "Use tea.")
    hf = shop.open()
    calls = []
    names = [name for name in dir(hf.store) if not name.startswith("__")]
    with monkeypatch.context() as watched:
        for function in ("scandir", "stat", "listdir", "open"):
            watched.setattr(os, function, lambda *args, **options: calls.append(args))
        for name in names:
            getattr(hf.store, name)
    assert calls == []
    assert contents(hf, "tea") == ["Use tea."], "the first read follows the files"
