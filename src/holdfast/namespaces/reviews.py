"""Memories that wait for a person: proposed, weighed, approved, rejected."""

from __future__ import annotations

from typing import Unpack

from .. import extraction, ingest
from ..base_client import BaseClient, author_of, who_of
from ..errors import NeedsPerson
from ..storage import Transaction
from ..storage.protocol import rests_on
from ..types import PROPOSAL_DAYS, Memories, Memory
from ..validation import DatedFields, Ref, draft_of, reload


class Approving(BaseClient):
    """Memories that wait for a person: proposed, weighed, approved, rejected."""

    def propose(
        self,
        content: str,
        *,
        kind: str = "fact",
        category: str = "general",
        reason: str = "",
        **fields: Unpack[DatedFields],
    ) -> Memory:
        """Stores a memory that waits for a person: nothing recalls it before `approve`. `reason`
        says why.

        What is known, waiting or turned down word for word is not proposed again: that memory comes
        back as it is.
        """
        draft = draft_of(content=content, kind=kind, category=category, **fields)
        memory = ingest.commit.build(
            draft, self.scopes[0], at=self.clock(), max_bytes=self.settings.max_content_bytes
        )
        known = extraction.approval.said_before(self.store, memory)
        if known is not None:
            return known
        proposed = extraction.approval.proposal(memory, by=self.actor, reason=reason)
        return self.write("propose", lambda tx: tx.add(proposed))

    def _propose_instead(self, old: Memory, new: Memory, reason: str) -> Memory:
        """Proposes `new` in the place of a memory that only a person may change; what waits already
        comes back.
        """
        bare = {
            key: value
            for key, value in new.metadata.items()
            if key not in extraction.approval.DECIDED
        }
        instead = new.with_(metadata={**bare, extraction.approval.REPLACES: old.id})
        proposed = extraction.approval.proposal(instead, by=self.actor, reason=reason)

        def work(tx: Transaction) -> Memory:
            reload(tx, old)
            return extraction.permission_checks.propose(tx, proposed)

        return self.write("propose", work)

    def proposals(self) -> Memories:
        """The memories that wait for a person, oldest first."""
        return extraction.approval.waiting(self.store, self.scopes)

    def weigh(self, ref: Ref) -> extraction.approval.Weighed:
        """What approving a proposal would do, and the memory that is nearest to it."""
        return extraction.approval.weigh(self._engine(), self.get(ref), at=self.clock())

    def approve(self, ref: Ref, content: str | None = None) -> Memory:
        """Lets a proposal become a memory, with `content` in other words; the memory that says it
        now comes back.

        It renews what says the same and replaces what it contradicts. NeedsPerson for an agent, and
        for whoever proposed it unless that is a person.
        """
        proposed = self.get(ref)
        at = self.clock()
        limit = self.settings.max_content_bytes
        extraction.approval.check_waiting(proposed)
        self._check("approve", proposed)
        edited = (
            None
            if content is None
            else extraction.approval.edited(proposed, content, at=at, max_bytes=limit)
        )
        decision = extraction.approval.decided(self.store, edited or proposed, at=at)
        sources = rests_on(self.store, proposed)

        def work(tx: Transaction) -> Memory:
            fresh = reload(tx, proposed)
            stands = extraction.approval.approve(
                tx, fresh, decision, by=self.actor, at=at, edited=edited, sources=sources
            )
            ingest.entity_linking.note(tx, [stands], at=at)
            return stands

        return self.write("approve", work)

    def reject(self, ref: Ref, reason: str = "") -> Memory:
        """Turns a proposal down: it is put away, and not proposed again in the same words.
        NeedsPerson for an agent.
        """
        at = self.clock()
        self._check("reject", self.get(ref))
        return self._change(
            "reject",
            ref,
            lambda tx, one: extraction.approval.reject(tx, one, at=at, reason=reason),
        )

    def expire_proposals(self, days: int = PROPOSAL_DAYS) -> Memories:
        """Puts away the proposals that nobody has decided on for so many days; `restore` lets one
        wait again.
        """
        if days != PROPOSAL_DAYS and not who_of(self, "reject").trusted:
            raise NeedsPerson("Only a person may say after how many days proposals expire.")
        return extraction.approval.expire_stale(
            self.store, self.scopes, author_of(self, "expire"), days=days
        )
