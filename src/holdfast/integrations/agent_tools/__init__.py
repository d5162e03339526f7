"""Memory tools for an agent, as plain functions or as a pydantic-ai toolset.

Each tool is a plain function that returns what JSON can hold; `toolset` makes them tools of a
pydantic-ai agent.
"""

from .host import Keeper
from .tools import consolidating, talking, toolset

__all__ = ["Keeper", "consolidating", "talking", "toolset"]
