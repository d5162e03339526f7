"""What finds memories, shows them and says why. Nothing here changes any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import context, extraction, replication, retrieval
from ..storage import Filter
from ..storage.protocol import Entities
from ..types import DAY, MOST_HITS, About, Edges, Events, Hits, Memories, Names, Sessions
from .conversing import Conversing
from .given import Moment, Ref, check_limit, most_of, str_tuple, text_of
from .opened import command_for

if TYPE_CHECKING:
    from ..context.companion import WorkingMemory
    from ..context.session_context import Context

# Damaged rows that a warning names; `doctor` lists all.
MOST_NAMED = 5


class Reading(Conversing):
    """What finds memories, shows them and says why. Nothing here changes any."""

    def recall(
        self,
        question: str,
        *,
        limit: int | None = None,
        kinds: Sequence[str] = (),
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        since: Moment = None,
        until: Moment = None,
        as_of: Moment = None,
        exclude_session: str | None = None,
        expired: bool = False,
        tokens: int | None = None,
        namespace: Sequence[str] | None = None,
    ) -> Hits:
        """Memories that help answer `question`, best first. Any text in any language is a legal
        question.

        `as_of` answers with what was known at that time, `expired` also with what is no longer
        valid; `tokens` stops before the hits outgrow a budget; `namespace` asks only items of
        LangGraph's store, there or below.
        """
        below = {} if namespace is None else {"namespace": namespace}
        where = self._sought(
            kinds=kinds,
            categories=categories,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            excluded_sessions=(exclude_session,) if exclude_session else (),
            valid=not expired,
            **below,
        )
        asked = retrieval.recall.Question(
            text_of(question, "question"),
            where,
            limit=self._limit(limit),
            tokens=most_of(tokens, "tokens"),
        )
        hits = retrieval.recall.recall(self._engine(), asked).hits
        self._note_uses(hit.memory for hit in hits)
        return hits

    def why(self, question: str, *, expect: Ref, limit: int | None = None) -> retrieval.explain.Why:
        """Replays a recall and names the stage at which the memory `expect` was dropped, or its
        rank.
        """
        expected = self.get(expect)
        asked = retrieval.recall.Question(
            text_of(question, "question"), self._sought(), limit=self._limit(limit)
        )
        return retrieval.explain.why(self._engine(), asked, expected)

    def context(
        self,
        prompt: str,
        *,
        session: str | None = None,
        tokens: int | None = None,
        kinds: Sequence[str] = (),
        limit: int = MOST_HITS,
    ) -> Context:
        """What to put before a model: a block that stays the same for a whole session, and one for
        this prompt.

        `kinds` and `limit` narrow the second one. What was said in `session`, or learned from it,
        is not in it.
        """
        budget = self.settings.context_tokens if tokens is None else tokens
        found = context.session_context.context(
            self._engine(),
            self._sought(kinds=kinds),
            text_of(prompt, "prompt"),
            session=session,
            tokens=check_limit(budget, "tokens"),
            limit=check_limit(limit),
        )
        self._note_uses(found.memories)
        return found

    def working_memory(
        self,
        prompt: str,
        *,
        session: str | None = None,
        first_turn: bool | None = None,
        guest: bool = False,
    ) -> WorkingMemory:
        """What a companion has in mind for this turn: facts, arcs of earlier sessions, rules, and
        how they were found.

        Facts and arcs only where the profile says `proactive_recall`. The first turn, which is told
        by the session unless it is said, has the latest session in mind. A guest has nothing.
        """
        found = context.companion.load_memory_for_turn(
            self._engine,
            self._sought(excluded_sessions=(session,) if session else ()),
            text_of(prompt, "prompt"),
            store=self.store,
            first_turn=self._begins(session) if first_turn is None else first_turn,
            volunteers=not guest and bool(self.profile()["proactive_recall"]),
            guest=guest or self.mode == "incognito",
        )
        self._note_uses((*found.entries, *found.rules))
        return found

    def why_stored(self, ref: Ref) -> retrieval.provenance.Stored:
        """Why a memory was stored, and on which words it rests; of a turn, also what of it was not
        stored.
        """
        return retrieval.provenance.why_stored(self.store, self.get(ref))

    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        categories: Sequence[str] = (),
        statuses: Sequence[str] = ("active",),
        tags: Sequence[str] = (),
        sessions: Sequence[str] = (),
        since: Moment = None,
        limit: int | None = None,
        after: int | None = None,
    ) -> Memories:
        """Memories, newest first; `after` is the number of the last one of the page before."""
        where = self._filter(
            kinds=kinds,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sessions=sessions,
            since=since,
            valid=False,
        )
        return self.store.list(where, limit=most_of(limit), after=after)

    def entities(self, *, types: Sequence[str] = (), limit: int | None = None) -> Entities:
        """The people, projects, places… that memories mention, most mentioned first."""
        return self.store.entities(
            self.scopes, types=str_tuple(types, "types"), limit=most_of(limit)
        )

    def about(self, name: str, *, limit: int | None = 10) -> About:
        """Everything about one of them, by a name or an id: the profile, and the memories that
        mention it.

        A part of a name will do: Ines is Ines Ferreira, unless somebody is called just that.
        """
        entity = self._entity(text_of(name, "name"), partly=True)
        return About(entity, self.store.mentioning(entity.scope, entity.id, limit=most_of(limit)))

    def history(self, ref: Ref) -> Events:
        """Everything that happened to a memory, oldest first."""
        memory = self.get(ref)
        return self.store.events((memory.scope,), target=memory.id)[::-1]

    def links(self, ref: Ref) -> Edges:
        """What a memory was derived from, supersedes or conflicts with, and the other way round."""
        memory = self.get(ref)
        return self.store.edges(memory.scope, memory.id)

    def log(self, *, limit: int | None = 50) -> Events:
        """The journal of these scopes, newest first."""
        return self.store.events(self.scopes, limit=most_of(limit))

    def sessions(self, *, open_only: bool = False) -> Sessions:
        """Conversations, the most recently active first."""
        return self.store.sessions(self.scopes, open_only=open_only)

    def warnings(self, *, commands: bool = True) -> Names:
        """What whoever was answered should know: rows that were left out because they cannot be
        read, and why recall went without a model.

        It tells what has been noticed so far in these scopes, and asks nobody. Without `commands`
        it does not say what to do about it: who is told may not be who runs the store, and a
        command names where it is.
        """
        found = self.store.damaged(self.scopes)
        told = [f"Left out, because it cannot be read: {one}." for one in found[:MOST_NAMED]]
        if len(found) > MOST_NAMED:
            told.append(f"Left out as well: {len(found) - MOST_NAMED} more.")
        if found and commands:
            told.append(
                f"To see all that is damaged, and what can be done: {command_for(self, 'doctor')}"
            )
        problems = self._embedding_problems(self._remedy() if commands else "")
        return told + retrieval.embedding_status.warnings(problems, self.tiers)

    def embedding_problems(self, *, ask: bool = False) -> dict[str, str]:
        """Why embedding models cannot serve a recall here, by model: no answer, or vectors that
        cannot be compared.

        With `ask`, one that has not answered yet is asked for a vector; otherwise only what was
        noticed is told.
        """
        return self._embedding_problems(self._remedy(), ask=ask)

    def _embedding_problems(self, remedy: str, *, ask: bool = False) -> dict[str, str]:
        return retrieval.embedding_status.problems(
            self.store, self.tiers, self.scopes, remedy=remedy, ask=ask
        )

    def _remedy(self) -> str:
        return self.remedy or command_for(self, "reembed", "--fresh")

    def stats(self) -> dict[str, Any]:
        """Counts, coverage and health: what is kept, which models serve, and what is not
        working.
        """
        counts = self.store.counts(self.scopes)
        sessions = self.sessions()
        return {
            "store": self.store.location,
            "scopes": [str(scope) for scope in self.scopes],
            "memories": counts,
            "active": sum(by_status.get("active", 0) for by_status in counts.values()),
            "sessions": len(sessions),
            "vectors": self.store.coverage(self.scopes),
            "models": [embedder.identity for embedder in self.tiers],
            "spend": self._spend(),
            "problems": self.embedding_problems(ask=True)
            | extraction.turn_extraction.failures(self.store, self.scopes)
            | replication.sync.failures(self.store, self.scopes),
        }

    def _spend(self) -> dict[str, int]:
        """What language models were asked for these scopes today, and how much that may be for
        each.
        """
        used = self.store.spent(self.scopes, self.clock() // DAY)
        return {**used._asdict(), "per_day": self.settings.model_tokens_per_day}

    def _begins(self, session: str | None) -> bool:
        """Whether nobody has answered yet in a session."""
        turns = self.store.list(Filter(self.scopes, sessions=(session,))) if session else []
        return all(turn.role in extraction.policy.PEOPLE for turn in turns)

    def _limit(self, limit: int | None) -> int:
        return self.settings.recall_limit if limit is None else check_limit(limit)
