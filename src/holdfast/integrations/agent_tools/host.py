"""The calls of a program that hosts an agent: what it tells memory, what it puts before a prompt,
what it has done.

The names are those that such programs know from elsewhere; each is a line or two over the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import HoldfastError
from ...extraction.progress import is_unread
from ...ingest.session_log import begin
from ...maintenance import entity_jobs, reflection
from ...memory import Holdfast
from ...memory.asking import metered
from ...models.entities.base import EntityMatch
from ...models.entities.select import Recognition, standard
from ...models.llm.chat import Complete
from ...storage.protocol import Filter
from ...types import Memories, Memory
from .labels import Functions, kinds_of, learned_from
from .tools import consolidating, talking

FACTS_TOLD = 5
LONGEST_ROLE = (
    200  # characters: the name of an agent may be any, and what it says must not be lost over that
)


class Keeper:
    """An agent's memory as its host sees it. `complete` asks a language model, where there is one.

    When a conversation begins and its first words are stored, `session_completed` hears the ids of
    those that have ended and are yet to be read. A message waits for it meanwhile, so it had better
    only note them.
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
        """The conversation that goes on: the one of the latest message."""
        self._recognition = recognition or standard(answer=metered(hf, complete))

    def get_tools(self) -> Functions:
        """The six tools of the agent that talks."""
        return talking(self.hf)

    def get_consolidator_tools(self) -> Functions:
        """The six tools of the agent that reads afterwards."""
        return consolidating(self.hf)

    def user_message(self, text: str, session_id: str) -> Memory | None:
        """Stores what a person said, unless it is blank. A session that was not heard of before
        ends the open ones.
        """
        self.session, scope, at = session_id, self.hf.scopes[0], self.hf.clock()
        begins = self.hf.store.session(scope, session_id) is None
        stored = self.hf.capture(session_id, "user", text)
        if begins and stored is None:
            self.hf.write("capture", lambda writer: begin(writer, scope, session_id, at=at))
        for completed in self.get_pending_consolidations(session_id) if begins else ():
            self._session_completed(completed)
        return stored

    def agent_response(
        self, text: str, *, agent_id: str = "orchestrator", session_id: str | None = None
    ) -> Memory | None:
        """Stores what an agent answered, in its session, or in the one that goes on."""
        session = session_id or self.session
        return self.hf.capture(session, agent_id[:LONGEST_ROLE], text) if session else None

    def get_context(self, prompt: str) -> str | None:
        """What to put before a prompt: facts of other sessions that help, the latest reflection;
        None for nothing.
        """
        found = self.hf.context(prompt, session=self.session, kinds=["fact"], limit=FACTS_TOLD)
        return "\n\n".join(block for block in (found.turn, found.stable) if block) or None

    def get_pending_consolidations(self, exclude_session_id: str | None = None) -> list[str]:
        """The sessions that have ended and are yet to be read, but for one. Those that go on are
        not among them.
        """
        waiting = self.hf.store.unread(self.hf.scopes)
        return [session.id for session in waiting if session.id != exclude_session_id]

    def consolidate(self, session_id: str) -> dict[str, Any]:
        """Reads a session that has ended, and says what came of it. One that was read, or still
        goes on, is skipped.

        Never raises: a model that fails leaves the session for the next time, and the summary says
        why.
        """
        session = self.hf.store.session(self.hf.scopes[0], session_id)
        if session is None or not is_unread(self.hf.store, session):
            return _consolidated(
                session_id, skipped=True, summary="There is nothing in it that is yet to be read."
            )
        before = self._replaced_by(session_id)
        try:
            new = self.hf.learn(session_id, complete=self._complete).new
        except HoldfastError as error:
            return _consolidated(session_id, success=False, summary=str(error))
        replaced = len(self._replaced_by(session_id) - before)
        summary = f"Learned: {new}. Took the place of what was known: {replaced}."
        return _consolidated(session_id, facts=new, conflicts=replaced, summary=summary)

    def _replaced_by(self, session_id: str) -> set[str]:
        """The ids of what facts of a session have taken the place of."""
        return {
            edge.target
            for fact in learned_from(self.hf, session_id)
            for edge in self.hf.links(fact.id)
            if edge.relation == "supersedes" and edge.source == fact.id
        }

    def extract(self, text: str, strategy: str = "fast") -> list[EntityMatch]:
        """The people, projects, addresses and dates that a text names, by the strategy fast, local
        or accurate.
        """
        return self._recognition.recognise(text, strategy)

    @property
    def accurate_ner_available(self) -> bool:
        """Whether a second look can find more than the first: with our names, spaCy or a model. It
        usually can.
        """
        return self._recognition.accurate_available()

    def get_memories_for_entity_enrichment(
        self,
        kinds: Sequence[str] = ("fact", "episode"),
        max_entity_count: int = entity_jobs.FEW,
        limit: int = entity_jobs.MOST,
    ) -> Memories:
        """Memories that mention few entities and have had no second look, newest first."""
        ours = tuple(one for kind in kinds for one in kinds_of(kind))
        scope = self.hf.scopes[0]
        return entity_jobs.candidates(
            self.hf.store, scope, kinds=ours, max_entity_count=max_entity_count, limit=limit
        )

    def enrich_memory_entities(self, memory_id: str, content: str | None = None) -> int:
        """Takes that second look at one of them, and says how many entities it mentions."""
        memory = self.hf.get(memory_id)
        at = self.hf.clock()
        found = self._recognition.recognise(content or memory.content, "accurate")
        return self.hf.write(
            "enrich", lambda writer: entity_jobs.look_again(writer, memory, found, at=at)
        )

    def run_decay_and_prune(self, threshold: float | None = None) -> dict[str, int]:
        """Lets unused facts become less sure, and those below the threshold fade."""
        done = self.hf.decay(threshold=threshold)
        return {"decayed": done.decayed, "pruned": done.faded, "errors": 0}

    def save_reflection(
        self, content: str, source_ids: Sequence[str] = (), tags: Sequence[str] = (reflection.TAG,)
    ) -> Memory:
        """Stores a reflection, linked to what it was made of; the very next context has it."""
        scope = self.hf.scopes[0]
        at = self.hf.clock()
        limit = self.hf.settings.max_content_bytes
        sources = self.hf.store.get([scope], list(source_ids))
        return self.hf.write(
            "reflect",
            lambda writer: reflection.save_reflection(
                writer, scope, content, sources, at=at, max_bytes=limit, tags=tuple(tags)
            ),
        )

    def get_latest_reflection(self) -> str | None:
        """What the latest reflection says; None when there is none."""
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
