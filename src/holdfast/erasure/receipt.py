"""Receipt of an erasure: proves what was erased without disclosing it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..storage.store_types import ErasureTarget
from ..types import Micros, from_iso, iso


@dataclass(frozen=True, slots=True)
class Item:
    """One erased item: its kind, its id if that discloses nothing, and the seal of its text."""

    noun: str
    id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased, by whom, when and where, and whether every place is clean.

    Each item is sealed with HMAC-SHA-256 under the receipt's own nonce. Whoever knows a text can
    verify that it was erased; nobody else learns anything short of guessing it word for word.
    """

    id: str
    at: Micros
    actor: str
    run: str
    store: str
    scope: str
    nonce: str
    counts: Mapping[str, int]
    items: tuple[Item, ...]
    places: tuple[ErasureTarget, ...]
    again: tuple[str, ...] = ()
    """What is derived again from the rest, and when."""
    kept: Mapping[str, str] | None = None
    """Ids of related memories that stay, with the reasons."""

    @property
    def memories(self) -> int:
        """Number of erased memories."""
        return self.counts.get("memories", 0)

    @property
    def pending(self) -> tuple[ErasureTarget, ...]:
        """Places that `holdfast purge --finish` still has to clean."""
        return tuple(place for place in self.places if place.state == "pending")

    def covers(self, text: str) -> bool:
        """Whether exactly this text was erased."""
        sealed = seal(self.nonce, text)
        return any(hmac.compare_digest(item.sha256, sealed) for item in self.items)

    def as_json(self) -> dict[str, Any]:
        """The receipt as printed and stored."""
        return {
            "receipt": self.id,
            "at": iso(self.at),
            "actor": self.actor,
            "run": self.run,
            "store": self.store,
            "scope": self.scope,
            "erased": dict(self.counts),
            "places": [
                {"place": one.name, "state": one.state, "detail": one.detail} for one in self.places
            ],
            "again": list(self.again),
            "kept": dict(self.kept or {}),
            "nonce": self.nonce,
            "items": [
                {"noun": item.noun, "id": item.id, "sha256": item.sha256} for item in self.items
            ],
        }

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Read a stored receipt."""
        known = json.loads(text)
        at = from_iso(known["at"])
        return cls(
            known["receipt"],
            at,
            known["actor"],
            known["run"],
            known["store"],
            known["scope"],
            known["nonce"],
            known["erased"],
            tuple(Item(**item) for item in known["items"]),
            tuple(
                ErasureTarget(one["place"], one["state"], one["detail"]) for one in known["places"]
            ),
            tuple(known["again"]),
            known["kept"],
        )


def seal(nonce: str, text: str) -> str:
    """Seal of a text under a nonce.

    >>> seal("n", "tea") == seal("n", "tea") != seal("m", "tea")
    True
    """
    return hmac.new(
        nonce.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256
    ).hexdigest()
