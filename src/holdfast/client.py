"""Class `Holdfast`, the public API: one short method per verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

from . import context, extraction, ingest, maintenance, records, replication, retrieval
from .base_client import command_for, who_of
from .errors import InvalidInput, NotFound, Nothing
from .namespaces.admin import Keeping
from .namespaces.extracting import Extracting
from .namespaces.projects import Indexing
from .namespaces.publishing import Publishing
from .namespaces.records import FROM_FILES
from .namespaces.reviews import Approving
from .namespaces.sessions import Conversing
from .records.roots import is_record
from .storage import Filter, Transaction
from .storage.protocol import Entities
from .telemetry import traced
from .types import (
    DAY,
    MOST_HITS,
    About,
    Edges,
    Entity,
    Events,
    Hits,
    Memories,
    Memory,
    Names,
    Sessions,
    check_kind,
)
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
    str_tuple,
    text_of,
    turn_of,
)

if TYPE_CHECKING:
    from .context.companion import WorkingMemory
    from .context.session_context import Context
    from .ingest.commit import Draft

__all__ = ["Holdfast", "Moment", "Ref", "ScopeLike", "check_open"]

# Damaged rows that a warning names; `doctor` lists all.
MOST_NAMED = 5


@traced
class Holdfast(Approving, Publishing, Conversing, Keeping, Indexing, Extracting):
    """An open memory, bound to one scope for writing and one or several for reading.

    Every change is a run, and `last_run` is what the latest one is called, for `undo`. Threads may
    share one.

    >>> hf = Holdfast.open(":memory:", scope="user:me")
    >>> tea = hf.remember("Prefers green tea to coffee", category="preferences")
    >>> [hit.memory.content for hit in hf.recall("what does she drink, tea?")]
    ['Prefers green tea to coffee']
    >>> hf.close()
    """

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

    def remember_many(self, drafts: Iterable[str | Mapping[str, Any] | Draft]) -> Memories:
        """Stores many memories in one transaction: all of them or, if one is not acceptable,
        none.
        """
        self._check_on(self.scopes[0])
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

        return self.write("remember", work)

    def capture(
        self, session: str, role: str, text: str, *, author: str = "", event_time: Moment = None
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

    def capture_many(
        self, turns: Iterable[Mapping[str, Any]], *, noted: Mapping[str, Any] | None = None
    ) -> Memories:
        """Stores many turns (`session`, `role`, `text`, optional `author`, `event_time`) in one
        transaction.

        The first turn of a session that was not heard of before ends the open ones of this scope; a
        turn of one that has ended opens it again. What is `noted` is added to the metadata of their
        sessions.
        """
        self._check_on(self.scopes[0])
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
        return self.write(
            "capture",
            lambda tx: ingest.capture.save_turns(tx, memories, at=at, noted=noted),
        )

    def correct(
        self, ref: Ref, content: str, *, reason: str = "", **fields: Unpack[AllFields]
    ) -> Memory:
        """Replaces what a memory says: the old text is retired and linked to the new one, not lost.

        Of a proposal that means approving it in other words; of a record, writing them into its
        file. Where an agent corrects what a person wrote or confirmed, the new words come back as a
        proposal, and nothing else changes.
        """
        old = self.get(ref)
        at = self.clock()
        if old.status == "proposed":
            return self.approve(ref, content)
        ruling = self._check("correct", old)
        if is_record(old):
            if not ruling.allowed:
                raise extraction.permission_checks.refused("correct", "written", old.id)
            return self._corrected(old, content, fields)
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
            return self._propose_instead(old, new, reason or ruling.reason)

        def work(tx: Transaction) -> Memory:
            corrected = ingest.commit.correct(tx, reload(tx, old), new, reason=reason)
            ingest.entity_linking.note(tx, [corrected], at=at)
            return corrected

        return self.write("correct", work)

    def confirm(self, ref: Ref) -> Memory:
        """Protects a memory: full confidence, no decay, and only a person may replace it.
        NeedsPerson for an agent.
        """
        at = self.clock()
        self._check("confirm", self.get(ref))
        return self._change(
            "confirm", ref, lambda tx, memory: ingest.commit.confirm(tx, memory, at=at)
        )

    def archive(self, ref: Ref, *, reason: str = "archived") -> Memory:
        """Puts a memory away: it is kept and listed, but no longer recalled."""
        self._check("archive", self.get(ref))
        return self._set_status("archive", ref, "archived", reason)

    def restore(self, ref: Ref) -> Memory:
        """Brings back a memory that was archived, forgotten, superseded, faded or evicted.

        A proposal that was rejected or has expired waits for a decision again.
        """
        memory = self.get(ref)
        self._check("restore", memory)
        back = (
            "proposed"
            if extraction.approval.proposer(memory) and extraction.approval.undecided(memory)
            else "active"
        )
        return self._set_status("restore", ref, back, "restored")

    def forget(self, *refs: Ref) -> Memories:
        """Forgets memories. Nothing recalls them any more; `undo` brings them back; `purge` erases
        for good.

        NeedsPerson, and none is forgotten, where an agent would forget what a person wrote or
        confirmed.
        """
        memories = [self.get(ref) for ref in refs]
        at = self.clock()
        for memory in memories:
            self._check("forget", memory)

        def work(tx: Transaction) -> Memories:
            return [
                ingest.commit.set_status(
                    tx, reload(tx, memory), "archived", at=at, reason="forgotten"
                )
                for memory in memories
            ]

        return self.write("forget", work)

    def evict(
        self, *, kinds: Sequence[str], keep: int, spare_unconsolidated: bool = True
    ) -> Memories:
        """Puts away the oldest memories of these kinds so that `keep` stay active; `restore` brings
        one back.

        Never one that is protected, nor, unless told otherwise, one that consolidation has yet to
        read.
        """
        wanted = tuple(map(check_kind, str_tuple(kinds, "kinds")))
        at = self.clock()
        keep = check_limit(keep, "keep")

        def work(tx: Transaction) -> Memories:
            found = tx.surplus(
                self.scopes[0], wanted, keep, spare_unconsolidated=spare_unconsolidated
            )
            why = f"more than {keep} kept"
            return [
                ingest.commit.set_status(tx, memory, "evicted", at=at, reason=why)
                for memory in found
            ]

        return self.write("evict", work)

    def undo(self, run: str | None = None) -> Events:
        """Takes back everything one run did, exactly. Without a run: the latest one in these
        scopes.

        What is only observed is no part of it: how often and when a memory was used, and when a
        session was active. What followed from changed files is passed over: who changed them can
        change them back. NeedsPerson where an agent would take back what was not an agent's doing,
        or a decision about a proposal.
        """
        wanted = run or self._latest_run()
        self._check_undo(wanted)
        self._check_undoer(wanted)
        return self.write("undo", lambda tx: records.operations.undo(tx, self.scopes, wanted))

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

    def merge_entities(self, keep: str, *others: str) -> Entity:
        """Says that several people, projects… are one: their names and mentions go to `keep`."""
        kept = self._entity(keep)
        gone = [self._entity(other) for other in others]
        return self._entity(
            self.write("merge", lambda tx: ingest.entity_linking.merge(tx, kept, gone)).id
        )

    def split_entity(self, name: str, *names: str) -> Entity:
        """Gives some names of an entity, and the memories with them, to a new one, which comes
        back.
        """
        entity = self._entity(name)
        at = self.clock()
        return self._entity(
            self.write("split", lambda tx: ingest.entity_linking.split(tx, entity, names, at=at)).id
        )

    def rename_entity(self, name: str, new_name: str, *, type: str | None = None) -> Entity:
        """Calls an entity something else; the old name stays as an alias."""
        entity = self._entity(name)
        return self._entity(
            self.write(
                "rename",
                lambda tx: ingest.entity_linking.rename(tx, entity, new_name, type),
            ).id
        )

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
        return self.store.entities.list(
            self.scopes, types=str_tuple(types, "types"), limit=most_of(limit)
        )

    def about(self, name: str, *, limit: int | None = 10) -> About:
        """Everything about one of them, by a name or an id: the profile, and the memories that
        mention it.

        A part of a name will do: Ines is Ines Ferreira, unless somebody is called just that.
        """
        entity = self._entity(text_of(name, "name"), partly=True)
        return About(
            entity, self.store.entities.mentioning(entity.scope, entity.id, limit=most_of(limit))
        )

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
        return self.store.sessions.list(self.scopes, open_only=open_only)

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
        return self.remedy or command_for(self, "store", "reembed", "--fresh")

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
            "vectors": self.store.vectors.coverage(self.scopes),
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
        used = self.store.spend.total(self.scopes, self.clock() // DAY)
        return {**used._asdict(), "per_day": self.settings.model_tokens_per_day}

    def _begins(self, session: str | None) -> bool:
        """Whether nobody has answered yet in a session."""
        turns = self.store.list(Filter(self.scopes, sessions=(session,))) if session else []
        return all(turn.role in extraction.policy.PEOPLE for turn in turns)

    def _limit(self, limit: int | None) -> int:
        return self.settings.recall_limit if limit is None else check_limit(limit)


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
