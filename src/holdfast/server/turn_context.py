"""Schemas for conversations: turns, the end of a session, context."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from .schemas import MOST_TEXT, Name, Record, Request, Run


class Turn(Request):
    """One turn of a conversation."""

    session: Name = Field(examples=["chat-17"])
    role: Name = Field(examples=["user"])
    text: str = Field(max_length=MOST_TEXT, examples=["I moved to Lisbon last week."])
    author: str = Field("", max_length=200)
    event_time: datetime | None = Field(None, description="When it was said. Default: now.")


class Captured(BaseModel):
    """The stored turn; null if there was nothing to store."""

    memory: Record | None
    run: Run


class Ending(Request):
    """Facts about a session that only the caller knows. They go into the summary."""

    approach_used: str | None = Field(None, max_length=60, examples=["cbt"])
    approach_context: dict[str, str] | None = Field(
        None, max_length=12, examples=[{"thought_record": "the boss"}]
    )
    crisis_level_max: int | None = Field(
        None,
        ge=0,
        le=3,
        description="Severity, from 0 to 3.",
    )


class Ended(BaseModel):
    """Result of ending a session."""

    ended: bool = Field(description="False if there is no such session, or it had ended before.")
    learned: int | None = Field(
        description="Number of extracted memories; null if a worker has to retry."
    )
    run: Run


class ContextRequest(Request):
    """Prompt that a model is about to answer."""

    prompt: str = Field(max_length=MOST_TEXT, examples=["What should I cook tonight?"])
    session: Name | None = None
    tokens: int | None = Field(None, ge=0, le=1_000_000)
    deep: bool = Field(
        False,
        description="Read the best candidates again: slower, better in conversations.",
    )


class ContextBlocks(BaseModel):
    """Context for a model."""

    stable: str = Field(description="The same for the whole session.")
    turn: str = Field(description="For this prompt.")
    ids: list[str] = Field(description="Memories in both blocks.")
