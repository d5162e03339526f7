"""Takes the pictures of the Memory page that the docs show, from a real server over the memory that
its tests use.

python docs/screenshots.py       writes docs/images/*.png
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "web"), str(ROOT / "tests")]

# Found by the line above.
import demo_memory  # noqa: E402
from playwright.sync_api import Browser, Page  # noqa: E402
from serving import browsing, serving  # noqa: E402

IMAGES = ROOT / "docs" / "images"
DESK = {"viewport": {"width": 1280, "height": 800}}
DARK = {**DESK, "color_scheme": "dark"}
PHONE = {
    "viewport": {"width": 390, "height": 760},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
# What a view shows when it has loaded.
CONTENT = "main :is(.row, .card, .tile, .moment, .change, .verdict, .glance)"
PEANUTS = "Tomasz cannot have peanuts"


def _opened(page: Page) -> None:
    page.get_by_role("link", name=PEANUTS).click()
    page.get_by_role("img", name="it fades on").wait_for()


def _forgetting(page: Page) -> None:
    page.get_by_role("button", name="Forget these…").click()


def _selected(page: Page) -> None:
    page.get_by_role("button", name="Dense rows").click()
    for key in ("j", "x", "j", "j", "Shift+X"):
        page.keyboard.press(key)


def _palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Type a command").fill("tomasz")
    page.get_by_role("option", name=PEANUTS).wait_for()


THEN = (datetime.now() - timedelta(days=3)).date()


# What each picture shows: where, on which screen, and what is done there first.
PICTURES: dict[str, tuple[str, dict[str, Any], Callable[[Page], None] | None]] = {
    "memory-light": ("#/?q=Tomasz", DESK, _opened),
    "memory-dark": ("#/?q=Tomasz", DARK, _opened),
    "memory-home": ("#/", DESK, None),
    "memory-everything": ("#/everything", DESK, None),
    "memory-forget": ("#/?q=Tomasz", DESK, _forgetting),
    "memory-facts": ("#/facts", DESK, None),
    "memory-sessions": (
        "#/sessions",
        DESK,
        lambda page: page.get_by_role("link", name="Planned a Georgian").click(),
    ),
    "memory-rules": (
        "#/rules",
        DESK,
        lambda page: page.get_by_role("link", name="Keep answers short").click(),
    ),
    "memory-then": (f"#/facts?q=desk&asof={THEN}", DESK, None),
    "memory-selected": ("#/facts", DESK, _selected),
    "memory-palette": ("#/facts", DESK, _palette),
    "memory-review": ("#/review", DESK, None),
    "memory-people": ("#/people", DESK, None),
    "memory-person": ("#/people?name=Tomasz", DESK, None),
    "memory-timeline": ("#/timeline", DESK, None),
    "memory-changes": ("#/changes", DESK, None),
    "memory-health": ("#/health", DESK, None),
    "memory-phone": ("#/?q=Tomasz", PHONE, None),
}


@contextmanager
def _page(browser: Browser, screen: dict[str, Any]) -> Iterator[Page]:
    with browser.new_context(**screen, reduced_motion="reduce", locale="en-GB") as context:
        yield context.new_page()


def _take(browser: Browser, url: str, name: str) -> None:
    address, screen, first = PICTURES[name]
    with _page(browser, screen) as page:
        page.goto(url + address)
        page.locator(CONTENT).first.wait_for()
        page.locator("#recall").wait_for()
        if first is not None:
            first(page)
        page.mouse.move(0, 0)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=IMAGES / f"{name}.png")


def _shrink(images: list[Path]) -> None:
    """Fewer colours take a third of the room; without the tool they stay as they are."""
    if shutil.which("pngquant"):
        subprocess.run(
            ["pngquant", "--force", "--ext", ".png", "--quality", "80-98", "--strip", *images],
            check=True,
        )


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        with serving(store) as url, browsing() as browser:
            # After the start: at its start the server extracts from sessions that it finds open.
            demo_memory.build(store)
            for name in PICTURES:
                _take(browser, url, name)
    _shrink([IMAGES / f"{name}.png" for name in PICTURES])


if __name__ == "__main__":
    main()
