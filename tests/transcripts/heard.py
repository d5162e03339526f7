"""What a reader makes of a file, for tests to look at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.transcripts import Cursor, Reader, Transcript
from holdfast.transcripts.base import Entry

DATA = Path(__file__).parent / "data"


def read(
    reader: Reader, path: Path, cursor: Cursor | None = None
) -> list[tuple[Transcript, list[Entry]]]:
    """Each session with its entries."""
    return [(transcript, list(transcript.entries)) for transcript in reader.read(path, cursor)]


def one(reader: Reader, path: Path, cursor: Cursor | None = None) -> tuple[Transcript, list[Entry]]:
    """The only session."""
    (found,) = read(reader, path, cursor)
    return found


def said(entries: list[Entry]) -> list[tuple[str, str]]:
    """Who said what."""
    return [(entry.role, entry.text) for entry in entries]


def held(entries: list[Entry]) -> list[tuple[str, str]]:
    """Who said what in the conversation itself, without the branches that were abandoned."""
    return said([entry for entry in entries if not entry.branch])


def write(path: Path, *records: Any) -> Path:
    """`records` as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def append(path: Path, *records: Any) -> None:
    """More of them."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
