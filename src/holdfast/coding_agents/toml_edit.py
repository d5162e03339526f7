"""Entries added to and taken out of a config.toml as text: comments, order and every other byte
stay.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

from ..errors import InvalidInput

HEAD = (
    "\n# Holdfast: memory for this agent. `holdfast hook uninstall codex` takes these entries "
    "out again.\n"
)
Entries = dict[str, list[dict[str, Any]]]


def add(text: str, entries: Entries, what: str) -> str:
    """`text` with the entries behind it, as tables of their own."""
    longer = (
        text
        + HEAD
        + "".join(_table(event, handler) for event, one in entries.items() for handler in one)
    )
    try:
        tomllib.loads(longer)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"The hooks in {what} are written as one value, to which nothing can be added "
            f"({error}). Nothing was "
            "changed. Write them as [[hooks.EVENT]] tables, or move them to a hooks.json beside "
            "it, and try again."
        ) from error
    return longer


def take_out(text: str, entries: Entries, what: str) -> str:
    """`text` without the entries, which must stand there as `add` wrote them."""
    for event, handlers in entries.items():
        for handler in handlers:
            table = _table(event, handler)
            if table not in text:
                raise InvalidInput(
                    f"The entry for {event} in {what} was rewritten ({_line(text, handler)}), so "
                    "taking it out could "
                    "take more than that. Nothing was changed. Delete its tables by hand."
                )
            text = text.replace(table, "", 1)
    return text.replace(HEAD, "", 1)


def _table(event: str, handler: dict[str, Any]) -> str:
    # A JSON string is a TOML string.
    values = "".join(
        f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in handler.items()
    )
    return f"\n[[hooks.{event}]]\n[[hooks.{event}.hooks]]\n{values}"


def _line(text: str, handler: dict[str, Any]) -> str:
    command = str(handler.get("command", ""))
    number = next((n for n, line in enumerate(text.splitlines(), 1) if command in line), 0)
    return f"line {number}" if number else "its line could not be found"
