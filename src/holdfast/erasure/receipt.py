"""What is left of an erasure: a receipt that proves what was erased without telling it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..storage.protocol import ErasureTarget
from ..types import Micros, from_iso, iso


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was erased: what it was, its id where that says nothing, and the seal of its
    text.
    """

    noun: str
    id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased, by whom, when and where, and whether every place is clean of it.

    Each item is sealed with HMAC-SHA-256 under the receipt's own nonce: who knows the text can
    check that it was among what was erased, and who does not learns nothing that a guess would not
    have to name word for word.
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
    """What is made again of what is left, and when."""
    kept: Mapping[str, str] | None = None
    """Ids of memories that have to do with what was erased and stay, each with the reason."""

    @property
    def memories(self) -> int:
        """How many memories were erased."""
        return self.counts.get("memories", 0)

    @property
    def pending(self) -> tuple[ErasureTarget, ...]:
        """The places that another try, `holdfast purge --finish`, has to clean."""
        return tuple(place for place in self.places if place.state == "pending")

    def covers(self, text: str) -> bool:
        """Whether this very text was erased."""
        sealed = seal(self.nonce, text)
        return any(hmac.compare_digest(item.sha256, sealed) for item in self.items)

    def as_json(self) -> dict[str, Any]:
        """The receipt as it is printed and filed."""
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
        """A receipt that was filed, as it was."""
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
    """The seal of a text under a nonce.

    >>> seal("n", "tea") == seal("n", "tea") != seal("m", "tea")
    True
    """
    return hmac.new(
        nonce.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256
    ).hexdigest()
