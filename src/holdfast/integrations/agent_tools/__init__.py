"""Memory tools for an agent, as plain functions or as a pydantic-ai toolset.

Each tool is a plain function with a JSON-serialisable result; `toolset` turns them into pydantic-ai
tools.
"""

from .host import Keeper
from .toolset import consolidating, talking, toolset

__all__ = ["Keeper", "consolidating", "talking", "toolset"]
