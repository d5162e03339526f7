"""Postgres backend: pool, row-level security, vectors, Citus, health checks."""

from __future__ import annotations

from .store import PostgresStore

__all__ = ["PostgresStore"]
