"""Stores: the protocol every backend implements, and the SQLite and Postgres backends."""

from __future__ import annotations

from .connect import open_store
from .protocol import Store, Transaction
from .sqlite.store import InMemoryStore, SQLiteStore
from .store_types import Author, Filter, Findings

__all__ = [
    "Author",
    "Filter",
    "Findings",
    "InMemoryStore",
    "SQLiteStore",
    "Store",
    "Transaction",
    "open_store",
]
