"""A real server over a real file, and the browser that looks at it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo_memory import OWNER
from playwright.sync_api import Browser, sync_playwright

from patience import PATIENCE

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without a sandbox of its own it also runs as root, as it does in containers.
FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
)


def chromium() -> str | None:
    """Where a Chromium is installed, if one is."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def serving(store: Path, *options: str, rate_limit: int = 100_000) -> Iterator[str]:
    """`holdfast serve` as a process of its own, on any free port unless told one; its address."""
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "serve",
        "--store",
        str(store),
        "--scope",
        f"user:{OWNER}",
    ]
    port = () if "--port" in options else ("--port", "0")
    home = str(store.parent / "home")
    settings = {"HOLDFAST_EMBEDDING_MODELS": "static", "HOLDFAST_RATE_LIMIT": str(rate_limit)}
    places = {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "XDG_DATA_HOME": f"{home}/data"}
    environment = {**os.environ, **places, **settings}
    log = store.with_name("server.log")
    with (
        log.open("w") as out,
        subprocess.Popen([*command, *port, *options], stderr=out, env=environment) as process,
    ):
        try:
            yield _address(log, process)
        finally:
            process.terminate()


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Where it says that it serves, as soon as it does."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(r"http://\S+", log.read_text()):
            return found[0]
        time.sleep(0.05)
    raise RuntimeError(f"The server did not start:\n{log.read_text()}")
