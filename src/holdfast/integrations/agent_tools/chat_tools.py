"""The six tools of the chat agent."""

from __future__ import annotations

from typing import Any

from ...base_client import who_of
from ...client import Holdfast
from ...errors import HoldfastError, InvalidInput, NeedsPerson, NotFound
from ...ingest import commit
from ...ingest.commit import Draft
from ...types import About, iso
from . import facts
from .labels import KINDS, active, kinds_of, preview, short

# Upper limit per search, whatever the model asks for.
MOST_FOUND = 50
PROPOSED = "Not done yet: proposed for review, and a person decides."


class Talker:
    """Tools that search, store, correct, confirm, count and describe an entity."""

    def __init__(self, hf: Holdfast) -> None:
        self.hf = hf

    def search_memory(
        self,
        query: str,
        kind: str | None = None,
        tag: str | None = None,
        limit: int = 10,
    ) -> dict[str, Any]:
        """Search long-term memory.

        Args:
            query: What to look for, in plain words.
            kind: Only episode, fact, preference or reflection.
            tag: Only memories with this tag.
            limit: How many at most, from 1 to 50.
        """
        hits = self.hf.recall(
            query,
            limit=min(max(limit, 1), MOST_FOUND),
            kinds=kinds_of(kind),
            categories=("preference", "preferences") if kind == "preference" else (),
            tags=(tag,) if tag else (),
        )
        return {"memories": [short(hit.memory) for hit in hits], "found": bool(hits)}

    def remember_fact(self, content: str, confidence: float = 1.0) -> dict[str, Any]:
        """Save a fact that should be remembered.

        Args:
            content: The fact, as a sentence that can be understood on its own.
            confidence: How sure it is, from 0 to 1.
        """
        try:
            fact = facts.build(
                self.hf, Draft(content=content, confidence=confidence, source="tool", trust="agent")
            )
        except InvalidInput as error:
            return {
                "memory_id": None,
                "content_preview": "",
                "success": False,
                "message": str(error),
            }
        try:
            stored = self.hf.admin.write(
                "remember",
                lambda tx: facts.save_fact(tx, fact, who_of(self.hf, "remember")),
            )
        except NeedsPerson as error:
            return {
                "memory_id": None,
                "content_preview": "",
                "success": False,
                "message": str(error),
            }
        answer = {
            "memory_id": stored.id,
            "content_preview": preview(stored.content),
            "success": True,
        }
        return {**answer, "message": PROPOSED} if stored.status == "proposed" else answer

    def correct_fact(self, memory_id: str, new_content: str) -> dict[str, Any]:
        """Replace what a memory says.

        Args:
            memory_id: The id of the memory that is wrong.
            new_content: What is right.
        """
        old = active(self.hf, memory_id)
        if old is None:
            message = f"Memory {memory_id} not found or already superseded."
            return {"success": False, "new_memory_id": None, "message": message}
        try:
            new = self.hf.correct(
                old.id,
                new_content,
                confidence=commit.said(old),
                decay_rate=old.decay_rate,
            )
        except HoldfastError as error:
            return {"success": False, "new_memory_id": None, "message": str(error)}
        if new.status == "proposed":
            return {
                "success": False,
                "new_memory_id": new.id,
                "message": f"{PROPOSED} Until then {old.id} stands.",
            }
        return {
            "success": True,
            "new_memory_id": new.id,
            "message": f"Corrected. New memory id={new.id}",
        }

    def confirm_fact(self, memory_id: str) -> dict[str, Any]:
        """Protect a memory that was confirmed: it no longer fades.

        Args:
            memory_id: The id of the memory.
        """
        if active(self.hf, memory_id) is None:
            return {
                "success": False,
                "memory_id": memory_id,
                "message": f"Memory {memory_id} not found.",
            }
        try:
            self.hf.confirm(memory_id)
        except HoldfastError as error:
            return {"success": False, "memory_id": memory_id, "message": str(error)}
        message = f"Confirmed memory {memory_id} (protected, no decay)."
        return {"success": True, "memory_id": memory_id, "message": message}

    def memory_stats(self) -> dict[str, Any]:
        """Count what is remembered, and say when something was last stored."""
        counts = self.hf.store.counts(self.hf.scopes)
        kept = {kind: by_status.get("active", 0) for kind, by_status in counts.items()}
        latest = self.hf.list(limit=1)
        totals = {}
        for name in ("episode", "fact", "reflection"):
            totals[name] = sum(kept.get(kind, 0) for kind in KINDS[name])
        return {
            "counts": totals,
            "latest_created_at": iso(latest[0].created_at) if latest else None,
        }

    def get_entity_info(
        self,
        name: str,
        kind: str | None = None,
        limit: int = 10,
    ) -> dict[str, Any]:
        """Tell everything about a person, a project or a place.

        Args:
            name: The name, as in @bob or Lisbon.
            kind: Only memories of this kind: episode, fact, preference or reflection.
            limit: How many memories at most, from 1 to 50.
        """
        try:
            about = self.hf.entities.get(name, limit=None)
        except NotFound:
            return {"found": False, "entity": None, "memories": [], "timeline": []}
        kinds = kinds_of(kind)
        linked = [memory for memory in about.memories if not kinds or memory.kind in kinds]
        shown = About(about.entity, linked[: min(max(limit, 1), MOST_FOUND)])
        timeline = []
        for day, memories in shown.timeline.items():
            ids = [memory.id for memory in memories]
            timeline.append({"day": day, "memories": ids})
        return {
            "found": True,
            "entity": _profile(about),
            "memories": [short(memory) for memory in shown.memories],
            "timeline": timeline,
        }


def _profile(about: About) -> dict[str, Any]:
    entity = about.entity
    days = list(about.timeline)
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "summary": entity.summary,
        "mention_count": entity.mentions,
        "first_mentioned": days[0] if days else None,
        "last_mentioned": days[-1] if days else None,
    }
