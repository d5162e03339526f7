"""How long memory lasts: for this process only, on this machine, or on several that are kept equal.

A mode is one of these words:

    incognito   nothing is written to disk, and nothing that is there is read; `guest` is another word for it
    local       in a store of one's own
    synced      like local, and kept equal to another store: `holdfast store sync`
"""

from __future__ import annotations

from typing import Literal

from .errors import InvalidInput

Mode = Literal["incognito", "local", "synced"]
# From the least that is kept to the most.
MODES: tuple[Mode, ...] = (
    "incognito",
    "local",
    "synced",
)
ALIASES: dict[str, Mode] = {"guest": "incognito"}


def mode_of(text: str) -> Mode:
    """The mode that a word means, in upper or lower case; InvalidInput when it means none.

    >>> mode_of("guest"), mode_of("LOCAL")
    ('incognito', 'local')
    """
    word = text.strip().casefold()
    for mode in MODES:
        if mode == ALIASES.get(word, word):
            return mode
    raise InvalidInput(
        f"There is no memory mode {text!r}. Use one of: {', '.join((*MODES, *ALIASES))}."
    )


def effective(configured: str, requested: str | None = None) -> Mode:
    """The mode of one request: what was asked for, but never more than what is set. None asks for
    nothing.

    >>> effective("local", "guest"), effective("local", "synced"), effective("synced")
    ('incognito', 'local', 'synced')
    """
    most = mode_of(configured)
    return most if requested is None else min(most, mode_of(requested), key=MODES.index)


def chosen(configured: str, requested: str | None) -> Mode:
    """The mode for who starts a program: like `effective`, but asking for more than what is set is
    an error.
    """
    mode = effective(configured, requested)
    if requested is not None and mode != mode_of(requested):
        raise InvalidInput(
            f"The memory mode is set to {mode}, and {mode_of(requested)} would keep more than "
            "that. Ask for less, or "
            f"set memory_mode to {mode_of(requested)} (HOLDFAST_MEMORY_MODE, or memory_mode in "
            "config.toml)."
        )
    return mode
