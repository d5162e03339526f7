"""Where memories are kept: the promises every backend makes (base.py) and the backends that keep them.

Belongs here: SQL, rows, transactions, the journal, migrations. Does not: ranking, policy, models.
"""

from __future__ import annotations

from .base import Author, Filter, Findings, Store, Writer
from .opening import open_store
from .sqlite import InMemoryStore, SQLiteStore

__all__ = ["Author", "Filter", "Findings", "InMemoryStore", "SQLiteStore", "Store", "Writer", "open_store"]
