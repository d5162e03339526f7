"""HTTP routes, one module per noun: a request in, a verb called, a schema out."""

from . import conversations, entities, lists, mem0, memories, owner, review

ROUTERS = (
    lists.router,
    owner.router,
    memories.router,
    entities.router,
    review.router,
    conversations.router,
    mem0.router,
)
