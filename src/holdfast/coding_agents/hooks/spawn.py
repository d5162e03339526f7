"""A process that goes on when a hook has answered. Starting it must be quick, so almost nothing is
loaded for it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .events import Call

PROJECT = Path(".holdfast", "project.yaml")


def begin(call: Call) -> str:
    """Starts it if there is a project around and a transcript to read; what became of that, in a
    word.
    """
    folder = Path(call.cwd or ".").absolute()
    if not any((one / PROJECT).is_file() for one in (folder, *folder.parents)):
        return "no project"
    if not call.transcript or not Path(call.transcript).is_file():
        return "no transcript"
    start_process(call)
    return "started"


def start_process(call: Call) -> None:
    """Runs `holdfast hook finish` on its own: no terminal, no pipes, and no parent that would wait
    for it.
    """
    # Hooks that only recall do without.
    import subprocess  # noqa: PLC0415

    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    subprocess.Popen(
        [
            sys.executable,
            "-m",
            "holdfast",
            "hook",
            "finish",
            call.transcript,
            "--event",
            call.event,
        ],
        cwd=call.cwd or None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **apart,
    )
