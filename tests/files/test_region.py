"""A region of somebody's file: kept, found, taken out, and nothing else ever touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.records.managed_region import find, put, take_out
from holdfast.text.fences import neutralise, strip_echoes, strip_fences

BEGIN, END = "<!-- holdfast:begin -->", "<!-- holdfast:end -->"
TEXT = "## Known\n- Use pnpm\n- Deploy on Fridays never"

# Any bytes, and what people write: Markdown with every kind of line end, with or without a last
# one.
PIECES = [
    "# Title",
    "text",
    "",
    "- item",
    "é 茶",
    "<!-- a comment -->",
    "```",
    "holdfast:begin",
    "\t",
    "<!--",
]
LINES = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(["\n", "\r\n", "\r"])), max_size=8
)
WRITTEN = st.builds(
    lambda bom, lines, last: (bom + "".join(text + end for text, end in lines) + last).encode(),
    st.sampled_from(["", "\ufeff"]),
    LINES,
    st.sampled_from(["", "no line end"]),
)
FILES = st.one_of(st.binary(), WRITTEN)
TRICKS = [
    "<!-- holdfast:end -->",
    "<!-- holdfast:begin sha=000000000000 -->",
    "\n",
    "\r",
    "-->",
    "# ",
    "tea",
    "</b>",
    "\x00",
]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(TRICKS), max_size=8).map("".join)).map(
    neutralise
)


def is_utf16(data: bytes) -> bool:
    return data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff"))


@given(st.one_of(st.none(), FILES), TEXTS, TEXTS)
def test_any_file_published_to_twice_and_taken_out_again_is_what_it_was(data, first, second):
    if data is not None and is_utf16(data):
        return
    once = put(data, first)
    assert put(once, first) == once
    twice = put(once, second)
    assert not find(twice).edited
    assert take_out(twice) == data


@given(FILES, FILES, TEXTS, TEXTS)
def test_what_stands_around_a_region_stays_to_the_byte(head, tail, first, second):
    """Also where a person moved the region between texts of their own."""
    if is_utf16(head) or b"<!-- holdfast" in head + tail:
        return
    head = head + b"\n" if head else head
    moved = head + put(b"", first) + tail
    changed = put(moved, second)
    assert changed.startswith(head)
    assert changed.endswith(tail)
    assert len(changed) == len(head) + len(put(b"", second)) + len(tail)


def test_the_region_stands_between_two_comments_after_a_blank_line():
    first, blank, begin, *body, end = put(b"# Mine", TEXT).decode().splitlines()
    assert (first, blank, end, "\n".join(body)) == ("# Mine", "", END, TEXT)
    assert begin.startswith("<!-- holdfast:begin sha=")


def test_a_region_has_the_line_ends_of_its_file():
    windows = put(b"# Mine\r\n", TEXT)
    assert windows.count(b"\n") == windows.count(b"\r\n")
    assert take_out(windows) == b"# Mine\r\n"


def test_line_ends_that_git_changed_are_no_edit_and_go_with_the_region():
    data = put(b"# Mine\n", TEXT).replace(b"\n", b"\r\n")
    assert not find(data).edited
    assert take_out(data) == b"# Mine\r\n"


def test_a_region_without_a_last_line_end_keeps_it_so():
    data = put(b"# Mine\n", TEXT).removesuffix(b"\n")
    assert put(data, TEXT) == data


def test_text_behind_the_region_stays_on_a_line_of_its_own_when_it_is_taken_out():
    assert take_out(put(b"mine", TEXT) + b"also mine\n") == b"mine\nalso mine\n"


def test_markers_that_a_person_wrote_choose_the_place():
    chosen = f"one\n{BEGIN}\n{END}\ntwo\n".encode()
    region = find(chosen)
    assert (region.line, region.sha, region.edited) == (2, "", False)
    filled = put(chosen, TEXT)
    assert filled.startswith(b"one\n<!-- holdfast:begin sha=")
    assert filled.endswith(b"<!-- holdfast:end -->\ntwo\n")
    assert find(f"{BEGIN}\nby hand\n{END}\n".encode()).edited


@pytest.mark.parametrize(
    "old, new", [("Use pnpm", "Use npm"), ("- Use pnpm\n", ""), (f"\n{END}", f"\nmore\n{END}")]
)
def test_an_edit_inside_is_noticed(old, new):
    data = put(b"# Mine\n", TEXT)
    assert not find(data).edited
    assert find(data.replace(old.encode(), new.encode(), 1)).edited


@pytest.mark.parametrize(
    "text, line, what",
    [
        (f"a\n{BEGIN}\nb\n", 2, "no `holdfast:end` after"),
        (f"a\nb\n{END}\n", 3, "no `holdfast:begin` before"),
        (f"{END}\n{BEGIN}\n", 1, "`holdfast:end` in line 1"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", 2, "more than one `holdfast:begin`"),
        (f"{BEGIN}\r\n{END}\r\nx\r\n{BEGIN}\r\n{END}\r\n", 4, "more than one `holdfast:begin`"),
        (f"{BEGIN}\n{END}\n{END}\n", 3, "more than one `holdfast:end`"),
        (f"a\n<!-- holdfast:begin sha=12\n{END}\n", 2, "is damaged"),
        (f"{BEGIN} and\n{END}\n", 1, "is damaged"),
    ],
)
def test_damaged_markers_are_refused_with_the_line(text, line, what):
    for change in (find, take_out, lambda data: put(data, TEXT)):
        with pytest.raises(InvalidInput, match=what) as caught:
            change(text.encode())
        assert str(line) in str(caught.value)


def test_markers_inside_a_sentence_are_only_words():
    assert find(b"Between `<!-- holdfast:begin -->` and the end.\n") is None


def test_a_file_in_utf16_is_refused():
    with pytest.raises(InvalidInput, match="UTF-8"):
        put("# Mine".encode("utf-16"), TEXT)


@pytest.mark.parametrize("prefix", ["", "> ", "    12\t", "     7→"])
def test_a_region_that_an_agent_reads_back_is_recognised_as_our_own(prefix):
    """In a transcript it comes quoted, indented, or with the numbers of its lines."""
    region = put(None, TEXT).decode()
    shown = "".join(f"{prefix}{line}\n" for line in region.splitlines())
    rest, count = strip_fences(f"I read the file:\n{shown}Then I went on.")
    assert count == 1
    assert "pnpm" not in rest
    assert "Then I went on." in rest


@pytest.mark.parametrize("cut", [slice(0, 3), slice(2, None)], ids=["end", "beginning"])
def test_a_part_of_a_region_is_recognised_too(cut):
    lines = put(None, TEXT).decode().splitlines()[cut]
    rest = strip_echoes("My own words.\n\n" + "\n".join(lines) + "\n\nMore of mine.")
    assert rest.split() == ["My", "own", "words.", "More", "of", "mine."]
