"""Entity recognisers: people, organisations, places, projects and dates in a text."""

from __future__ import annotations

from .base import EntityMatch, resolve

__all__ = ["EntityMatch", "resolve"]
