"""Prompts for language models, one Markdown file each, loaded by name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_SLOT = re.compile(r"\{(\w+)\}")


def prompt(name: str, **slots: str) -> str:
    """The prompt of this name with its slots filled; ValueError when one is missing or left
    over.
    """
    text = _text(name)
    wanted = set(_SLOT.findall(text))
    if wanted != set(slots):
        raise ValueError(
            f"The prompt {name!r} has the slots {sorted(wanted)}, but was given {sorted(slots)}."
        )
    return _SLOT.sub(lambda slot: slots[slot[1]], text)


@cache
def _text(name: str) -> str:
    return (files(__package__) / f"{name}.md").read_text("utf-8").strip()
