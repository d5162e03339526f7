"""The calls of a program that hosts an agent: what it tells memory, what it puts before a prompt, what it has done.

The names are those that such programs know from elsewhere; each is a line or two over the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...memory import Holdfast
from ...memory.asking import metered
from ...models.chat import Complete
from ...models.entities.strategies import Recognition, standard
from ...pipelines import enrich, reflect
from ...types import Memories, Memory
from .tools import consolidating, talking
from .words import KINDS, Functions

FACTS_TOLD = 5


class Keeper:
    """An agent's memory as its host sees it. `complete` asks a language model, where there is one."""

    def __init__(
        self, hf: Holdfast, *, complete: Complete | None = None, recognition: Recognition | None = None
    ) -> None:
        self.hf = hf
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
        """Stores what a person said. A session that was not heard of before ends the open ones."""
        self.session = session_id
        return self.hf.capture(session_id, "user", text)

    def agent_response(
        self, text: str, *, agent_id: str = "orchestrator", session_id: str | None = None
    ) -> Memory | None:
        """Stores what an agent answered, in its session, or in the one that goes on."""
        session = session_id or self.session
        return self.hf.capture(session, agent_id, text) if session else None

    def get_context(self, prompt: str) -> str | None:
        """What to put before a prompt: facts of other sessions that help, the latest reflection; None for nothing."""
        found = self.hf.context(prompt, session=self.session, kinds=["fact"], limit=FACTS_TOLD)
        return "\n\n".join(block for block in (found.turn, found.stable) if block) or None

    def get_pending_consolidations(self, exclude_session_id: str | None = None) -> list[str]:
        """The sessions that have ended and are yet to be read, but for one. Those that go on are not among them."""
        waiting = self.hf.store.unread(self.hf.scopes)
        return [session.id for session in waiting if session.id != exclude_session_id]

    @property
    def accurate_ner_available(self) -> bool:
        """Whether a second look can find more than the first: with our names, spaCy or a model. It usually can."""
        return self._recognition.accurate_available()

    def get_memories_for_entity_enrichment(
        self, kinds: Sequence[str] = ("fact", "episode"), max_entity_count: int = enrich.FEW, limit: int = enrich.MOST
    ) -> Memories:
        """Memories that mention few entities and have had no second look, newest first."""
        ours = tuple(one for kind in kinds for one in KINDS[kind])
        scope = self.hf.scopes[0]
        return enrich.candidates(self.hf.store, scope, kinds=ours, max_entity_count=max_entity_count, limit=limit)

    def enrich_memory_entities(self, memory_id: str, content: str | None = None) -> int:
        """Takes that second look at one of them, and says how many entities it mentions."""
        memory, at = self.hf.get(memory_id), self.hf.clock()
        found = self._recognition.recognise(content or memory.content, "accurate")
        return self.hf.write("enrich", lambda writer: enrich.look_again(writer, memory, found, at=at))

    def run_decay_and_prune(self, threshold: float | None = None) -> dict[str, int]:
        """Lets unused facts become less sure, and those below the threshold fade."""
        done = self.hf.decay(threshold=threshold)
        return {"decayed": done.decayed, "pruned": done.faded, "errors": 0}

    def save_reflection(
        self, content: str, source_ids: Sequence[str] = (), tags: Sequence[str] = (reflect.TAG,)
    ) -> Memory:
        """Stores a reflection, linked to what it was made of; the very next context has it."""
        scope, at, limit = self.hf.scopes[0], self.hf.clock(), self.hf.settings.max_content_bytes
        sources = self.hf.store.get([scope], list(source_ids))
        return self.hf.write(
            "reflect",
            lambda writer: reflect.keep(writer, scope, content, sources, at=at, max_bytes=limit, tags=tuple(tags)),
        )

    def get_latest_reflection(self) -> str | None:
        """What the latest reflection says; None when there is none."""
        return next((memory.content for memory in self.hf.list(kinds=["reflection"], limit=1)), None)
