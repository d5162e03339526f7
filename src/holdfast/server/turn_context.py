"""What requests bring and answers carry while an assistant talks: turns, the end of a session,
context.
"""

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
    event_time: datetime | None = Field(None, description="When it was said; nothing: now.")


class Captured(BaseModel):
    """The turn as it is kept; null when there was nothing in it to keep."""

    memory: Record | None
    run: Run


class Ending(Request):
    """What only whoever led a session knows of it. It goes into the summary."""

    approach_used: str | None = Field(None, max_length=60, examples=["cbt"])
    approach_context: dict[str, str] | None = Field(
        None, max_length=12, examples=[{"thought_record": "the boss"}]
    )
    crisis_level_max: int | None = Field(
        None, ge=0, le=3, description="How grave it became, from 0 to 3."
    )


class Ended(BaseModel):
    """How a session ended."""

    ended: bool = Field(description="False when there is no such session, or it had ended before.")
    learned: int | None = Field(
        description="How many memories were made of it; null if a worker has to try again."
    )
    run: Run


class ContextRequest(Request):
    """What a model is about to answer."""

    prompt: str = Field(max_length=MOST_TEXT, examples=["What should I cook tonight?"])
    session: Name | None = None
    tokens: int | None = Field(None, ge=0, le=1_000_000)


class ContextBlocks(BaseModel):
    """What to put before a model."""

    stable: str = Field(description="The same for a whole session.")
    turn: str = Field(description="For this prompt.")
    ids: list[str] = Field(description="The memories in both.")
