"""The prompts of the two phases: files that ship with the package, any of which a project may
replace.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..errors import InvalidInput

# Importlib.resources takes long to load, and hooks wait for this.
PROMPTS = Path(__file__).with_name("prompts")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def asked(folder: Path | None, *, template: str, system: str = "", **slots: str) -> str:
    """A prompt with its slots filled, behind the system prompt that goes with it.

    A file of the same name in `folder` stands in for ours; InvalidInput when it has a slot that
    does not exist.
    """
    text = filled(folder, template, **slots)
    return f"{_text(folder, system).strip()}\n\n{text}" if system else text


def filled(folder: Path | None, name: str, **slots: str) -> str:
    """The prompt of a name with its slots filled."""
    text = _text(folder, name)
    if unknown := set(_SLOT.findall(text)) - set(slots):
        slot = sorted(unknown)[0]
        known = ", ".join(slots)
        raise InvalidInput(
            f"The prompt {name}.md has {{{{{slot}}}}}, which nothing fills. It may have: {known}."
        )
    return _SLOT.sub(lambda slot: slots[slot[1]], text).strip()


def _text(folder: Path | None, name: str) -> str:
    if folder is not None and (own := folder / f"{name}.md").is_file():
        try:
            return own.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The prompt {own} cannot be read: {error}.") from error
    return _ours(name)


@cache
def _ours(name: str) -> str:
    return (PROMPTS / f"{name}.md").read_text("utf-8")
