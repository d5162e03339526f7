"""A memory as somebody has it after some weeks: what the page is looked at with, in tests and in
the screenshots.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.extraction.episodes import EXTRACTED
from holdfast.extraction.proposals import REPLACES
from holdfast.ingest.entity_linking import link
from holdfast.models.entities.select import standard
from holdfast.storage.protocol import Transaction
from holdfast.types import (
    SUMMARY,
    Edge,
    Memory,
    Micros,
    Progress,
    Triple,
    from_datetime,
    system_clock,
)

OWNER = "ann"
DAY = timedelta(days=1) // timedelta(microseconds=1)
MINUTE = timedelta(minutes=1) // timedelta(microseconds=1)

CONVERSATIONS: dict[str, tuple[int, list[tuple[str, str]]]] = {
    "planning-the-move": (
        41,
        [
            ("user", "We finally signed the lease! We're moving from Hamburg to Lisbon in April."),
            ("assistant", "Congratulations! Do you already know where in Lisbon?"),
            (
                "user",
                "Near the river, third floor, and there is a tiny room that will be my office.",
            ),
            (
                "assistant",
                "A real office at last. Anything I should keep in mind for the planning?",
            ),
            (
                "user",
                (
                    "Biscuit needs his pet passport renewed before we go, and my sister Ines will "
                    "drive the van."
                ),
            ),
            ("assistant", "Noted: the passport for Biscuit, and Ines at the wheel."),
        ],
    ),
    "dinner-for-the-team": (
        16,
        [
            (
                "user",
                (
                    "I'm cooking for the team next Friday. Priya is vegetarian and Tomasz can't "
                    "have "
                    "peanuts."
                ),
            ),
            ("assistant", "How many people, and do you have a favourite cuisine?"),
            ("user", "Seven. I'd love to try the Georgian cookbook my mother gave me."),
            (
                "assistant",
                "Khachapuri and a walnut-free pkhali would suit everyone. Shall I draft a menu?",
            ),
            (
                "user",
                (
                    "Yes please, but nothing with coriander, I can't stand it. And from now on "
                    "keep "
                    "answers short."
                ),
            ),
            ("assistant", "No coriander, and short answers."),
        ],
    ),
    "after-the-move": (
        2,
        [
            (
                "user",
                (
                    "First week in Lisbon done. The office gets the morning sun, I moved my desk "
                    "to "
                    "the east wall."
                ),
            ),
            ("assistant", "That sounds lovely. How did Biscuit take the trip?"),
            ("user", "He slept the whole way. Ines said he is a better passenger than I am."),
            ("assistant", "High praise. Is there anything left from the old flat?"),
            (
                "user",
                "The deposit, 2,100 euros. The landlord has until the end of June to pay it back.",
            ),
            ("assistant", "I'll remind you about the 2,100 euros if June ends without it."),
        ],
    ),
}
SUMMARIES = {
    "planning-the-move": "Ann signed a lease in Lisbon, near the river. Biscuit needs a new pet "
    "passport, and Ines "
    "drives the van.",
    "dinner-for-the-team": "Planned a Georgian dinner for seven: Priya is vegetarian, Tomasz must "
    "not have peanuts, "
    "and there will be no coriander.",
    "after-the-move": (
        "The first week in Lisbon went well. The deposit of 2,100 euros for the old "
        "flat is still due."
    ),
}
NOW, LATER, AGAIN = "commit_now", "commit_at_session_end", "require_repetition"
DECISIONS = {
    NOW: {"action": NOW, "timing": "immediate", "version": "rules_v1"},
    LATER: {"action": LATER, "timing": "session_end", "version": "rules_v1"},
    AGAIN: {"action": AGAIN, "timing": "promotion", "version": "rules_v1"},
}
# What was learned: the text, its kind and category, the words it rests on, and the decision with
# its reason.
LEARNED: list[tuple[str, str, str, str, str, str]] = [
    (
        "Tomasz cannot have peanuts",
        "fact",
        "relationship",
        "Tomasz can't have peanuts",
        NOW,
        "stated plainly, and it matters for his health",
    ),
    (
        "Priya is vegetarian",
        "fact",
        "relationship",
        "Priya is vegetarian",
        NOW,
        "stated plainly about a person",
    ),
    (
        "Ann cannot stand coriander",
        "fact",
        "preference",
        ("nothing with coriander, I can't stand it"),
        LATER,
        "a lasting preference, said once",
    ),
    (
        "The landlord in Hamburg owes Ann a deposit of 2,100 euros until the end of June",
        "fact",
        "context",
        "The deposit, 2,100 euros. The landlord has until the end of June to pay it back",
        LATER,
        "an open matter with a date",
    ),
    (
        "Ann moved from Hamburg to Lisbon",
        "fact",
        "context",
        ("We're moving from Hamburg to Lisbon"),
        AGAIN,
        "said in two conversations",
    ),
    (
        "Ines is Ann's sister and drives the van",
        "fact",
        "relationship",
        "my sister Ines will drive the van",
        NOW,
        "stated plainly about a person",
    ),
    (
        "Keep answers short",
        "rule",
        "style",
        "from now on keep answers short",
        NOW,
        "an explicit lasting instruction",
    ),
]


class Past:
    """A clock that can be set so many days back, to the evening, and then stays there."""

    def __init__(self) -> None:
        self._now = self._start = system_clock()
        evening = datetime.now().astimezone().replace(hour=18, minute=0, second=0, microsecond=0)
        self._evening = from_datetime(evening)

    def __call__(self) -> Micros:
        return self._now

    def days_ago(self, days: int, minutes: int = 0) -> Micros:
        self._now = self._evening - days * DAY + minutes * MINUTE
        return self._now

    def hours_ago(self, hours: int) -> Micros:
        self._now = self._start - hours * 60 * MINUTE
        return self._now


def build(path: Path, owner: str = OWNER) -> None:
    """Writes the memory into a file, for somebody who has none there."""
    clock = Past()
    with _open(path, clock, owner) as hf:
        for session in CONVERSATIONS:
            _converse(hf, clock, session)
        _tell(hf, clock)
        hf.actor = "agent:assistant"
        _propose(hf, clock)
        hf.actor = "worker:demo"
        _recognise(hf, clock)


def fill(path: Path, owner: str, count: int) -> None:
    """Adds many facts at once, a few a day."""
    clock = Past()
    start = clock.hours_ago(0) - count * DAY // 6
    with _open(path, clock, owner) as hf:
        hf.remember_many(
            {
                "content": f"Note {number} about shelf {number % 97}",
                "event_time": start + number * DAY // 6,
            }
            for number in range(1, count + 1)
        )


def _open(path: Path, clock: Past, owner: str) -> Holdfast:
    settings = Settings(embedding_models="static")
    return Holdfast.open(
        path,
        scope=f"user:{owner}",
        settings=settings,
        clock=clock,
        actor="worker:demo",
        background=False,
    )


def _converse(hf: Holdfast, clock: Past, session: str) -> None:
    """A conversation, what was learned from it, and what it was about."""
    days, said = CONVERSATIONS[session]
    _note_as_read(hf, session, clock.hours_ago(0))
    turns = []
    for minute, (role, text) in enumerate(said):
        clock.days_ago(days, minutes=2 * minute)
        turn = hf.capture(session, role, text)
        assert turn is not None
        turns.append(turn)
    clock.days_ago(days, minutes=15)
    hf.sessions.end(session)
    for text, kind, category, quote, action, reason in LEARNED:
        for turn in turns:
            if quote in turn.content:
                policy = {**DECISIONS[action], "reason": reason}
                _learn(hf, turn, text, kind=kind, category=category, quote=quote, policy=policy)
    hf.remember(SUMMARIES[session], kind="episode", category="session", session=session)


def _note_as_read(hf: Holdfast, session: str, now: Micros) -> None:
    """Before its first turn: else the worker of a server that sees the conversation while it is
    written would sooner or later add a summary of its own.
    """
    mark = Progress(hf.scopes[0], session, SUMMARY, now, now, {"outcome": EXTRACTED})
    hf.admin.write("learn", lambda tx: tx.progress.put(mark))


def _learn(hf: Holdfast, turn: Memory, text: str, *, policy: dict[str, str], **fields: Any) -> None:
    triple = Triple("Tomasz", "AVOIDS", "peanuts", "Person", "Food") if "peanuts" in text else None
    rate = 0.0 if fields["kind"] == "rule" else 0.02
    fact = hf.remember(
        text,
        triple=triple,
        decay_rate=rate,
        metadata={"session": turn.session, "policy": policy},
        **fields,
    )

    def work(tx: Transaction) -> None:
        tx.link(Edge(fact.scope, fact.id, turn.id, "derived_from", fact.created_at))

    hf.admin.write("learn", work)


def _recognise(hf: Holdfast, clock: Past) -> None:
    """Whom and what the memories mention."""
    recognition, at = standard(), clock.hours_ago(0)

    def work(tx: Transaction) -> None:
        for memory in hf.list():
            link(tx, memory, recognition.recognise(memory.content, "local"), at=at)

    hf.admin.write("enrich", work)


def _tell(hf: Holdfast, clock: Past) -> None:
    """What Ann told it herself, and a correction."""
    hf.actor = f"cli:{OWNER}"
    clock.days_ago(9)
    hf.confirm(hf.remember("Ann takes her coffee black", category="preference").id)
    hf.remember("Never schedule calls before ten in the morning", kind="rule", category="style")
    clock.days_ago(5)
    old = hf.remember("The desk stands at the north wall", category="context")
    clock.days_ago(1)
    hf.correct(
        old.id, "The desk stands at the east wall", reason="it was moved for the morning sun"
    )


def _propose(hf: Holdfast, clock: Past) -> None:
    clock.hours_ago(9)
    known = next(one for one in hf.list(kinds=["fact"]) if "peanuts" in one.content)
    hf.reviews.propose(
        "Tomasz cannot have peanuts or walnuts",
        category="relationship",
        reason="it came up while planning a menu",
        metadata={REPLACES: known.id},
    )
    clock.hours_ago(4)
    hf.reviews.propose(
        "Answer in Portuguese on Fridays",
        kind="rule",
        category="style",
        reason="Ann tried it out once",
    )
