"""Regular expressions that mean the same on every Python we run on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import holdfast
from holdfast.text.lazy_regex import later

SOURCES = Path(holdfast.__file__).parent
# Until 3.11.4 a possessive repeat of a group keeps what its last, failed round had read.
# `(?>(?:…)+)` says the same.
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{{1,2}\d*,?\d*\}{1,2})\+")


def test_no_group_is_repeated_possessively():
    files = [path for path in SOURCES.rglob("*") if path.suffix in (".py", ".toml")]
    assert [
        f"{path.name}: {found}"
        for path in files
        for found in POSSESSIVE_GROUP.findall(path.read_text("utf-8"))
    ] == []


def test_such_a_repeat_would_be_seen():
    assert all(
        map(
            POSSESSIVE_GROUP.search,
            (r"(?:a|b)++", r"(?:a|b)*+", r"(?:a|b){1,9}+", r"(?:a|b){{2,}}+"),
        )
    )
    assert not any(map(POSSESSIVE_GROUP.search, (r"[a-z]++", r"(?>(?:a)+)", r"\w{1,30}+")))


def test_a_pattern_for_later_does_what_the_pattern_does():
    now, then = (
        re.compile(r"(?P<word>t\w+)", re.IGNORECASE),
        later(r"(?P<word>t\w+)", re.IGNORECASE),
    )
    text = "Green Tea and toast"
    assert then.findall(text) == now.findall(text) == ["Tea", "toast"]
    assert then.sub("x", text) == now.sub("x", text)
    assert (then.pattern, then.flags, then.groupindex) == (now.pattern, now.flags, now.groupindex)


def test_a_mistake_in_a_pattern_for_later_shows_when_it_is_used():
    broken = later("(")
    with pytest.raises(re.error):
        broken.search("tea")
