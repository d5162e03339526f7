"""Schemas of proposals and of what a person decides about them."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from .. import types
from ..extraction import approval, proposals
from .schemas import MOST_TEXT, Record, Request


class Proposal(Record):
    """A memory that needs human approval."""

    proposed_by: str
    reason: str = Field(description="Why it was proposed.")
    effect: str = Field(description="Effect of approval.", examples=["It is new."])
    changes: Record | None = Field(
        description="The memory that approval would change; null if the proposal is new."
    )
    nearest: Record | None = Field(description="The most similar active memory.")

    @classmethod
    def weighed(cls, memory: types.Memory, weighed: approval.Weighed) -> Self:
        """Build the schema from a proposal and the effect of its approval."""
        return cls.of(
            memory,
            proposed_by=proposals.proposer(memory),
            reason=proposals.grounds(memory),
            effect=weighed.told,
            changes=Record.of(weighed.changed) if weighed.changed else None,
            nearest=Record.of(weighed.nearest) if weighed.nearest else None,
        )


class Approval(Request):
    """Approval, optionally with other words."""

    content: str | None = Field(None, min_length=1, max_length=MOST_TEXT)


class Rejection(Request):
    """Rejection."""

    reason: str = Field("", max_length=1000)
