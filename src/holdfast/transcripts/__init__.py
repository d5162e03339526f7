"""Readers for session files of coding agents and chat exports, one module per tool.

`READERS` is all of them; a path is read by the first that claims it, so the more particular formats
come first.
"""

from __future__ import annotations

from pathlib import Path

from .aider import Aider
from .base import Cursor, Reader, Transcript
from .chatgpt import ChatGPT
from .claude_ai import ClaudeAi
from .claude_code import ClaudeCode
from .codex import Codex
from .cursor import CursorEditor
from .gemini import Gemini
from .generic import Generic
from .opencode import OpenCode
from .pi import Pi

READERS: tuple[Reader, ...] = (
    ClaudeCode(),
    Codex(),
    Pi(),
    Gemini(),
    OpenCode(),
    CursorEditor(),
    Aider(),
    ChatGPT(),
    ClaudeAi(),
    Generic(),
)


def reader_for(path: Path) -> Reader | None:
    """The reader that understands `path`; None when it is no transcript that anybody knows."""
    if not path.is_file():
        return None
    return next((reader for reader in READERS if reader.claims(path)), None)


__all__ = ["READERS", "Cursor", "Reader", "Transcript", "reader_for"]
