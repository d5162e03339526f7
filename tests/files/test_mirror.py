"""Files follow memories: every verb that changes a record changes its file, and undo gives the file
back.
"""

from __future__ import annotations

from operator import attrgetter

import pytest
from shop import contents, file_of

from holdfast.client import Holdfast
from holdfast.errors import Conflict, InvalidInput, NotFound, Refused
from holdfast.models.embeddings.tiers import Tiers
from holdfast.records.atomic_files import write_whole
from holdfast.storage import SQLiteStore
from holdfast.types import STATUSES, Edge

# As a person may have written it: with a comment, a key of their own, and values in their own way.
THEIRS = (
    "---\n# ours\nid: rec_a\ntitle:   'Tea'   # of course\nowner: Bob\ncreated: "
    "2026-03-01\nupdated: 2026-03-02\n"
    "keywords:\n    - green\n    - mint\nstatus: 'active'\n---\n\n\nDrink tea.\n\n\n"
)


@pytest.mark.parametrize(
    "category", ["decisions", "procedures", "principles", "incidents", "preferences"]
)
@pytest.mark.parametrize("place", ["project", "assistant"])
def test_a_record_is_a_file_in_the_folder_of_its_category(shop, category, place):
    hf = shop.open()
    record = hf.records.add("Use pnpm.", category=category, title="Pnpm, not npm", place=place)
    file = file_of(hf, record)
    assert file.parent.name == category and file.name == f"{record.id}-pnpm-not-npm.md"
    assert file.read_text() == (
        f"---\nid: {record.id}\nscope: {place}\ncategory: {category}\ntitle: Pnpm, not npm\n"
        "created: 2026-03-18T12:00:00+00:00\nupdated: 2026-03-18T12:00:00+00:00\nstatus: "
        "active\n---\n\nUse pnpm.\n"
    )
    assert record.id.startswith("rec_") and contents(hf, "pnpm") == ["Use pnpm."]
    again = shop.open()
    assert again.get(record.id) == record
    assert again.records.sync_report.read <= 1 and again.records.sync_report.changed == []


def test_everything_that_can_be_said_of_a_record(shop, clock):
    hf = shop.open()
    record = hf.records.add(
        "Use pnpm.",
        category="decisions",
        title="Pnpm",
        keywords=["node"],
        aliases=["package manager"],
        source={"session": "s1", "lines": [1, 9]},
        expires=clock.now + 10**12,
        confidence=0.7,
        evidence=[{"path": "package.json"}, "https://pnpm.io"],
        quote="we said: pnpm",
    )
    shop.close()
    for file in shop.store.parent.glob("memory.db*"):
        file.unlink()
    again = shop.open().get(record.id)
    assert again.with_(seq=0) == record.with_(seq=0)


def test_a_sixth_category_and_an_unknown_place_are_refused(shop):
    hf = shop.open()
    with pytest.raises(InvalidInput, match="decisions, procedures"):
        hf.records.add("x", category="ideas")
    with pytest.raises(InvalidInput, match="project or assistant"):
        hf.records.add("x", category="decisions", place="home")
    assert not shop.place.records.joinpath("decisions").exists()


def test_without_a_project_records_go_to_the_assistant(shop):
    hf = shop.open(shop.own)
    assert str(hf.records.add("x", category="preferences").scope) == "assistant:ann"
    with pytest.raises(InvalidInput, match="project init"):
        hf.records.add("x", category="preferences", place="project")


def test_a_secret_is_taken_out_before_the_file_is_written(shop):
    hf = shop.open()
    record = hf.records.add(
        "export DB_PASSWORD=hunter2",
        category="procedures",
        title="api_key=sk-abcdef0123456789abcdef",
    )
    text = file_of(hf, record).read_text()
    assert "hunter2" not in text and "[REDACTED:password]" in text and "sk-abcdef" not in text


# Each verb, and its way back


VERBS = {
    "update the text": lambda hf: hf.records.update("rec_a", body="Drink rum.\nA lot."),
    "update all else": lambda hf: hf.records.update(
        "rec_a",
        title="Rum: why",
        keywords=["dark"],
        aliases=["grog"],
        expires=hf.clock() + 10**12,
        confidence=0.5,
        evidence=["https://rum.org"],
    ),
    "correct": lambda hf: hf.correct("rec_a", "Drink rum."),
    "archive": lambda hf: hf.archive("rec_a"),
    "forget": lambda hf: hf.forget("rec_a"),
    "confirm": lambda hf: hf.confirm("rec_a"),
    "reclassify": lambda hf: hf.records.reclassify("rec_a", "principles"),
    "move": lambda hf: hf.records.move("rec_a", "assistant"),
    "delete": lambda hf: hf.records.delete("rec_a"),
    "clear": lambda hf: hf.records.clear("project"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_undo_gives_a_persons_file_back_byte_for_byte(shop, clock, verb, eol):
    text = THEIRS.replace("\n", eol).encode()
    file = shop.write("decisions/my tea.md", text)
    hf = shop.open()
    before = hf.get("rec_a")
    clock.forward(hours=1)
    VERBS[verb](hf)
    assert not file.exists() or file.read_bytes() != text
    hf.undo()
    assert file.read_bytes() == text
    assert hf.get("rec_a").with_(seq=0) == before.with_(seq=0)
    assert [one.name for one in shop.place.root.rglob("*.md")] == ["my tea.md"]
    assert not list(shop.own.root.rglob("*.md")) and not list(shop.place.root.rglob("*.draft"))
    again = shop.open()
    again.list()
    assert (
        again.records.sync_report.changed,
        again.records.sync_report.warnings,
        again.admin.check(),
    ) == ([], [], [])


@pytest.mark.parametrize("verb", VERBS)
def test_undo_gives_a_file_of_ours_back_byte_for_byte_and_undoing_that_too(shop, clock, verb):
    hf = shop.open()
    made = hf.records.add("Drink tea.", category="decisions", title="Tea", keywords=["green"])
    file = file_of(hf, made)
    renamed = file.read_text().replace(made.id, "rec_a")
    hf.records.delete(made.id)
    file = shop.write("decisions/rec_a.md", renamed)
    hf.records.sync_files()
    clock.forward(hours=1)
    VERBS[verb](hf)
    after = {one: one.read_text() for one in shop.folder.parent.rglob("rec_a*.md")}
    hf.undo()
    assert file.read_text() == renamed
    hf.undo(hf.last_run)
    assert {one: one.read_text() for one in shop.folder.parent.rglob("rec_a*.md")} == after


def test_undo_of_an_added_record_deletes_its_file(shop):
    hf = shop.open()
    file = file_of(hf, hf.records.add("Use tea.", category="decisions"))
    hf.undo()
    assert not file.exists() and hf.records.list() == []
    assert shop.follow().added == []


def test_what_changes_in_a_file_is_what_was_asked_for(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    hf.records.update("rec_a", title="Rum", keywords=["dark"])
    assert file.read_text() == (
        "---\n# ours\nid: rec_a\ntitle: Rum   # of course\nowner: Bob\ncreated: 2026-03-01\n"
        "updated: 2026-03-18T12:00:00+00:00\nkeywords: [dark]\nstatus: 'active'\n---\n\n\nDrink "
        "tea.\n\n\n"
    )


def test_restoring_and_archiving_are_lines_in_the_file(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    hf.archive("rec_a")
    assert "status: archived\n" in file.read_text() and contents(hf, "tea") == []
    hf.restore("rec_a")
    assert "status: active\n" in file.read_text() and contents(hf, "tea") == ["Drink tea."]


def test_nothing_new_is_no_change(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    hf.records.update("rec_a", title="Tea", body="Drink tea.", keywords=["green", "mint"])
    assert file.read_text() == THEIRS and hf.get("rec_a").updated_at < hf.clock()


def test_an_expiry_can_be_taken_back(shop, clock):
    hf = shop.open()
    record = hf.records.add("Red.", category="incidents", expires=clock.now + 1)
    assert "expires:" in file_of(hf, record).read_text()
    hf.records.update(record.id, expires="never")
    assert (
        "expires:" not in file_of(hf, record).read_text() and hf.get(record.id).valid_until is None
    )


def test_reclassifying_keeps_id_and_links(shop):
    hf = shop.open()
    one, two = (hf.records.add(text, category="decisions") for text in ("Use tea.", "Use rum."))
    hf.admin.write("link", lambda tx: tx.link(Edge(one.scope, one.id, two.id, "supersedes", 1)))
    moved = hf.records.reclassify(one.id, "procedures")
    assert (moved.id, moved.kind, file_of(hf, moved).parent.name) == (one.id, "rule", "procedures")
    assert [edge.target for edge in hf.admin.links(one.id)] == [two.id]
    assert hf.records.reclassify(one.id, "procedures") == moved


def test_moving_back_and_forth(shop):
    shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    moved = hf.records.move("rec_a", "assistant")
    assert file_of(hf, moved).read_text() == THEIRS.replace(
        "updated: 2026-03-02", "updated: 2026-03-18T12:00:00+00:00"
    )
    assert hf.records.list(place="project") == [] and [
        one.id for one in hf.records.list(place="assistant")
    ] == ["rec_a"]
    hf.records.move("rec_a", "project")
    assert [str(one.scope) for one in hf.records.list()] == [str(shop.place.scope)]
    shop.write("decisions/b.md", THEIRS, place=shop.own)
    hf.records.sync_files()
    with pytest.raises(Conflict, match="already"):
        hf.records.move("rec_a", "assistant")


def test_deleting_twice_is_an_error(shop):
    hf = shop.open()
    record = hf.records.add("x", category="decisions")
    hf.records.delete(record.id)
    assert not file_of(hf, record).exists()
    with pytest.raises(NotFound, match=record.id):
        hf.records.delete(record.id)


def test_clearing_a_place_leaves_the_other_and_what_is_no_record(shop):
    hf = shop.open()
    for place in ("project", "assistant"):
        hf.records.add(f"Of the {place}.", category="decisions", place=place)
    archived = hf.records.add("Old.", category="incidents")
    hf.archive(archived.id)
    turn = hf.capture("s", "user", "hello there")
    assert len(hf.records.clear("project")) == 2
    assert [one.content for one in hf.records.list()] == ["Of the assistant."]
    assert hf.get(turn.id) and not list(shop.place.records.rglob("*.md"))


def test_an_agent_cannot_undo_what_it_may_not_do(shop):
    hf = shop.open(actor="agent:coder")
    shop.write("decisions/a.md", THEIRS)
    hf.records.sync_files()
    with pytest.raises(Refused):
        hf.undo()


# Somebody else changes the file


def test_an_editor_that_saves_meanwhile_is_not_written_over(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    hf.list()
    saved = THEIRS.replace("Drink tea.", "Drink milk.")
    shop.write("decisions/a.md", saved)
    for change in (
        VERBS["update the text"],
        VERBS["archive"],
        VERBS["delete"],
        VERBS["reclassify"],
        VERBS["move"],
    ):
        hf._files._current = True  # as if nobody had looked since
        with pytest.raises(Conflict, match="changed by somebody else"):
            change(hf)
        assert file.read_text() == saved
        assert [one.name for one in shop.folder.parent.rglob("*.md")] == ["a.md"]
    # Who tries again sees what was saved, and goes on from there.
    hf.records.update("rec_a", title="Milk")
    assert "Drink milk." in file.read_text() and hf.get("rec_a").content == "Drink milk."


def test_an_editor_that_saves_while_the_transaction_runs_is_not_written_over(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    record = hf.get("rec_a")

    def work(tx):
        shop.write("decisions/a.md", THEIRS + "saved just now\n")
        return tx.change(record, title="Rum")

    with pytest.raises(Conflict):
        hf.admin.write("x", work)
    assert file.read_text() == THEIRS + "saved just now\n"
    assert hf.get("rec_a").content.endswith("saved just now")


def test_a_file_with_a_conflict_in_it_is_not_written(shop):
    shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    hf.list()
    broken = "<<<<<<< a\n=======\n>>>>>>> b\n"
    file = shop.write("decisions/a.md", broken)
    with pytest.raises(Conflict):
        hf.archive("rec_a")
    assert file.read_text() == broken and hf.get("rec_a").status == "active"


def test_a_transaction_that_fails_leaves_the_files_as_they_were(shop):
    file = shop.write("decisions/a.md", THEIRS)
    other = shop.write("decisions/b.md", THEIRS.replace("rec_a", "rec_b"))
    hf = shop.open()
    one, two = hf.get("rec_a"), hf.get("rec_b")
    shop.write("decisions/b.md", "changed")

    def work(tx):
        tx.change(one, title="Rum")
        tx.remove(two)

    with pytest.raises(Conflict):
        hf.admin.write("x", work)
    assert file.read_text() == THEIRS and other.read_text() == "changed"


def test_several_records_in_one_transaction_are_all_written(shop):
    files = [shop.record(name) for name in "abc"]
    hf = shop.open()
    hf.forget("rec_a", "rec_b", "rec_c")
    assert all("status: archived" in file.read_text() for file in files)
    hf.undo()
    assert all("status: active" in file.read_text() for file in files)


def test_a_file_keeps_its_mode(shop):
    file = shop.write("decisions/a.md", THEIRS)
    file.chmod(0o640)
    hf = shop.open()
    hf.archive("rec_a")
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_in_the_way_is_not_written_over(shop):
    shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    hf.list()
    other = shop.write("principles/a.md", "---\nid: rec_z\n---\nIn the way.")
    with pytest.raises(Conflict, match="already there"):
        hf.records.reclassify("rec_a", "principles")
    assert other.read_text().endswith("In the way.") and hf.get("rec_a").category == "decisions"


def test_a_folder_that_cannot_be_written_is_told_and_nothing_changes(shop):
    hf = shop.open()
    (shop.place.records / "decisions").write_text("a file where a folder should be")
    with pytest.raises(InvalidInput, match="Cannot write"):
        hf.records.add("x", category="decisions")
    assert hf.list(statuses=STATUSES) == []


def test_a_file_of_which_only_half_can_be_written_stays_what_it_was_and_leaves_no_half_behind(
    tmp_path,
):
    file = tmp_path / "bundle.jsonl"
    file.write_text("as before\n")

    def half():
        yield b"one\n"
        raise OSError(28, "No space left on device")

    with pytest.raises(InvalidInput, match=r"No space left on device\. Nothing was changed"):
        write_whole(file, half())
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        "bundle.jsonl": "as before\n"
    }


# Records that are kept elsewhere


def elsewhere(shop):
    """The same store without the places, as from another folder."""
    store = SQLiteStore(shop.store, clock=shop.clock)
    return Holdfast(store, [shop.place.scope], clock=shop.clock, tiers=Tiers.of(clock=shop.clock))


@pytest.mark.parametrize("verb", ["archive", "forget", "confirm", "correct", "admin.purge"])
def test_a_record_is_not_changed_where_its_file_is_not_at_hand(shop, verb):
    file = shop.write("decisions/a.md", THEIRS)
    shop.follow()
    hf = elsewhere(shop)
    with pytest.raises(InvalidInput, match=r"records/decisions/a\.md"):
        attrgetter(verb)(hf)("rec_a", *(("Other.",) if verb == "correct" else ()))
    assert hf.get("rec_a").status == "active" and file.read_text() == THEIRS
    assert contents(hf, "tea") == ["Drink tea."]
    hf.close()


# Erasing


def test_a_purge_deletes_the_file_and_its_receipt_says_so(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    receipt = hf.admin.purge("rec_a")
    assert not file.exists() and hf.list(statuses=STATUSES) == []
    (told,) = [place for place in receipt.places if place.name == "record files"]
    assert told.state == "beyond" and "1 file deleted" in told.detail and "git" in told.detail
    assert "tea" not in str(receipt.as_json()).casefold()
    assert shop.follow().added == []


def test_a_purge_of_an_assistants_record_leaves_nothing(shop):
    hf = shop.open()
    record = hf.records.add("Likes tea.", category="preferences", place="assistant")
    receipt = hf.admin.purge(record.id)
    assert [place.state for place in receipt.places if place.name == "record files"] == ["clean"]


def test_planning_a_purge_leaves_the_file(shop):
    file = shop.write("decisions/a.md", THEIRS)
    hf = shop.open()
    assert hf.admin.plan_purge("rec_a").counts["memories"] == 1
    assert file.read_text() == THEIRS


def test_purging_an_owner_deletes_all_files_of_that_place_only(shop):
    hf = shop.open()
    hf.records.add("A.", category="decisions")
    kept = hf.records.add("B.", category="decisions", place="assistant")
    shop.write("incidents/broken.md", "---\n[\n---\n")
    receipt = hf.admin.purge(owner=True)
    assert "2 files deleted" in next(
        one.detail for one in receipt.places if one.name == "record files"
    )
    assert not list(shop.place.records.rglob("*.md")) and file_of(hf, kept).exists()
    assert [one.id for one in shop.open().records.list()] == [kept.id]


def test_what_was_purged_is_not_taken_in_again(shop):
    """Another branch of git may still have the file."""
    file = shop.write("decisions/a.md", THEIRS)
    shop.open().admin.purge("rec_a")
    shop.write("decisions/a.md", THEIRS)
    followed = shop.follow()
    assert (
        followed.added == []
        and "erased for good" in followed.warnings[0]
        and str(file) in followed.warnings[0]
    )
    shop.write("decisions/a.md", THEIRS.replace("rec_a", "rec_b"))
    assert shop.follow().added == ["rec_b"]


def test_nothing_is_written_behind_a_link(shop, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    shop.place.records.joinpath("decisions").symlink_to(outside)
    hf = shop.open()
    with pytest.raises(InvalidInput, match="is a link"):
        hf.records.add("x", category="decisions")
    assert list(outside.iterdir()) == [] and hf.records.list() == []
