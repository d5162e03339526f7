"""Class `Holdfast`, the public API: one short method per verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack, overload

from . import (
    context,
    extraction,
    ingest,
    maintenance,
    namespaces,
    records,
    replication,
    retrieval,
)
from .base_client import (
    BaseClient,
    change,
    check_enabled,
    check_permission,
    count_uses,
    embedding_problems_of,
    engine_of,
    filter_of,
    find,
    recall_filter,
    who_of,
    write,
)
from .errors import InvalidInput, NotFound, Nothing, Refused
from .records.file_sync import VERB
from .records.roots import is_record
from .records.source_lists import INDEX
from .storage import Transaction
from .storage.legacy_progress import MIGRATE
from .telemetry import traced
from .types import DAY, MOST_HITS, Events, Hits, Memories, Memory
from .validation import (
    AllFields,
    Fields,
    Moment,
    Ref,
    ScopeLike,
    as_draft,
    check_limit,
    draft_of,
    ensure_list,
    most_of,
    reload,
    text_of,
    turn_of,
)

if TYPE_CHECKING:
    from .context.session_context import Context
    from .ingest.commit import Draft
    from .namespaces.admin import Admin
    from .namespaces.entities import Entities
    from .namespaces.projects import Projects
    from .namespaces.records import Records
    from .namespaces.reviews import Reviews
    from .namespaces.sessions import Sessions
    from .retrieval.explain import Why
    from .retrieval.provenance import Stored

__all__ = ["Holdfast", "Moment", "Ref", "ScopeLike", "check_open"]

FROM_FILES = (VERB, INDEX, MIGRATE)
"""Journal verbs of changes that only followed those of files, or an upgrade."""


class Holdfast(BaseClient):
    """An open memory, bound to one scope for writing and one or several for reading.

    Every change is a run, and `last_run` is what the latest one is called, for `undo`. Threads may
    share one.

    >>> hf = Holdfast.open(":memory:", scope="user:me")
    >>> tea = hf.remember("Prefers green tea to coffee", category="preferences")
    >>> [hit.memory.content for hit in hf.recall("what does she drink, tea?")]
    ['Prefers green tea to coffee']
    >>> hf.close()
    """

    # A namespace is a small object made when it is asked for, and its module is loaded then:
    # a recall pays for none of them.

    @property
    def sessions(self) -> Sessions:
        """Conversations: their messages, their end and what is extracted from them."""
        return namespaces.sessions.Sessions(self)

    @property
    def records(self) -> Records:
        """Memories stored as Markdown files that people edit and commit."""
        return namespaces.records.Records(self)

    @property
    def entities(self) -> Entities:
        """The people, projects and places that memories mention."""
        return namespaces.entities.Entities(self)

    @property
    def reviews(self) -> Reviews:
        """Memories that wait for a person's approval."""
        return namespaces.reviews.Reviews(self)

    @property
    def projects(self) -> Projects:
        """Project memory, and what sessions, tickets and notes of a project say."""
        return namespaces.projects.Projects(self)

    @property
    def admin(self) -> Admin:
        """Erasure, maintenance, export, import, sync, the journal and health checks."""
        return namespaces.admin.Admin(self)

    def remember(
        self,
        content: str,
        *,
        kind: str = "fact",
        category: str = "general",
        event_time: Moment = None,
        valid_from: Moment = None,
        valid_until: Moment = None,
        **fields: Unpack[Fields],
    ) -> Memory:
        """Stores one memory and returns it. A fact or rule that is already there word for word is
        kept once.

        What an agent stores may have to wait for a person (setting `approval`): then it comes back
        as `proposed`, and so does what waits already in the same words. NeedsPerson for words that
        a person has turned down.

        `fields` may be any of title, author, role, session, confidence, decay_rate, source, quote,
        triple, tags, metadata.
        """
        draft = draft_of(
            content=content,
            kind=kind,
            category=category,
            event_time=event_time,
            valid_from=valid_from,
            valid_until=valid_until,
            **fields,
        )
        return self.remember_many([draft])[0]

    @traced("upsert_memory")
    def remember_many(self, drafts: Iterable[str | Mapping[str, Any] | Draft]) -> Memories:
        """Stores many memories in one transaction: all of them or, if one is not acceptable,
        none.
        """
        check_enabled(self, self.scopes[0])
        at = self.clock()
        limit = self.settings.max_content_bytes
        given = map(as_draft, ensure_list(drafts, "memories", "remember"))
        memories = [
            ingest.commit.build(draft, self.scopes[0], at=at, max_bytes=limit) for draft in given
        ]

        def work(tx: Transaction) -> Memories:
            stored = extraction.permission_checks.remember(tx, memories, who_of(self, "remember"))
            ingest.entity_linking.note(tx, [one for one in stored if one.status == "active"], at=at)
            return stored

        return write(self, "remember", work)

    def capture(
        self,
        session: str,
        role: str,
        text: str,
        *,
        author: str = "",
        event_time: Moment = None,
    ) -> Memory | None:
        """Stores one turn of a conversation, verbatim and at once; None when there is nothing in
        it.

        No model and no network take part: it is as quick as the disk.
        """
        turn = {
            "session": session,
            "role": role,
            "text": text,
            "author": author,
            "event_time": event_time,
        }
        stored = self.capture_many([turn])
        return stored[0] if stored else None

    @traced("create_memory")
    def capture_many(
        self, turns: Iterable[Mapping[str, Any]], *, noted: Mapping[str, Any] | None = None
    ) -> Memories:
        """Stores many turns (`session`, `role`, `text`, optional `author`, `event_time`) in one
        transaction.

        The first turn of a session that was not heard of before ends the open ones of this scope; a
        turn of one that has ended opens it again. What is `noted` is added to the metadata of their
        sessions.
        """
        check_enabled(self, self.scopes[0])
        at = self.clock()
        limit = self.settings.max_content_bytes
        scope = self.scopes[0]
        memories = []
        for turn in ensure_list(turns, "turns", "capture"):
            # A blank turn, or one that only repeats what memory injected.
            with suppress(Nothing):
                memories.append(ingest.commit.build(turn_of(turn), scope, at=at, max_bytes=limit))
        if not memories:
            return []
        return write(
            self,
            "capture",
            lambda tx: ingest.capture.save_turns(tx, memories, at=at, noted=noted),
        )

    @traced("update_memory")
    def correct(
        self,
        ref: Ref,
        content: str,
        *,
        reason: str = "",
        **fields: Unpack[AllFields],
    ) -> Memory:
        """Replaces what a memory says: the old text is retired and linked to the new one, not lost.

        Of a proposal that means approving it in other words; of a record, writing them into its
        file. Where an agent corrects what a person wrote or confirmed, the new words come back as a
        proposal, and nothing else changes.
        """
        old = find(self, ref)
        at = self.clock()
        if old.status == "proposed":
            return self.reviews.approve(ref, content)
        ruling = check_permission(self, "correct", old)
        if is_record(old):
            if not ruling.allowed:
                raise extraction.permission_checks.refused("correct", "written", old.id)
            return namespaces.records.correct_record(self, old, content, fields)
        kept = {
            "kind": old.kind,
            "category": old.category,
            "title": old.title,
            "author": old.author,
            "role": old.role,
            "triple": old.triple,
            "tags": old.tags,
            "source": "correction",
            "metadata": maintenance.entity_jobs.unseen(old.metadata),
        }
        draft = draft_of(content=content, **{**kept, **fields})
        new = ingest.commit.build(
            draft, old.scope, at=at, max_bytes=self.settings.max_content_bytes
        )
        if not ruling.allowed:
            return namespaces.reviews.propose_instead(self, old, new, reason or ruling.reason)

        def work(tx: Transaction) -> Memory:
            corrected = ingest.commit.correct(tx, reload(tx, old), new, reason=reason)
            ingest.entity_linking.note(tx, [corrected], at=at)
            return corrected

        return write(self, "correct", work)

    @traced("update_memory")
    def confirm(self, ref: Ref) -> Memory:
        """Protects a memory: full confidence, no decay, and only a person may replace it.
        NeedsPerson for an agent.
        """
        at = self.clock()
        check_permission(self, "confirm", find(self, ref))
        return change(
            self, "confirm", ref, lambda tx, memory: ingest.commit.confirm(tx, memory, at=at)
        )

    @traced("update_memory")
    def archive(self, ref: Ref, *, reason: str = "archived") -> Memory:
        """Puts a memory away: it is kept and listed, but no longer recalled."""
        check_permission(self, "archive", find(self, ref))
        return _set_status(self, "archive", ref, "archived", reason)

    @traced("update_memory")
    def restore(self, ref: Ref) -> Memory:
        """Brings back a memory that was archived, forgotten, superseded, faded or evicted.

        A proposal that was rejected or has expired waits for a decision again.
        """
        memory = find(self, ref)
        check_permission(self, "restore", memory)
        back = (
            "proposed"
            if extraction.approval.proposer(memory) and extraction.approval.undecided(memory)
            else "active"
        )
        return _set_status(self, "restore", ref, back, "restored")

    @traced("delete_memory")
    def forget(self, *refs: Ref) -> Memories:
        """Forgets memories. Nothing recalls them any more; `undo` brings them back; `admin.purge`
        erases for good.

        NeedsPerson, and none is forgotten, where an agent would forget what a person wrote or
        confirmed.
        """
        memories = [find(self, ref) for ref in refs]
        at = self.clock()
        for memory in memories:
            check_permission(self, "forget", memory)

        def work(tx: Transaction) -> Memories:
            return [
                ingest.commit.set_status(
                    tx, reload(tx, memory), "archived", at=at, reason="forgotten"
                )
                for memory in memories
            ]

        return write(self, "forget", work)

    def undo(self, run: str | None = None) -> Events:
        """Takes back everything one run did, exactly. Without a run: the latest one in these
        scopes.

        What is only observed is no part of it: how often and when a memory was used, and when a
        session was active. What followed from changed files is passed over: who changed them can
        change them back. NeedsPerson where an agent would take back what was not an agent's doing,
        or a decision about a proposal.
        """
        wanted = run or self._latest_run()
        _check_files_unchanged(self, wanted)
        self._check_undoer(wanted)
        return write(self, "undo", lambda tx: records.operations.undo(tx, self.scopes, wanted))

    def _check_undoer(self, run: str) -> None:
        who = who_of(self, "undo")
        if who.trusted:
            return
        events = self.store.events(self.scopes, run=run)
        changed = self.store.get(
            self.scopes, [event.target for event in events if event.noun == "memory"]
        )
        state = extraction.permission_checks.state_of_run(events, changed)
        if not ingest.permissions.ruling(who.kind, "undo", state).allowed:
            raise extraction.permission_checks.refused("undo", state, run)

    def _latest_run(self) -> str:
        """The latest run that can be undone; where people did nothing but change files, that one,
        to be refused.
        """
        events: Events = []
        # Nearly always the last entry will do.
        for limit in (1, 1_000, None):
            events = self.store.events(self.scopes, limit=limit)
            if latest := next(
                (event.run for event in events if event.verb not in FROM_FILES), None
            ):
                return latest
        if not events:
            raise NotFound("There is nothing to undo.")
        return events[0].run

    @traced("search_memory")
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
        where = recall_filter(
            self,
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
        hits = retrieval.recall.recall(engine_of(self), asked).hits
        count_uses(self, [hit.memory for hit in hits])
        return hits

    @overload
    def explain(self, ref: Ref) -> Stored: ...

    @overload
    def explain(
        self,
        ref: Ref,
        question: str,
        *,
        limit: int | None = None,
    ) -> Why: ...

    def explain(
        self,
        ref: Ref,
        question: str | None = None,
        *,
        limit: int | None = None,
    ) -> Stored | Why:
        """Explain why a memory was stored, or with `question` why a recall finds it or not.

        Without a question: the words it rests on, and of a turn what of it was not stored. With
        one: the recall is replayed, and the stage named at which the memory was dropped, or its
        rank.
        """
        memory = find(self, ref)
        if question is None:
            return retrieval.provenance.why_stored(self.store, memory)
        asked = retrieval.recall.Question(
            text_of(question, "question"), recall_filter(self), limit=self._limit(limit)
        )
        return retrieval.explain.why(engine_of(self), asked, memory)

    def get(self, ref: Ref) -> Memory:
        """The memory with this id or number, in any status; NotFound when these scopes have
        none.
        """
        return find(self, ref)

    @traced("search_memory")
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
            engine_of(self),
            recall_filter(self, kinds=kinds),
            text_of(prompt, "prompt"),
            session=session,
            tokens=check_limit(budget, "tokens"),
            limit=check_limit(limit),
        )
        count_uses(self, found.memories)
        return found

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
        where = filter_of(
            self,
            kinds=kinds,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sessions=sessions,
            since=since,
            valid=False,
        )
        return self.store.list(where, limit=most_of(limit), after=after)

    def history(self, ref: Ref) -> Events:
        """Everything that happened to a memory, oldest first."""
        memory = find(self, ref)
        return self.store.events((memory.scope,), target=memory.id)[::-1]

    def stats(self) -> dict[str, Any]:
        """Counts, coverage and health: what is kept, which models serve, and what is not
        working.
        """
        counts = self.store.counts(self.scopes)
        sessions = self.store.sessions.list(self.scopes)
        return {
            "store": self.store.location,
            "scopes": [str(scope) for scope in self.scopes],
            "memories": counts,
            "active": sum(by_status.get("active", 0) for by_status in counts.values()),
            "sessions": len(sessions),
            "vectors": self.store.vectors.coverage(self.scopes),
            "models": [embedder.identity for embedder in self.tiers],
            "spend": self._spend(),
            "problems": embedding_problems_of(self, ask=True)
            | extraction.turn_extraction.failures(self.store, self.scopes)
            | replication.sync.failures(self.store, self.scopes),
        }

    def _spend(self) -> dict[str, int]:
        """What language models were asked for these scopes today, and how much that may be for
        each.
        """
        used = self.store.spend.total(self.scopes, self.clock() // DAY)
        return {**used._asdict(), "per_day": self.settings.model_tokens_per_day}

    def _limit(self, limit: int | None) -> int:
        return self.settings.recall_limit if limit is None else check_limit(limit)


def _set_status(
    client: BaseClient,
    verb: str,
    ref: Ref,
    status: str,
    reason: str,
) -> Memory:
    at = client.clock()
    return change(
        client,
        verb,
        ref,
        lambda tx, memory: ingest.commit.set_status(tx, memory, status, at=at, reason=reason),
    )


def _check_files_unchanged(client: BaseClient, run: str) -> None:
    """Refused for what people did to files: undoing it in the store would leave the files as
    they are.
    """
    verbs = {event.verb for event in client.store.events(client.scopes, run=run, limit=1)}
    if VERB in verbs:
        raise Refused(
            f"Run {run} is what was changed in the files of records. Change the files, for "
            "example with git: the "
            "memories follow. `holdfast history` lists other runs to undo."
        )
    if INDEX in verbs:
        raise Refused(
            f"Run {run} is what was indexed of files. Change the files, or take them off the "
            "list in .holdfast/sources, and run `holdfast project index`. `holdfast history` "
            "lists other runs to undo."
        )


def check_open(given: Holdfast) -> Holdfast:
    """`given` itself, when it is an open memory; an adapter is easily given a path, or the
    awaitable one.
    """
    if isinstance(given, Holdfast):
        return given
    if isinstance(getattr(given, "blocking", None), Holdfast):
        raise InvalidInput(
            "This takes a Holdfast. Give the `blocking` of the AsyncHoldfast, which is one."
        )
    wrong = type(given).__name__
    raise InvalidInput(
        "This takes an open memory, such as Holdfast.open('memory.db', scope='user:me'), not a "
        f"{wrong}."
    )
