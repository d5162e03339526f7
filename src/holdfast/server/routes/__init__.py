"""HTTP routes, one module per noun: a request in, a verb called, a schema out."""

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

ROUTERS = (
    lists.router,
    owner.router,
    memories.router,
    timeline.router,
    entities.router,
    review_queue.router,
    conversations.router,
    mem0_api.router,
    server_figures.router,
)
