"""Namespace `sessions`: conversations, their messages, their end and what is extracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import context, extraction, ingest
from ..base_client import (
    Namespace,
    author_of,
    count_uses,
    engine_of,
    recall_filter,
    session_of,
    write,
)
from ..model_access import reading_of
from ..storage import Filter, Transaction
from ..telemetry import traced
from ..types import IDLE_MINUTES, Messages, Names
from ..types import Sessions as SessionList
from ..validation import most_of, text_of

if TYPE_CHECKING:
    from ..context.companion import WorkingMemory
    from ..extraction.policy import JudgedCandidate
    from ..models.llm.chat import Complete

    # Inside the class, `list` is its method.
    Judged = list[JudgedCandidate]


class Sessions(Namespace):
    """Conversations: their messages, their end and what is extracted from them."""

    def list(self, *, open_only: bool = False) -> SessionList:
        """Conversations, the most recently active first."""
        return self.client.store.sessions.list(self.client.scopes, open_only=open_only)

    def append(
        self,
        session: str,
        bodies: Sequence[Mapping[str, Any]],
        *,
        agent: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> int:
        """Adds an agent's own messages (JSON) to the end of a session and says how many it has now.

        The first ones begin the session, as one of `agent`. Messages are not memories: nothing
        recalls them. Secrets in them are redacted.
        """
        scope = self.client.scopes[0]
        at = self.client.clock()
        said = [ingest.sanitize.guard_data(body, name="A message") for body in bodies]
        return write(
            self.client,
            "append",
            lambda tx: ingest.session_log.append(
                tx, scope, session, said, at=at, agent=agent, metadata=metadata
            ),
        )

    def messages(self, session: str, *, last: int | None = None) -> Messages:
        """The messages of a session in order; with `last`, only that many from its end."""
        return self.client.store.sessions.messages(
            self.client.scopes[0], session, last=most_of(last, "last")
        )

    def end(
        self,
        session: str,
        *,
        reason: str = "ended",
        metadata: Mapping[str, Any] | None = None,
    ) -> bool:
        """Marks a session as ended; False when it is not there or had ended before. Ending twice
        equals once.

        `metadata` is what only whoever led it knows. Of that, `approach_used`, `approach_context`
        and `crisis_level_max` (0 to 3) go into its summary.
        """
        scope = self.client.scopes[0]
        at = self.client.clock()
        return write(
            self.client,
            "end",
            lambda tx: ingest.session_log.end(
                tx, scope, session, at=at, reason=reason, metadata=metadata
            ),
        )

    def end_idle(self, *, minutes: float = IDLE_MINUTES) -> Names:
        """Ends the conversations of these scopes that have been silent for so long, and says
        which.
        """
        ended = extraction.session_extraction.end_idle(
            self.client.store, self.client.scopes, author_of(self.client, "end"), minutes=minutes
        )
        return [session.id for session in ended]

    @traced("upsert_memory")
    def extract(self, session: str, *, complete: Complete | None = None) -> Judged:
        """After a reply: reads what was said since the last time, and commits, holds, proposes or
        drops what it finds.

        `complete` is a language model; without one that of the settings is asked, or rules do. A
        model that fails does not fail the turn: nothing is written, `stats` says why, and the next
        time tries again.
        """
        reading = reading_of(self.client, complete)
        author = author_of(self.client, "consider")
        return extraction.turn_extraction.consider(
            self.client.store, session_of(self.client, session), reading, author
        )

    @traced("upsert_memory")
    def learn(
        self, session: str | None = None, *, complete: Complete | None = None
    ) -> extraction.session_extraction.SessionExtraction:
        """Learns now what a conversation that has ended teaches, or all of these scopes. Twice
        equals once.

        The same is done by workers, sooner or later. ModelFailed when the model does not answer:
        then they try again.
        """
        unread = (
            self.client.store.sessions.unread(self.client.scopes)
            if session is None
            else [session_of(self.client, session)]
        )
        reading = reading_of(self.client, complete)
        outcomes = [
            extraction.session_extraction.learn(
                self.client.store, one, reading, author_of(self.client, "learn")
            )
            for one in unread
        ]
        return sum(outcomes, extraction.session_extraction.SessionExtraction())

    def purge(self, *sessions: str) -> int:
        """Erases sessions with their messages for good and says how many messages that were."""
        scope = self.client.scopes[0]

        def work(tx: Transaction) -> int:
            return sum(tx.erasure.session(scope, session) for session in sessions)

        return write(self.client, "purge", work) if sessions else 0

    def profile(self) -> dict[str, Any]:
        """What is set for whom these memories belong to: `proactive_recall`, `enabled`."""
        return ingest.owner_profile.settings_of(
            self.client.store.profiles.get(self.client.scopes[0])
        )

    def set_profile(self, /, **settings: bool) -> dict[str, Any]:
        """Sets some of it, e.g. `proactive_recall=True`; all of it comes back."""
        scope = self.client.scopes[0]
        return write(
            self.client, "profile", lambda tx: ingest.owner_profile.change(tx, scope, settings)
        )

    @traced("search_memory")
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
            lambda: engine_of(self.client),
            recall_filter(self.client, excluded_sessions=(session,) if session else ()),
            text_of(prompt, "prompt"),
            store=self.client.store,
            first_turn=self._begins(session) if first_turn is None else first_turn,
            volunteers=not guest and bool(self.profile()["proactive_recall"]),
            guest=guest or self.client.mode == "incognito",
        )
        count_uses(self.client, (*found.entries, *found.rules))
        return found

    def _begins(self, session: str | None) -> bool:
        """Whether nobody has answered yet in a session."""
        turns = (
            self.client.store.list(Filter(self.client.scopes, sessions=(session,)))
            if session
            else []
        )
        return all(turn.role in extraction.policy.PEOPLE for turn in turns)
