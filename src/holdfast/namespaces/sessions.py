"""Namespace `sessions`: conversations, their messages, their end and what is extracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import context, erasure, extraction, ingest
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
        """List sessions, latest conversation first: by when its last turn was said, which may be
        long before it was stored.
        """
        return self.client.store.sessions.list(self.client.scopes, open_only=open_only)

    def append(
        self,
        session: str,
        bodies: Sequence[Mapping[str, Any]],
        *,
        agent: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> int:
        """Append an agent's own messages (JSON) to a session; return how many it has now.

        The first messages create the session, owned by `agent`. Messages are not memories and are
        never recalled. Secrets are redacted.
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
        """Return the messages of a session in order; with `last`, only that many from its end."""
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
        """End a session; return False if it does not exist or has ended before. Idempotent.

        `metadata` holds facts that only the caller knows. `approach_used`, `approach_context` and
        `crisis_level_max` (0 to 3) go into the summary.
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
        """End the sessions that have been idle for `minutes`; return their ids."""
        ended = extraction.session_extraction.end_idle(
            self.client.store, self.client.scopes, author_of(self.client, "end"), minutes=minutes
        )
        return [session.id for session in ended]

    @traced("upsert_memory")
    def extract(self, session: str, *, complete: Complete | None = None) -> Judged:
        """Extract memories from a session's new turns, after a reply; return the decision on each.

        `complete` is a language model; the default is the configured one, or rules. A model failure
        does not fail the turn: nothing is written, `stats` reports it, and the next call retries.
        If the session changes meanwhile, nothing is written either, and the result is an empty list
        instead of a Conflict. Raises NotFound for an unknown session.
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
        """Extract from an ended session, or from all of these scopes, now. Idempotent.

        Workers do the same in the background. Raises ModelFailed if the model fails for a session,
        after all others were read; that one is read the next time.
        """
        unread = (
            self.client.store.sessions.unread(self.client.scopes)
            if session is None
            else [session_of(self.client, session)]
        )
        return extraction.session_extraction.learn_all(
            self.client.store,
            unread,
            reading_of(self.client, complete),
            lambda: author_of(self.client, "learn"),
        )

    def purge(self, *sessions: str) -> int:
        """Erase sessions with their messages permanently; return the number of messages.

        Their names are erased too wherever other memories name them. Turns are memories and stay;
        `admin.purge(session=…)` erases them as well. Raises NotFound.
        """
        scope = self.client.scopes[0]
        at = self.client.clock()

        def work(tx: Transaction) -> int:
            return erasure.purge.erase_sessions(tx, scope, sessions, at=at)

        return write(self.client, "purge", work) if sessions else 0

    def profile(self) -> dict[str, Any]:
        """Return the owner's profile: `proactive_recall`, `enabled`."""
        return ingest.owner_profile.settings_of(
            self.client.store.profiles.get(self.client.scopes[0])
        )

    def set_profile(self, /, **settings: bool) -> dict[str, Any]:
        """Change the profile, e.g. `proactive_recall=True`; return all of it."""
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
        """Return a companion's memory for this turn: facts, summaries of earlier sessions, rules,
        and how they were found.

        Facts and summaries need `proactive_recall` in the profile. The first turn also includes the
        latest session; by default it is detected from `session`. A guest gets nothing.
        """
        found = context.companion.load_memory_for_turn(
            lambda: engine_of(self.client),
            # This conversation is in the model's context already.
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
        """Whether the session has no answer yet."""
        turns = (
            self.client.store.list(Filter(self.client.scopes, sessions=(session,)))
            if session
            else []
        )
        return all(turn.role in extraction.policy.PEOPLE for turn in turns)
