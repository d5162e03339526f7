"""An open memory before any verb: its store, its scopes, and the ways that all verbs go."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from . import config, extraction, ingest, maintenance, replication, retention_mode, retrieval
from .access_counter import AccessCounter
from .errors import (
    InvalidInput,
    NotFound,
    Refused,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from .models.embeddings.tiers import Tiers
from .records.file_backed_store import FileBackedStore
from .records.file_sync import Followed
from .records.roots import RecordRoot
from .storage import Author, Filter, InMemoryStore, Store, Transaction, open_store
from .storage.connect import location_of
from .storage.schema import entity_names, fold
from .types import (
    Clock,
    Entity,
    Events,
    Memory,
    Scope,
    Session,
    check_kind,
    check_status,
    new_id,
    system_clock,
)
from .validation import Moment, Ref, ScopeLike, moment_of, ref_of, reload, scopes_of, str_tuple
from .values import replace

if TYPE_CHECKING:
    from .extraction.permission_checks import Who
    from .ingest.permissions import Ruling, Verb

T = TypeVar("T")
# Scopes that are switched off as a whole: nothing recalled, nothing written.
SWITCHED = (
    "project",
    "assistant",
)
CATCH_UP = (
    2_000  # texts that a recall may embed on its way with the quick model: well under a second
)


class BaseClient:
    """An open memory before any verb: its store, its scopes, and the ways that all verbs go."""

    def __init__(
        self,
        store: Store,
        scopes: ScopeLike | Sequence[ScopeLike],
        *,
        settings: config.Settings | None = None,
        tiers: Tiers | None = None,
        clock: Clock = system_clock,
        actor: str = "library",
        background: bool = False,
        mode: str | None = None,
        places: Sequence[RecordRoot] = (),
    ) -> None:
        if isinstance(store, str | Path):
            raise InvalidInput("A path is opened by Holdfast.open(path, scope='user:alice').")
        self.mode = retention_mode.chosen((settings or config.Settings()).memory_mode, mode)
        if self.mode == "incognito" and vars(type(store)).get("supports_incognito") is not True:
            raise InvalidInput(
                "An incognito memory needs a store that writes nothing to disk, and "
                f"{type(store).__name__} does not "
                "say that of itself. Use InMemoryStore, or set supports_incognito = True on the "
                "store's own class."
            )
        self.scopes = scopes_of(scopes)
        self.settings = settings or config.Settings()
        self.clock = clock
        self.actor = actor
        self.last_run = ""
        self.remedy = ""
        """The command that embeds these memories anew, where it is not `holdfast store reembed`."""
        # An incognito memory reads nothing that is on the disk, records neither.
        opened = () if self.mode == "incognito" else tuple(places)
        self._files = FileBackedStore(
            store, opened, self._new_author, self.settings.max_content_bytes
        )
        self.store: Store = self._files if opened else store
        self.tiers = tiers if tiers is not None else _tiers(self.settings, clock, self.mode)
        self._uses = AccessCounter()
        self._written: set[Scope] = set()
        """Scopes that were written to by this memory or a view of it."""
        self._upgrader = (
            maintenance.job_runner.Upgrader(store, self.tiers, clock=clock) if background else None
        )
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
        mode: str | None = None,
        places: Sequence[RecordRoot] = (),
    ) -> Self:
        """Opens the memory at `path` (None: the per-user file; ':memory:': nothing on disk; or a
        postgresql:// URL).

        `scope` is whom the memories belong to, e.g. 'user:alice'. With several, reads cover all of
        them and writes go to the first. `background` lets a thread embed new memories with the
        better model. `mode` may ask for less to be kept than the setting memory_mode says:
        'incognito' (or 'guest') opens no place at all. `places` are folders with records: before
        the first read or write, their memories are brought to what the files say.
        """
        scopes = scopes_of(scope)
        if path == "":
            raise InvalidInput(
                "The path of the memory is empty. Give one, or None for the per-user file."
            )
        if settings is not None and not isinstance(settings, config.Settings):
            raise InvalidInput(
                f"settings must be holdfast.Settings(…), not a {type(settings).__name__}."
            )
        settings = settings or config.load()
        lasting = retention_mode.chosen(settings.memory_mode, mode)
        if lasting == "incognito":
            store: Store = InMemoryStore(clock=clock)
        else:
            place = path or settings.store or config.default_store()
            store = open_store(place, replica=settings.replica, clock=clock)
        background = background and lasting != "incognito"
        return cls(
            store,
            scopes,
            settings=settings,
            clock=clock,
            actor=actor,
            background=background,
            mode=lasting,
            places=places,
        )

    def scoped(self, *scopes: ScopeLike) -> Self:
        """The same store seen from other scopes. Close the original, not the view."""
        view = type(self)(
            self._files.bare,
            scopes_of(scopes),
            settings=self.settings,
            tiers=self.tiers,
            clock=self.clock,
            actor=self.actor,
            mode=self.mode,
        )
        view._uses, view._upgrader, view._written = self._uses, self._upgrader, self._written
        view._files, view.store, view.remedy = self._files, self.store, self.remedy
        return view

    @property
    def places(self) -> tuple[RecordRoot, ...]:
        """The folders with records that are open here."""
        return self._files.places

    @property
    def followed(self) -> Followed:
        """What following the records brought before the first read or write, and what a person
        should know of them.
        """
        return self._files.followed

    def close(self) -> None:
        """Ends background work and closes the store. Closing twice equals once.

        In memory mode synced, what was written is synced first; if that fails, `stats` says so the
        next time.
        """
        if self._upgrader is not None:
            self._upgrader.stop()
        self._write_uses(hurry=True)
        self._sync_at_last()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, verb: str, work: Callable[[Transaction], T]) -> T:
        """Runs changes of your own in one transaction, journalled under `verb`, so that `undo`
        takes them back.

        `work` may run again if another writer got in the way, so it must do nothing but use its
        transaction. NeedsPerson, and nothing is changed, when it does what this memory's actor may
        not do (`ingest/permissions.py`).
        """
        author = author_of(self, verb)
        result = self._files.write(
            author, extraction.permission_checks.guarded(work, who_of(self, verb, author.run))
        )
        self._wrote(self.scopes)
        return result

    def _wrote(self, scopes: Sequence[Scope]) -> None:
        """Notes that these scopes were written to, for the sync at the end and the thread that
        embeds.
        """
        self._written.update(scopes)
        if self._upgrader is not None:
            self._upgrader.nudge(scopes)

    def get(self, ref: Ref) -> Memory:
        """The memory with this id or number, in any status; NotFound when these scopes have
        none.
        """
        found = self.store.get(self.scopes, [ref_of(ref)])
        if found:
            return found[0]
        for damage in self.store.damaged(self.scopes):
            if damage.noun == "memory" and ref_of(ref) in (damage.name, damage.seq):
                raise damage.error()
        raise NotFound(f"No memory {ref!r} in {', '.join(map(str, self.scopes))}.", id=ref)

    def _place(self, name: str | None = None) -> RecordRoot:
        """The open place called 'project' or 'assistant'; without a name the first of them that is
        open.
        """
        for wanted in ("project", "assistant") if name is None else (name,):
            for place in self.places:
                if place.name == wanted:
                    return place
        if name not in (None, "project", "assistant"):
            raise InvalidInput(f"There is no place {name!r} for records. Use project or assistant.")
        raise InvalidInput(
            "This is no project. `holdfast project init` makes it one."
            if name != "assistant"
            else "The place of the assistant is not open here. Pass places= to Holdfast.open."
        )

    def _check(self, verb: Verb, memory: Memory) -> Ruling:
        """What becomes of a verb of this actor on a memory; NeedsPerson where a person has to do
        it.
        """
        return extraction.permission_checks.check(who_of(self, verb), verb, memory, self._events_of)

    def _events_of(self, scope: Scope, memory: str) -> Events:
        """What the journal says of a memory, oldest first."""
        return self.store.events((scope,), target=memory)[::-1]

    def _new_author(self, verb: str) -> Author:
        at = self.clock()
        return Author(self.actor, new_id("run", at), at, verb)

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
        then = moment_of(as_of, "as_of")
        lists: dict[str, Any] = {name: str_tuple(values, name) for name, values in narrower.items()}
        return Filter(
            scopes=self.scopes,
            kinds=tuple(map(check_kind, str_tuple(kinds, "kinds"))),
            statuses=tuple(map(check_status, str_tuple(statuses, "statuses"))),
            since=moment_of(since, "since"),
            until=moment_of(until, "until"),
            as_of=then,
            valid_at=(self.clock() if then is None else then) if valid else None,
            **lists,
        )

    def _sought(self, **narrower: Any) -> Filter:
        """What a recall looks through: as `_filter` has it, without what is switched off."""
        return replace(self._filter(**narrower), scopes=tuple(filter(self._is_on, self.scopes)))

    def _is_on(self, scope: Scope) -> bool:
        return scope.kind not in SWITCHED or bool(
            self.store.profiles.get(scope).get("enabled", True)
        )

    def _check_on(self, scope: Scope) -> None:
        """Refused for a project, or an assistant, that is switched off."""
        if not self._is_on(scope):
            own = " --personal" if scope.kind == "assistant" else ""
            raise Refused(
                f"Memory of {scope} is off; nothing was written. Turn it on: holdfast project "
                f"enable{own}"
            )

    def _engine(self) -> retrieval.recall.Engine:
        # A store that cannot be written can still be read; words find what has no vector.
        with suppress(StoreReadOnly, StoreBusy, StoreFull), self.store.short_busy_timeout():
            maintenance.embedding_catchup.catch_up(
                self.store, self.tiers, self.scopes, limit=CATCH_UP
            )
        if self._upgrader is not None:
            self._upgrader.nudge(self.scopes)
        return retrieval.recall.Engine(
            self.store, self.tiers, self.clock, fusion=self.settings.fusion
        )

    def _change(self, verb: str, ref: Ref, work: Callable[[Transaction, Memory], Memory]) -> Memory:
        memory = self.get(ref)
        return self.write(verb, lambda tx: work(tx, reload(tx, memory)))

    def _set_status(self, verb: str, ref: Ref, status: str, reason: str) -> Memory:
        at = self.clock()
        return self._change(
            verb,
            ref,
            lambda tx, memory: ingest.commit.set_status(tx, memory, status, at=at, reason=reason),
        )

    def _session(self, id: str) -> Session:
        for scope in self.scopes:
            if known := self.store.sessions.get(scope, id):
                return known
        raise NotFound(f"No session {id!r} in {', '.join(map(str, self.scopes))}.", id=id)

    def _entity(self, name: str, *, partly: bool = False) -> Entity:
        """The entity with this id or name, or with these words in its name; of several, the one
        mentioned most.
        """
        for scope in self.scopes:
            if known := self.store.entities.get(scope, name):
                return known
        wanted = fold(name.lstrip("@#"))
        found = self.store.entities.list(self.scopes, names=[wanted])
        if not found and partly and wanted:
            words = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
            found = [
                one
                for one in self.store.entities.list(self.scopes)
                if any(map(words.search, entity_names(one)))
            ]
        if not found:
            raise NotFound(
                f"Nothing here mentions {name!r}. `holdfast entity list` shows who is known.",
                id=name,
            )
        return found[0]

    def _note_uses(self, memories: Iterable[Memory]) -> None:
        if self._uses.add(memories, self.clock()):
            self._write_uses(hurry=True)

    def _sync_at_last(self) -> None:
        """Syncs what was written, if that is set. Whatever goes wrong is noted, and no business of
        who closes.
        """
        scopes = sorted(self._written)
        self._written.clear()
        if self.mode == "synced" and self.settings.sync_with and scopes:
            run = replication.sync.Run(self.actor, self.clock)
            replication.sync.sync_ignoring_errors(self.store, self.settings.sync_with, scopes, run)

    def _write_uses(self, *, hurry: bool = False) -> None:
        """A store that cannot be written, or in a `hurry` not at once, loses only the counts."""
        try:
            for scope, uses in self._uses.take().items():
                with self.store.short_busy_timeout() if hurry else nullcontext():
                    self.store.touch([scope], uses, self.clock())
        except StoreError as error:
            # Who only asks need not load it.
            import logging  # noqa: PLC0415

            logging.getLogger(__name__).info("what was recalled is not counted: %s", error)


def who_of(memory: BaseClient, verb: str, run: str = "") -> Who:
    """Who acts through this memory, as what may be done is decided by."""
    approval = memory.settings.approval
    return extraction.permission_checks.Who(
        memory.actor,
        verb,
        run,
        needs_person=lambda kind: extraction.policy.needs_person(approval, kind),
    )


def author_of(memory: BaseClient, verb: str) -> Author:
    """Who writes from now on, in a new run, which is the one that `undo` takes back."""
    author = memory._new_author(verb)
    memory.last_run = author.run
    return author


def command_for(memory: BaseClient, *words: str) -> str:
    """A command line of ours that works on this very store, as it can be typed in a shell.

    Of the commands that are told to people only `reembed` has to do with scopes: all of these are
    named then.
    """
    # Only who is told what to do needs it.
    import shlex  # noqa: PLC0415

    said = ["holdfast", *words]
    location = memory.store.location
    if location not in (":memory:", location_of(memory.settings.store or config.default_store())):
        said += ["--store", location]
    if "reembed" in words:
        said += [part for scope in memory.scopes for part in ("--scope", str(scope))]
    return shlex.join(said)


def _tiers(settings: config.Settings, clock: Clock, mode: retention_mode.Mode) -> Tiers:
    # A guest's words are for nobody else, neither for a server that embeds them nor for a model
    # that may cache them.
    wanted = "" if mode == "incognito" else settings.embedding_models
    specs = [spec.strip() for spec in wanted.split(",") if spec.strip()]
    return Tiers(
        specs,
        environ=config.environment(),
        base_url=settings.embedding_url,
        key_env=settings.embedding_key_env,
        clock=clock,
    )
