"""Configuration files of other programs: read, parsed, and replaced atomically if nobody changed
them meanwhile.
"""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Conflict, InvalidInput
from ..records.atomic_files import write_whole
from ..text.full_yaml import NotYAML, load


class Change(NamedTuple):
    """The text of a file before and after a change. None: there is no file."""

    file: Path
    before: str | None
    after: str | None


def read(file: Path) -> str | None:
    """The text of a file, or None when there is none."""
    try:
        # Line ends as they are.
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}. Nothing was changed.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InvalidInput(
            f"{file} is not UTF-8 text: line {line}: {error.reason}. Nothing was changed."
        ) from error


def parse_json(text: str, what: str) -> Any:
    """The value of a JSON text; InvalidInput with line, column and reason if it is broken."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{what} is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}. "
            "Nothing was changed. Correct that line and try again."
        ) from error


def parse_yaml(text: str, what: str) -> Any:
    """The value of a YAML text; InvalidInput with the line and the reason if it is broken."""
    try:
        return load(text)
    except NotYAML as error:
        raise InvalidInput(
            f"{what} is not valid YAML: line {error.line}: {error}. Nothing was changed. Correct "
            "that line and try again."
        ) from error


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """The value of a TOML text; InvalidInput with the line and the reason if it is broken."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"{what} is not valid TOML: {error}. Nothing was changed. Correct that line and try "
            "again."
        ) from error


def put(change: Change) -> None:
    """Replace the text of a file, all of it or nothing.

    Conflict if the file is no longer what it was when the change was planned. A link stays a link,
    and a file's permissions stay.
    """
    file = change.file.resolve()
    after = change.after
    if read(file) != change.before:
        raise Conflict(
            f"{file} was changed by somebody else just now. Nothing was written; try again."
        )
    try:
        if after is None:
            file.unlink(missing_ok=True)
            _drop_if_empty(file.parent)
        else:
            mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else None
            write_whole(file, [after.encode()], mode=mode)
    except OSError as error:
        raise InvalidInput(
            f"Cannot write {file}: {error.strerror}. Nothing was changed."
        ) from error


def _drop_if_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()
