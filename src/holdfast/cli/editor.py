"""The user's editor, for texts that are too long for a command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from .. import config
from ..errors import InvalidInput


def edit(file: Path, *, untouched: str) -> None:
    """Open a file in $VISUAL or $EDITOR and wait. Raises InvalidInput, with `untouched`, on
    failure.
    """
    environ = config.environment()
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
    except (OSError, ValueError) as error:
        # The program does not exist, or its command line has an unclosed quote.
        raise InvalidInput(
            f"{editor} could not be used ({error}). {untouched} Set $EDITOR to your editor."
        ) from error
    if ended:
        raise InvalidInput(f"{editor} ended with code {ended}. {untouched}")


def edited(
    text: str,
    *,
    untouched: str,
    ending: str = ".txt",
) -> str:
    """Return a text as edited by the user. The temporary file is private and deleted afterwards."""
    handle, name = tempfile.mkstemp(prefix="holdfast-", suffix=ending)
    file = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        edit(file, untouched=untouched)
        return file.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"What the editor left cannot be read ({error}). {untouched}") from error
    finally:
        file.unlink(missing_ok=True)
