"""Lifetime of memory: this process, this machine, or several machines that sync.

The modes:

    incognito   nothing is written to disk or read from it; `guest` is an alias
    local       stored on this machine
    synced      like local, and synced with another store: `holdfast store sync`
"""

from __future__ import annotations

from typing import Literal

from .errors import InvalidInput

Mode = Literal["incognito", "local", "synced"]
# Ordered from the shortest lifetime to the longest: `effective` compares by index.
MODES: tuple[Mode, ...] = (
    "incognito",
    "local",
    "synced",
)
ALIASES: dict[str, Mode] = {"guest": "incognito"}


def mode_of(text: str) -> Mode:
    """Parse a mode or an alias, ignoring case; raises InvalidInput.

    >>> mode_of("guest"), mode_of("LOCAL")
    ('incognito', 'local')
    """
    word = text.strip().casefold()
    for mode in MODES:
        if mode == ALIASES.get(word, word):
            return mode
    raise InvalidInput(
        f"Unknown memory mode {text!r}. Use one of: {', '.join((*MODES, *ALIASES))}."
    )


def effective(configured: str, requested: str | None = None) -> Mode:
    """Return the mode of one request: the requested one, limited by the configured one.

    >>> effective("local", "guest"), effective("local", "synced"), effective("synced")
    ('incognito', 'local', 'synced')
    """
    most = mode_of(configured)
    return most if requested is None else min(most, mode_of(requested), key=MODES.index)


def chosen(configured: str, requested: str | None) -> Mode:
    """Return the mode for a program that starts. Unlike `effective`, requesting more than
    configured is an error.
    """
    mode = effective(configured, requested)
    if requested is not None and mode != mode_of(requested):
        raise InvalidInput(
            f"The memory mode is set to {mode}, and {mode_of(requested)} would keep more than "
            f"that. Request a stricter mode, or set memory_mode to {mode_of(requested)} "
            "(HOLDFAST_MEMORY_MODE, or memory_mode in config.toml)."
        )
    return mode
