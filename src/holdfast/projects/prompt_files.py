"""Prompts of both stages: files of this package that a project can override."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..errors import InvalidInput

# Not importlib.resources: it loads slowly, and hooks wait for this.
PROMPTS = Path(__file__).with_name("prompts")
# A slot such as {{rollout}}.
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def asked(
    folder: Path | None,
    *,
    template: str,
    system: str = "",
    **slots: str,
) -> str:
    """Render a prompt with its slots filled, after its system prompt.

    A file of the same name in `folder` replaces ours. Raises InvalidInput for an unknown slot.
    """
    text = filled(folder, template, **slots)
    return f"{_text(folder, system).strip()}\n\n{text}" if system else text


def filled(
    folder: Path | None,
    name: str,
    **slots: str,
) -> str:
    """Render the prompt of this name."""
    text = _text(folder, name)
    if unknown := set(_SLOT.findall(text)) - set(slots):
        slot = sorted(unknown)[0]
        known = ", ".join(slots)
        raise InvalidInput(
            f"The prompt {name}.md has the unknown slot {{{{{slot}}}}}. Known slots: {known}."
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
