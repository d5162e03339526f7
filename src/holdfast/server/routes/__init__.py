"""The routes, one file a noun. Each is a function that calls one verb of its owner's memory.

Belongs here: a function for each route, one file a noun: a request in, a verb called, a schema out. Does not: keys,
limits, or any logic of their own.
"""

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
