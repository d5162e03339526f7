"""Texts that were written elsewhere become memories: sessions of coding agents, tickets, notes.

Belongs here: what a file says, cut into chunks, and the chunks of a file put in the place of those it had. Does not:
which files there are to index, which is for `files/sources.py`.
"""

from .report import Indexed, Source, Warned
from .run import Indexer
from .seen import ROOT, can_be_indexed

__all__ = ["ROOT", "Indexed", "Indexer", "Source", "Warned", "can_be_indexed"]
