"""Base of `Holdfast`: the open store with its scopes, and helpers that all verbs share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from . import config, extraction, maintenance, replication, retention_mode, retrieval
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
from .records.roots import RecordRoot
from .storage import Author, Filter, InMemoryStore, Store, Transaction, open_store
from .storage.connect import location_of
from .types import (
    Clock,
    Events,
    Memory,
    Names,
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
# Damaged rows that a warning names; `Admin.check` lists all.
MOST_NAMED = 5
# Memories that a recall may embed inline with the fast model: well under a second.
CATCH_UP = 2_000


class BaseClient:
    """An open memory without its verbs: store, scopes, settings, clock and actor."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Names from other libraries get advice. A type checker must not see this: it would
            # then accept any name.
            from .foreign_names import no_such_method  # noqa: PLC0415

            raise no_such_method(self, name)

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
        # Read from the class itself, not inherited: a subclass that writes a file must opt in
        # again.
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
        """Command that embeds these memories again, if it is not `holdfast store reembed`."""
        # An incognito memory reads nothing from disk, not even records.
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
            # Without this, a client that is never closed could keep a thread in a model at exit.
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
        create: bool = True,
    ) -> Self:
        """Open the memory at `path`: a file, ':memory:', a postgresql:// URL, or None for the
        per-user file.

        `scope` owns the memories, e.g. 'user:alice'. With several scopes, reads cover all of them
        and writes go to the first. `background` starts a thread that embeds new memories with the
        better model. `mode` may be stricter than the setting memory_mode; 'incognito' (or 'guest')
        reads and writes nothing on disk. `places` are folders with records: their files are synced
        into the store before the first read or write. Without `create`, a store that does not exist
        is not made: NotFound is raised.

        Raises InvalidInput for an empty path, invalid settings or a mode that keeps more than
        configured; ScopeError without a valid scope; StoreError if the store cannot be opened.
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
            store = open_store(
                place,
                replica=settings.replica,
                key_file=settings.key_file,
                clock=clock,
                create=create,
            )
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
        """Return a view of the same store with other scopes. Close the original, not the view."""
        view = type(self)(
            self._files.bare,
            scopes_of(scopes),
            settings=self.settings,
            tiers=self.tiers,
            clock=self.clock,
            actor=self.actor,
            mode=self.mode,
        )
        # Shared, so that closing the original also flushes and syncs what its views wrote.
        view._uses, view._upgrader, view._written = self._uses, self._upgrader, self._written
        view._files, view.store, view.remedy = self._files, self.store, self.remedy
        return view

    def close(self) -> None:
        """Stop background work and close the store. Idempotent.

        In memory mode synced, written scopes are synced first; if that fails, the next `stats`
        reports it.
        """
        if self._upgrader is not None:
            # Order: the thread and the sync below still need the open store.
            self._upgrader.stop()
        write_uses(self, hurry=True)
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

    def _new_author(self, verb: str) -> Author:
        at = self.clock()
        return Author(self.actor, new_id("run", at), at, verb)

    def _sync_at_last(self) -> None:
        """Sync the written scopes if configured. Errors are stored for `stats` and never fail
        `close`.
        """
        scopes = sorted(self._written)
        self._written.clear()
        if self.mode == "synced" and self.settings.sync_with and scopes:
            run = replication.sync.Run(self.actor, self.clock, key_file=self.settings.key_file)
            replication.sync.sync_ignoring_errors(self.store, self.settings.sync_with, scopes, run)


# Python's own errors name a function by this. People call `Holdfast`, and never see its base.
for _called in (BaseClient.__init__, BaseClient.open.__func__, BaseClient.scoped, BaseClient.close):  # type: ignore[attr-defined]
    _called.__qualname__ = f"Holdfast.{_called.__name__}"


class Namespace:
    """Base of namespaces: the verbs of one noun, reached through an attribute of `Holdfast`."""

    def __init__(self, client: BaseClient) -> None:
        self.client = client


def write(
    client: BaseClient,
    verb: str,
    work: Callable[[Transaction], T],
) -> T:
    """Run `work` in one transaction, journalled under `verb`; see `Admin.write`."""
    author = author_of(client, verb)
    result = client._files.write(
        author, extraction.permission_checks.guarded(work, who_of(client, verb, author.run))
    )
    mark_written(client, client.scopes)
    return result


def files_of(client: BaseClient) -> FileBackedStore:
    """Return the record files that are open beside the store."""
    return client._files


def mark_written(client: BaseClient, scopes: Sequence[Scope]) -> None:
    """Mark scopes as written, for the sync on close and the embedding thread."""
    client._written.update(scopes)
    if client._upgrader is not None:
        client._upgrader.nudge(scopes)


def find(client: BaseClient, ref: Ref) -> Memory:
    """Return the memory with this id or number, in any status.

    Raises NotFound if these scopes have none, RowDamaged if its row cannot be read.
    """
    found = client.store.get(client.scopes, [ref_of(ref)])
    if found:
        return found[0]
    # `get` skips damaged rows. Without this, a damaged memory would look deleted.
    for damage in client.store.damaged(client.scopes):
        if damage.noun == "memory" and ref_of(ref) in (damage.name, damage.seq):
            raise damage.error()
    raise NotFound(f"No memory {ref!r} in {', '.join(map(str, client.scopes))}.", id=ref)


def check_permission(
    client: BaseClient,
    verb: Verb,
    memory: Memory,
) -> Ruling:
    """Return the ruling on this actor's verb for a memory; raises NeedsPerson."""
    return extraction.permission_checks.check(
        who_of(client, verb), verb, memory, lambda scope, id: events_of(client, scope, id)
    )


def events_of(
    client: BaseClient,
    scope: Scope,
    id: str,
) -> Events:
    """Return the journal entries of a memory, oldest first. Raises RowDamaged: permissions depend
    on every entry.
    """
    return client.store.events((scope,), target=id, order="oldest", strict=True)


def filter_of(
    client: BaseClient,
    *,
    kinds: Sequence[str] = (),
    statuses: Sequence[str] = ("active",),
    since: Moment = None,
    until: Moment = None,
    as_of: Moment = None,
    valid: bool = True,
    **narrower: Any,
) -> Filter:
    """Build the filter for these scopes from the arguments of a verb; raises InvalidInput."""
    then = moment_of(as_of, "as_of")
    lists: dict[str, Any] = {name: str_tuple(values, name) for name, values in narrower.items()}
    return Filter(
        scopes=client.scopes,
        kinds=tuple(map(check_kind, str_tuple(kinds, "kinds"))),
        statuses=tuple(map(check_status, str_tuple(statuses, "statuses"))),
        since=moment_of(since, "since"),
        until=moment_of(until, "until"),
        as_of=then,
        valid_at=(client.clock() if then is None else then) if valid else None,
        **lists,
    )


def recall_filter(client: BaseClient, **narrower: Any) -> Filter:
    """Build the filter of a recall: `filter_of` without disabled scopes."""
    enabled = tuple(scope for scope in client.scopes if is_enabled(client, scope))
    return replace(filter_of(client, **narrower), scopes=enabled)


def is_enabled(client: BaseClient, scope: Scope) -> bool:
    """Whether the memory of a scope is enabled. Only projects and assistants can be disabled."""
    return scope.kind not in SWITCHED or bool(client.store.profiles.get(scope).get("enabled", True))


def check_enabled(client: BaseClient, scope: Scope) -> None:
    """Raise Refused if the memory of a project or an assistant is disabled."""
    if not is_enabled(client, scope):
        own = " --personal" if scope.kind == "assistant" else ""
        raise Refused(
            f"Memory of {scope} is off; nothing was written. Turn it on: holdfast project "
            f"enable{own}"
        )


def engine_of(client: BaseClient) -> retrieval.recall.Engine:
    """Return the engine of a recall, after embedding a few memories that have no vector yet."""
    # A store that cannot be written can still be read; words find what has no vector.
    with suppress(StoreReadOnly, StoreBusy, StoreFull), client.store.short_busy_timeout():
        maintenance.embedding_catchup.catch_up(
            client.store, client.tiers, client.scopes, limit=CATCH_UP
        )
    if client._upgrader is not None:
        client._upgrader.nudge(client.scopes)
    return retrieval.recall.Engine(
        client.store, client.tiers, client.clock, fusion=client.settings.fusion
    )


def change(
    client: BaseClient,
    verb: str,
    ref: Ref,
    work: Callable[[Transaction, Memory], Memory],
) -> Memory:
    """Change one memory in its own run; `work` gets it reloaded inside the transaction."""
    memory = find(client, ref)
    return write(client, verb, lambda tx: work(tx, reload(tx, memory)))


def session_of(client: BaseClient, id: str) -> Session:
    """Return the session with this id; raises NotFound if these scopes have none."""
    for scope in client.scopes:
        if known := client.store.sessions.get(scope, id):
            return known
    raise NotFound(f"No session {id!r} in {', '.join(map(str, client.scopes))}.", id=id)


def count_uses(client: BaseClient, memories: Iterable[Memory]) -> None:
    """Count one use of each memory. The counts are buffered and written in batches."""
    if client._uses.add(memories, client.clock()):
        write_uses(client, hurry=True)


def write_uses(client: BaseClient, *, hurry: bool = False) -> None:
    """Write the buffered use counts. If the store cannot be written, only the counts are lost.

    With `hurry`, give up quickly instead of waiting for the write lock.
    """
    try:
        for scope, uses in client._uses.take().items():
            with client.store.short_busy_timeout() if hurry else nullcontext():
                client.store.touch([scope], uses, client.clock())
    except StoreError as error:
        # Deferred import: a caller that only reads does not need it.
        import logging  # noqa: PLC0415

        logging.getLogger(__name__).info("what was recalled is not counted: %s", error)


def who_of(
    client: BaseClient,
    verb: str,
    run: str = "",
) -> Who:
    """Return the actor as the permission checks need it."""
    approval = client.settings.approval
    return extraction.permission_checks.Who(
        client.actor,
        verb,
        run,
        needs_person=lambda kind: extraction.policy.needs_person(approval, kind),
    )


def author_of(client: BaseClient, verb: str) -> Author:
    """Start a new run, the unit of `undo`, and return its author."""
    author = client._new_author(verb)
    client.last_run = author.run
    return author


def command_for(client: BaseClient, *words: str) -> str:
    """Return a holdfast command line for this store, quoted for a shell.

    Scopes are added only for `reembed`: no other suggested command depends on them.
    """
    # Deferred import: needed only when there is advice to give.
    import shlex  # noqa: PLC0415

    said = ["holdfast", *words]
    location = client.store.location
    # The default store needs no option, and a store in memory cannot be named in one.
    if location not in (":memory:", location_of(client.settings.store or config.default_store())):
        said += ["--store", location]
    if "reembed" in words:
        said += [part for scope in client.scopes for part in ("--scope", str(scope))]
    return shlex.join(said)


def warnings_of(client: BaseClient, *, commands: bool = True) -> Names:
    """Return warnings about skipped rows and unavailable models; see `Admin.warnings`."""
    found = client.store.damaged(client.scopes)
    told = [f"Left out, because it cannot be read: {one}." for one in found[:MOST_NAMED]]
    if len(found) > MOST_NAMED:
        told.append(f"Left out as well: {len(found) - MOST_NAMED} more.")
    if found and commands:
        doctor = command_for(client, "doctor")
        told.append(f"To see all that is damaged, and what can be done: {doctor}")
    problems = embedding_problems_of(client, commands=commands)
    return told + retrieval.embedding_status.warnings(problems, client.tiers)


def embedding_problems_of(
    client: BaseClient,
    *,
    ask: bool = False,
    commands: bool = True,
) -> dict[str, str]:
    """Return why embedding models are unavailable; see `Admin.embedding_problems`."""
    remedy = client.remedy or command_for(client, "store", "reembed", "--fresh")
    return retrieval.embedding_status.problems(
        client.store, client.tiers, client.scopes, remedy=remedy if commands else "", ask=ask
    )


def _tiers(
    settings: config.Settings,
    clock: Clock,
    mode: retention_mode.Mode,
) -> Tiers:
    # Incognito text must reach neither a remote embedder nor a model that may cache it.
    wanted = "" if mode == "incognito" else settings.embedding_models
    specs = [spec.strip() for spec in wanted.split(",") if spec.strip()]
    return Tiers(
        specs,
        environ=config.environment(),
        base_url=settings.embedding_url,
        key_env=settings.embedding_key_env,
        clock=clock,
    )
