"""What is set for an owner, and how many rules they may have: the oldest make room, and none is
lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInput
from ..storage.protocol import Transaction
from ..types import MOST_RULES, Memories, Micros, Scope
from . import commit

EVICTION = "eviction"
DEFAULTS: Mapping[str, Any] = {"proactive_recall": False, "enabled": True}
"""What holds where nothing is set: whether memories are volunteered, and whether anything is
remembered at all.
"""


def settings_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """All that is set for an owner, defaults where nothing is."""
    return {**DEFAULTS, **stored}


def change(
    tx: Transaction,
    scope: Scope,
    wanted: Mapping[str, Any],
) -> dict[str, Any]:
    """Sets some of it and leaves the rest; all of it comes back. InvalidInput for what cannot be
    set.
    """
    for name, value in wanted.items():
        if name not in DEFAULTS:
            raise InvalidInput(f"A profile has no {name!r}. It may have: {', '.join(DEFAULTS)}.")
        if not isinstance(value, type(DEFAULTS[name])):
            raise InvalidInput(f"{name} must be {type(DEFAULTS[name]).__name__}, not {value!r}.")
    changed = {**tx.profiles.get(scope), **wanted}
    tx.profiles.put(scope, changed)
    return settings_of(changed)


def keep_rules_few(
    tx: Transaction,
    scope: Scope,
    *,
    at: Micros,
) -> Memories:
    """Archives the oldest rules of a person beyond twenty, protected ones never; those that went
    come back.

    Agents and projects have caps of their own: their rules are procedures, and not all of them go
    into every prompt.
    """
    if scope.kind != "user":
        return []
    surplus = tx.surplus(scope, ("rule",), MOST_RULES, spare_unconsolidated=False)
    return [
        commit.set_status(
            tx,
            rule,
            "archived",
            at=at,
            reason=EVICTION,
        )
        for rule in surplus
    ]
