"""What an agent is told of a project's memory when it begins: the summary, and how to use the
rest.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ..extraction.coding.project_settings import SUMMARY, Building
from ..text.fences import fence, neutralise
from .prompt_files import filled
from .transcript_json import truncated

_MARK = re.compile(r"\s{0,8}(?:#{2,6} |[-*] |\d{1,3}\. )?")


def guidance(folder: Path, building: Building) -> str:
    """The block for a model; empty when there is no summary. It never names where the files are on
    this machine.
    """
    try:
        summary = _read(folder / SUMMARY).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    if not summary:
        return ""
    kept = truncated(harmless(summary), building.settings.summary_injection_token_limit)
    told = filled(building.prompts, "read_path", memory_summary=kept)
    # Named by what it says: the same until the files change, so that a prompt's beginning can be
    # cached.
    return fence(
        told,
        block_id=hashlib.sha256(told.encode()).hexdigest()[:12],
        label="memory of this project",
    )


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (
        FileNotFoundError
    ):  # another version may have taken its place between finding and opening it
        return file.read_text("utf-8")


def harmless(text: str) -> str:
    """A document whose lines are nothing but text, its lists and headings kept."""
    return "\n".join(_harmless_line(line) for line in text.splitlines())


def _harmless_line(line: str) -> str:
    mark = _MARK.match(line)
    return (mark[0] if mark else "") + neutralise(line[mark.end() :] if mark else line)
