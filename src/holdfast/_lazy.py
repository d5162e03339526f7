"""Lazy sub-modules of packages, so that a recall does not import what only maintenance needs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def modules_of(package: str) -> Callable[[str], ModuleType]:
    """Return a package's `__getattr__` that imports its sub-modules on first use."""

    def module(name: str) -> ModuleType:
        # Python probes packages for names such as `__path__`; those must not become imports.
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                # The module exists but one of its own imports failed: that error must not be
                # hidden.
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return module
