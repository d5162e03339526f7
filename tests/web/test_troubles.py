"""When something is in the way: a lock, a lost connection, a limit, a fault. Nothing typed is
lost.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import demo_memory
import pytest
from playwright.sync_api import expect
from serving import serving
from visits import watched

from holdfast.server.api_keys import KeyFile

PEANUTS = "Tomasz cannot have peanuts"


@pytest.fixture
def store(tmp_path):
    file = tmp_path / "memory.db"
    demo_memory.build(file)
    return file


def test_a_locked_memory_asks_for_its_key_once(store, context):
    keys = store.with_name("keys.jsonl")
    key = KeyFile(keys).add(demo_memory.OWNER, at=0)
    with serving(store, "--keys", str(keys)) as url:
        page = context.new_page()
        page.goto(url)
        page.get_by_label("Key", exact=True).fill("hf_wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").filter(has_text="is not valid")).to_be_visible()
        page.get_by_label("Key", exact=True).fill(key)
        page.keyboard.press("Enter")
        # Only then: the browser may report the wrong key late.
        expect(page.get_by_text(PEANUTS).first).to_be_visible()
        visit = watched(page, url, demo_memory.OWNER)
        page.reload()
        expect(page.get_by_text(PEANUTS).first).to_be_visible()
        assert visit.troubles == []
        assert page.evaluate("localStorage.getItem('holdfast.key')") is None  # it goes with the tab
        page.goto(f"{url}?user_id=somebody-else")
        expect(page.get_by_role("heading", name="Could not load this")).to_be_visible()
        expect(page.get_by_role("main")).to_contain_text("Your key does not open")


def test_a_lost_connection_loses_no_words(store, context):
    with serving(store) as url:
        page = context.new_page()
        visit = watched(page, url, demo_memory.OWNER)
        visit.go("#/facts")
        visit.open(PEANUTS).get_by_role("button", name="Correct").click()
    words = page.get_by_label("New text")
    words.fill("Tomasz cannot have any nuts")
    page.get_by_role("button", name="Save correction").click()
    expect(page.get_by_role("alert")).to_contain_text("Holdfast cannot be reached.")
    expect(words).to_have_value("Tomasz cannot have any nuts")
    with serving(store, "--port", str(urlsplit(url).port)):
        page.reload()
        page.get_by_role("button", name="Correct").click()
        expect(words).to_have_value("Tomasz cannot have any nuts")
        page.get_by_role("button", name="Save correction").click()
        expect(visit.row("Tomasz cannot have any nuts")).to_be_visible()


def test_a_limit_is_waited_for_and_a_server_that_is_gone_is_named(store, context):
    with serving(store, rate_limit=30) as url:
        page = context.new_page()
        page.goto(f"{url}#/everything")
        rows = page.get_by_role("main").locator(".row")
        expect(rows.first).to_be_visible()
        for _ in range(4):  # each asks for five things or so, half a second's worth
            page.reload()
            expect(rows.first).to_be_visible()
    page.get_by_role("link", name="Rules").click()
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
