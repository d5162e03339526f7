"""The figures of a shared server on the Memory page: who sees them, and what they show."""

from __future__ import annotations

import re

import demo_memory
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from serving import serving

from holdfast.server.api_keys import KeyFile


def test_an_admin_sees_the_server_and_an_owner_does_not(tmp_path, context):
    store = tmp_path / "memory.db"
    demo_memory.build(store)
    demo_memory.build(store, "zoe")
    file = KeyFile(tmp_path / "keys.jsonl")
    admin = file.add(demo_memory.OWNER, at=0, admin=True)
    plain = file.add("zoe", at=0)
    with serving(store, "--keys", str(file.path)) as url:
        page = context.new_page()
        page.add_init_script(f"sessionStorage.setItem('holdfast.key', '{admin}')")
        page.goto(url)
        page.get_by_role("link", name="Server").click()
        expect(page.get_by_role("heading", name="All is well")).to_be_visible()
        expect(page.get_by_role("row", name=re.compile(r"^zoe \d+ "))).to_be_visible()
        expect(page.get_by_role("main")).not_to_contain_text("peanuts")
        assert Axe().run(page).response["violations"] == []
        page.set_viewport_size({"width": 360, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        other = context.new_page()
        other.add_init_script(f"sessionStorage.setItem('holdfast.key', '{plain}')")
        other.goto(url)
        expect(other.locator("#strip")).to_contain_text("zoe")
        expect(other.get_by_role("link", name="Server")).to_have_count(0)
        other.goto(f"{url}#/server")
        expect(other.get_by_role("main")).to_contain_text(
            "Only an admin key opens the figures of the server."
        )
