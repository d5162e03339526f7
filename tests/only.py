"""Runs Python as if only Holdfast with some of its extras were installed here, and none of its
other packages.

python tests/only.py 'server,mcp' -c CODE
python tests/only.py '' -m holdfast remember "…"

What was installed for tests, or by another extra, cannot be imported, just as in an environment
that never had it.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement


def wanted(extras: Sequence[str]) -> set[str]:
    """The distributions that Holdfast needs with these extras, and what those need in turn, by
    their usual names.
    """
    found: set[tuple[str, str]] = set()
    left = [("holdfast-memory", extra) for extra in ("", *extras)]
    while left:
        one = left.pop()
        if one in found:
            continue
        found.add(one)
        for line in _requires(one[0]):
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": one[1]}):
                left += [(_usual(need.name), extra) for extra in ("", *need.extras)]
    return {name for name, _ in found}


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # it is for another system
        return []


def _usual(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class NotInstalled(MetaPathFinder):
    """Finds no module of a package that is not wanted."""

    def __init__(self, extras: Sequence[str]) -> None:
        allowed = wanted(extras)
        self._missing = {
            module
            for module, distributions in packages_distributions().items()
            if module.isidentifier() and not {_usual(one) for one in distributions} & allowed
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self._missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def main() -> None:
    _, extras, how, what, *rest = sys.argv
    for name in [name for name in sys.modules if name.startswith("packaging")]:
        del sys.modules[name]  # it was needed here only
    sys.meta_path.insert(0, NotInstalled([extra for extra in extras.split(",") if extra]))
    sys.argv = [what, *rest]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
