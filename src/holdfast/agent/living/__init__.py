"""An agent's memory that lives: six tools for the agent that talks, six for one that reads afterwards, and its host.

Belongs here: the tools of an agent that talks and of one that reads, as plain functions. Does not: deciding what is
found, kept, renewed or replaced.

Each tool is a plain function that returns what JSON can hold; `toolset` makes them tools of a pydantic-ai agent.
"""

from .keeper import Keeper
from .tools import consolidating, talking, toolset

__all__ = ["Keeper", "consolidating", "talking", "toolset"]
