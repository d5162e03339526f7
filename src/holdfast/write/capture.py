"""The hot path: one dialogue turn in, one transaction, no model and no network."""

from __future__ import annotations

from .commit import Draft


def turn(
    *,
    session: str,
    role: str,
    text: str,
    author: str = "",
    event_time: int | None = None,
    trust: str = "user",
) -> Draft:
    """One turn of a conversation, as a draft."""
    return Draft(
        content=text,
        kind="turn",
        category="conversation",
        session=session,
        role=role,
        author=author,
        event_time=event_time,
        source="capture",
        trust=trust,
    )
