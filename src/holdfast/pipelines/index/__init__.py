"""Texts that were written elsewhere become memories: sessions of coding agents, tickets, notes.

Belongs here: what a file says, cut into chunks that take the place of those it had. Does not: which files there are,
which is `files/sources.py`.
"""

from .report import Indexed, Source
from .run import Indexer
from .seen import can_be_indexed

__all__ = ["Indexed", "Indexer", "Source", "can_be_indexed"]
