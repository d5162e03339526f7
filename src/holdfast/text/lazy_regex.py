"""Patterns that are compiled when they are first used: most texts never meet most of them."""

from __future__ import annotations

import re
from typing import Any, cast

NEVER = re.compile(r"(?!)")
"""A pattern that matches nothing: stands where a language has no words for something."""


class _Later:
    """Stands for a pattern until somebody asks something of it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._source)
        # From now on its methods are found without coming here.
        vars(self).update(
            {
                known: getattr(compiled, known)
                for known in dir(compiled)
                if not known.startswith("_")
            }
        )
        return getattr(compiled, name)


def later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, without the time it takes; an error in the pattern shows at its first
    use.
    """
    return cast(re.Pattern[str], _Later(pattern, flags))
