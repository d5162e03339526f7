"""Packages whose modules are loaded when they are first used: who recalls does not wait for what
consolidates.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package: its modules by name, each loaded when it is first asked
    for.
    """

    def module(name: str) -> ModuleType:
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return module
