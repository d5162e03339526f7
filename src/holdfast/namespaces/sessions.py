"""Conversations: their messages, their end, what is learned from them, and what is set for whom
they are with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import extraction, ingest
from ..base_client import BaseClient, author_of
from ..model_access import reading_of
from ..storage import Transaction
from ..types import IDLE_MINUTES, Messages
from ..validation import most_of

if TYPE_CHECKING:
    from ..extraction.policy import JudgedCandidate
    from ..models.llm.chat import Complete


class Conversing(BaseClient):
    """Conversations: their messages, their end, what is learned from them, and what is set for whom
    they are with.
    """

    def append_messages(
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
        scope = self.scopes[0]
        at = self.clock()
        said = [ingest.sanitize.guard_data(body, name="A message") for body in bodies]
        return self.write(
            "append",
            lambda tx: ingest.session_log.append(
                tx, scope, session, said, at=at, agent=agent, metadata=metadata
            ),
        )

    def messages(self, session: str, *, last: int | None = None) -> Messages:
        """The messages of a session in order; with `last`, only that many from its end."""
        return self.store.sessions.messages(self.scopes[0], session, last=most_of(last, "last"))

    def end_session(
        self, session: str, *, reason: str = "ended", metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Marks a session as ended; False when it is not there or had ended before. Ending twice
        equals once.

        `metadata` is what only whoever led it knows. Of that, `approach_used`, `approach_context`
        and `crisis_level_max` (0 to 3) go into its summary.
        """
        scope = self.scopes[0]
        at = self.clock()
        return self.write(
            "end",
            lambda tx: ingest.session_log.end(
                tx, scope, session, at=at, reason=reason, metadata=metadata
            ),
        )

    def end_idle(self, *, minutes: float = IDLE_MINUTES) -> list[str]:
        """Ends the conversations of these scopes that have been silent for so long, and says
        which.
        """
        ended = extraction.session_extraction.end_idle(
            self.store, self.scopes, author_of(self, "end"), minutes=minutes
        )
        return [session.id for session in ended]

    def consider(self, session: str, *, complete: Complete | None = None) -> list[JudgedCandidate]:
        """After a reply: reads what was said since the last time, and commits, holds, proposes or
        drops what it finds.

        `complete` is a language model; without one that of the settings is asked, or rules do. A
        model that fails does not fail the turn: nothing is written, `stats` says why, and the next
        time tries again.
        """
        reading = reading_of(self, complete)
        author = author_of(self, "consider")
        return extraction.turn_extraction.consider(
            self.store, self._session(session), reading, author
        )

    def learn(
        self, session: str | None = None, *, complete: Complete | None = None
    ) -> extraction.session_extraction.SessionExtraction:
        """Learns now what a conversation that has ended teaches, or all of these scopes. Twice
        equals once.

        The same is done by workers, sooner or later. ModelFailed when the model does not answer:
        then they try again.
        """
        unread = (
            self.store.sessions.unread(self.scopes) if session is None else [self._session(session)]
        )
        reading = reading_of(self, complete)
        outcomes = [
            extraction.session_extraction.learn(self.store, one, reading, author_of(self, "learn"))
            for one in unread
        ]
        return sum(outcomes, extraction.session_extraction.SessionExtraction())

    def purge_sessions(self, *sessions: str) -> int:
        """Erases sessions with their messages for good and says how many messages that were."""
        scope = self.scopes[0]

        def work(tx: Transaction) -> int:
            return sum(tx.erasure.session(scope, session) for session in sessions)

        return self.write("purge", work) if sessions else 0

    def profile(self) -> dict[str, Any]:
        """What is set for whom these memories belong to: `proactive_recall`, `enabled`."""
        return ingest.owner_profile.settings_of(self.store.profiles.get(self.scopes[0]))

    def set_profile(self, **settings: bool) -> dict[str, Any]:
        """Sets some of it, e.g. `proactive_recall=True`; all of it comes back."""
        scope = self.scopes[0]
        return self.write("profile", lambda tx: ingest.owner_profile.change(tx, scope, settings))
