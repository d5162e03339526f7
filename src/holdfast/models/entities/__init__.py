"""Recognisers of entities: people, projects, organisations, places, addresses and dates in a text.

Belongs here: recognisers: from a text to whom and what it names. Does not: what becomes of them, which is
`write/entities.py`.
"""

from __future__ import annotations

from .base import Found, resolve

__all__ = ["Found", "resolve"]
