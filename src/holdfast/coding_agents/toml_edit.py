"""Tables added to and taken out of TOML text. Comments, order and every other byte stay.

Text is appended and cut out rather than written by a TOML library: a table that was edited by hand
must be refused, not guessed at, and the rest has to come back to the byte.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any


def table(headers: str, values: dict[str, Any]) -> str:
    """The text of a table."""
    # A JSON string or list of strings is also a TOML one. TOML's dates, which JSON lacks, occur
    # only in a table that somebody else edited, and that is refused whatever is written here.
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}\n"
        for key, value in values.items()
    ]
    return headers + "".join(lines)


def syntax_error(text: str) -> str:
    """Why a text is not TOML; empty if it is."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return str(error)
    return ""


def line_of(text: str, words: str) -> str:
    """The number of the first line with these words, for people."""
    for number, line in enumerate(text.splitlines(), 1):
        if words in line:
            return f"line {number}"
    return "its line could not be found"
