"""The documentation site: everything is linked, and it works without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import BrowserContext, expect

ROOT = Path(__file__).parents[2]
# Need not be in the menu: what pages link to outside of docs, and the page for wrong addresses.
APART = ("repository/", "404.html")


class Links(HTMLParser):
    """What a page links to or shows."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found = list[str]()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built strictly: a broken link or a missing page of the menu stops it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, str(ROOT / "docs" / "build_site.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(params=["file system", "web server"])
def address(request, site) -> Iterator[str]:
    """Where the site is opened."""
    if request.param == "file system":
        yield site.as_uri()
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    """Python's own file server, without its log."""

    def log_message(self, *_: object) -> None:
        pass


def test_every_link_and_picture_of_the_site_is_there(site):
    pages = list(site.rglob("*.html"))
    missing = [
        f"{page.relative_to(site)}: {link}"
        for page in pages
        if page.name != "404.html"  # its links are those of the root
        for link in Links(page).found
        if not urlsplit(link).scheme
        and not (page.parent / (unquote(urlsplit(link).path) or page.name)).exists()
    ]
    assert missing == []
    assert (site / "images" / "memory-light.png").is_file()


def test_every_page_is_in_the_menu(site):
    menu = {os.path.normpath(urlsplit(link).path) for link in Links(site / "index.html").found}
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    assert {page for page in pages - menu if not page.startswith(APART)} == set()


def test_a_word_is_found_without_a_network(context: BrowserContext, address):
    asked = list[str]()
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/index.html")
    page.get_by_role("button", name="Search").first.click()
    page.get_by_role("combobox", name="Search").press_sequentially("bypassrls")
    page.get_by_role("option").filter(has_text="BYPASSRLS").first.click()
    expect(page.get_by_role("heading", level=1, name="Use Postgres")).to_be_visible()
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
