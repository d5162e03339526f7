"""Schemas of the memory over time: the overview, the timeline, and counts by day."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from .entity_schemas import Mentioned, Waiting
from .schemas import Moment, Record


class Day(BaseModel):
    """Number of memories of a day, by kind."""

    day: str = Field(examples=["2026-03-18"])
    counts: dict[str, int]


class Days(BaseModel):
    """Memories by day."""

    total: int
    days: list[Day]


class Fading(BaseModel):
    """A fact that fades if nobody uses it, or ends with its date."""

    at: Moment
    how: Literal["fades", "ends"]
    memory: Record


class Overview(BaseModel):
    """A memory at a glance."""

    new: dict[str, int] = Field(description="Memories stored in the last seven days, by kind.")
    newest: list[Record]
    growth: list[Day] = Field(description="Memories in use, by the day they were stored.")
    review: int = Field(description="Proposals that wait for a person.")
    held: int = Field(description="Memories on hold until a conversation ends.")
    turns: int = Field(description="Turns of conversations in use, which are not in `growth`.")
    fading: list[Fading] = Field(description="What fades or ends next.")
    mentioned: list[Mentioned] = Field(description="People, places and projects, lately.")
    waiting: Waiting


class Happening(BaseModel):
    """An event or something learned."""

    at: Moment = Field(description="When it happened or, by `learned`, was stored.")
    what: Literal["happened", "learned"]
    memory: Record


class Timeline(BaseModel):
    """Timeline, newest first."""

    items: list[Happening]
    next: str | None = Field(
        description="Pass it as `before` for the next, older page; null at the end."
    )
