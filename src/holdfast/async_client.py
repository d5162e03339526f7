"""`AsyncHoldfast`: the verbs of `Holdfast`, awaitable.

Every verb is one line that forwards to the blocking one in a thread; nothing is implemented twice,
and type checkers see the signature of the original.
"""

from __future__ import annotations

from asyncio import to_thread, wrap_future
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, overload

from .client import Holdfast
from .foreign_names import no_such_method
from .namespaces.admin import Admin
from .namespaces.entities import Entities
from .namespaces.projects import Projects
from .namespaces.records import Records
from .namespaces.reviews import Reviews
from .namespaces.sessions import Sessions
from .validation import Ref, ScopeLike

if TYPE_CHECKING:
    from .retrieval.explain import Why
    from .retrieval.provenance import Stored

P = ParamSpec("P")
R = TypeVar("R")
Verb = Callable[Concatenate[Any, P], R]
# Lines read per trip to the thread.
EXPORT_STEP = 500


def _awaitable(verb: Verb[P, R]) -> Verb[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that runs the verb in a thread on `self.blocking`."""
    name = verb.__name__

    @wraps(verb)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await to_thread(getattr(self.blocking, name), *args, **kwargs)
        return result

    return call


class Opening(Coroutine[Any, Any, "AsyncHoldfast"]):
    """A memory that is being opened: `await` returns it; `async with` also closes it at the end."""

    # A whole coroutine and not just awaitable, because `asyncio.run` and `create_task` insist.

    def __init__(self, opened: Coroutine[Any, Any, AsyncHoldfast]) -> None:
        self._opened = opened

    def __await__(self) -> Generator[Any, Any, AsyncHoldfast]:
        return self._opened.__await__()

    def send(self, value: Any) -> Any:
        return self._opened.send(value)

    def throw(self, *error: Any) -> Any:
        return self._opened.throw(*error)

    def close(self) -> None:
        self._opened.close()

    async def __aenter__(self) -> AsyncHoldfast:
        self._memory = await self._opened
        return self._memory

    async def __aexit__(self, *error: object) -> None:
        await self._memory.close()


def _opening(verb: Callable[P, Holdfast]) -> Verb[P, Opening]:
    """Return `Holdfast.open` as a function whose result is awaited or entered."""

    async def opened(cls: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncHoldfast:
        memory: AsyncHoldfast = cls(await to_thread(verb, *args, **kwargs))
        return memory

    # The plain function, whose signature begins with the class as that of `call` does.
    @wraps(getattr(verb, "__func__", verb))
    def call(cls: Any, /, *args: P.args, **kwargs: P.kwargs) -> Opening:
        return Opening(opened(cls, *args, **kwargs))

    return call


class _AsyncNamespace:
    """The verbs of one noun, reached through an attribute of `AsyncHoldfast`."""

    def __init__(self, blocking: Any) -> None:
        self.blocking = blocking


class AsyncSessions(_AsyncNamespace):
    """`Sessions`, awaitable."""

    list = _awaitable(Sessions.list)
    append = _awaitable(Sessions.append)
    messages = _awaitable(Sessions.messages)
    end = _awaitable(Sessions.end)
    end_idle = _awaitable(Sessions.end_idle)
    extract = _awaitable(Sessions.extract)
    learn = _awaitable(Sessions.learn)
    purge = _awaitable(Sessions.purge)
    profile = _awaitable(Sessions.profile)
    set_profile = _awaitable(Sessions.set_profile)
    working_memory = _awaitable(Sessions.working_memory)


class AsyncRecords(_AsyncNamespace):
    """`Records`, awaitable."""

    add = _awaitable(Records.add)
    update = _awaitable(Records.update)
    move = _awaitable(Records.move)
    reclassify = _awaitable(Records.reclassify)
    delete = _awaitable(Records.delete)
    clear = _awaitable(Records.clear)
    list = _awaitable(Records.list)
    sync_files = _awaitable(Records.sync_files)
    brief = _awaitable(Records.brief)
    verify = _awaitable(Records.verify)
    reanchor = _awaitable(Records.reanchor)
    publish = _awaitable(Records.publish)
    withdraw = _awaitable(Records.withdraw)
    extract = _awaitable(Records.extract)


class AsyncEntities(_AsyncNamespace):
    """`Entities`, awaitable."""

    list = _awaitable(Entities.list)
    get = _awaitable(Entities.get)
    duplicates = _awaitable(Entities.duplicates)
    merge = _awaitable(Entities.merge)
    split = _awaitable(Entities.split)
    rename = _awaitable(Entities.rename)


class AsyncReviews(_AsyncNamespace):
    """`Reviews`, awaitable."""

    propose = _awaitable(Reviews.propose)
    list = _awaitable(Reviews.list)
    preview = _awaitable(Reviews.preview)
    approve = _awaitable(Reviews.approve)
    reject = _awaitable(Reviews.reject)
    expire = _awaitable(Reviews.expire)


class AsyncProjects(_AsyncNamespace):
    """`Projects`, awaitable."""

    view = _awaitable(Projects.view)
    build = _awaitable(Projects.build)
    clear = _awaitable(Projects.clear)
    index = _awaitable(Projects.index)
    import_sessions = _awaitable(Projects.import_sessions)


class AsyncAdmin(_AsyncNamespace):
    """`Admin`, awaitable."""

    maintain = _awaitable(Admin.maintain)
    decay = _awaitable(Admin.decay)
    reflect = _awaitable(Admin.reflect)
    consolidate = _awaitable(Admin.consolidate)
    reembed = _awaitable(Admin.reembed)
    evict = _awaitable(Admin.evict)
    import_ = _awaitable(Admin.import_)
    sync = _awaitable(Admin.sync)
    purge = _awaitable(Admin.purge)
    plan_purge = _awaitable(Admin.plan_purge)
    finish_purge = _awaitable(Admin.finish_purge)
    check = _awaitable(Admin.check)
    log = _awaitable(Admin.log)
    links = _awaitable(Admin.links)
    warnings = _awaitable(Admin.warnings)
    embedding_problems = _awaitable(Admin.embedding_problems)
    write = _awaitable(Admin.write)

    async def export(self, *, history: bool = True, vectors: bool = False) -> AsyncIterator[str]:
        """Yield the lines of a lossless bundle of these scopes, in constant memory."""
        lines = self.blocking.export(history=history, vectors=vectors)
        # One thread for the whole export: a snapshot belongs to the thread that took it.
        with ThreadPoolExecutor(1, "holdfast-export") as thread:
            while page := await wrap_future(thread.submit(lambda: [*islice(lines, EXPORT_STEP)])):
                for line in page:
                    yield line


class AsyncHoldfast:
    """An open memory for asynchronous programs. Each verb behaves as in `Holdfast`.

    `async with AsyncHoldfast.open(…) as hf` closes it at the end. A cancelled call continues
    in its thread, so its transaction still commits or rolls back as a whole.
    """

    def __init__(self, holdfast: Holdfast) -> None:
        self.blocking = holdfast
        self.sessions = AsyncSessions(holdfast.sessions)
        self.records = AsyncRecords(holdfast.records)
        self.entities = AsyncEntities(holdfast.entities)
        self.reviews = AsyncReviews(holdfast.reviews)
        self.projects = AsyncProjects(holdfast.projects)
        self.admin = AsyncAdmin(holdfast.admin)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # As in `Holdfast`: names from other libraries get advice.
            raise no_such_method(self, name)

    open = classmethod(_opening(Holdfast.open))
    close = _awaitable(Holdfast.close)
    remember = _awaitable(Holdfast.remember)
    remember_many = _awaitable(Holdfast.remember_many)
    capture = _awaitable(Holdfast.capture)
    capture_many = _awaitable(Holdfast.capture_many)
    correct = _awaitable(Holdfast.correct)
    confirm = _awaitable(Holdfast.confirm)
    archive = _awaitable(Holdfast.archive)
    restore = _awaitable(Holdfast.restore)
    forget = _awaitable(Holdfast.forget)
    undo = _awaitable(Holdfast.undo)
    recall = _awaitable(Holdfast.recall)
    context = _awaitable(Holdfast.context)
    get = _awaitable(Holdfast.get)
    list = _awaitable(Holdfast.list)
    history = _awaitable(Holdfast.history)
    stats = _awaitable(Holdfast.stats)

    def scoped(self, *scopes: ScopeLike) -> AsyncHoldfast:
        """Return a view of the same store with other scopes. Close the original, not the view."""
        return AsyncHoldfast(self.blocking.scoped(*scopes))

    # Written out, because a type checker would forward only one of the two signatures.
    @overload
    async def explain(self, ref: Ref) -> Stored: ...

    @overload
    async def explain(self, ref: Ref, question: str, *, limit: int | None = None) -> Why: ...

    @wraps(Holdfast.explain)
    async def explain(
        self, ref: Ref, question: str | None = None, *, limit: int | None = None
    ) -> Stored | Why:
        if question is None:
            return await to_thread(self.blocking.explain, ref)
        return await to_thread(self.blocking.explain, ref, question, limit=limit)

    @property
    def last_run(self) -> str:
        """Id of the latest run, for `undo`."""
        return self.blocking.last_run

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
