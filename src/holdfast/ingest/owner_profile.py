"""Owner settings, and the cap on an owner's rules: the oldest are archived, none is lost."""

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
    """All settings of an owner, with defaults."""
    return {**DEFAULTS, **stored}


def change(
    tx: Transaction,
    scope: Scope,
    wanted: Mapping[str, Any],
) -> dict[str, Any]:
    """Change some settings and return all of them. Raises InvalidInput for bad ones."""
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
    """Archive a person's oldest unprotected rules beyond twenty; return the archived ones.

    Agents and projects have their own caps: their rules are procedures, and not all go into every
    prompt.
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
