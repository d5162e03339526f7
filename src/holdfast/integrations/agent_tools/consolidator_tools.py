"""The six tools of the consolidator agent, which reads conversations afterwards."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...base_client import who_of
from ...client import Holdfast
from ...extraction.apply import PAGE, demote
from ...extraction.episodes import EXTRACTED, NO_OUTPUT
from ...extraction.progress import SUMMARY, covers, marks_of, read_to_end
from ...storage.protocol import Transaction
from ...storage.store_types import Filter
from ...types import Memories, Memory, Micros
from . import facts as facts_
from .labels import active, learned_from, preview

# Turns per page at most, and conflicts per fact.
LONGEST_PAGE = 100
CONFLICTS = 5


class Reader:
    """Tools that page through a conversation, store its facts and resolve conflicts. `learn` also
    marks sessions as processed.
    """

    def __init__(self, hf: Holdfast) -> None:
        self.hf = hf

    def get_episodes_for_consolidation(
        self,
        session_id: str,
        offset: int = 0,
        limit: int = PAGE,
    ) -> dict[str, Any]:
        """Read a conversation, thirty turns at a time.

        Args:
            session_id: The conversation.
            offset: Where to go on; `next_offset` of the page before.
            limit: How many turns at a time, from 1 to 100.
        """
        turns = self._turns(session_id)
        start = max(offset, 0)
        size = min(max(limit, 1), LONGEST_PAGE)
        more = start + size < len(turns)
        episodes = []
        for turn in turns[start : start + size]:
            episodes.append({"id": turn.id, "role": turn.role, "content": turn.content})
        return {
            "session_id": session_id,
            "episodes": episodes,
            "total": len(turns),
            "has_more": more,
            "next_offset": start + size if more else None,
        }

    def save_facts_batch(self, session_id: str, facts: list[dict[str, Any]]) -> dict[str, Any]:
        """Save the facts of a conversation; those that are known are not stored again.

        Args:
            session_id: The conversation they are from.
            facts: Each with content, and perhaps confidence, source_ids and tags.
        """
        planned, errors = facts_.plan(self.hf, session_id, facts)
        who = who_of(self.hf, "consolidate")

        def save(tx: Transaction) -> Memories:
            return [
                one.memory if one.known else facts_.save_fact(tx, one.memory, who, one.sources)
                for one in planned
            ]

        saved = [
            {
                "id": memory.id,
                "content_preview": preview(memory.content),
                "confidence": memory.confidence,
                "duplicate": one.known,
            }
            for one, memory in zip(planned, self.hf.admin.write("consolidate", save), strict=True)
        ]
        skipped = sum(one.known for one in planned)
        return {
            "session_id": session_id,
            "saved": saved,
            "saved_count": len(saved) - skipped,
            "skipped_duplicates": skipped,
            "errors": errors,
        }

    def mark_session_consolidated(self, session_id: str) -> dict[str, Any]:
        """Note that a conversation has been read. Twice equals once.

        Args:
            session_id: The conversation.
        """
        learned = learned_from(self.hf, session_id)

        def mark(tx: Transaction) -> bool:
            session = tx.sessions.get(self.hf.scopes[0], session_id)
            if session is None or session.ended_at is None:
                # An open session is never marked as processed.
                return False
            known = tx.progress.get(session.scope, session.id, SUMMARY)
            if not covers(known, session):
                outcome = EXTRACTED if learned else NO_OUTPUT
                read_to_end(tx, session, outcome, at=self.hf.clock())
            return True

        done = self.hf.admin.write("consolidate", mark)
        return {"session_id": session_id, "success": done, "facts_saved": len(learned)}

    def is_session_consolidated(self, session_id: str) -> dict[str, Any]:
        """Whether a conversation has been read.

        Args:
            session_id: The conversation.
        """
        store = self.hf.store
        session = store.sessions.get(self.hf.scopes[0], session_id)
        read = session is not None and covers(marks_of(store, session).get(SUMMARY), session)
        return {"session_id": session_id, "consolidated": read}

    def detect_conflicts(
        self,
        new_fact_id: str,
        new_fact_content: str = "",
        session_id: str = "",
    ) -> dict[str, Any]:
        """Find facts that may contradict one; those of the same conversation are left out.

        Args:
            new_fact_id: The new fact.
            new_fact_content: What it says, if that is not what was stored.
            session_id: Its conversation, if that is not the one that was stored.
        """
        fact = active(self.hf, new_fact_id)
        content = new_fact_content or (fact.content if fact else "")
        session = session_id or (fact.metadata.get("session") if fact else None)
        hits = self.hf.recall(
            content,
            limit=CONFLICTS + 1,
            kinds=["fact"],
            exclude_session=session,
            min_score=0.0,
        )
        others = [hit.memory for hit in hits if hit.memory.id != new_fact_id][:CONFLICTS]
        candidates = [
            {"id": one.id, "content": one.content, "confidence": one.confidence} for one in others
        ]
        return {"candidates": candidates, "has_candidates": bool(candidates)}

    def resolve_conflict(
        self,
        new_fact_id: str,
        old_fact_id: str,
        reason: str,
    ) -> dict[str, Any]:
        """Let a new fact take the place of an old one, which fades quickly.

        Args:
            new_fact_id: The fact that holds now.
            old_fact_id: The fact that no longer holds.
            reason: Why they cannot both be true.
        """
        old = active(self.hf, old_fact_id)
        new = active(self.hf, new_fact_id)
        refused = ""
        at = self.hf.clock()
        if old is None:
            refused = f"Old fact {old_fact_id} not found or already superseded."
        elif new is None or new.id == old.id:
            refused = f"New fact {new_fact_id} not found."
        elif old.protected:
            refused = f"Memory {old.id} was confirmed by a person; only a person replaces it."
        else:
            self.hf.admin.write(
                "resolve", partial(_resolve, old=old, new=new, at=at, reason=reason)
            )
        return {
            "success": not refused,
            "old_fact_id": old_fact_id,
            "new_fact_id": new_fact_id,
            "message": refused or f"Resolved: {new_fact_id} supersedes {old_fact_id}.",
        }

    def _turns(self, session: str) -> Memories:
        return self.hf.store.list(
            Filter(self.hf.scopes, kinds=("turn",), sessions=(session,)), order="oldest"
        )


def _resolve(
    tx: Transaction,
    *,
    old: Memory,
    new: Memory,
    at: Micros,
    reason: str,
) -> None:
    demote(tx, old, new, at=at, reason=reason)
    fresh = tx.memory(new.scope, new.id) or new
    marked = {**fresh.metadata, "supersedes": old.id, "conflict_reason": reason}
    tx.change(fresh, metadata=marked, updated_at=at)
