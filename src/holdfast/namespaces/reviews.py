"""Namespace `reviews`: memories that need human approval."""

from __future__ import annotations

from typing import Unpack

from .. import extraction, ingest
from ..base_client import (
    BaseClient,
    Namespace,
    author_of,
    change,
    check_permission,
    engine_of,
    find,
    who_of,
    write,
)
from ..errors import NeedsPerson
from ..storage import Transaction
from ..storage.protocol import rests_on
from ..telemetry import traced
from ..types import PROPOSAL_DAYS, Memories, Memory
from ..validation import DatedFields, Ref, draft_of, reload


class Reviews(Namespace):
    """Memories that need human approval."""

    @traced("create_memory")
    def propose(
        self,
        content: str,
        *,
        kind: str = "fact",
        category: str = "general",
        reason: str = "",
        **fields: Unpack[DatedFields],
    ) -> Memory:
        """Store a proposal: a memory that is not recalled before `approve`. `reason` is shown to
        the reviewer.

        If the same text is already stored, pending or rejected, that memory is returned unchanged.
        """
        draft = draft_of(content=content, kind=kind, category=category, **fields)
        memory = ingest.commit.build(
            draft,
            self.client.scopes[0],
            at=self.client.clock(),
            max_bytes=self.client.settings.max_content_bytes,
        )
        known = extraction.approval.said_before(self.client.store, memory)
        if known is not None:
            return known
        proposed = extraction.proposals.proposal(memory, by=self.client.actor, reason=reason)
        return write(self.client, "propose", lambda tx: tx.add(proposed))

    def list(self) -> Memories:
        """List pending proposals, oldest first."""
        return extraction.approval.waiting(self.client.store, self.client.scopes)

    def preview(self, ref: Ref) -> extraction.approval.Weighed:
        """Return the effect of approving a proposal, and the most similar memory."""
        return extraction.approval.weigh(
            engine_of(self.client), find(self.client, ref), at=self.client.clock()
        )

    @traced("update_memory")
    def approve(self, ref: Ref, content: str | None = None) -> Memory:
        """Approve a proposal, with `content` reworded; return the resulting active memory.

        It renews an equal memory and replaces one that it contradicts. Raises NeedsPerson for an
        agent, and for the proposer unless that is a person.
        """
        proposed = find(self.client, ref)
        at = self.client.clock()
        limit = self.client.settings.max_content_bytes
        extraction.approval.check_waiting(proposed)
        check_permission(self.client, "approve", proposed)
        edited = (
            None
            if content is None
            else extraction.approval.edited(proposed, content, at=at, max_bytes=limit)
        )
        decision = extraction.approval.decided(self.client.store, edited or proposed, at=at)
        sources = rests_on(self.client.store, proposed)

        def work(tx: Transaction) -> Memory:
            fresh = reload(tx, proposed)
            stands = extraction.approval.approve(
                tx, fresh, decision, by=self.client.actor, at=at, edited=edited, sources=sources
            )
            ingest.entity_linking.note(tx, [stands], at=at)
            return stands

        return write(self.client, "approve", work)

    @traced("update_memory")
    def reject(self, ref: Ref, reason: str = "") -> Memory:
        """Reject a proposal: it is archived and not proposed again in the same words.

        Raises NeedsPerson for an agent.
        """
        at = self.client.clock()
        check_permission(self.client, "reject", find(self.client, ref))
        return change(
            self.client,
            "reject",
            ref,
            lambda tx, one: extraction.approval.reject(tx, one, at=at, reason=reason),
        )

    def expire(self, days: int = PROPOSAL_DAYS) -> Memories:
        """Expire proposals without a decision for this many days; `restore` makes one pending
        again.

        Raises NeedsPerson if an agent changes the number of days.
        """
        # With 0 days an agent could reject every proposal without a person.
        if days != PROPOSAL_DAYS and not who_of(self.client, "reject").trusted:
            raise NeedsPerson("Only a person may say after how many days proposals expire.")
        return extraction.approval.expire_stale(
            self.client.store, self.client.scopes, author_of(self.client, "expire"), days=days
        )


def propose_instead(
    client: BaseClient,
    old: Memory,
    new: Memory,
    reason: str,
) -> Memory:
    """Propose `new` in place of a memory that only a person may change.

    Returns the proposal that already waits, if there is one.
    """
    # The new text has had no decision yet, so it must not inherit the old one's.
    bare = {
        key: value for key, value in new.metadata.items() if key not in extraction.proposals.DECIDED
    }
    instead = new.with_(metadata={**bare, extraction.proposals.REPLACES: old.id})
    proposed = extraction.proposals.proposal(instead, by=client.actor, reason=reason)

    def work(tx: Transaction) -> Memory:
        # Raises if the memory was removed meanwhile: a proposal to replace it would be pointless.
        reload(tx, old)
        return extraction.permission_checks.propose(tx, proposed)

    return write(client, "propose", work)
