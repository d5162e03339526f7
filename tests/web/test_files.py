"""The files of the page: all there, all used, nothing fetched from elsewhere."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import demo_memory

import holdfast
from holdfast.storage import SQLiteStore

WEB = Path(holdfast.__file__).parent / "server" / "web"
FILES = {
    str(path.relative_to(WEB)): path.read_text("utf-8") for path in WEB.rglob("*") if path.is_file()
}
NAMED = re.compile(r"""(?:static/|\./|\.\./|url\(")([\w./-]+\.(?:js|css|svg))""")


def test_every_file_is_named_by_another_and_every_name_is_a_file():
    named = {name.removeprefix("views/") for text in FILES.values() for name in NAMED.findall(text)}
    assert named == {name.removeprefix("views/") for name in FILES} - {"index.html"}


def test_nothing_comes_from_another_place():
    for name, text in FILES.items():
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert addresses == set(), name


def test_the_page_needs_no_inline_script_or_style():
    page = FILES["index.html"]
    assert re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page) is None


def test_every_icon_that_is_asked_for_is_drawn():
    drawn = set(re.findall(r'<symbol id="(\w+)"', FILES["icons.svg"]))
    wanted = re.compile(r"""icons\.svg#(\w+)|icon\("(\w+)"\)|symbol: "(\w+)\"""")
    asked = {
        name for text in FILES.values() for names in wanted.findall(text) for name in names if name
    }
    assert asked <= drawn


def test_the_memory_to_look_at_leaves_a_worker_nothing_to_learn(tmp_path):
    """A summary that a server adds meanwhile would be one row too many for whoever counts them."""
    demo_memory.build(tmp_path / "memory.db")
    with closing(SQLiteStore(tmp_path / "memory.db")) as store:
        assert store.sessions.unread() == []
