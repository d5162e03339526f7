"""Interface for a program that hosts an agent: capture, context, tools, maintenance.

The names are those of existing hosts; each method is a line or two over `Holdfast`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...client import Holdfast
from ...context.blocks import join_blocks
from ...errors import HoldfastError
from ...extraction.progress import is_unread
from ...ingest.session_log import begin
from ...maintenance import entity_jobs, reflection
from ...model_access import metered
from ...models.entities.base import EntityMatch
from ...models.entities.select import Recognition, standard
from ...models.llm.chat import Complete
from ...storage.store_types import Filter
from ...types import Memories, Memory
from .labels import Functions, kinds_of, learned_from
from .toolset import consolidating, talking

# Facts in the context of a prompt.
FACTS_TOLD = 5
LONGEST_ROLE = (
    # Characters of an author's name: a longer name is cut, so that no answer is lost over it.
    200
)


class Keeper:
    """An agent's memory as its host sees it. `complete` calls a language model, if there is one.

    When a new conversation starts, `session_completed` gets the ids of ended sessions that are not
    processed yet. It blocks the message, so it should only enqueue them.
    """

    def __init__(
        self,
        hf: Holdfast,
        *,
        complete: Complete | None = None,
        recognition: Recognition | None = None,
        session_completed: Callable[[str], object] = lambda session_id: None,
    ) -> None:
        self.hf = hf
        self._complete = complete
        self._session_completed = session_completed
        self.session: str | None = None
        """The open session: that of the latest message."""
        self._recognition = recognition or standard(answer=metered(hf, complete))

    def get_tools(self) -> Functions:
        """Return the six tools of the chat agent."""
        return talking(self.hf)

    def get_consolidator_tools(self) -> Functions:
        """Return the six tools of the consolidator agent."""
        return consolidating(self.hf)

    def user_message(self, text: str, session_id: str) -> Memory | None:
        """Store a user message unless it is blank. A new session ends the open ones."""
        self.session, scope, at = session_id, self.hf.scopes[0], self.hf.clock()
        begins = self.hf.store.sessions.get(scope, session_id) is None
        stored = self.hf.capture(session_id, "user", text)
        if begins and stored is None:
            self.hf.admin.write("capture", lambda tx: begin(tx, scope, session_id, at=at))
        for completed in self.get_pending_consolidations(session_id) if begins else ():
            self._session_completed(completed)
        return stored

    def agent_response(
        self,
        text: str,
        *,
        agent_id: str = "orchestrator",
        session_id: str | None = None,
    ) -> Memory | None:
        """Store an agent's answer in its session, or in the open one."""
        session = session_id or self.session
        return self.hf.capture(session, agent_id[:LONGEST_ROLE], text) if session else None

    def get_context(self, prompt: str) -> str | None:
        """Return the text for a prompt: relevant facts of other sessions and the latest reflection;
        None if empty.
        """
        found = self.hf.context(
            prompt,
            session=self.session,
            kinds=["fact"],
            limit=FACTS_TOLD,
        )
        return join_blocks(found.turn, found.stable) or None

    def get_pending_consolidations(self, exclude_session_id: str | None = None) -> list[str]:
        """Return the ended sessions that are not processed yet, except one. Open sessions are never
        pending.
        """
        waiting = self.hf.store.sessions.unread(self.hf.scopes)
        return [session.id for session in waiting if session.id != exclude_session_id]

    def consolidate(self, session_id: str) -> dict[str, Any]:
        """Process an ended session and return the result. A processed or open session is skipped.

        Never raises: if the model fails, the session is retried later, and the summary has the
        reason.
        """
        session = self.hf.store.sessions.get(self.hf.scopes[0], session_id)
        if session is None or not is_unread(self.hf.store, session):
            return _consolidated(
                session_id,
                skipped=True,
                summary="It has no unprocessed turns.",
            )
        before = self._replaced_by(session_id)
        try:
            new = self.hf.sessions.learn(session_id, complete=self._complete).new
        except HoldfastError as error:
            return _consolidated(session_id, success=False, summary=str(error))
        replaced = len(self._replaced_by(session_id) - before)
        summary = f"Learned: {new}. Took the place of what was known: {replaced}."
        return _consolidated(
            session_id,
            facts=new,
            conflicts=replaced,
            summary=summary,
        )

    def _replaced_by(self, session_id: str) -> set[str]:
        """Return the ids that facts of a session superseded."""
        replaced = set()
        for fact in learned_from(self.hf, session_id):
            for edge in self.hf.admin.links(fact.id):
                if edge.relation == "supersedes" and edge.source == fact.id:
                    replaced.add(edge.target)
        return replaced

    def extract(self, text: str, strategy: str = "fast") -> list[EntityMatch]:
        """Return the people, projects, addresses and dates in a text, by the strategy fast, local
        or accurate.
        """
        return self._recognition.recognise(text, strategy)

    @property
    def accurate_ner_available(self) -> bool:
        """Whether enrichment can find more than the first pass: with built-in names, spaCy or a
        model.
        """
        return self._recognition.accurate_available()

    def get_memories_for_entity_enrichment(
        self,
        kinds: Sequence[str] = ("fact", "episode"),
        max_entity_count: int = entity_jobs.FEW,
        limit: int = entity_jobs.MOST,
    ) -> Memories:
        """Return memories with few entities that were not enriched yet, newest first."""
        ours = tuple(one for kind in kinds for one in kinds_of(kind))
        scope = self.hf.scopes[0]
        return entity_jobs.candidates(
            self.hf.store,
            scope,
            kinds=ours,
            max_entity_count=max_entity_count,
            limit=limit,
        )

    def enrich_memory_entities(self, memory_id: str, content: str | None = None) -> int:
        """Enrich one memory and return how many entities it mentions."""
        memory = self.hf.get(memory_id)
        at = self.hf.clock()
        found = self._recognition.recognise(content or memory.content, "accurate")
        return self.hf.admin.write(
            "enrich", lambda tx: entity_jobs.look_again(tx, memory, found, at=at)
        )

    def run_decay_and_prune(self, threshold: float | None = None) -> dict[str, int]:
        """Lower the confidence of unused facts and retire those below the threshold."""
        done = self.hf.admin.decay(threshold=threshold)
        return {"decayed": done.decayed, "pruned": done.faded, "errors": 0}

    def save_reflection(
        self,
        content: str,
        source_ids: Sequence[str] = (),
        tags: Sequence[str] = (reflection.TAG,),
    ) -> Memory:
        """Store a reflection, linked to its sources; the next context includes it."""
        scope = self.hf.scopes[0]
        at = self.hf.clock()
        limit = self.hf.settings.max_content_bytes
        sources = self.hf.store.get([scope], list(source_ids))
        return self.hf.admin.write(
            "reflect",
            lambda tx: reflection.save_reflection(
                tx, scope, content, sources, at=at, max_bytes=limit, tags=tuple(tags)
            ),
        )

    def get_latest_reflection(self) -> str | None:
        """Return the text of the latest reflection, or None."""
        where = Filter(self.hf.scopes, kinds=("reflection",))
        return next(
            (memory.content for memory in self.hf.store.list(where, limit=1, order="latest")), None
        )


def _consolidated(
    session_id: str,
    *,
    success: bool = True,
    skipped: bool = False,
    facts: int = 0,
    conflicts: int = 0,
    summary: str,
) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "success": success,
        "facts_extracted": facts,
        "conflicts_resolved": conflicts,
        "skipped": skipped,
        "summary": summary,
    }
