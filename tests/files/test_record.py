"""A record as a file and as a memory: what each says of the other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shop import RECORD

from holdfast.errors import InvalidInput
from holdfast.records.markdown import derived_id, document_of, file_name, patched, record_of
from holdfast.records.roots import RecordRoot, check_category
from holdfast.text.frontmatter import Broken, split
from holdfast.types import DAY, Scope, from_datetime, iso

PLACE = RecordRoot(Path("/shop/.holdfast"), Scope("project", "shop"), "project")
PATH = "records/decisions/a.md"
AT = from_datetime(datetime(2026, 3, 18, 12, tzinfo=UTC))


def said(text, path=PATH, max_bytes=100_000):
    return record_of(text.encode(), path, PLACE, at=AT, max_bytes=max_bytes)


def test_a_file_with_everything_in_it():
    memory = said(
        "---\nid: rec_1\nscope: project\ncategory: decisions\ntitle: Pnpm\ncreated: 2026-03-01\n"
        "updated: 2026-03-02T10:00:00+02:00\nsource: {session: s1, lines: [3, 9]}\naliases: "
        "[package manager]\n"
        "keywords: node, yarn\nstatus: archived\nexpires: 2026-12-31\nconfidence: "
        "medium\nprotected: true\n"
        "evidence:\n  - path: package.json\n    lines: 1-3\n  - https://pnpm.io\nquote: we use "
        "pnpm\nowner: Bob\n---\n"
        "\nUse pnpm.\r\nNot npm.\n\n"
    ).memory
    assert (memory.id, memory.kind, memory.category, memory.title) == (
        "rec_1",
        "fact",
        "decisions",
        "Pnpm",
    )
    assert (memory.content, memory.quote, memory.source) == (
        "Use pnpm.\nNot npm.",
        "we use pnpm",
        "record",
    )
    assert (iso(memory.created_at), iso(memory.updated_at)) == (
        "2026-03-01T00:00:00+00:00",
        "2026-03-02T08:00:00+00:00",
    )
    assert memory.event_time == memory.created_at
    assert (memory.tags, memory.status, memory.confidence) == (
        ("node", "yarn", "package manager"),
        "archived",
        0.6,
    )
    assert (memory.protected, memory.decay_rate) == (True, 0.0)
    # It holds until the end of that day.
    assert iso(memory.valid_until) == "2027-01-01T00:00:00+00:00"
    assert memory.metadata == {
        "file": PATH,
        "source": {"session": "s1", "lines": [3, 9]},
        "evidence": [{"path": "package.json", "lines": "1-3"}, "https://pnpm.io"],
        "aliases": ["package manager"],
    }


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("decisions", "fact"),
        ("preferences", "fact"),
        ("procedures", "rule"),
        ("principles", "rule"),
        ("incidents", "episode"),
    ],
)
def test_each_category_is_of_a_kind(category, kind):
    assert said("x", f"records/{category}/a.md").memory.kind == kind


def test_a_file_of_text_alone_is_a_record_of_its_folder():
    record = said("# Deploying\n\nPush the button.\n", "records/procedures/deploying by hand.md")
    assert not record.named
    assert (
        record.memory.id
        == derived_id("records/procedures/deploying by hand.md")
        != derived_id(PATH)
    )
    assert (record.memory.kind, record.memory.category) == ("rule", "procedures")
    assert record.memory.created_at == record.memory.updated_at == AT


def test_the_folder_wins_over_what_the_file_says():
    assert said("---\ncategory: incidents\nid: rec_1\n---\nx").memory.category == "decisions"


def test_a_title_alone_is_text_enough():
    assert said("---\ntitle: Use tabs\n---\n").memory.content == "Use tabs"


def test_a_sixth_category_is_refused_with_the_five():
    with pytest.raises(
        InvalidInput, match="decisions, procedures, principles, incidents, preferences"
    ):
        check_category("ideas")


@pytest.mark.parametrize(
    ("head", "line", "says"),
    [
        ("id: rec_1\nstatus: gone", 3, "'gone' is none of active"),
        ("confidence: 7", 2, "from 0 to 1"),
        ("title: x\nexpires: soon", 3, "not a time"),
        ("created: 99", 2, "not a time"),
        ("id: 12", 2, "cannot be an id"),
        ("id: ../x", 2, "cannot be an id"),
        ("protected: maybe", 2, "neither true nor false"),
        ("title: {a: b}", 2, "must be text"),
    ],
)
def test_what_a_file_cannot_say_is_told_with_its_line(head, line, says):
    with pytest.raises(Broken, match=says) as error:
        said(f"---\n{head}\n---\ntext")
    assert error.value.line == line


@pytest.mark.parametrize(
    ("text", "says"), [("", "no text"), ("---\nid: x\n---\n\n", "no text"), ("x" * 200, "limit")]
)
def test_a_file_with_nothing_or_too_much_in_it(text, says):
    with pytest.raises(Broken, match=says):
        said(text, max_bytes=100)


def test_a_secret_is_not_remembered_and_told_with_its_line():
    record = said("---\nid: x\n---\n\nThe database:\nexport DB_PASSWORD=hunter2\n")
    assert "hunter2" not in repr(record.memory)
    assert record.memory.metadata["redacted"] == ["password"]
    ((line, warning),) = record.warnings
    assert (line, "password" in warning) == (6, True)
    assert "hunter2" not in warning


@given(
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=80).filter(
        lambda text: "holdfast" not in text
    ),
    st.lists(
        st.sampled_from(["a", "b c", "x: y", "12", "true", "- z", "é"]), unique=True, max_size=4
    ),
    st.sampled_from(["active", "archived"]),
    st.sampled_from([None, AT, AT + DAY]),
)
def test_a_file_written_for_a_memory_says_that_memory(text, words, status, until):
    base = said("x").memory
    memory = base.with_(
        content=said(f"---\nid: a\n---\n\n{text}.", PATH).memory.content,
        title="A: title",
        tags=tuple(words),
        status=status,
        valid_until=until,
        confidence=0.5,
    )
    again = said(document_of(memory, PLACE).text).memory
    assert again == memory


def test_a_new_file_is_named_by_id_and_title():
    memory = said("---\nid: rec_1\ntitle: Use pnpm, not npm\n---\nx").memory
    assert file_name(memory) == "records/decisions/rec_1-use-pnpm-not-npm.md"
    assert (
        file_name(memory.with_(title="", content="# Deploy!\nx"))
        == "records/decisions/rec_1-deploy.md"
    )
    assert file_name(memory.with_(title="!", content="")) == "records/decisions/rec_1.md"


def test_a_change_of_the_text_keeps_the_line_ends_and_blank_lines_around_it():
    old = split("---\r\nid: rec_1\r\n---\r\n\r\n\r\nOld\r\ntext.\r\n\r\n")
    before = said(old.text).memory
    new = patched(old, before, before.with_(content="New\ntext."), PLACE)
    assert new.text == "---\r\nid: rec_1\r\n---\r\n\r\n\r\nNew\r\ntext.\r\n\r\n"
    assert patched(new, before.with_(content="New\ntext."), before, PLACE).text == old.text


def test_our_next_write_puts_right_what_the_file_says_wrongly():
    document = split("---\ncategory: incidents # moved\nscope: assistant\n---\nText\n")
    before = said(document.text).memory
    assert patched(document, before, before.with_(title="T"), PLACE).text == (
        f"---\nid: {before.id}\ncategory: decisions # moved\nscope: project\ntitle: T\n---\nText\n"
    )


def test_nothing_changes_nothing():
    document = split(RECORD.format(name="a", category="decisions", text="x"))
    memory = said(document.text).memory
    assert patched(document, memory, memory, PLACE) == document
