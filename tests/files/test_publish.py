"""Which records are worth the room in a file that agents read, how they stand there, and what
happens to the file.
"""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import Conflict, InvalidInput, Refused
from holdfast.records import atomic_files
from holdfast.records.managed_region import find, put
from holdfast.records.publish import (
    NOTHING,
    Room,
    compose,
    publish,
    usefulness,
    withdraw,
    worth_telling,
)
from holdfast.records.roots import RecordRoot
from holdfast.text.token_count import count_tokens
from holdfast.types import DAY, Memory, Scope

NOW = 20_000 * DAY
SCOPE = Scope("project", "acme")


@pytest.fixture
def place(tmp_path):
    return RecordRoot(tmp_path / ".holdfast", SCOPE, "project")


def record(text="Use pnpm", category="decisions", *, id="rec_1", age=0, **fields):
    at = NOW - age * DAY
    known = {"metadata": {"file": f"records/{category}/{id}.md"}, "source": "record"}
    return Memory(id, SCOPE, "fact", text, at, at, at, category=category, **(known | fields))


def text_for(records, place, **size):
    return compose(worth_telling(records, NOW), place, Room.of(**size))[0]


def ids(records):
    return [one.id for one in worth_telling(records, NOW)]


# Which


def test_the_surest_most_used_and_latest_records_come_first():
    assert ids(
        [
            record(id="rec_unsure", confidence=0.3),
            record(id="rec_old", age=800),
            record(id="rec_used", access_count=9),
            record(id="rec_plain"),
        ]
    ) == ["rec_used", "rec_plain", "rec_unsure", "rec_old"]
    assert usefulness(record(), NOW) == 1


def test_of_incidents_only_recent_ones_and_of_all_only_what_holds():
    assert ids(
        [
            record(category="incidents", id="rec_new", age=10),
            record(category="incidents", id="rec_long_ago", age=120),
            record(id="rec_expired", valid_until=NOW),
            record(id="rec_holds", valid_until=NOW + 1, age=120),
            record(category="notes", id="rec_other"),
        ]
    ) == ["rec_new", "rec_holds"]


def test_they_stand_by_category_in_an_order_that_does_not_depend_on_use(place):
    several = [
        record("Be brief", "preferences", id="rec_b"),
        record("Be kind", "principles", id="rec_a"),
        record(),
    ]
    text = text_for(several, place)
    assert text.split("\n")[2:] == [
        "### Principles",
        "- Be kind",
        "### Preferences",
        "- Be brief",
        "### Decisions",
        "- Use pnpm",
    ]
    used = [several[2].with_(access_count=50), *several[:2]]
    assert text_for(used, place) == text


# How


def test_a_title_goes_before_the_text_and_a_long_record_is_begun_and_its_file_named(place):
    text = text_for([record("step\n" * 300, "procedures", title="Deploy")], place)
    assert "\n- Deploy: step\n    step\n" in text
    assert text.endswith("step … [cut here] (whole in: .holdfast/records/procedures/rec_1.md)")


def test_there_are_no_blank_lines_so_that_a_part_of_it_is_known_again(place):
    assert "\n\n" not in text_for([record("one\n\n\ntwo")], place)


@given(
    st.lists(st.text(max_size=300), max_size=12),
    st.integers(500, 3_000),
    st.sampled_from(["max_bytes", "tokens"]),
)
def test_a_region_stays_within_its_size_and_its_markers_hold(tmp_path_factory, texts, limit, unit):
    place = RecordRoot(tmp_path_factory.getbasetemp() / ".holdfast", SCOPE, "project")
    hostile = [
        record(f"{text}\n<!-- holdfast:end -->\n<!-- holdfast:begin -->", id=f"rec_{n}")
        for n, text in enumerate(texts)
    ]
    data = put(b"# Mine\r\n", text_for(hostile, place, **{unit: limit}))
    region = find(data)
    assert not region.edited
    size = (
        len(data) - region.start
        if unit == "max_bytes"
        else count_tokens(data[region.start :].decode())
    )
    assert size <= limit


def test_what_does_not_fit_is_counted(place):
    several = [record(f"Rule {n} " + "x" * 100, id=f"rec_{n}") for n in range(9)]
    lines = text_for(several, place, max_bytes=800).split("\n")
    shown = sum(line.startswith("- Rule") for line in lines)
    assert 1 < shown < 9
    assert lines[-1] == f"({9 - shown} more: `holdfast record list`.)"


def test_a_size_that_nothing_fits_into_and_two_sizes_are_refused(place):
    with pytest.raises(InvalidInput, match="takes at least"):
        text_for([record()], place, max_bytes=50)
    with pytest.raises(InvalidInput, match="not both"):
        Room.of(max_bytes=1, tokens=1)


# The file


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "AGENTS.md"
    path.write_bytes(b"# Mine\r\n\r\nBe kind.")
    path.chmod(0o640)
    return path


@pytest.fixture
def tell(place):
    """Publishes records to a file."""

    def call(path, *records, force=False, plan=False):
        return publish(
            path, records or [record()], place, now=NOW, room=Room.of(), force=force, plan=plan
        )

    return call


def test_publishing_twice_is_publishing_once_and_withdrawing_gives_the_file_back(file, tell):
    before = file.read_bytes()
    assert tell(file).changed
    once = (file.read_bytes(), file.stat().st_mtime_ns)
    assert not tell(file).changed
    assert (file.read_bytes(), file.stat().st_mtime_ns) == once
    assert tell(file, record("Use npm")).changed
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert withdraw(file, force=False, plan=False).changed
    assert (file.read_bytes(), [one.name for one in file.parent.iterdir()]) == (
        before,
        ["AGENTS.md"],
    )


def test_a_plan_writes_nothing(file, tell):
    before = file.read_bytes()
    planned = tell(file, plan=True)
    assert (planned.changed, planned.before, file.read_bytes()) == (True, before, before)
    assert tell(file).after == planned.after == file.read_bytes()


def test_a_file_that_is_not_there_is_made_and_goes_again(tmp_path, tell):
    path = tmp_path / "CLAUDE.md"
    assert find(tell(path).after).start == 0
    assert path.is_file()
    withdraw(path, force=False, plan=False)
    assert not path.exists()


def test_without_records_nothing_is_written_but_a_region_that_is_there_says_so(file, place, tell):
    before = file.read_bytes()
    assert not publish(file, [], place, now=NOW, room=Room.of(), force=False, plan=False).changed
    assert file.read_bytes() == before
    tell(file)
    publish(file, [], place, now=NOW, room=Room.of(), force=False, plan=False)
    assert NOTHING.encode() in file.read_bytes()


def test_what_somebody_wrote_in_the_region_is_not_overwritten_unless_forced(file, tell):
    tell(file)
    edited = file.read_bytes().replace(b"Use pnpm", b"Use npm, really")
    file.write_bytes(edited)
    for change in (tell, lambda path, **_: withdraw(path, force=False, plan=False)):
        with pytest.raises(
            Refused, match=r"region of .*AGENTS.md that begins in line 5\. Nothing was changed\."
        ):
            change(file)
    assert file.read_bytes() == edited
    tell(file, force=True)
    assert b"really" not in file.read_bytes()


def test_damaged_markers_leave_the_file_as_it_is(file, tell):
    file.write_bytes(b"<!-- holdfast:begin -->\n")
    with pytest.raises(InvalidInput, match=r"AGENTS.md was left as it is: .* line 1"):
        tell(file)
    assert file.read_bytes() == b"<!-- holdfast:begin -->\n"


def test_a_link_stays_a_link(file, tell):
    link = file.with_name("CLAUDE.md")
    link.symlink_to("AGENTS.md")
    tell(link)
    assert link.is_symlink()
    assert b"Use pnpm" in file.read_bytes()


def test_a_folder_a_missing_folder_and_a_pipe_are_refused(tmp_path, tell):
    os.mkfifo(tmp_path / "pipe")
    for path, said in (
        (tmp_path, "is not a file"),
        (tmp_path / "no" / "A.md", "does not exist"),
        (tmp_path / "pipe", "not"),
    ):
        with pytest.raises(InvalidInput, match=said):
            tell(path)


def test_a_file_that_changes_meanwhile_is_not_overwritten(file, tell, monkeypatch):
    def draft(path, content, mode, real=atomic_files._draft):
        path.write_bytes(b"somebody was quicker")
        return real(path, content, mode)

    monkeypatch.setattr(atomic_files, "_draft", draft)
    with pytest.raises(Conflict):
        tell(file)
    assert file.read_bytes() == b"somebody was quicker"
