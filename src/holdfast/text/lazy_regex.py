"""Patterns that are compiled when they are first used: most texts never meet most of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

NEVER = re.compile(r"(?!)")
"""A pattern that matches nothing: stands where a language has no words for something."""


class _Later:
    """Stands for a pattern until somebody asks something of it."""

    def __init__(self, pattern: str | Callable[[], str], flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        pattern, flags = self._source
        compiled = re.compile(pattern if isinstance(pattern, str) else pattern(), flags)
        # From now on its methods are found without coming here.
        vars(self).update(
            {
                known: getattr(compiled, known)
                for known in dir(compiled)
                if not known.startswith("_")
            }
        )
        return getattr(compiled, name)


def later(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, without the time it takes; an error in the pattern shows at its first
    use.

    A pattern that needs the language files is given as a function, so that they are read only then.
    """
    return cast(re.Pattern[str], _Later(pattern, flags))
