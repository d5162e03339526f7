"""What requests bring and answers carry, as the OpenAPI page shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from .. import types
from ..extraction import approval
from ..types import iso

Kind = types.Kind
Status = types.Status
Moment = Annotated[
    str, Field(description="ISO 8601 with offset.", examples=["2026-03-18T12:00:00+00:00"])
]
Run = Annotated[
    str,
    Field(
        description="What `POST /undo` takes back; empty if nothing changed.",
        examples=["run_01kkz0v7w0c4m2hq"],
    ),
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Id = Annotated[
    str, Field(min_length=1, max_length=200, pattern="[^0-9]", description="The id of a memory.")
]
# The setting max_content_bytes draws the real line.
MOST_TEXT = 1_000_000


class Problem(BaseModel):
    """An error (RFC 9457): what happened and what to do next."""

    type: str = "about:blank"
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["Fact #9 does not exist (only 2 fact(s))."])
    request_id: str = Field(
        description="The log of the server says more under this name.", examples=["req_01kkz0v7w0"]
    )
    errors: list[dict[str, str]] | None = Field(
        None, description="What is wrong where, in a request of wrong shape."
    )


class Request(BaseModel):
    """What a request brings; a field that does not exist is an error, not ignored."""

    model_config = ConfigDict(extra="forbid")


# Memories


class Triple(BaseModel):
    """What a fact states."""

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
        description="Grows with the order of storing. Not the number that the command line shows: "
        "such numbers are "
        "shared by all owners of a store, and gaps between them would tell how much others keep."
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
    quote: str = Field(description="The words it rests on.")
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
        """The memory as JSON, with what an answer adds to it."""
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
    """A memory as it is after a change."""

    run: Run


class Reasons(BaseModel):
    """Why a memory was found."""

    summary: str = Field(examples=["lexical #1, dense #2; coverage +1.20"])
    arms: dict[str, int] = Field(description="Its rank in each way to search.")
    signals: dict[str, float] = Field(description="What was added up to its score.")
    model: str


class Found(Record):
    """A memory in a list; when there was a question, with its score and the reasons for it."""

    score: float | None = Field(None, description="From 0 to 1; higher is better.")
    why: Reasons | None = None

    @classmethod
    def by(cls, hit: types.Hit) -> Self:
        """A hit of recall."""
        signals = {signal.name: round(signal.share, 4) for signal in hit.why.signals}
        why = Reasons(
            summary=str(hit.why), arms=dict(hit.why.arms), signals=signals, model=hit.why.model
        )
        return cls.of(hit.memory, score=round(hit.score, 4), why=why)


class Page(BaseModel):
    """Memories, and where to go on."""

    items: list[Found]
    next: str | None = Field(description="Pass it as `after` for the next page; null at the end.")
    warnings: list[str] = Field(
        default_factory=list,
        description=(
            "What the answer went without: memories that are damaged, a model that does not answer."
        ),
    )


class Statement(Request):
    """Something to remember."""

    content: str = Field(
        min_length=1, max_length=MOST_TEXT, examples=["Prefers green tea to coffee"]
    )
    kind: Kind = "fact"
    category: Name = "general"
    title: str = Field("", max_length=500)
    author: str = Field("", max_length=200)
    tags: list[Name] = Field(default_factory=list, max_length=50)
    confidence: float = Field(1.0, ge=0, le=1)
    event_time: datetime | None = Field(None, description="When it happened; nothing: now.")
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Correction(Request):
    """What a memory should say instead."""

    content: str = Field(
        min_length=1, max_length=MOST_TEXT, examples=["Prefers white tea to coffee"]
    )
    reason: str = Field("", max_length=1000, examples=["misheard"])


class Decision(BaseModel):
    """What the write policy decided on a memory, and why."""

    action: str
    reason: str
    version: str
    timing: str


class Source(BaseModel):
    """A turn that a memory rests on."""

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
    """One entry of the journal."""

    at: Moment
    actor: str
    verb: str
    run: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    @classmethod
    def of(cls, event: types.Event) -> Self:
        """An event as JSON."""
        return cls(
            at=iso(event.at),
            actor=event.actor,
            verb=event.verb,
            run=event.run,
            before=_plain(event.before),
            after=_plain(event.after),
        )


class Story(BaseModel):
    """Why a memory was stored, what it rests on, and what happened to it since."""

    summary: str = Field(examples=["commit_now: said plainly (immediate)"])
    decision: Decision | None = Field(
        description="Null for what a person or a program stored directly."
    )
    quote: str
    quotes: list[str] = Field(
        description="All the words it rests on, where it was said more than once."
    )
    sources: list[Source]
    links: list[Link]
    history: list[Change] = Field(description="Oldest first.")


class Forecast(BaseModel):
    """How sure a memory will be if nobody uses it."""

    id: str
    fades_at: Moment | None = Field(description="Null for one that never fades.")
    threshold: float
    points: list[tuple[int, float]] = Field(description="Days from now, and the confidence then.")


# The three lists of the Memory page


class Numbered(BaseModel):
    """One of a numbered list."""

    index: int = Field(ge=1, description="From 1, in the order in which they were stored.")
    id: str
    key: str = Field(description="The id once more.")
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
    """A session, as its summary tells it."""

    session: str | None
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
    """What a deletion did."""

    deleted: bool
    detail: str = Field(examples=["Deleted fact #1. 1 remaining."])
    run: Run


class Counts(BaseModel):
    """How many facts (semantic), sessions (episodic) and rules (procedural) there are."""

    semantic: int
    episodic: int
    procedural: int


class Standing(BaseModel):
    """What is remembered about an owner, in numbers."""

    memory_mode: str = Field(examples=["local"])
    owner_id: str = Field(examples=["alice"])
    counts: Counts
    crisis_log_count: int
    session_feedback_count: int
    proactive_recall_enabled: bool


class Switch(Request):
    """On or off."""

    enabled: bool


class Switched(BaseModel):
    """How the switch stands now."""

    owner_id: str
    proactive_recall_enabled: bool
    detail: str = Field(examples=["Proactive recall is now on."])
    run: Run


# Everything else


class UndoRequest(Request):
    """What to take back."""

    run: Name | None = Field(None, description="A run; nothing: the latest one.")


class Undone(BaseModel):
    """What was taken back."""

    run: Run
    undone: str = Field(description="The run that was taken back.")
    verb: str = Field(description="What it had done.", examples=["forget"])
    changes: int


class Who(BaseModel):
    """A person, project, place… that memories mention."""

    id: str
    name: str = Field(examples=["Lisbon"])
    type: str = Field(examples=["location"])
    aliases: list[str]
    summary: str
    mentions: int

    @classmethod
    def of(cls, entity: types.Entity, **more: Any) -> Self:
        """The entity as JSON."""
        fields = {name: getattr(entity, name) for name in Who.model_fields}
        return cls(**{**fields, "aliases": list(entity.aliases)}, **more)


class Profile(Who):
    """Everything about one of them."""

    memories: list[Record]


class Happening(BaseModel):
    """Something that happened, or was learned."""

    at: Moment = Field(description="When memory came to know of it.")
    what: Literal["happened", "learned"]
    memory: Record


class Timeline(BaseModel):
    """What happened and was learned, newest first."""

    items: list[Happening]
    next: str | None = Field(
        description="Pass it as `before` for what came earlier; null at the end."
    )


class RunOfChanges(BaseModel):
    """What one run did, with its way back."""

    run: Run
    at: Moment
    actor: str = Field(examples=["http:alice"])
    verb: str = Field(examples=["forget"])
    undone: bool = Field(description="Whether it has been taken back.")
    count: int = Field(description="How many memories it changed.")
    memories: list[Record] = Field(description="Some of them, as they are now.")


class Health(BaseModel):
    """How an owner's memory stands."""

    memories: dict[str, dict[str, int]] = Field(description="How many, by kind and status.")
    active: int
    sessions: int
    vectors: dict[str, int] = Field(description="How many active memories have a vector, by model.")
    models: list[str]
    problems: dict[str, str] = Field(description="Models that do not work, and why.")
    findings: int | None = Field(
        description="What is amiss in the store; null if it cannot be told."
    )


class Question(Request):
    """What to recall."""

    question: str = Field(max_length=MOST_TEXT, examples=["what does she drink?"])
    limit: int | None = Field(None, ge=1, le=500)
    kinds: list[Kind] = Field(default_factory=list)
    categories: list[Name] = Field(default_factory=list, max_length=50)
    tags: list[Name] = Field(default_factory=list, max_length=50)
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = Field(None, description="Answer with what was known then.")
    exclude_session: Name | None = None
    tokens: int | None = Field(None, ge=0, le=1_000_000)


class Answer(BaseModel):
    """What was recalled, best first."""

    items: list[Found]


class Proposal(Record):
    """A memory that waits for a person."""

    proposed_by: str
    reason: str = Field(description="Why it was proposed.")
    effect: str = Field(description="What agreeing would do.", examples=["It is new."])
    nearest: Record | None = Field(description="The memory in force that is most like it.")

    @classmethod
    def weighed(cls, memory: types.Memory, weighed: approval.Weighed) -> Self:
        """A proposal with what agreeing to it would do."""
        return cls.of(
            memory,
            proposed_by=approval.proposer(memory),
            reason=approval.grounds(memory),
            effect=weighed.told,
            nearest=Record.of(weighed.nearest) if weighed.nearest else None,
        )


class Approval(Request):
    """Agreed; perhaps in other words."""

    content: str | None = Field(None, min_length=1, max_length=MOST_TEXT)


class Rejection(Request):
    """Not agreed."""

    reason: str = Field("", max_length=1000)


def when(micros: types.Micros | None) -> str | None:
    """A time as JSON has it."""
    return None if micros is None else iso(micros)


def found(memories: Iterable[types.Memory]) -> list[Found]:
    """Memories as a list has them."""
    return [Found.of(memory) for memory in memories]


def _plain(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else dict(row)
