"""Guidance: a project's summary and how to use the rest of its memory, as a block for a session."""

from __future__ import annotations

from pathlib import Path

from ..context.blocks import cut_middle_within, escape_document, fence_block
from ..extraction.coding.project_settings import SUMMARY, Building
from .prompt_files import filled


def guidance(folder: Path, building: Building) -> str:
    """Render the block; empty if there is no summary. It never names a path on this machine."""
    try:
        summary = _read(folder / SUMMARY).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    if not summary:
        return ""
    limit = building.settings.summary_injection_token_limit
    kept = cut_middle_within(escape_document(summary), limit)
    text = filled(building.prompts, "read_path", memory_summary=kept)
    return fence_block(text, label="memory of this project")


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:  # another version may have replaced it between listing and opening
        return file.read_text("utf-8")
