"""The same verbs, awaitable. Every method forwards to `Holdfast` in a thread; nothing is
implemented twice.
"""

from __future__ import annotations

from asyncio import to_thread, wrap_future
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from . import config
from .client import Holdfast, Moment, Ref, ScopeLike
from .context import companion as working_
from .context import session_context as context_
from .context.brief import Verdict
from .erasure import purge as erase
from .erasure.receipt import Receipt
from .extraction import approval
from .extraction import episodes as consolidate_
from .extraction import session_extraction as learn_
from .extraction.policy import JudgedCandidate
from .ingest import documents as index_
from .ingest.commit import Draft
from .maintenance import decay as decay_
from .models.llm.chat import Complete
from .records.file_sync import Followed
from .records.roots import RecordRoot
from .replication import bundle
from .replication import sync as sync_
from .retrieval import explain as why_
from .retrieval import provenance as decision_
from .storage import Findings, Transaction
from .storage.protocol import WAIT, Entities, Jobs, Places
from .types import (
    IDLE_MINUTES,
    MOST_HITS,
    PROPOSAL_DAYS,
    About,
    Clock,
    Edges,
    Entity,
    Events,
    Hit,
    Hits,
    Memories,
    Memory,
    Messages,
    Names,
    Sessions,
    system_clock,
)
from .validation import AllFields, DatedFields, Fields

if TYPE_CHECKING:
    from .projects.past_sessions import PastProject
    from .records.publish import Published
    from .records.session_notes import Extracted

T = TypeVar("T")
# Lines read per trip to the thread.
EXPORT_STEP = 500


class AsyncHoldfast:
    """An open memory for asynchronous programs; see `Holdfast` for what each verb promises.

    `async with await AsyncHoldfast.open(…) as hf` closes it in the end. A call that is cancelled
    goes on in its thread: what it was to write is then there as a whole.
    """

    def __init__(self, holdfast: Holdfast) -> None:
        self._holdfast = holdfast

    @property
    def blocking(self) -> Holdfast:
        """The same open memory, for code that may wait."""
        return self._holdfast

    @property
    def last_run(self) -> str:
        """What the latest change is called, for `undo`."""
        return self._holdfast.last_run

    @classmethod
    async def open(
        cls,
        path: str | Path | None = None,
        *,
        scope: ScopeLike | Sequence[ScopeLike],
        settings: config.Settings | None = None,
        clock: Clock = system_clock,
        actor: str = "library",
        background: bool = True,
        mode: str | None = None,
        places: Sequence[RecordRoot] = (),
    ) -> AsyncHoldfast:
        """Opens the memory at `path`; see `Holdfast.open`."""
        opened = await to_thread(
            Holdfast.open,
            path,
            scope=scope,
            settings=settings,
            clock=clock,
            actor=actor,
            background=background,
            mode=mode,
            places=places,
        )
        return cls(opened)

    def scoped(self, *scopes: ScopeLike) -> AsyncHoldfast:
        """The same store seen from other scopes. Close the original, not the view."""
        return AsyncHoldfast(self._holdfast.scoped(*scopes))

    async def close(self) -> None:
        """Ends background work and closes the store."""
        await to_thread(self._holdfast.close)

    async def __aenter__(self) -> AsyncHoldfast:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def export(self, *, history: bool = True, vectors: bool = False) -> AsyncIterator[str]:
        """The lines of a lossless bundle of these scopes, in constant memory."""
        lines = self._holdfast.export(history=history, vectors=vectors)
        # One thread for the whole export: a snapshot belongs to the thread that took it.
        with ThreadPoolExecutor(1, "holdfast-export") as thread:
            while page := await wrap_future(
                thread.submit(lambda: list(islice(lines, EXPORT_STEP)))
            ):
                for line in page:
                    yield line

    async def remember(
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
        """
        return await to_thread(
            self._holdfast.remember,
            content,
            kind=kind,
            category=category,
            event_time=event_time,
            valid_from=valid_from,
            valid_until=valid_until,
            **fields,
        )

    async def remember_many(self, drafts: Iterable[str | Mapping[str, Any] | Draft]) -> Memories:
        """Stores many memories in one transaction: all of them or, if one is not acceptable,
        none.
        """
        return await to_thread(self._holdfast.remember_many, drafts)

    async def capture(
        self, session: str, role: str, text: str, *, author: str = "", event_time: Moment = None
    ) -> Memory | None:
        """Stores one turn of a conversation, verbatim and at once; None when there is nothing in
        it.
        """
        return await to_thread(
            self._holdfast.capture, session, role, text, author=author, event_time=event_time
        )

    async def capture_many(
        self, turns: Iterable[Mapping[str, Any]], *, noted: Mapping[str, Any] | None = None
    ) -> Memories:
        """Stores many turns (`session`, `role`, `text`, optional `author`, `event_time`) in one
        transaction.
        """
        return await to_thread(self._holdfast.capture_many, turns, noted=noted)

    async def correct(
        self, ref: Ref, content: str, *, reason: str = "", **fields: Unpack[AllFields]
    ) -> Memory:
        """Replaces what a memory says: the old text is retired and linked to the new one, not
        lost.
        """
        return await to_thread(self._holdfast.correct, ref, content, reason=reason, **fields)

    async def confirm(self, ref: Ref) -> Memory:
        """Protects a memory: full confidence, no decay, and only a person may replace it."""
        return await to_thread(self._holdfast.confirm, ref)

    async def archive(self, ref: Ref, *, reason: str = "archived") -> Memory:
        """Puts a memory away: it is kept and listed, but no longer recalled."""
        return await to_thread(self._holdfast.archive, ref, reason=reason)

    async def restore(self, ref: Ref) -> Memory:
        """Brings back a memory that was archived, forgotten, superseded, faded or evicted."""
        return await to_thread(self._holdfast.restore, ref)

    async def forget(self, *refs: Ref) -> Memories:
        """Forgets memories. Nothing recalls them any more; `undo` brings them back; `purge` erases
        for good.
        """
        return await to_thread(self._holdfast.forget, *refs)

    async def purge(
        self,
        *refs: Ref,
        session: str | None = None,
        owner: bool = False,
        sources: bool = False,
        wait: float = WAIT,
    ) -> Receipt:
        """Erases for good, from every place: memories, a whole `session`, or all that is kept of
        the `owner`.
        """
        return await to_thread(
            self._holdfast.purge, *refs, session=session, owner=owner, sources=sources, wait=wait
        )

    async def plan_purge(
        self, *refs: Ref, session: str | None = None, owner: bool = False, sources: bool = False
    ) -> erase.Plan:
        """What `purge` would erase, make again, and leave; nothing is changed."""
        return await to_thread(
            self._holdfast.plan_purge, *refs, session=session, owner=owner, sources=sources
        )

    async def finish_purge(self, *, wait: float = WAIT) -> Places:
        """Cleans up files that a purge could not finish with, because others were reading; says
        what is clean now.
        """
        return await to_thread(self._holdfast.finish_purge, wait=wait)

    async def evict(
        self, *, kinds: Sequence[str], keep: int, spare_unconsolidated: bool = True
    ) -> Memories:
        """Puts away the oldest memories of these kinds so that `keep` stay active; `restore` brings
        one back.
        """
        return await to_thread(
            self._holdfast.evict, kinds=kinds, keep=keep, spare_unconsolidated=spare_unconsolidated
        )

    async def propose(
        self,
        content: str,
        *,
        kind: str = "fact",
        category: str = "general",
        reason: str = "",
        **fields: Unpack[DatedFields],
    ) -> Memory:
        """Stores a memory that waits for a person: nothing recalls it before `approve`. `reason`
        says why.
        """
        return await to_thread(
            self._holdfast.propose, content, kind=kind, category=category, reason=reason, **fields
        )

    async def proposals(self) -> Memories:
        """The memories that wait for a person, oldest first."""
        return await to_thread(self._holdfast.proposals)

    async def weigh(self, ref: Ref) -> approval.Weighed:
        """What approving a proposal would do, and the memory that is nearest to it."""
        return await to_thread(self._holdfast.weigh, ref)

    async def approve(self, ref: Ref, content: str | None = None) -> Memory:
        """Lets a proposal become a memory, with `content` in other words; the memory that says it
        now comes back.
        """
        return await to_thread(self._holdfast.approve, ref, content)

    async def reject(self, ref: Ref, reason: str = "") -> Memory:
        """Turns a proposal down: it is put away, and not proposed again in the same words."""
        return await to_thread(self._holdfast.reject, ref, reason)

    async def expire_proposals(self, days: int = PROPOSAL_DAYS) -> Memories:
        """Puts away the proposals that nobody has decided on for so many days; `restore` lets one
        wait again.
        """
        return await to_thread(self._holdfast.expire_proposals, days)

    async def write(self, verb: str, work: Callable[[Transaction], T]) -> T:
        """Runs changes of your own in one transaction, journalled under `verb`, so that `undo`
        takes them back.
        """
        return await to_thread(self._holdfast.write, verb, work)

    async def append_messages(
        self,
        session: str,
        bodies: Sequence[Mapping[str, Any]],
        *,
        agent: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> int:
        """Adds an agent's own messages (JSON) to the end of a session and says how many it has
        now.
        """
        return await to_thread(
            self._holdfast.append_messages, session, bodies, agent=agent, metadata=metadata
        )

    async def messages(self, session: str, *, last: int | None = None) -> Messages:
        """The messages of a session in order; with `last`, only that many from its end."""
        return await to_thread(self._holdfast.messages, session, last=last)

    async def end_session(
        self, session: str, *, reason: str = "ended", metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Marks a session as ended; False when it is not there or had ended before. Ending twice
        equals once.
        """
        return await to_thread(
            self._holdfast.end_session, session, reason=reason, metadata=metadata
        )

    async def end_idle(self, *, minutes: float = IDLE_MINUTES) -> list[str]:
        """Ends the conversations of these scopes that have been silent for so long, and says
        which.
        """
        return await to_thread(self._holdfast.end_idle, minutes=minutes)

    async def consider(
        self, session: str, *, complete: Complete | None = None
    ) -> list[JudgedCandidate]:
        """After a reply: reads what was said since the last time, and commits, holds, proposes or
        drops it.
        """
        return await to_thread(self._holdfast.consider, session, complete=complete)

    async def learn(
        self, session: str | None = None, *, complete: Complete | None = None
    ) -> learn_.SessionExtraction:
        """Learns now what a conversation that has ended teaches, or all of these scopes. Twice
        equals once.
        """
        return await to_thread(self._holdfast.learn, session, complete=complete)

    async def profile(self) -> dict[str, Any]:
        """What is set for whom these memories belong to: `proactive_recall`, `enabled`."""
        return await to_thread(self._holdfast.profile)

    async def set_profile(self, **settings: bool) -> dict[str, Any]:
        """Sets some of it, e.g. `proactive_recall=True`; all of it comes back."""
        return await to_thread(self._holdfast.set_profile, **settings)

    async def purge_sessions(self, *sessions: str) -> int:
        """Erases sessions with their messages for good and says how many messages that were."""
        return await to_thread(self._holdfast.purge_sessions, *sessions)

    async def merge_entities(self, keep: str, *others: str) -> Entity:
        """Says that several people, projects… are one: their names and mentions go to `keep`."""
        return await to_thread(self._holdfast.merge_entities, keep, *others)

    async def split_entity(self, name: str, *names: str) -> Entity:
        """Gives some names of an entity, and the memories with them, to a new one, which comes
        back.
        """
        return await to_thread(self._holdfast.split_entity, name, *names)

    async def rename_entity(self, name: str, new_name: str, *, type: str | None = None) -> Entity:
        """Calls an entity something else; the old name stays as an alias."""
        return await to_thread(self._holdfast.rename_entity, name, new_name, type=type)

    async def maintain(self, *tasks: str, complete: Complete | None = None) -> Jobs:
        """Does what is due now of enrich, consolidate, decay and reflect, or of `tasks` only; the
        jobs come back.
        """
        return await to_thread(self._holdfast.maintain, *tasks, complete=complete)

    async def decay(self, *, threshold: float | None = None) -> decay_.Decayed:
        """Lets facts that nobody uses become less sure; those below the threshold fade."""
        return await to_thread(self._holdfast.decay, threshold=threshold)

    async def reflect(self, complete: Complete | None = None) -> Memory | None:
        """Looks back on the last week, if it is time to: by a model, or as a digest. None when it
        is not.
        """
        return await to_thread(self._holdfast.reflect, complete)

    async def brief(
        self, hits: Sequence[Hit], format: str = "prompt", *, tokens: int | None = None
    ) -> str:
        """What recall found, for an agent: 'snippets', a line each; 'prompt', a block to paste; or
        'json'.
        """
        return await to_thread(self._holdfast.brief, hits, format, tokens=tokens)

    async def freshness(self, memories: Iterable[Memory]) -> dict[str, tuple[Verdict, ...]]:
        """By id, for each of these records that cites something, whether it is FRESH, MOVED, STALE
        or UNVERIFIABLE.
        """
        return await to_thread(self._holdfast.freshness, memories)

    async def reanchor(self, ref: Ref) -> Memory:
        """Ties a record to what it cites as that is now: where it moved to, or what it says
        today.
        """
        return await to_thread(self._holdfast.reanchor, ref)

    async def publish(
        self,
        path: str | Path,
        *,
        place: str = "project",
        max_bytes: int | None = None,
        tokens: int | None = None,
        force: bool = False,
        plan: bool = False,
    ) -> Published:
        """Keeps a region of a file, such as AGENTS.md, equal to the most useful records; the rest
        is not touched.
        """
        return await to_thread(
            self._holdfast.publish,
            path,
            place=place,
            max_bytes=max_bytes,
            tokens=tokens,
            force=force,
            plan=plan,
        )

    async def withdraw(
        self, path: str | Path, *, force: bool = False, plan: bool = False
    ) -> Published:
        """Takes the region out of a file again, which is then as it was before."""
        return await to_thread(self._holdfast.withdraw, path, force=force, plan=plan)

    async def add_record(
        self,
        body: str,
        *,
        category: str,
        title: str = "",
        place: str | None = None,
        keywords: Sequence[str] = (),
        aliases: Sequence[str] = (),
        source: Mapping[str, Any] | str | None = None,
        expires: Moment = None,
        confidence: float | None = None,
        evidence: Sequence[Mapping[str, Any] | str] = (),
        quote: str = "",
    ) -> Memory:
        """Writes a record: a file in the folder of its category, and the memory that it is."""
        return await to_thread(
            self._holdfast.add_record,
            body,
            category=category,
            title=title,
            place=place,
            keywords=keywords,
            aliases=aliases,
            source=source,
            expires=expires,
            confidence=confidence,
            evidence=evidence,
            quote=quote,
        )

    async def update_record(
        self,
        ref: Ref,
        *,
        body: str | None = None,
        title: str | None = None,
        keywords: Sequence[str] | None = None,
        aliases: Sequence[str] | None = None,
        expires: Moment | Literal["never"] = None,
        confidence: float | None = None,
        evidence: Sequence[Mapping[str, Any] | str] | None = None,
    ) -> Memory:
        """Changes a record and its file, and nothing but what is given; expires='never' takes that
        back.
        """
        return await to_thread(
            self._holdfast.update_record,
            ref,
            body=body,
            title=title,
            keywords=keywords,
            aliases=aliases,
            expires=expires,
            confidence=confidence,
            evidence=evidence,
        )

    async def reclassify(self, ref: Ref, category: str) -> Memory:
        """Moves a record to another category, and its file to that folder; its id and links
        stay.
        """
        return await to_thread(self._holdfast.reclassify, ref, category)

    async def move_record(self, ref: Ref, place: str) -> Memory:
        """Moves a record and its file from the project to the assistant, or the other way round;
        its id stays.
        """
        return await to_thread(self._holdfast.move_record, ref, place)

    async def delete_record(self, *refs: Ref) -> Memories:
        """Deletes records and their files. `undo` brings them back; `purge` erases for good."""
        return await to_thread(self._holdfast.delete_record, *refs)

    async def clear_records(self, place: str) -> Memories:
        """Deletes all records of a place, and their files; what else is known in that scope
        stays.
        """
        return await to_thread(self._holdfast.clear_records, place)

    async def records(
        self, *, categories: Sequence[str] = (), place: str | None = None, archived: bool = False
    ) -> Memories:
        """The records of the places that are open here, newest first; with `archived`, those that
        were put away.
        """
        return await to_thread(
            self._holdfast.records, categories=categories, place=place, archived=archived
        )

    async def follow_files(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Followed:
        """Brings the memories of records to what their files say now; only files that changed are
        read.
        """
        return await to_thread(self._holdfast.follow_files, progress=progress)

    async def entities(self, *, types: Sequence[str] = (), limit: int | None = None) -> Entities:
        """The people, projects, places… that memories mention, most mentioned first."""
        return await to_thread(self._holdfast.entities, types=types, limit=limit)

    async def about(self, name: str, *, limit: int | None = 10) -> About:
        """Everything about one of them, by a name or an id: the profile, and the memories that
        mention it.

        A part of a name will do: Ines is Ines Ferreira, unless somebody is called just that.
        """
        return await to_thread(self._holdfast.about, name, limit=limit)

    async def undo(self, run: str | None = None) -> Events:
        """Takes back everything one run did, exactly. Without a run: the latest one in these
        scopes.
        """
        return await to_thread(self._holdfast.undo, run)

    async def recall(
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
        """
        return await to_thread(
            self._holdfast.recall,
            question,
            limit=limit,
            kinds=kinds,
            categories=categories,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            exclude_session=exclude_session,
            expired=expired,
            tokens=tokens,
            namespace=namespace,
        )

    async def why(self, question: str, *, expect: Ref, limit: int | None = None) -> why_.Why:
        """Replays a recall and names the stage at which the memory `expect` was dropped, or its
        rank.
        """
        return await to_thread(self._holdfast.why, question, expect=expect, limit=limit)

    async def context(
        self,
        prompt: str,
        *,
        session: str | None = None,
        tokens: int | None = None,
        kinds: Sequence[str] = (),
        limit: int = MOST_HITS,
    ) -> context_.Context:
        """What to put before a model: a block that stays the same for a whole session, and one for
        this prompt.
        """
        return await to_thread(
            self._holdfast.context, prompt, session=session, tokens=tokens, kinds=kinds, limit=limit
        )

    async def working_memory(
        self,
        prompt: str,
        *,
        session: str | None = None,
        first_turn: bool | None = None,
        guest: bool = False,
    ) -> working_.WorkingMemory:
        """What a companion has in mind for this turn: facts, arcs of earlier sessions, rules."""
        return await to_thread(
            self._holdfast.working_memory,
            prompt,
            session=session,
            first_turn=first_turn,
            guest=guest,
        )

    async def why_stored(self, ref: Ref) -> decision_.Stored:
        """Why a memory was stored, and on which words it rests; of a turn, also what of it was not
        stored.
        """
        return await to_thread(self._holdfast.why_stored, ref)

    async def get(self, ref: Ref) -> Memory:
        """The memory with this id or number, in any status; NotFound when these scopes have
        none.
        """
        return await to_thread(self._holdfast.get, ref)

    async def list(
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
        return await to_thread(
            self._holdfast.list,
            kinds=kinds,
            categories=categories,
            statuses=statuses,
            tags=tags,
            sessions=sessions,
            since=since,
            limit=limit,
            after=after,
        )

    async def history(self, ref: Ref) -> Events:
        """Everything that happened to a memory, oldest first."""
        return await to_thread(self._holdfast.history, ref)

    async def links(self, ref: Ref) -> Edges:
        """What a memory was derived from, supersedes or conflicts with, and the other way round."""
        return await to_thread(self._holdfast.links, ref)

    async def log(self, *, limit: int | None = 50) -> Events:
        """The journal of these scopes, newest first."""
        return await to_thread(self._holdfast.log, limit=limit)

    async def sessions(self, *, open_only: bool = False) -> Sessions:
        """Conversations, the most recently active first."""
        return await to_thread(self._holdfast.sessions, open_only=open_only)

    async def warnings(self, *, commands: bool = True) -> Names:
        """What whoever was answered should know: damaged rows that were left out, and why recall
        lacks a model.
        """
        return await to_thread(self._holdfast.warnings, commands=commands)

    async def embedding_problems(self, *, ask: bool = False) -> dict[str, str]:
        """Why embedding models cannot serve a recall here, by model; with `ask`, those that are
        silent are asked.
        """
        return await to_thread(self._holdfast.embedding_problems, ask=ask)

    async def stats(self) -> dict[str, Any]:
        """Counts, coverage and health: what is kept, which models serve, and what is not
        working.
        """
        return await to_thread(self._holdfast.stats)

    async def import_(
        self,
        lines: Iterable[str],
        *,
        into: ScopeLike | None = None,
        progress: Callable[[int], None] = lambda n: None,
    ) -> bundle.Imported:
        """Takes a bundle in, all or nothing. Importing twice equals once. A record stays what its
        file here says.
        """
        return await to_thread(self._holdfast.import_, lines, into=into, progress=progress)

    async def reembed(
        self,
        *,
        fresh: bool = False,
        progress: Callable[[str, int], None] = lambda model, done: None,
    ) -> dict[str, int]:
        """Gives every memory of these scopes a vector of every model in use; can be stopped and
        repeated.
        """
        return await to_thread(self._holdfast.reembed, fresh=fresh, progress=progress)

    async def consolidate(
        self, complete: Complete, *, limit: int = 20
    ) -> consolidate_.Consolidated:
        """Lets a model, given as a function from prompt to answer, turn up to `limit` unread
        episodes into facts.
        """
        return await to_thread(self._holdfast.consolidate, complete, limit=limit)

    async def sync(
        self,
        place: str | Path | None = None,
        *,
        plan: bool = False,
        progress: Callable[[int], None] = lambda entries: None,
    ) -> sync_.Synced:
        """Makes these scopes equal here and in another store: a path, a postgresql:// URL, or the
        setting sync_with.
        """
        return await to_thread(self._holdfast.sync, place, plan=plan, progress=progress)

    async def index(
        self,
        paths: Sequence[str | Path] | None = None,
        *,
        plan: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> index_.Indexed:
        """Makes files and folders of a project findable, and notes them; without `paths`, all that
        were noted.
        """
        return await to_thread(self._holdfast.index, paths, plan=plan, progress=progress)

    async def import_sessions(
        self,
        sessions: str | Path | PastProject,
        *,
        into: ScopeLike | None = None,
        homeless: bool = False,
        progress: Callable[[Path], None] = lambda path: None,
    ) -> index_.Indexed:
        """Takes in past sessions: those in a transcript or an export of chats, or those that were
        found of a project.

        Importing twice equals once.
        """
        return await to_thread(
            self._holdfast.import_sessions,
            sessions,
            into=into,
            homeless=homeless,
            progress=progress,
        )

    async def extract(
        self,
        *sessions: str,
        plan: bool = False,
        complete: Complete | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Extracted:
        """Turns indexed sessions of the project into records, each with the words it rests on; all,
        or those named.
        """
        return await to_thread(
            self._holdfast.extract, *sessions, plan=plan, complete=complete, progress=progress
        )

    async def doctor(self, *, repair: bool = False) -> Findings:
        """What is not as promised in the whole store; with `repair`, every projection is rebuilt
        first.
        """
        return await to_thread(self._holdfast.doctor, repair=repair)
