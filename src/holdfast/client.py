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
    check_score,
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
    """An open memory: writes go to one scope, reads cover one or several.

    Every change is a run; `last_run` is the id of the latest one, for `undo`. Thread-safe.

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
        """Memories that need human approval."""
        return namespaces.reviews.Reviews(self)

    @property
    def projects(self) -> Projects:
        """Project memory, and the indexed sessions, tickets and notes of a project."""
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
        """Store one memory and return it. An identical fact or rule is stored once.

        A memory from an agent may need approval (setting `approval`): it is then returned as
        `proposed`, as is an identical pending proposal. Raises NeedsPerson if a person has rejected
        the same text, Refused if the scope is disabled, InvalidInput for invalid fields.

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
        """Store many memories in one transaction: if one is invalid, none is stored."""
        check_enabled(self, self.scopes[0])
        at = self.clock()
        limit = self.settings.max_content_bytes
        given = map(as_draft, ensure_list(drafts, "memories", "remember"))
        memories = [
            ingest.commit.build(draft, self.scopes[0], at=at, max_bytes=limit) for draft in given
        ]

        def work(tx: Transaction) -> Memories:
            stored = extraction.permission_checks.remember(tx, memories, who_of(self, "remember"))
            # A proposal mentions nobody until it is approved.
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
        """Store one turn of a conversation verbatim; return None if it is blank.

        Calls no model and no network, so it takes only a disk write.
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
        """Store many turns in one transaction; each has `session`, `role`, `text`, optional
        `author` and `event_time`.

        The first turn of a new session ends the open sessions of this scope; a turn of an ended
        session reopens it. `noted` is added to the metadata of the sessions.
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
        """Replace the text of a memory. The old version is retired and linked to the new one, not
        lost.

        Correcting a proposal approves it with the new text; correcting a record rewrites its file.
        If an agent corrects what a person wrote or confirmed, the new text is returned as a
        proposal, and nothing else changes. Raises NotFound; NeedsPerson if an agent may not correct
        the record.
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
        # A correction keeps these fields; confidence, times and quote belong to the old text.
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
        """Protect a memory: full confidence, no decay, and only a person may replace it.

        Raises NeedsPerson for an agent.
        """
        at = self.clock()
        check_permission(self, "confirm", find(self, ref))
        return change(
            self, "confirm", ref, lambda tx, memory: ingest.commit.confirm(tx, memory, at=at)
        )

    @traced("update_memory")
    def archive(self, ref: Ref, *, reason: str = "archived") -> Memory:
        """Archive a memory: it is kept and listed, but no longer recalled."""
        check_permission(self, "archive", find(self, ref))
        return _set_status(self, "archive", ref, "archived", reason)

    @traced("update_memory")
    def restore(self, ref: Ref) -> Memory:
        """Restore a memory that was archived, forgotten, superseded, faded or evicted.

        A proposal that was rejected or has expired becomes pending again.
        """
        memory = find(self, ref)
        check_permission(self, "restore", memory)
        # A rejected or expired proposal must not become active without a decision.
        back = (
            "proposed"
            if extraction.proposals.proposer(memory) and extraction.proposals.undecided(memory)
            else "active"
        )
        return _set_status(self, "restore", ref, back, "restored")

    @traced("delete_memory")
    def forget(self, *refs: Ref) -> Memories:
        """Forget memories: they are no longer recalled. `undo` restores them; `admin.purge` erases
        them.

        Raises NeedsPerson, and forgets none, if an agent would forget what a person wrote or
        confirmed.
        """
        memories = [find(self, ref) for ref in refs]
        at = self.clock()
        # All are checked before any is changed: either all are forgotten or none.
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
        """Undo everything one run did, exactly; by default the latest run in these scopes that
        was not undone yet. Undoing an undo, by its run, is a redo.

        Use counts and session activity are not part of a run and stay. Runs that followed changed
        files are skipped: change the files back instead. Raises NotFound if there is nothing to
        undo, Refused for a run that followed files, and NeedsPerson if an agent would undo a
        person's change or a decision about a proposal.
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
        """Return the latest run that stands: undos and what they took back are passed over. If
        there are only runs from files, the latest of those, which `undo` refuses.
        """
        from .storage.undone_runs import UNDO, runs_of, undone  # noqa: PLC0415

        passed_over = (UNDO, *FROM_FILES)
        newest = self.store.events(self.scopes, limit=1)
        if not newest:
            raise NotFound("There is nothing to undo.")
        if newest[0].verb not in passed_over:
            # Nearly always the last entry will do.
            return newest[0].run
        runs: list[Events] = []
        for limit in (1_000, 100_000, None):
            events = self.store.events(self.scopes, limit=limit)
            runs = runs_of(events)
            if len(events) == limit:
                # Perhaps only a part of the oldest was read.
                runs.pop()
            for run, gone in zip(runs, undone(runs), strict=True):
                if run[0].verb not in passed_over and not gone:
                    return run[0].run
        undos = [run[0].run for run in runs if run[0].verb == UNDO]
        if undos:
            raise NotFound(
                "There is nothing left to undo. "
                f"To redo what was undone last: holdfast undo {undos[0]}"
            )
        return newest[0].run

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
        min_score: float | None = None,
        deep: bool = False,
        namespace: Sequence[str] | None = None,
    ) -> Hits:
        """Return memories that help answer `question`, best first. Any text in any language is
        valid; one that has nothing to do with what is remembered rarely finds anything. Turns of a
        project's sessions are found for a question, or where they say nearly the same as an
        instruction.

        `min_score` drops hits with a lower score instead: 0 shows even the unlikeliest. `deep`
        reads the best candidates together with the question: slower, and better in conversations.
        `as_of` searches what was known at that time; `expired` includes memories that are no longer
        valid; `tokens` caps the total size of the hits; `namespace` restricts the search to items
        of LangGraph's store in or below that namespace.
        """
        # An empty namespace is a filter too: it means all items of LangGraph's store.
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
            min_score=check_score(min_score, "min_score"),
            deep=deep,
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

        Without a question: the source text of the memory and, for a turn, what was not stored from
        it. With one, the recall is replayed; the result has the rank, or the stage that dropped the
        memory.
        """
        memory = find(self, ref)
        if question is None:
            return retrieval.provenance.why_stored(self.store, memory)
        asked = retrieval.recall.Question(
            text_of(question, "question"), recall_filter(self), limit=self._limit(limit)
        )
        return retrieval.explain.why(engine_of(self), asked, memory)

    def get(self, ref: Ref) -> Memory:
        """Return the memory with this id or number, in any status; raises NotFound."""
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
        deep: bool = False,
    ) -> Context:
        """Return prompt text: a block that is stable for the whole session, and one for this
        prompt.

        `kinds` and `limit` filter the second block, `deep` orders it as in `recall`. Memories
        captured or extracted in `session` are left out.
        """
        budget = self.settings.context_tokens if tokens is None else tokens
        found = context.session_context.context(
            engine_of(self),
            recall_filter(self, kinds=kinds),
            text_of(prompt, "prompt"),
            session=session,
            tokens=check_limit(budget, "tokens"),
            limit=check_limit(limit),
            deep=deep,
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
        as_of: Moment = None,
        limit: int | None = None,
        after: int | None = None,
    ) -> Memories:
        """List memories, newest first; `after` is the last number of the previous page.

        `as_of` lists what was known at that time.
        """
        where = filter_of(
            self,
            kinds=kinds,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sessions=sessions,
            since=since,
            as_of=as_of,
            # A list shows expired memories too; only recall hides them.
            valid=False,
        )
        return self.store.list(where, limit=most_of(limit), after=after)

    def history(self, ref: Ref) -> Events:
        """Return the journal entries of a memory, oldest first."""
        memory = find(self, ref)
        # The store returns the newest entries first.
        return self.store.events((memory.scope,), target=memory.id)[::-1]

    def stats(self) -> dict[str, Any]:
        """Return counts, vector coverage and health: what is stored, which models serve, what
        fails.
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
        """Return today's language model tokens for these scopes, and the daily cap per scope."""
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
    """Raise Refused for a run that followed files: undoing it would not change the files back."""
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
    """Return `given` if it is an open memory; raises InvalidInput, e.g. for a path or an
    AsyncHoldfast.
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
