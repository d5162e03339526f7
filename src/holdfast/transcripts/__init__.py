"""Readers for session files of coding agents and chat exports, one module per tool.

`READERS` lists all of them. The first reader that recognises a file reads it, so specific formats
come first. A new reader is a module here and a line in `READERS`.
"""

from __future__ import annotations

from pathlib import Path

from .aider import Aider
from .base import Cursor, Importer, Reader, Transcript
from .chatgpt import ChatGPT
from .claude_ai import ClaudeAi
from .claude_code import ClaudeCode
from .codex import Codex
from .copilot import Copilot
from .cursor import CursorEditor
from .gemini import Gemini
from .generic import Generic
from .kimi import Kimi
from .opencode import OpenCode
from .pi import Pi
from .qwen import QwenCode
from .specstory import SpecStory
from .vscode_chat import VSCodeChat

READERS: tuple[Reader, ...] = (
    QwenCode(),
    ClaudeCode(),
    Codex(),
    Copilot(),
    Pi(),
    Gemini(),
    Kimi(),
    VSCodeChat(),
    OpenCode(),
    CursorEditor(),
    Aider(),
    SpecStory(),
    ChatGPT(),
    ClaudeAi(),
    Generic(),
)


def reader_for(path: Path) -> Reader | None:
    """Return the reader that understands `path`, or None if the format is unknown."""
    if not path.is_file():
        return None
    return next((reader for reader in READERS if reader.recognises(path)), None)


__all__ = ["READERS", "Cursor", "Importer", "Reader", "Transcript", "reader_for"]
