"""Records as others meet them: in a brief for a task, in a file that agents read, and held against
what they cite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import context, records
from ..types import Hit, Memory
from ..validation import Ref
from .records import Recording

if TYPE_CHECKING:
    from ..context.brief import Verdict
    from ..records.publish import Published


class Publishing(Recording):
    """Records as others meet them: in a brief for a task, in a file that agents read, held against
    what they cite.
    """

    def brief(
        self, hits: Sequence[Hit], format: str = "prompt", *, tokens: int | None = None
    ) -> str:
        """What recall found, for an agent: 'snippets', a line each; 'prompt', a block to paste; or
        'json'.

        A block takes at most `tokens`, or what the setting context_tokens says. Only what has to do
        with the question is in it, with where it comes from and whether what it cites still stands;
        empty when there is nothing.
        """
        chosen = context.brief.check_format(format)
        budget = self.settings.context_tokens if tokens is None and chosen == "prompt" else tokens
        found = context.brief.fitting(hits)
        roots = {place.scope: _shown(place.root) for place in self.places}
        marks = self.freshness(hit.memory for hit in found)
        return context.brief.brief(found, chosen, tokens=budget, freshness=marks, roots=roots)

    def freshness(self, memories: Iterable[Memory]) -> dict[str, tuple[Verdict, ...]]:
        """By id, for each of these records that cites something, whether it is FRESH, MOVED, STALE
        or UNVERIFIABLE.
        """
        citing = [memory for memory in memories if memory.metadata.get("evidence")]
        return records.freshness.freshness(citing, self.places) if citing else {}

    def reanchor(self, ref: Ref) -> Memory:
        """Ties a record to what it cites as that is now: where it moved to, or what it says today.

        For a person who has looked, and found that the record still holds.
        """
        record = self._record(ref)
        cited, now = records.freshness.looked_at(record, self.places)
        return record if now == cited else self.update_record(record.id, evidence=now)

    def publish(
        self,
        path: str | Path,
        *,
        place: str = "project",
        max_bytes: int | None = None,
        tokens: int | None = None,
        force: bool = False,
        plan: bool = False,
    ) -> Published:
        """Keeps a region of a file, such as AGENTS.md, equal to the most useful records; the rest
        is not touched.

        The region takes `max_bytes` or `tokens` at most. Refused when somebody wrote in it, unless
        `force`. With `plan` nothing is written, and what comes back is what would be.
        """
        room = records.publish.Room.of(max_bytes=max_bytes, tokens=tokens)
        where = self._place(place)
        found = self.records(place=where.name)
        return records.publish.publish(
            Path(path), found, where, now=self.clock(), room=room, force=force, plan=plan
        )

    def withdraw(self, path: str | Path, *, force: bool = False, plan: bool = False) -> Published:
        """Takes the region out of a file again, which is then as it was before."""
        return records.publish.withdraw(Path(path), force=force, plan=plan)


def _shown(root: Path) -> str:
    """A folder as one would name it from here."""
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        return root.as_posix()
    return (root.relative_to(here) if root.is_relative_to(here) else root).as_posix()
