"""Proposals: memories that await a person's decision, and what their metadata say of it.

`approval.py` decides on them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..ingest.sanitize import without_secrets
from ..types import Memory, iso

WAITING = ("proposed", "held")
# When a candidate of the write policy was committed, its decision says at what moment.
COMMITTED = ("immediate", "session_end", "promotion")
REJECTED = "rejected"
REPLACES = "replaces"
"""Where a proposal keeps the id of the memory that it is to take the place of, whatever protects
that.
"""
DECIDED = ("policy", "proposed_by", "proposed_at", "approved_by", "approved_at", REPLACES)
"""What the metadata of a memory say of how it came to be active."""


def undecided(memory: Memory) -> bool:
    """Whether a memory awaits approval, or was put away without being approved."""
    if memory.status in WAITING:
        return True
    if memory.status == "active":
        return False
    if "proposed_by" in memory.metadata:
        return "approved_by" not in memory.metadata
    policy = memory.metadata.get("policy")
    return isinstance(policy, Mapping) and bool(policy) and policy.get("timing") not in COMMITTED


def proposer(memory: Memory) -> str:
    """Who proposed a memory; empty if unknown."""
    return str(memory.metadata.get("proposed_by", ""))


def grounds(memory: Memory) -> str:
    """Why a memory was proposed; empty if no reason was given."""
    policy = memory.metadata.get("policy")
    if isinstance(policy, Mapping):
        return str(policy.get("reason", ""))
    return ""


def proposal(
    memory: Memory,
    *,
    by: str,
    reason: str = "",
) -> Memory:
    """Turn a new memory into a proposal by `by`."""
    known = memory.metadata.get("policy")
    policy = (
        dict(known)
        if isinstance(known, Mapping)
        else {"action": "propose", "reason": without_secrets(reason)}
    )
    told = {
        **memory.metadata,
        "policy": policy,
        "proposed_by": by,
        "proposed_at": iso(memory.created_at),
    }
    return memory.with_(
        status="proposed",
        status_at=memory.created_at,
        metadata=told,
    )
