"""Stores: the protocol every backend implements, and the SQLite and Postgres backends."""

from __future__ import annotations

from .connect import open_store
from .protocol import Author, Filter, Findings, Store, Transaction
from .sqlite.store import InMemoryStore, SQLiteStore

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
