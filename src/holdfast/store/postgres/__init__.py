"""The shared store: one Postgres for many machines and many owners, with row-level security between them.

Belongs here: whatever is Postgres and not plain SQL. What SQL stores do alike is in ../sql.py and ../writer.py.
"""

from __future__ import annotations

from .store import PostgresStore

__all__ = ["PostgresStore"]
