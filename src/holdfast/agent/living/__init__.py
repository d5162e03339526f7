"""An agent's memory that lives: six tools for the agent that talks, six for one that reads afterwards, and its host.

Each tool is a plain function that returns what JSON can hold; `toolset` makes them tools of a pydantic-ai agent.
Nothing is decided here: what is found, kept, renewed or replaced is the engine's business.
"""

from .keeper import Keeper
from .reader import Reader
from .talker import Talker
from .tools import consolidating, talking, toolset

__all__ = ["Keeper", "Reader", "Talker", "consolidating", "talking", "toolset"]
