"""The same verbs, awaitable. Every method forwards to `Holdfast` in a thread; nothing is implemented twice."""

from __future__ import annotations

from asyncio import to_thread, wrap_future
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from . import config
from .memory import Holdfast, Moment, Ref, ScopeLike
from .pipelines import bundle
from .search import context as context_
from .search import why as why_
from .store import Findings
from .types import Clock, Edges, Events, Hits, Memories, Memory, Sessions, system_clock
from .write.commit import Draft

EXPORT_STEP = 500  # lines read per trip to the thread


class AsyncHoldfast:
    """An open memory for asynchronous programs; see `Holdfast` for what each verb promises."""

    def __init__(self, holdfast: Holdfast) -> None:
        self._holdfast = holdfast

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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def export(self, *, history: bool = True, vectors: bool = False) -> AsyncIterator[str]:
        """The lines of a lossless bundle of these scopes, in constant memory."""
        lines = self._holdfast.export(history=history, vectors=vectors)
        # One thread for the whole export: a snapshot belongs to the thread that took it.
        with ThreadPoolExecutor(1, "holdfast-export") as thread:
            while page := await wrap_future(thread.submit(lambda: list(islice(lines, EXPORT_STEP)))):
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
        **fields: Any,
    ) -> Memory:
        """Stores one memory and returns it. A fact or rule that is already there word for word is kept once."""
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
        """Stores many memories in one transaction: all of them or, if one is not acceptable, none."""
        return await to_thread(self._holdfast.remember_many, drafts)

    async def capture(
        self, session: str, role: str, text: str, *, author: str = "", event_time: Moment = None
    ) -> Memory | None:
        """Stores one turn of a conversation, verbatim and at once; None when there is nothing in it."""
        return await to_thread(self._holdfast.capture, session, role, text, author=author, event_time=event_time)

    async def capture_many(self, turns: Iterable[Mapping[str, Any]]) -> Memories:
        """Stores many turns (`session`, `role`, `text`, optional `author`, `event_time`) in one transaction."""
        return await to_thread(self._holdfast.capture_many, turns)

    async def correct(self, ref: Ref, content: str, *, reason: str = "", **fields: Any) -> Memory:
        """Replaces what a memory says: the old text is retired and linked to the new one, not lost."""
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
        """Forgets memories. Nothing recalls them any more; `undo` brings them back; `purge` erases for good."""
        return await to_thread(self._holdfast.forget, *refs)

    async def purge(self, *refs: Ref) -> int:
        """Erases memories for good: rows, words, vectors and journal text. There is no way back."""
        return await to_thread(self._holdfast.purge, *refs)

    async def undo(self, run: str | None = None) -> Events:
        """Takes back everything one run did, exactly. Without a run: the latest one in these scopes."""
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
        tokens: int | None = None,
    ) -> Hits:
        """Memories that help answer `question`, best first. Any text in any language is a legal question."""
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
            tokens=tokens,
        )

    async def why(self, question: str, *, expect: Ref, limit: int | None = None) -> why_.Why:
        """Replays a recall and names the stage at which the memory `expect` was dropped, or its rank."""
        return await to_thread(self._holdfast.why, question, expect=expect, limit=limit)

    async def context(self, prompt: str, *, session: str | None = None, tokens: int | None = None) -> context_.Context:
        """What to put before a model: a block that stays the same for a whole session, and one for this prompt."""
        return await to_thread(self._holdfast.context, prompt, session=session, tokens=tokens)

    async def get(self, ref: Ref) -> Memory:
        """The memory with this id or number, in any status; NotFound when these scopes have none."""
        return await to_thread(self._holdfast.get, ref)

    async def list(
        self,
        *,
        kinds: Sequence[str] = (),
        categories: Sequence[str] = (),
        statuses: Sequence[str] = ("active",),
        tags: Sequence[str] = (),
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

    async def stats(self) -> dict[str, Any]:
        """Counts, coverage and health: what is kept, which models serve, and what is not working."""
        return await to_thread(self._holdfast.stats)

    async def import_(
        self,
        lines: Iterable[str],
        *,
        into: ScopeLike | None = None,
        progress: Callable[[int], None] = lambda n: None,
    ) -> bundle.Imported:
        """Takes a bundle in, all or nothing. Importing twice equals once."""
        return await to_thread(self._holdfast.import_, lines, into=into, progress=progress)

    async def reembed(
        self, *, fresh: bool = False, progress: Callable[[str, int], None] = lambda model, done: None
    ) -> dict[str, int]:
        """Gives every memory of these scopes a vector of every model in use; can be stopped and repeated."""
        return await to_thread(self._holdfast.reembed, fresh=fresh, progress=progress)

    async def doctor(self, *, repair: bool = False) -> Findings:
        """What is not as promised in the whole store; with `repair`, every projection is rebuilt first."""
        return await to_thread(self._holdfast.doctor, repair=repair)
