"""Entity recognisers: people, organisations, places, projects and dates in a text."""

from __future__ import annotations

from .base import Found, resolve

__all__ = ["Found", "resolve"]
