"""Regular expressions that are compiled on first use, because most texts need few of them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, cast

NEVER = re.compile(r"(?!)")
"""A pattern that matches nothing, for a language without words for something."""
# One thread compiles and the others wait for it: in a server that has just started, every thread
# would otherwise compile the same patterns, each at the expense of the others. Re-entrant, because
# a pattern may be made from others.
_compiling = threading.RLock()


class _Later:
    """Stand-in for a pattern until its first use."""

    def __init__(self, pattern: str | Callable[[], str], flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        with _compiling:
            if name in vars(self):
                # Another thread has compiled it meanwhile.
                return vars(self)[name]
            pattern, flags = self._source
            compiled = re.compile(pattern if isinstance(pattern, str) else pattern(), flags)
            # Later calls find the methods directly and skip `__getattr__`.
            vars(self).update(
                {
                    known: getattr(compiled, known)
                    for known in dir(compiled)
                    if not known.startswith("_")
                }
            )
            return getattr(compiled, name)


def later(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but deferred; an error in the pattern shows at first use.

    A pattern that needs the language files is passed as a function, so that they are read only
    then.
    """
    return cast(re.Pattern[str], _Later(pattern, flags))
