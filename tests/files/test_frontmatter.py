"""Frontmatter: read without a library where that is safe, and changed without touching anybody
else's bytes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.text import full_yaml, plain_yaml
from holdfast.text.frontmatter import (
    Broken,
    Document,
    decode,
    line_of,
    patch,
    plain,
    read,
    split,
    write,
)
from holdfast.text.plain_yaml import NotPlain

ORDER = ("id", "title", "keywords", "status")
# Anything that YAML can hold and a file can: no surrogates, and none of the characters that end a
# line for some.
TEXT = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\ufeff"),
    max_size=40,
)
SCALAR = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-1000, 1000),
    st.floats(0, 1),
    st.datetimes(timezones=st.just(UTC)),
)
VALUE = st.one_of(
    SCALAR,
    st.lists(TEXT, max_size=4),
    st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), SCALAR, max_size=3),
)

COMMENT = st.sampled_from(("", "  # theirs", " #: note"))
# Ways in which people write one entry, each with what it says; NAME is where the key goes.
ENTRIES = st.sampled_from(
    (
        "NAME: plain words",
        "NAME:   spaced   ",
        "NAME: 'it''s quoted'",
        'NAME: "a \\"b\\" c"',
        "NAME: [one, 'two']",
        "NAME: {a: 1, b: [2, 3]}",
        "NAME:\n  - one\n  - two # inner",
        "NAME:\n- flush\n- left",
        "NAME:",
        "NAME: ~",
        "NAME: |\n  literal\n\n  text",
        "NAME: >-\n  folded\n  text",
        "NAME:\n  inner: 1\n  other:\n    - deep",
        "NAME: 2026-03-01",
        "NAME: 12.50",
        "'NAME': quoted key",
        "NAME: [\n  over,\n  lines\n]",
        "NAME: über 日本語",
        "NAME: !!str 12",
        "NAME: &anchor word",
        "# a comment above\nNAME: word",
        "NAME: word\n\n# below\n",
    )
)


@st.composite
def frontmatters(draw):
    """A frontmatter as somebody may have written it, with its line ends, and the keys in it."""
    names = draw(
        st.lists(st.sampled_from((*ORDER, "owner", "ticket", "x-y")), unique=True, max_size=6)
    )
    entries = [draw(ENTRIES).replace("NAME", name) for name in names]
    single = [
        entry if "\n" in entry or entry.endswith(":") else entry + draw(COMMENT)
        for entry in entries
    ]
    opening, eol = (
        draw(st.sampled_from(("---", "\ufeff---"))),
        draw(st.sampled_from(("\n", "\r\n"))),
    )
    text = "\n".join([opening, *single, "---", "", "The body\nof it.", ""]).replace("\n", eol)
    return text, names


@given(TEXT, st.sampled_from(("\n", "\r\n")))
def test_a_file_is_its_pieces(body, eol):
    text = f"---{eol}id: x{eol}---{eol}{body}"
    assert split(text).text == text
    assert split(text).body == body
    assert split(body).text == body or body.startswith("---")


@given(
    st.dictionaries(st.sampled_from((*ORDER, "owner")), VALUE, max_size=5),
    TEXT,
    st.sampled_from(("\n", "\r\n")),
)
def test_what_is_written_is_read(values, body, eol):
    document = split(write(values, body, eol=eol).text)
    assert plain(read(document)) == plain(values)
    assert document.body == body


@given(frontmatters())
def test_what_is_read_without_a_library_is_what_the_library_reads(written):
    yaml = split(written[0]).yaml
    try:
        quick = plain_yaml.read(yaml)
    except NotPlain:
        return
    assert plain(quick) == plain(full_yaml.load(yaml))


@given(TEXT)
@example("- item")
@example("a: b")
@example("0x1f")
@example("1_000")
@example("2026-03-01")
@example("12:30:45")
@example("yes")
@example("a #b")
def test_no_value_means_one_thing_to_us_and_another_to_the_library(value):
    try:
        quick = plain_yaml.read(f"key: {value}\n")
    except NotPlain:
        return
    assert plain(quick) == plain(full_yaml.load(f"key: {value}\n"))


def without(text, keys):
    """A file without the entries of some keys, for comparing what is left."""
    lines, kept, inside = text.split("\n"), [], False
    for line in lines:
        if re.match(r"['\"]?[\w-]+['\"]?:", line):
            inside = re.match(r"['\"]?([\w-]+)", line)[1] in keys
        elif line.startswith(("---", "#")):
            inside = False
        if not inside:
            kept.append(line)
    return kept


@given(
    frontmatters(),
    st.dictionaries(st.sampled_from(ORDER), st.one_of(VALUE, st.none()), min_size=1, max_size=3),
)
def test_a_patch_changes_what_it_is_told_to_and_no_other_byte(written, changes):
    text, _ = written
    document = split(text)
    # An anchor's entry may belong to an alias elsewhere.
    assume(not ({"&anchor"} & set(document.yaml.split())))
    before = read(document)
    after = patch(document, changes, order=ORDER)
    expected = {key: value for key, value in before.items() if changes.get(key, "") is not None}
    expected |= {key: value for key, value in changes.items() if value is not None}
    assert plain(read(after)) == plain(expected)
    assert (after.opening, after.closing, after.body) == (
        document.opening,
        document.closing,
        document.body,
    )
    untouched, left = without(text, changes), without(after.text, changes)
    assert [line for line in left if line.strip()] == [line for line in untouched if line.strip()]
    assert ("\r\n" in text) == ("\r\n" in after.text) and after.text.count(
        "\n"
    ) >= after.text.count("\r\n")


def test_a_comment_behind_a_value_and_the_spaces_of_others_stay():
    text = (
        "---\nid:   x\ntitle: 'Old'   # why\nkeywords:\n  - a\n  - b  # last\nowner:    {a:   "
        "1}\n---\n\nBody\n"
    )
    patched = patch(
        split(text), {"title": "New: one", "keywords": ["c"], "status": "archived"}, order=ORDER
    )
    assert patched.text == (
        '---\nid:   x\ntitle: "New: one"   # why\nkeywords: [c]  # last\nstatus: archived\nowner: '
        "   {a:   1}\n---\n\n"
        "Body\n"
    )


def test_an_alias_is_never_written_through():
    """`b` is what `a` is; a new `a` must not become a new `b`."""
    document = split("---\na: &x one\nb: *x\n---\n")
    assert read(patch(document, {"a": "two"})) == {"a": "two", "b": "one"}


def test_a_file_without_frontmatter_gets_one_and_keeps_its_text():
    assert patch(split("# Title\n\ntext"), {"id": "x"}).text == "---\nid: x\n---\n# Title\n\ntext"


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"---\nid: x\ntitle: [\n---\n", 4, "not valid YAML"),
        (b"---\nid: x\na: b: c\n---\n", 3, "mapping values"),
        (b"---\nid: x\nid: y\n---\n", 3, "duplicate key"),
        (b"---\n- a\n- b\n---\n", 2, "lines such as"),
        (b"---\nid: x\n", 1, "does not end"),
        (b"---\nid: x\n---\nok\n\xff\xfe\n", 5, "UTF-8"),
        (b"---\nid: x\n---\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n", 4, "conflict"),
        (b"---\n" + b"a: {" * 2000 + b"\n---\n", None, "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(content, line, says):
    with pytest.raises(Broken, match=says) as error:
        read(split(decode(content)))
    assert line in (None, error.value.line)


def test_marks_like_those_of_git_in_a_text_about_git_are_no_conflict():
    text = "---\nid: x\n---\nLines with <<<<<<< in them, or\n=======\nas a heading.\n"
    assert decode(text.encode()) == text


def test_the_line_of_a_key_is_that_in_the_file():
    document = split("---\nid: x\n# c\nstatus: gone\n---\n")
    assert (line_of(document, "status"), line_of(document, "missing")) == (4, 1)


def test_times_keep_their_microseconds_and_zones_become_utc():
    noon = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
    assert read(write({"created": noon}, "")) == {"created": noon}
    assert plain(read(Document("---\n", "created: 2026-03-01T14:00:00+02:00\n", "---\n", ""))) == {
        "created": "2026-03-01T12:00:00+00:00"
    }
