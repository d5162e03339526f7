"""Somebody who looks at the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Locator, Page, expect

from patience import PATIENCE


@dataclass
class Visit:
    """Somebody who looks at their memory: the page, the API beside it, and what went wrong
    meanwhile.
    """

    page: Page
    url: str
    owner: str
    troubles: list[str] = field(default_factory=list)

    def go(self, address: str = "") -> Page:
        """Opens a view: `#/facts`, or the start page."""
        self.page.goto(f"{self.url}?user_id={self.owner}{address}")
        return self.page

    def ask(self, path: str, **query: Any) -> Any:
        """What the API says, to compare with what the page shows."""
        owned = {"user_id": self.owner, **query}
        answer = httpx.get(
            f"{self.url}api/memory/{path}", params=owned, trust_env=False, timeout=PATIENCE
        )
        return answer.raise_for_status().json()

    def texts(self, **query: Any) -> list[str]:
        return [memory["content"] for memory in self.ask("memories", **query)["items"]]

    def row(self, text: str) -> Locator:
        """A row of the list; near misses of a search stand in another."""
        return self.page.locator("main .row:not(.near .row)", has_text=text)

    def open(self, text: str) -> Locator:
        """Opens a memory of the list; its details."""
        self.row(text).get_by_role("link").click()
        details = self.page.get_by_role("complementary")
        expect(details.get_by_role("heading", level=2)).to_have_text(text)
        return details

    def toast(self) -> Locator:
        return self.page.get_by_role("region", name="Notices")


def watched(page: Page, url: str, owner: str) -> Visit:
    """A visit that notes every error of the page, and every request that leaves the server."""
    visit = Visit(page, url, owner)
    page.on("pageerror", lambda error: visit.troubles.append(f"error: {error}"))
    page.on(
        "console",
        lambda told: (
            visit.troubles.append(told.text) if told.type in ("error", "warning") else None
        ),
    )
    home = urlsplit(url).netloc
    page.on(
        "request", lambda sent: visit.troubles.append(sent.url) if _leaves(sent.url, home) else None
    )
    return visit


def _leaves(url: str, home: str) -> bool:
    return urlsplit(url).scheme not in ("blob", "data") and urlsplit(url).netloc != home
