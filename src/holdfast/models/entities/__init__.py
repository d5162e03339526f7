"""Recognisers of entities: people, projects, organisations, places, addresses and dates in a text."""

from __future__ import annotations

from .base import TYPES, EntityType, Found, Recogniser, resolve

__all__ = ["TYPES", "EntityType", "Found", "Recogniser", "resolve"]
