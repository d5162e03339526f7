"""The routes, one file a noun. Each is a function that calls one verb of its owner's memory."""

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
