"""Schemas of requests and responses, as OpenAPI shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from .. import types
from ..retrieval.matches import Match
from ..types import iso

Kind = types.Kind
Status = types.Status
Moment = Annotated[
    str, Field(description="ISO 8601 with offset.", examples=["2026-03-18T12:00:00+00:00"])
]
Run = Annotated[
    str,
    Field(
        description="Run for `POST /undo`; empty if nothing changed.",
        examples=["run_01kkz0v7w0c4m2hq"],
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Id = Annotated[
    str, Field(min_length=1, max_length=200, pattern="[^0-9]", description="Id of a memory.")
]
# The setting max_content_bytes is the actual limit.
MOST_TEXT = 1_000_000
NO_MATCH = Match()


class Problem(BaseModel):
    """An error (RFC 9457): what happened and what to do next."""

    type: str = "about:blank"
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["Fact #9 does not exist (only 2 fact(s))."])
    request_id: str = Field(
        description="Id under which the server's log has the details.", examples=["req_01kkz0v7w0"]
    )
    errors: list[dict[str, str]] | None = Field(None, description="Validation errors by field.")


class Request(BaseModel):
    """Base of requests; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


# Memories


class Triple(BaseModel):
    """Statement of a fact."""

    subject: str
    predicate: str
    object: str
    subject_type: str = ""
    object_type: str = ""


class Record(BaseModel):
    """A memory."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(examples=["fact_01kkz0v7w0c4m2hq"])
    seq: int = Field(
        description=(
            "Increases in order of storage. Not the number that the command line shows: those "
            "numbers are shared by all owners of a store, and their gaps would reveal how much "
            "others store."
        )
    )
    kind: Kind
    layer: types.Layer
    category: str = Field(examples=["preferences"])
    status: Status
    status_reason: str
    content: str = Field(examples=["Prefers green tea to coffee"])
    title: str
    author: str
    role: str
    session: str | None
    quote: str = Field(description="Words of the source.")
    confidence: float
    protected: bool = Field(description="Confirmed by a person; it never fades.")
    tags: list[str]
    triple: Triple | None
    event_time: Moment
    created_at: Moment
    updated_at: Moment
    valid_from: Moment | None
    valid_until: Moment | None
    source: str
    trust: str
    metadata: dict[str, Any]

    @classmethod
    def of(cls, memory: types.Memory, **more: Any) -> Self:
        """Build the schema from a memory, with extra fields."""
        fields = {
            **memory.__dict__,
            "seq": memory.created_at,
            "layer": memory.layer,
            "tags": list(memory.tags),
        }
        if memory.triple is not None:
            fields["triple"] = {name: getattr(memory.triple, name) for name in Triple.model_fields}
        for name in ("event_time", "created_at", "updated_at", "valid_from", "valid_until"):
            fields[name] = when(fields[name])
        return cls(**{name: fields[name] for name in Record.model_fields}, **more)


class Changed(Record):
    """A memory after a change."""

    run: Run


class Reasons(BaseModel):
    """Why a memory was found."""

    summary: str = Field(examples=["words #1, meaning (static) #2; close in meaning +1.20"])
    arms: dict[str, int] = Field(description="Rank in each candidate list.")
    signals: dict[str, float] = Field(description="Parts of the score.")
    model: str
    words: list[str] = Field(
        default_factory=list,
        description="Words of the memory that the question asks for, without stop words.",
    )
    names: list[str] = Field(
        default_factory=list, description="People and things that both mention."
    )
    speaker: str = Field(
        default="", description="Its author, if the question is about that person."
    )
    time: str = Field(
        default="", description="Words of the question that name the time of the memory."
    )


class Found(Record):
    """A memory in a list; after a query with its score and reasons."""

    score: float | None = Field(None, description="From 0 to 1; higher is better.")
    strength: Literal["strong", "likely", "weak"] | None = Field(
        None, description="The score in a word."
    )
    why: Reasons | None = None

    @classmethod
    def by(cls, hit: types.Hit, match: Match = NO_MATCH) -> Self:
        """A hit of recall, with what it has in common with the question."""
        signals = {signal.name: round(signal.share, 4) for signal in hit.why.signals}
        why = Reasons(
            summary=str(hit.why),
            arms=dict(hit.why.arms),
            signals=signals,
            model=hit.why.model,
            words=list(match.words),
            names=list(match.names),
            speaker=match.speaker,
            time=match.time,
        )
        return cls.of(hit.memory, score=round(hit.score, 4), strength=hit.strength, why=why)


class Page(BaseModel):
    """A page of memories, with the cursor of the next one."""

    items: list[Found]
    next: str | None = Field(description="Pass it as `after` for the next page; null at the end.")
    relevant: bool = Field(
        default=True,
        description="False if nothing relevant is known: the items are then only near misses.",
    )
    warnings: list[str] = Field(
        default_factory=list,
        description=(
            "What is missing from the answer: damaged memories, a model that does not respond."
        ),
    )


class Statement(Request):
    """A memory to store."""

    content: str = Field(
        min_length=1,
        max_length=MOST_TEXT,
        examples=["Prefers green tea to coffee"],
    )
    kind: Kind = "fact"
    category: Name = "general"
    title: str = Field("", max_length=500)
    author: str = Field("", max_length=200)
    tags: list[Name] = Field(default_factory=list, max_length=50)
    confidence: float = Field(1.0, ge=0, le=1)
    event_time: datetime | None = Field(None, description="When it happened. Default: now.")
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Correction(Request):
    """New text of a memory."""

    content: str = Field(
        min_length=1,
        max_length=MOST_TEXT,
        examples=["Prefers white tea to coffee"],
    )
    reason: str = Field("", max_length=1000, examples=["misheard"])


class Decision(BaseModel):
    """Decision of the write policy on a memory, with the reason."""

    action: str
    reason: str
    version: str
    timing: str


class Source(BaseModel):
    """A turn that is a source of a memory."""

    id: str
    who: str
    when: Moment
    text: str
    session: str | None


class Link(BaseModel):
    """A link between two memories."""

    source: str
    relation: Literal["derived_from", "supersedes", "conflicts_with"]
    target: str
    reason: str
    created_at: Moment


class Change(BaseModel):
    """A journal entry."""

    at: Moment
    actor: str
    verb: str
    run: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @classmethod
    def of(cls, event: types.Event) -> Self:
        """Build the schema from an event."""
        return cls(
            at=iso(event.at),
            actor=event.actor,
            verb=event.verb,
            run=event.run,
            before=_plain(event.before),
            after=_plain(event.after),
        )


class Story(BaseModel):
    """Why a memory was stored, with its sources and history."""

    summary: str = Field(examples=["commit_now: said plainly (immediate)"])
    decision: Decision | None = Field(
        description="Null if a person or a program stored it directly."
    )
    quote: str
    quotes: list[str] = Field(description="All source texts, if it was said more than once.")
    sources: list[Source]
    links: list[Link]
    history: list[Change] = Field(description="Oldest first.")


class Forecast(BaseModel):
    """Forecast of a memory's confidence if nobody uses it."""

    id: str
    fades_at: Moment | None = Field(description="Null if it never fades.")
    why: str = Field(description="Whether and when it fades, in plain words.")
    threshold: float
    points: list[tuple[int, float]] = Field(description="Days from now, with the confidence.")


# The three lists of the Memory page


class Numbered(BaseModel):
    """An item of a numbered list."""

    index: int = Field(ge=1, description="From 1, in order of storage.")
    id: str
    key: str = Field(description="Same as the id.")
    text: str
    category: str
    confidence: float
    protected: bool
    created_at: Moment


class Fact(Numbered):
    """A fact."""

    subject: str
    predicate: str
    object: str
    evidence_quote: str


class Arc(Numbered):
    """A session with its summary."""

    session: str | None
    title: str = Field(examples=["Gina opens her dance studio"])
    summary: str
    themes: list[str]
    mood_opened: str
    mood_closed: str
    turn_count: int
    ended_at: Moment


class Rule(Numbered):
    """A rule."""

    rule: str
    evidence: str
    added_at: Moment


class Deleted(BaseModel):
    """Result of a deletion."""

    deleted: bool
    detail: str = Field(examples=["Deleted fact #1. 1 remaining."])
    run: Run


class Counts(BaseModel):
    """Number of facts (semantic), sessions (episodic) and rules (procedural)."""

    semantic: int
    episodic: int
    procedural: int


class Standing(BaseModel):
    """Memory of an owner in numbers."""

    memory_mode: str = Field(examples=["local"])
    owner_id: str = Field(examples=["alice"])
    counts: Counts
    crisis_log_count: int
    session_feedback_count: int
    proactive_recall_enabled: bool


class Totals(BaseModel):
    """What the Memory page shows beside every view."""

    active: dict[str, int] = Field(description="Number of active memories by kind.")
    review: int = Field(description="Number of proposals that need approval.")
    oldest: Moment | None = Field(description="When the first memory was stored.")
    admin: bool = Field(description="Whether this key opens the figures of the server.")


class Switch(Request):
    """On or off."""

    enabled: bool


class Switched(BaseModel):
    """New state of the switch."""

    owner_id: str
    proactive_recall_enabled: bool
    detail: str = Field(examples=["Proactive recall is now on."])
    run: Run


# Everything else


class UndoRequest(Request):
    """Run to undo."""

    run: Name | None = Field(None, description="A run. Default: the latest one.")


class Undone(BaseModel):
    """Result of an undo."""

    run: Run
    undone: str = Field(description="The run that was undone.")
    verb: str = Field(description="What the run had done.", examples=["forget"])
    changes: int


class RunOfChanges(BaseModel):
    """A run with its undo information."""

    run: Run
    at: Moment
    actor: str = Field(examples=["http:alice"])
    verb: str = Field(examples=["forget"])
    undone: bool = Field(description="Whether it was undone.")
    count: int = Field(description="Number of memories it changed.")
    memories: list[Record] = Field(description="Some of them, as they are now.")
    names: list[str] = Field(description="People and places that were merged, split or renamed.")


class Health(BaseModel):
    """Status of an owner's memory."""

    memories: dict[str, dict[str, int]] = Field(
        description="Number of memories by kind and status."
    )
    active: int
    sessions: int
    vectors: dict[str, int] = Field(
        description="Number of active memories with a vector, by model."
    )
    models: list[str]
    problems: dict[str, str] = Field(description="Models that do not work, with the reasons.")
    findings: int | None = Field(description="Problems of the store; null if not permitted.")


class Question(Request):
    """A recall query."""

    question: str = Field(max_length=MOST_TEXT, examples=["what does she drink?"])
    limit: int | None = Field(None, ge=1, le=500)
    kinds: list[Kind] = Field(default_factory=list)
    categories: list[Name] = Field(default_factory=list, max_length=50)
    tags: list[Name] = Field(default_factory=list, max_length=50)
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = Field(None, description="Answer as of this time.")
    exclude_session: Name | None = None
    tokens: int | None = Field(None, ge=0, le=1_000_000)
    min_score: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only hits with this score or more. Default: nothing if the best is unlikely.",
    )
    deep: bool = Field(
        False,
        description="Read the best candidates again: slower, better in conversations.",
    )


class Answer(BaseModel):
    """Recalled memories, best first."""

    items: list[Found]


def when(micros: types.Micros | None) -> str | None:
    """Format a time for JSON."""
    return None if micros is None else iso(micros)


def found(memories: Iterable[types.Memory]) -> list[Found]:
    """Build the list schema."""
    return [Found.of(memory) for memory in memories]


def _plain(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else dict(row)
