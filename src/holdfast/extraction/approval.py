"""The approval queue: preview, approve, reject and expire proposals.

The proposer never decides; `permissions.py` says who may.

An approved memory joins the store like anything a person said: it renews duplicates and supersedes
what it contradicts, unless a person has confirmed that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import Conflict
from ..ingest import commit
from ..retrieval import recall as recall_
from ..storage.duplicates import claim, same_content
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..text.terminal import counted
from ..text.tokens import dedup_tokens
from ..types import DAY, PROPOSAL_DAYS, Edge, Memories, Memory, Micros, Scope, iso
from .candidate import as_candidate
from .proposals import REJECTED, REPLACES
from .reconcile import Add, Bump, Coexist, Decision, Supersede, decide
from .similarity.known_memories import sharing_words

# of the words in common: below it, a diff would show two texts that have nothing to do with each
# other
ALIKE = 0.2
# Cosine of the vectors, for the same when the words differ.
AKIN = 0.55
_KEPT = (
    "kind",
    "category",
    "title",
    "author",
    "role",
    "event_time",
    "valid_from",
    "valid_until",
    "confidence",
    "decay_rate",
    "source",
    "quote",
    "tags",
    "metadata",
)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The effect of approving a proposal, and the nearest known memory, if there is one."""

    decision: Decision
    nearest: Memory | None

    @property
    def changed(self) -> Memory | None:
        """The memory that approval renews, replaces or contradicts; None if the proposal is new."""
        match self.decision:
            case Bump(_, known):
                return known
            case Supersede(_, old) | Coexist(_, old):
                return old
        return None

    @property
    def told(self) -> str:
        """The effect as a sentence for people."""
        match self.decision:
            case Bump(_, known):
                return f"It says the same as {known.id}, which would be renewed."
            case Supersede(_, old, reason):
                return f"It would take the place of {old.id}: {reason}."
            case Coexist(_, old, reason):
                return f"It contradicts {old.id}, which was confirmed: {reason}. Both would stand."
        return "It is new."


def said_before(store: Store, memory: Memory) -> Memory | None:
    """The memory that already makes the same claim: active, proposed or rejected."""
    where = Filter(
        (memory.scope,), kinds=(memory.kind,), statuses=("active", "proposed", "archived")
    )
    twins = [
        one for one in sharing_words(store, where, memory.content) if claim(one) == claim(memory)
    ]
    settled = [
        one for one in twins if one.status != "archived" or one.status_reason.startswith(REJECTED)
    ]
    order = ("active", "proposed", "archived")
    return min(settled, key=lambda one: order.index(one.status), default=None)


def waiting(store: Store, scopes: Sequence[Scope]) -> Memories:
    """Undecided proposals, oldest first."""
    return store.list(Filter(tuple(scopes), statuses=("proposed",)), order="oldest")


# Deciding


def weigh(
    engine: recall_.Engine,
    memory: Memory,
    *,
    at: Micros,
) -> Weighed:
    """Preview the effect of approving a proposal at this time; writes nothing."""
    return Weighed(decided(engine.store, memory, at=at), _nearest(engine, memory))


def decided(
    store: Store,
    memory: Memory,
    *,
    at: Micros,
) -> Decision:
    """Decide how a memory that a person vouches for joins what is known."""
    if replaced := _replaced(store, memory):
        return Supersede(as_candidate(memory), replaced, "it was proposed in its place")
    near = sharing_words(store, Filter((memory.scope,), kinds=(memory.kind,)), memory.content)
    # Whoever approves says it now, so nothing known is newer.
    return decide(as_candidate(memory), [one for one in near if one.id != memory.id], at)


def _replaced(store: Store, memory: Memory) -> Memory | None:
    """The memory that a proposal is meant to replace, while it is active."""
    wanted = memory.metadata.get(REPLACES)
    found = store.get((memory.scope,), [wanted]) if isinstance(wanted, str) else []
    return next((one for one in found if one.status == "active"), None)


def _nearest(engine: recall_.Engine, memory: Memory) -> Memory | None:
    where = Filter((memory.scope,), kinds=("fact", "rule", "reflection", "skill", "episode"))
    hits = recall_.recall(
        engine, recall_.Question(memory.content, where, limit=5, min_score=0.0)
    ).hits
    close = [
        hit
        for hit in hits
        if _alike(memory, hit.memory) >= ALIKE or (hit.why.similarity or 0.0) >= AKIN
    ]
    if close:
        return max(close, key=lambda hit: _alike(memory, hit.memory), default=close[0]).memory
    return None


def _alike(one: Memory, other: Memory) -> float:
    words = set(dedup_tokens(one.content))
    others = set(dedup_tokens(other.content))
    return len(words & others) / (len(words | others) or 1)


def edited(
    proposed: Memory,
    content: str,
    *,
    at: Micros,
    max_bytes: int,
) -> Memory | None:
    """The proposal in a person's words, as a new memory; None if the words are unchanged.

    The triple is dropped, because it was read from the old words.
    """
    if content.strip() == proposed.content:
        return None
    kept = {name: getattr(proposed, name) for name in _KEPT}
    return commit.build(
        commit.Draft(content=content, **kept), proposed.scope, at=at, max_bytes=max_bytes
    )


def approve(
    tx: Transaction,
    proposed: Memory,
    decision: Decision,
    *,
    by: str,
    at: Micros,
    edited: Memory | None = None,
    sources: Sequence[str] = (),
) -> Memory:
    """Approve a proposal, as it is or `edited`; return the memory that now makes the claim.

    That memory rests on the proposal's `sources`, whether it is new or was known before.
    """
    check_waiting(proposed)
    known = _known(tx, edited or proposed, decision)
    if known is not None:
        renewed = commit.renew(tx, known, confidence=proposed.confidence, at=at)
        _retire(
            tx,
            proposed,
            renewed,
            sources,
            at=at,
            reason=f"approved: {renewed.id} says the same",
        )
        return renewed
    stands = {
        "trust": "user",
        "metadata": {**proposed.metadata, "approved_by": by, "approved_at": iso(at)},
    }
    if edited is None:
        new = commit.set_status(tx, proposed, "active", at=at, reason=f"approved by {by}")
        new = tx.change(new, **stands)
    else:
        new = tx.add(edited.with_(**stands))
        _retire(tx, proposed, new, sources, at=at, reason=f"approved as {new.id}, edited")
    _settle(tx, new, decision, at=at)
    return tx.memory(new.scope, new.id) or new


def check_waiting(memory: Memory) -> None:
    """Raise Conflict unless a memory awaits a decision."""
    if memory.status != "proposed":
        raise Conflict(
            f"{memory.id} does not wait for a decision: it is {memory.status}.", id=memory.id
        )


def _known(
    tx: Transaction,
    memory: Memory,
    decision: Decision,
) -> Memory | None:
    """The duplicate as this transaction sees it; None if there is none any more."""
    if isinstance(decision, Bump):
        fresh = tx.memory(decision.known.scope, decision.known.id)
        if fresh is not None and fresh.status == "active":
            return fresh
    # Approved a moment ago, by somebody else at the same inbox.
    return same_content(tx, [memory]).get(memory.id)


def _retire(
    tx: Transaction,
    proposed: Memory,
    by: Memory,
    sources: Sequence[str],
    *,
    at: Micros,
    reason: str,
) -> None:
    """Retire a proposal in favour of the memory that makes its claim; move its sources there."""
    for source in sources:
        tx.link(
            Edge(
                by.scope,
                by.id,
                source,
                "derived_from",
                at,
            )
        )
    commit.set_status(
        tx,
        proposed,
        "superseded",
        at=at,
        reason=reason,
    )
    tx.link(
        Edge(
            by.scope,
            by.id,
            proposed.id,
            "supersedes",
            at,
            reason,
        )
    )


def _settle(
    tx: Transaction,
    new: Memory,
    decision: Decision,
    *,
    at: Micros,
) -> None:
    """Handle the memory that the new one contradicts."""
    match decision:
        case Add() | Bump():
            return
        case Supersede(_, old, reason):
            fresh = tx.memory(old.scope, old.id)
            # Who approves a correction has seen what it corrects, confirmed or not.
            named = new.metadata.get(REPLACES) == old.id
            if fresh is not None and fresh.status == "active" and (named or not fresh.protected):
                if fresh.protected:
                    commit.confirm(tx, new, at=at)
                commit.supersede(
                    tx, fresh, new, at=at, reason=reason, told=f"replaced by {new.id}: {reason}"
                )
        case Coexist(_, old, reason):
            tx.link(
                Edge(
                    new.scope,
                    new.id,
                    old.id,
                    "conflicts_with",
                    at,
                    reason,
                )
            )


def admit(
    tx: Transaction,
    memory: Memory,
    decision: Decision,
    *,
    at: Micros,
) -> Memory:
    """Store what a person just said; return the memory that now makes the claim."""
    known = _known(tx, memory, decision)
    if known is not None:
        return commit.renew(tx, known, confidence=memory.confidence, at=at)
    new = tx.add(memory)
    _settle(tx, new, decision, at=at)
    return new


def reject(
    tx: Transaction,
    proposed: Memory,
    *,
    at: Micros,
    reason: str = "",
) -> Memory:
    """Reject a proposal for good; the same words are not proposed again."""
    check_waiting(proposed)
    told = f"{REJECTED}: {reason}" if reason else REJECTED
    return commit.set_status(
        tx,
        proposed,
        "archived",
        at=at,
        reason=told,
    )


def stale(
    memories: Sequence[Memory],
    now: Micros,
    days: int = PROPOSAL_DAYS,
) -> Memories:
    """Proposals that have waited longer than `days`."""
    return [memory for memory in memories if now >= expires_at(memory, days)]


def expires_at(memory: Memory, days: int = PROPOSAL_DAYS) -> Micros:
    """From when on a proposal that nobody decided on is stale."""
    return (memory.status_at or memory.created_at) + days * DAY + 1


def expire_stale(
    store: Store,
    scopes: Sequence[Scope],
    author: Author,
    *,
    days: int = PROPOSAL_DAYS,
) -> Memories:
    """Expire the stale proposals of these scopes. Idempotent."""
    found = stale(waiting(store, scopes), author.at, days)
    if found:
        return store.write(author, lambda tx: expire(tx, found, at=author.at, days=days))
    return []


def expire(
    tx: Transaction,
    proposals: Sequence[Memory],
    *,
    at: Micros,
    days: int = PROPOSAL_DAYS,
) -> Memories:
    """Expire proposals that nobody decided on in time. Idempotent."""
    fresh = [tx.memory(memory.scope, memory.id) for memory in proposals]
    why = f"expired: nobody decided within {counted(days, 'day')}"
    return [
        commit.set_status(
            tx,
            memory,
            "archived",
            at=at,
            reason=why,
        )
        for memory in fresh
        if memory is not None and memory.status == "proposed"
    ]
