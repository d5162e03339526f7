"""Files of other programs, such as their settings: read as they are, and changed only while they are still that."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import Conflict, InvalidInput


def read(file: Path) -> str | None:
    """The text of a file, or None when there is none."""
    try:
        return file.read_bytes().decode("utf-8")  # line ends as they are
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"Cannot read {file}: {error.strerror}. Nothing was changed.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{file} is not UTF-8 text: line {line}: {error.reason}. Nothing was changed.") from error


def put(file: Path, before: str | None, after: str | None) -> None:
    """Writes a text in the place of another, all of it or nothing; None stands for no file.

    Conflict when the file is not what it was thought to be. A link stays a link, and a file's permissions stay.
    """
    file = file.resolve()
    if read(file) != before:
        raise Conflict(f"{file} was changed by somebody else just now. Nothing was written; try again.")
    try:
        if after is None:
            file.unlink(missing_ok=True)
            _drop_if_empty(file.parent)
        else:
            _replace(file, after)
    except OSError as error:
        raise InvalidInput(f"Cannot write {file}: {error.strerror}. Nothing was changed.") from error


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        draft.write_bytes(text.encode())
        if file.exists():
            draft.chmod(stat.S_IMODE(file.stat().st_mode))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _drop_if_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        folder.rmdir()
