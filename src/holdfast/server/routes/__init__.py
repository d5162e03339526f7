"""HTTP routes, one module per noun: a request in, a verb called, a schema out."""

from collections.abc import Sequence

from fastapi import APIRouter, Depends
from fastapi.params import Depends as Check

from ..auth import asked_by_admin, asked_by_owner
from . import (
    conversations,
    entities,
    lists,
    mem0_api,
    memories,
    owner,
    review_queue,
    server_figures,
    timeline,
)

_OWNERS = [Depends(asked_by_owner)]
ROUTERS: Sequence[tuple[APIRouter, list[Check]]] = (
    (lists.router, _OWNERS),
    (owner.router, _OWNERS),
    (memories.router, _OWNERS),
    (timeline.router, _OWNERS),
    (entities.router, _OWNERS),
    (review_queue.router, _OWNERS),
    (conversations.router, _OWNERS),
    # Clients of mem0 send parameters that only its own server knows.
    (mem0_api.router, []),
    (server_figures.router, [Depends(asked_by_admin)]),
)
"""Routers, each with what is checked before its routes see a request."""
