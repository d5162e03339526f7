"""The shared store: one Postgres for many machines and many owners, with row-level security between them.

Belongs here: whatever is Postgres and not plain SQL. Does not: what SQL stores do alike, which is `store/sql.py` and
`store/writer.py`.
"""

from __future__ import annotations

from .store import PostgresStore

__all__ = ["PostgresStore"]
