"""Authentication: who asks, and which memory they get. Every route gets its memory here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Query, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from .. import retention_mode
from ..audit import AuditLog
from ..client import Holdfast
from ..feedback import FeedbackLog
from ..text.terminal import counted
from ..types import Scope
from .api_keys import Key, KeyFile
from .fair_queue import FairQueue
from .owner_view import Checkup, owner_id
from .query_parameters import check_parameters
from .ratelimit import Buckets
from .request_counts import RequestCounts
from .session_watch import Conversations
from .shared_ratelimit import SharedBuckets

ASK_FOR_KEY = (
    "This server requires a key. Send it as `Authorization: Bearer hf_…` or as `X-API-Key: hf_…`."
)
NO_ADMIN = (
    "Only an admin key opens the figures of the server. Whoever runs it can create one: "
    "`holdfast serve keys add OWNER --admin`."
)
UserId = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="Owner of the memory. With a key: its owner, or omitted.",
    ),
]
ThreadId = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="Owner of the memory if there is no user_id and no key.",
    ),
]
ModeName = Annotated[
    Literal["incognito", "guest", "local", "synced"] | None,
    Query(
        description=(
            "Requests a stricter mode than the server's: `guest` or `incognito` neither "
            "reads nor stores anything."
        )
    ),
]
BEARER = HTTPBearer(auto_error=False, description="A key of `holdfast serve keys add`.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]
KeyHeader = Annotated[
    str | None,
    Security(APIKeyHeader(name="X-API-Key", auto_error=False, description="The same key, bare.")),
]


@dataclass(frozen=True, slots=True)
class Serving:
    """State of one server: the memory of all owners, keys, rate limits, and the side tables."""

    hf: Holdfast
    keys: KeyFile
    buckets: Buckets | SharedBuckets
    conversations: Conversations
    checkup: Checkup
    audit: AuditLog
    feedback: FeedbackLog
    requests: RequestCounts
    queue: FairQueue


def serving(request: Request) -> Serving:
    """Return the state of the server that received this request."""
    found: Serving = request.app.state.serving
    return found


async def owner(
    request: Request,
    bearer: Bearer,
    header: KeyHeader,
    user_id: UserId = None,
    thread_id: ThreadId = None,
) -> Scope:
    """Return the owner of the requested memory; refuse if the key does not open it."""
    server = serving(request)
    if not server.keys.needed:
        await _check_limit(server, _address(request))
        return named(user_id or thread_id, server.hf.scopes[0])
    return opened(await _key(request, bearer, header), user_id)


async def admin(
    request: Request,
    bearer: Bearer,
    header: KeyHeader,
) -> Serving:
    """Return the state of the server to an admin key; refuse everybody else."""
    server = serving(request)
    if not server.keys.needed:
        await _check_limit(server, _address(request))
        raise HTTPException(403, NO_ADMIN)
    if not (await _key(request, bearer, header)).admin:
        raise HTTPException(403, NO_ADMIN)
    return server


async def check_key(request: Request) -> None:
    """Refuse a request without a key, before anything is said about its body."""
    await _known_key(request, await BEARER(request), request.headers.get("X-API-Key"))


async def _key(
    request: Request,
    bearer: HTTPAuthorizationCredentials | None,
    header: str | None,
) -> Key:
    """Return the key of a request within its limit; refuse one without."""
    key = await _known_key(request, bearer, header)
    request.state.caller = key.id
    request.state.admin = key.admin
    await _check_limit(serving(request), key.id)
    return key


async def _known_key(
    request: Request,
    bearer: HTTPAuthorizationCredentials | None,
    header: str | None,
) -> Key:
    server = serving(request)
    key = server.keys.find(bearer.credentials if bearer else header or _token(request))
    if key is None:
        # Failed attempts count against the address: keys cannot be guessed at full speed.
        await _check_limit(server, _address(request))
        raise HTTPException(401, ASK_FOR_KEY, {"WWW-Authenticate": "Bearer"})
    return key


async def memory(
    request: Request,
    scope: Annotated[Scope, Depends(owner)],
    memory_mode: ModeName = None,
) -> AsyncIterator[Holdfast]:
    """Return the owner's view of the memory for this request; for a guest an empty one."""
    hf = serving(request).hf
    if hf.mode == "incognito" or retention_mode.effective(hf.mode, memory_mode) != "incognito":
        view = hf.scoped(scope)
        view.actor = f"http:{owner_id(scope)}"
        # For the response header.
        request.state.memory = view
        yield view
        return
    # A memory of its own: a guest must not reach the stored one.
    guest = await run_in_threadpool(
        Holdfast.open,
        scope=scope,
        settings=hf.settings,
        clock=hf.clock,
        background=False,
        mode="incognito",
    )
    try:
        yield guest
    finally:
        await run_in_threadpool(guest.close)


async def turn(
    request: Request,
    scope: Annotated[Scope, Depends(owner)],
    hf: Annotated[Holdfast, Depends(memory)],
) -> AsyncIterator[Holdfast]:
    """Return the memory of this request when it is the owner's turn."""
    async with serving(request).queue.slot(scope):
        yield hf


# The turn ends when the route returns, not when the response is sent: a caller who reads slowly
# must not hold up others.
Mine = Annotated[Holdfast, Depends(turn, scope="function")]
Server = Annotated[Serving, Depends(serving)]
Administered = Annotated[Serving, Depends(admin)]


async def asked_by_owner(request: Request, _: Annotated[Scope, Depends(owner)]) -> None:
    """Refuse unknown query parameters, once it is certain who asks."""
    check_parameters(request)


async def asked_by_admin(request: Request, _: Administered) -> None:
    """Like `asked_by_owner`, of the figures of the server."""
    check_parameters(request)


def named(name: str | None, default: Scope) -> Scope:
    """Return the scope of a named owner, or the server's own."""
    return Scope("user", name) if name is not None else default


def opened(key: Key, user_id: str | None) -> Scope:
    """Return the scope that a key opens; refuse another owner."""
    # The same message whether the owner exists or not, so that it reveals nothing.
    if user_id is not None and user_id != key.owner:
        raise HTTPException(
            403, "Your key does not open the memory of this user_id. Leave user_id out."
        )
    return key.scope


def within_limit(buckets: Buckets, caller: str) -> None:
    """Count a request of a caller; refuse it if there were too many."""
    _refuse_if(buckets.take(caller))


async def _check_limit(server: Serving, caller: str) -> None:
    """Like `within_limit`, also for limits that several processes share."""
    _refuse_if(await server.buckets.draw(caller))


def _refuse_if(wait: int) -> None:
    if wait:
        raise HTTPException(
            429,
            f"Too many requests. Try again in {counted(wait, 'second')}.",
            {"Retry-After": str(wait)},
        )


def _token(request: Request) -> str:
    """Return the key of `Authorization: Token …`, as the clients of mem0's hosted API send it."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "token" else ""


def _address(request: Request) -> str:
    return request.client.host if request.client else "-"
