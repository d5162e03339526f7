"""The front door: an open memory, one short method per verb. The work is done by the functions below it."""

from __future__ import annotations

import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from . import config
from .errors import InvalidInput, NotFound, Nothing, ScopeError, StoreBusy, StoreError, StoreFull, StoreReadOnly
from .models.tiers import Tiers
from .pipelines import bundle, embed
from .pipelines.work import Upgrader
from .search import context as context_
from .search import recall as recall_
from .search import why as why_
from .store import Author, Filter, Findings, Store, Writer, open_store
from .types import (
    Clock,
    Edges,
    Events,
    Hits,
    Memories,
    Memory,
    Micros,
    Scope,
    Sessions,
    check_kind,
    check_status,
    from_datetime,
    new_id,
    system_clock,
)
from .write import capture as capture_
from .write import commit
from .write.commit import Draft

T = TypeVar("T")
Moment = datetime | Micros | None
ScopeLike = str | Scope
Ref = str | int

CATCH_UP = 2_000  # texts that a recall may embed on its way with the quick model: well under a second
USES_KEPT = 500  # use counts are written together, so that reading stays reading


class Holdfast:
    """An open memory, bound to one scope for writing and one or several for reading.

    >>> hf = Holdfast.open(":memory:", scope="user:me")
    >>> tea = hf.remember("Prefers green tea to coffee", category="preferences")
    >>> [hit.memory.content for hit in hf.recall("what does she drink, tea?")]
    ['Prefers green tea to coffee']
    >>> hf.close()
    """

    def __init__(
        self,
        store: Store,
        scopes: Sequence[Scope],
        *,
        settings: config.Settings | None = None,
        tiers: Tiers | None = None,
        clock: Clock = system_clock,
        actor: str = "library",
        background: bool = False,
    ) -> None:
        if not scopes:
            raise ScopeError()
        self.store = store
        self.scopes = tuple(scopes)
        self.settings = settings or config.Settings()
        self.clock = clock
        self.actor = actor
        self.last_run = ""
        self.tiers = tiers if tiers is not None else _tiers(self.settings, clock)
        self._uses = _Uses()
        self._upgrader = Upgrader(store, self.tiers, clock=clock) if background else None
        if self._upgrader is not None:
            # Whoever forgets to close must not leave a thread inside a model when the program ends.
            weakref.finalize(self, self._upgrader.stop)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        scope: ScopeLike | Sequence[ScopeLike],
        settings: config.Settings | None = None,
        clock: Clock = system_clock,
        actor: str = "library",
        background: bool = True,
    ) -> Holdfast:
        """Opens the memory at `path` (None: the per-user file; ':memory:': nothing on disk; or a postgresql:// URL).

        `scope` is whom the memories belong to, e.g. 'user:alice'. With several, reads cover all of them and
        writes go to the first. `background` lets a thread embed new memories with the better model.
        """
        scopes = _scopes(scope)
        settings = settings or config.load()
        place = path or settings.store or config.default_store()
        store = open_store(place, replica=settings.replica, clock=clock)
        return cls(store, scopes, settings=settings, clock=clock, actor=actor, background=background)

    def scoped(self, *scopes: ScopeLike) -> Holdfast:
        """The same store seen from other scopes. Close the original, not the view."""
        view = Holdfast(
            self.store,
            _scopes(scopes),
            settings=self.settings,
            tiers=self.tiers,
            clock=self.clock,
            actor=self.actor,
        )
        view._uses, view._upgrader = self._uses, self._upgrader
        return view

    def close(self) -> None:
        """Ends background work and closes the store. Closing twice equals once."""
        if self._upgrader is not None:
            self._upgrader.stop()
        self._write_uses()
        self.store.close()

    def __enter__(self) -> Holdfast:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Writing

    def remember(
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
        """Stores one memory and returns it. A fact or rule that is already there word for word is kept once.

        `fields` may be any of title, author, role, session, confidence, decay_rate, source, quote, triple, tags,
        metadata.
        """
        draft = _draft(
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
        """Stores many memories in one transaction: all of them or, if one is not acceptable, none."""
        at, limit = self.clock(), self.settings.max_content_bytes
        memories = [commit.build(_as_draft(draft), self.scopes[0], at=at, max_bytes=limit) for draft in drafts]
        return self._write("remember", lambda writer: commit.remember(writer, memories))

    def capture(
        self, session: str, role: str, text: str, *, author: str = "", event_time: Moment = None
    ) -> Memory | None:
        """Stores one turn of a conversation, verbatim and at once; None when there is nothing in it.

        No model and no network take part: it is as quick as the disk.
        """
        turn = {"session": session, "role": role, "text": text, "author": author, "event_time": event_time}
        stored = self.capture_many([turn])
        return stored[0] if stored else None

    def capture_many(self, turns: Iterable[Mapping[str, Any]]) -> Memories:
        """Stores many turns (`session`, `role`, `text`, optional `author`, `event_time`) in one transaction."""
        at, limit, scope = self.clock(), self.settings.max_content_bytes, self.scopes[0]
        memories = []
        for turn in turns:
            with suppress(Nothing):  # a blank turn, or one that only repeats what memory injected
                memories.append(commit.build(_turn(turn), scope, at=at, max_bytes=limit))
        return self._write("capture", lambda writer: commit.remember(writer, memories)) if memories else []

    def correct(self, ref: Ref, content: str, *, reason: str = "", **fields: Any) -> Memory:
        """Replaces what a memory says: the old text is retired and linked to the new one, not lost."""
        old, at = self.get(ref), self.clock()
        kept = {
            "kind": old.kind, "category": old.category, "title": old.title, "author": old.author, "role": old.role,
            "triple": old.triple, "tags": old.tags, "metadata": old.metadata, "source": "correction",
        }  # fmt: skip
        draft = _draft(content=content, **{**kept, **fields})
        new = commit.build(draft, old.scope, at=at, max_bytes=self.settings.max_content_bytes)
        return self._write("correct", lambda writer: commit.correct(writer, _fresh(writer, old), new, reason=reason))

    def confirm(self, ref: Ref) -> Memory:
        """Protects a memory: full confidence, no decay, and only a person may replace it."""
        at = self.clock()
        return self._change("confirm", ref, lambda writer, memory: commit.confirm(writer, memory, at=at))

    def archive(self, ref: Ref, *, reason: str = "archived") -> Memory:
        """Puts a memory away: it is kept and listed, but no longer recalled."""
        return self._set_status("archive", ref, "archived", reason)

    def restore(self, ref: Ref) -> Memory:
        """Brings back a memory that was archived, forgotten, superseded, faded or evicted."""
        return self._set_status("restore", ref, "active", "restored")

    def forget(self, *refs: Ref) -> Memories:
        """Forgets memories. Nothing recalls them any more; `undo` brings them back; `purge` erases for good."""
        memories, at = [self.get(ref) for ref in refs], self.clock()

        def work(writer: Writer) -> Memories:
            return [
                commit.set_status(writer, _fresh(writer, memory), "archived", at=at, reason="forgotten")
                for memory in memories
            ]

        return self._write("forget", work)

    def purge(self, *refs: Ref) -> int:
        """Erases memories for good: rows, words, vectors and journal text. There is no way back."""
        memories = [self.get(ref) for ref in refs]

        def work(writer: Writer) -> None:
            for memory in memories:
                writer.purge(_fresh(writer, memory))

        self._write("purge", work)
        self.store.scrub()
        return len(memories)

    def undo(self, run: str | None = None) -> Events:
        """Takes back everything one run did, exactly. Without a run: the latest one in these scopes."""
        wanted = run or self._latest_run()
        return self._write("undo", lambda writer: writer.undo(self.scopes, wanted))

    # Reading

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
        tokens: int | None = None,
    ) -> Hits:
        """Memories that help answer `question`, best first. Any text in any language is a legal question.

        `as_of` answers with what was known at that time; `tokens` stops before the hits outgrow a budget.
        """
        where = self._filter(
            kinds=kinds, categories=categories, tags=tags, since=since, until=until, as_of=as_of,
            excluded_sessions=(exclude_session,) if exclude_session else (),
        )  # fmt: skip
        asked = recall_.Question(question, where, limit=self._limit(limit), tokens=tokens)
        hits = recall_.recall(self._engine(), asked).hits
        if self._uses.add(hit.memory for hit in hits) > USES_KEPT:
            self._write_uses()
        return hits

    def why(self, question: str, *, expect: Ref, limit: int | None = None) -> why_.Why:
        """Replays a recall and names the stage at which the memory `expect` was dropped, or its rank."""
        expected = self.get(expect)
        asked = recall_.Question(question, self._filter(), limit=self._limit(limit))
        return why_.why(self._engine(), asked, expected)

    def context(self, prompt: str, *, session: str | None = None, tokens: int | None = None) -> context_.Context:
        """What to put before a model: a block that stays the same for a whole session, and one for this prompt."""
        budget = self.settings.context_tokens if tokens is None else tokens
        found = context_.context(self._engine(), self._filter(), prompt, session=session, tokens=budget)
        self._uses.add(found.memories)
        return found

    def get(self, ref: Ref) -> Memory:
        """The memory with this id or number, in any status; NotFound when these scopes have none."""
        found = self.store.get(self.scopes, [_ref(ref)])
        if not found:
            raise NotFound(f"No memory {ref!r} in {', '.join(map(str, self.scopes))}.", id=ref)
        return found[0]

    def list(
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
        where = self._filter(kinds=kinds, categories=categories, statuses=statuses, tags=tags, valid=False)
        return self.store.list(where, limit=limit, after=after)

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
        return self.store.events(self.scopes, limit=limit)

    def sessions(self, *, open_only: bool = False) -> Sessions:
        """Conversations, the most recently active first."""
        return self.store.sessions(self.scopes, open_only=open_only)

    def stats(self) -> dict[str, Any]:
        """Counts, coverage and health: what is kept, which models serve, and what is not working."""
        counts = self.store.counts(self.scopes)
        return {
            "store": self.store.location,
            "scopes": [str(scope) for scope in self.scopes],
            "memories": counts,
            "active": sum(by_status.get("active", 0) for by_status in counts.values()),
            "sessions": len(self.sessions()),
            "vectors": self.store.coverage(self.scopes),
            "models": [embedder.identity for embedder in self.tiers],
            "problems": dict(self.tiers.errors),
        }

    # Upkeep

    def export(self, *, history: bool = True, vectors: bool = False) -> Iterator[str]:
        """The lines of a lossless bundle of these scopes, in constant memory."""
        self._write_uses()
        return bundle.export(self.store, self.scopes, history=history, vectors=vectors)

    def import_(
        self,
        lines: Iterable[str],
        *,
        into: ScopeLike | None = None,
        progress: Callable[[int], None] = lambda n: None,
    ) -> bundle.Imported:
        """Takes a bundle in, all or nothing. Importing twice equals once."""
        scope = Scope.parse(into) if into is not None else None
        return bundle.import_bundle(self.store, self._author("import"), lines, into=scope, progress=progress)

    def reembed(
        self, *, fresh: bool = False, progress: Callable[[str, int], None] = lambda model, done: None
    ) -> dict[str, int]:
        """Gives every memory of these scopes a vector of every model in use; can be stopped and repeated."""
        return embed.reembed(self.store, self.tiers, scopes=self.scopes, fresh=fresh, progress=progress)

    def doctor(self, *, repair: bool = False) -> Findings:
        """What is not as promised in the whole store; with `repair`, every projection is rebuilt first."""
        if repair:
            self.store.repair()
        return list(self.store.check())

    # Behind the verbs

    def _author(self, verb: str) -> Author:
        at = self.clock()
        self.last_run = new_id("run", at)
        return Author(self.actor, self.last_run, at, verb)

    def _write(self, verb: str, work: Callable[[Writer], T]) -> T:
        result = self.store.write(self._author(verb), work)
        if self._upgrader is not None:
            self._upgrader.nudge(self.scopes)
        return result

    def _change(self, verb: str, ref: Ref, work: Callable[[Writer, Memory], Memory]) -> Memory:
        memory = self.get(ref)
        return self._write(verb, lambda writer: work(writer, _fresh(writer, memory)))

    def _set_status(self, verb: str, ref: Ref, status: str, reason: str) -> Memory:
        at = self.clock()
        return self._change(
            verb, ref, lambda writer, memory: commit.set_status(writer, memory, status, at=at, reason=reason)
        )

    def _latest_run(self) -> str:
        events = self.store.events(self.scopes, limit=1)
        if not events:
            raise NotFound("There is nothing to undo.")
        return events[0].run

    def _filter(
        self,
        *,
        kinds: Sequence[str] = (),
        statuses: Sequence[str] = ("active",),
        since: Moment = None,
        until: Moment = None,
        as_of: Moment = None,
        valid: bool = True,
        **narrower: Any,
    ) -> Filter:
        then = _micros(as_of)
        return Filter(
            scopes=self.scopes,
            kinds=tuple(check_kind(kind) for kind in kinds),
            statuses=tuple(check_status(status) for status in statuses),
            since=_micros(since),
            until=_micros(until),
            as_of=then,
            valid_at=(self.clock() if then is None else then) if valid else None,
            **{name: tuple(values) for name, values in narrower.items()},
        )

    def _engine(self) -> recall_.Engine:
        # A store that cannot be written can still be read; words find what has no vector.
        with suppress(StoreReadOnly, StoreBusy, StoreFull):
            embed.catch_up(self.store, self.tiers, self.scopes, limit=CATCH_UP)
        if self._upgrader is not None:
            self._upgrader.nudge(self.scopes)
        return recall_.Engine(self.store, self.tiers, self.clock, fusion=self.settings.fusion)

    def _limit(self, limit: int | None) -> int:
        return self.settings.recall_limit if limit is None else max(limit, 0)

    def _write_uses(self) -> None:
        """A store that cannot be written loses only the counts."""
        with suppress(StoreError):
            for scope, uses in self._uses.take().items():
                self.store.touch([scope], uses, self.clock())


class _Uses:
    """How often memories were recalled since it was last written down. Recalls of several threads may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Scope, Counter[int]] = defaultdict(Counter)

    def add(self, memories: Iterable[Memory]) -> int:
        """Counts one use of each, and says how many memories are waiting."""
        with self._lock:
            for memory in memories:
                self._counts[memory.scope][memory.seq] += 1
            return sum(len(counts) for counts in self._counts.values())

    def take(self) -> dict[Scope, Counter[int]]:
        """What is waiting, by scope; nothing waits afterwards."""
        with self._lock:
            taken, self._counts = self._counts, defaultdict(Counter)
            return taken


def _scopes(scope: ScopeLike | Sequence[ScopeLike]) -> tuple[Scope, ...]:
    several = (scope,) if isinstance(scope, str | Scope) or scope is None else tuple(scope)
    if not several:
        raise ScopeError()
    return tuple(dict.fromkeys(Scope.parse(one) for one in several))


def _tiers(settings: config.Settings, clock: Clock) -> Tiers:
    specs = [spec.strip() for spec in settings.embedding_models.split(",") if spec.strip()]
    return Tiers(
        specs,
        environ=config.environment(),
        base_url=settings.embedding_url,
        key_env=settings.embedding_key_env,
        clock=clock,
    )


def _micros(moment: Moment) -> Micros | None:
    return from_datetime(moment) if isinstance(moment, datetime) else moment


def _ref(ref: Ref) -> Ref:
    """A number written as text is a number: '12' and 12 name the same memory."""
    return int(ref) if isinstance(ref, str) and ref.isascii() and ref.isdigit() and len(ref) < 19 else ref


def _draft(**fields: Any) -> Draft:
    times: dict[str, Any] = {
        name: _micros(fields[name]) for name in ("event_time", "valid_from", "valid_until") if name in fields
    }
    try:
        return Draft(**{**fields, **times})
    except TypeError as error:
        raise InvalidInput(f"A memory has no field {str(error).rsplit(' ', 1)[-1]}.") from error


def _as_draft(draft: str | Mapping[str, Any] | Draft) -> Draft:
    if isinstance(draft, Draft):
        return draft
    return _draft(content=draft) if isinstance(draft, str) else _draft(**draft)


def _turn(turn: Mapping[str, Any]) -> Draft:
    known = {"session", "role", "text", "author", "event_time"}
    if missing := {"session", "role", "text"} - set(turn):
        raise InvalidInput(f"A turn needs session, role and text; {', '.join(sorted(missing))} is missing.")
    if unknown := set(turn) - known:
        raise InvalidInput(f"A turn has no {', '.join(sorted(unknown))}. It may have: {', '.join(sorted(known))}.")
    commit.check_session(turn["session"])
    optional = {"author": turn.get("author") or "", "event_time": _micros(turn.get("event_time"))}
    return capture_.turn(**{**turn, **optional})


def _fresh(writer: Writer, memory: Memory) -> Memory:
    """The memory as it is inside this transaction: another process may have changed it since it was read."""
    fresh = writer.memory(memory.scope, memory.id)
    if fresh is None:
        raise NotFound(f"{memory.id} was removed while you were looking at it.", id=memory.id)
    return fresh
