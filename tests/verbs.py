"""The verbs of `Holdfast` by their names, those of a namespace as `records.add`."""

from __future__ import annotations

import inspect

from holdfast import Holdfast, Settings


def verbs_of(cls: type) -> set[str]:
    """The public methods of a class."""
    return {name for name, _ in inspect.getmembers(cls, callable) if not name.startswith("_")}


def every_verb() -> set[str]:
    """Every verb that an open memory has, its namespaces included."""
    found = verbs_of(Holdfast)
    settings = Settings(embedding_models="none")
    with Holdfast.open(":memory:", scope="user:ann", settings=settings, background=False) as hf:
        for space, member in vars(Holdfast).items():
            if isinstance(member, property):
                found |= {f"{space}.{verb}" for verb in verbs_of(type(getattr(hf, space)))}
    return found
