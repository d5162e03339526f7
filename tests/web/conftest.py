"""A browser on the Memory page. Each test has an owner of its own, so that one server serves them
all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import demo_memory
import pytest
from playwright.sync_api import Browser, BrowserContext, expect
from serving import browsing, chromium, serving
from visits import Visit, watched

PATIENCE = 100_000  # milliseconds; machines that test are busy
expect.set_options(timeout=PATIENCE)


@dataclass
class Place:
    """A server, its file, and where it answers."""

    store: Path
    url: str


@pytest.fixture(scope="module")  # and no longer: meanwhile its event loop is the one of this thread
def browser() -> Iterator[Browser]:
    if chromium() is None:
        if os.environ.get("CI"):
            pytest.fail("There is no Chromium to look at the page with; .ci/run installs Debian's.")
        pytest.skip("There is no Chromium here. On Debian: apt-get install chromium")
    with browsing() as opened:
        yield opened


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    store = tmp_path_factory.mktemp("web") / "memory.db"
    with serving(store) as url:
        yield Place(store, url)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB") as opened:
        opened.set_default_timeout(PATIENCE)
        yield opened


@pytest.fixture
def nobody(context: BrowserContext, place: Place) -> Iterator[Visit]:
    """A visit of somebody about whom nothing is known."""
    visit = watched(context.new_page(), place.url, f"ann-{uuid4().hex[:8]}")
    yield visit
    assert visit.troubles == []


@pytest.fixture
def ann(nobody: Visit, place: Place) -> Visit:
    """A visit of somebody who has used memory for some weeks."""
    demo_memory.build(place.store, nobody.owner)
    return nobody
