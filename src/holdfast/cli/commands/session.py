"""Commands about what is remembered and why: decisions, conversations, what is set for an owner."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ...errors import NotFound
from ...extraction.progress import FACTS, SUMMARY, covers, marks_of
from ...text.terminal import counted, plain, shorten
from .. import output
from ..app import READING, WRITING, Id, Json, Scope, Store, app, json_time, open_memory, when

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...extraction.policy import JudgedCandidate
    from ...retrieval.provenance import Stored
    from ...types import Memory, Session

session_app = typer.Typer(
    no_args_is_help=True, help="Conversations: which there are, how they stand, and their end."
)
app.add_typer(session_app, name="session", rich_help_panel=READING)
SessionId = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="Id of a conversation; see `holdfast session list`."),
]
Switch = Literal["on", "off"]


@app.command("why-stored", rich_help_panel=READING)
def why_stored(ref: Id, store: Store = None, scope: Scope = None, as_json: Json = False) -> None:
    """Tell why a memory was stored: what was decided, by which policy, and on whose words it rests.

    Of a turn it also tells what was not stored of it, and why.
    """
    with open_memory(store, scope, make=False) as hf:
        found = hf.why_stored(ref)
        if as_json:
            output.emit(_stored_json(found))
            return
        memory = found.memory
        output.fields(
            (("id", memory.id), ("status", _status(memory)), ("text", shorten(memory.content, 400)))
        )
        if found.decision is None:
            output.fields((("decision", found.summary),))
        else:
            told = found.decision
            output.fields((("action", told.action), ("reason", told.reason), ("when", told.timing)))
            output.fields((("policy", told.version),))
        output.fields(("quote", f"“{quote}”") for quote in found.quotes)
        for turn in found.sources:
            who = turn.author or turn.role or turn.kind
            print(
                f"{'rests on':<12} {turn.id}  {when(turn.event_time)}  {plain(who)}: "
                f"{shorten(turn.content, 300)}"
            )
        for one in found.dropped:
            what = f" a {one.kind}" if one.kind else ""
            print(plain(f"{'not stored':<12}{what} ({one.version}): {one.reason}"))


def _status(memory: Memory) -> str:
    return f"{memory.status}: {memory.status_reason}" if memory.status_reason else memory.status


def _stored_json(found: Stored) -> dict[str, Any]:
    return {
        "id": found.memory.id,
        "content": found.memory.content,
        "status": found.memory.status,
        "status_reason": found.memory.status_reason,
        "decision": asdict(found.decision) if found.decision else None,
        "quotes": list(found.quotes),
        "sources": [output.memory_json(one) for one in found.sources],
        "dropped": [asdict(one) for one in found.dropped],
    }


@app.command(rich_help_panel=WRITING)
def consider(
    session: SessionId, store: Store = None, scope: Scope = None, as_json: Json = False
) -> None:
    """Read what was said in a conversation since the last time, and decide what of it is
    remembered, and when.

    What is sure is stored at once; the rest is held until the conversation ends, waits for a
    person, or is dropped.
    """
    with open_memory(store, scope, make=False) as hf:
        judged = hf.consider(session)
        problem = hf.stats()["problems"].get(f"session {session}")
        if as_json:
            output.emit({"decisions": [_judged_json(one) for one in judged], "problem": problem})
            return
        rows = [
            (one.verdict.action, one.candidate.kind, one.verdict.reason, _quoted(one))
            for one in judged
        ]
        empty = f"Nothing was written: {problem}" if problem else "Nothing new to remember."
        output.table(("action", "kind", "reason", "text"), rows, empty=empty)


def _quoted(judged: JudgedCandidate) -> str:
    return "" if judged.verdict.action == "drop" else judged.candidate.quote


def _judged_json(judged: JudgedCandidate) -> dict[str, Any]:
    return {
        "action": judged.verdict.action,
        "reason": judged.verdict.reason,
        "version": judged.verdict.version,
        "kind": judged.candidate.kind,
        "category": judged.candidate.category,
        "quote": _quoted(judged),
        "turn": judged.candidate.source,
    }


@session_app.command("list")
def list_sessions(
    open_only: Annotated[
        bool, typer.Option("--open", help="Only those that have not ended.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 50,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """List conversations, the most recently active first."""
    with open_memory(store, scope, make=False) as hf:
        found = hf.sessions(open_only=open_only)[:limit]
        if as_json:
            output.emit([_session_json(hf, one) for one in found])
            return
        rows = [
            (one.id, one.agent, when(one.started_at), when(one.last_activity), _stands(hf, one))
            for one in found
        ]
        output.table(
            ("id", "agent", "began", "last active", "text"), rows, empty="No conversations."
        )


@session_app.command("show")
def show_session(
    session: SessionId, store: Store = None, scope: Scope = None, as_json: Json = False
) -> None:
    """Tell how a conversation stands: its turns, what is held, what was learned from it, its
    summary.
    """
    with open_memory(store, scope, make=False) as hf:
        known = _known(hf, session)
        learned = [
            one for one in hf.list(statuses=("active", "held", "proposed")) if _is_of(one, session)
        ]
        learned.reverse()
        if as_json:
            output.emit(
                {
                    **_session_json(hf, known),
                    "memories": [output.memory_json(one) for one in learned],
                }
            )
            return
        output.fields(
            (
                ("id", known.id),
                ("agent", known.agent),
                ("began", when(known.started_at)),
                ("is", _stands(hf, known)),
            )
        )
        output.memories(learned)


@session_app.command("end")
def end_session(
    session: SessionId, store: Store = None, scope: Scope = None, as_json: Json = False
) -> None:
    """End a conversation and learn from it now: what was held is kept or put away, and it gets its
    summary.
    """
    with open_memory(store, scope, make=False) as hf:
        _known(hf, session)
        ended = hf.end_session(session)
        done = hf.learn(session)
        if as_json:
            output.emit({"ended": ended, **asdict(done)})
            return
        print(f"Session {plain(session)} {'has ended' if ended else 'had ended before'}.")
        summary = "a summary was written" if done.arcs else "no summary"
        print(
            f"{counted(done.new, 'new memory')}, {counted(done.refused, 'held one')} not kept, "
            f"{summary}."
        )


@app.command(rich_help_panel=WRITING)
def profile(
    recall: Annotated[
        Switch | None,
        typer.Option("--recall", help="Whether memories are brought up without being asked for."),
    ] = None,
    memory: Annotated[
        Switch | None, typer.Option("--memory", help="Whether anything is learned at all.")
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Show what is set for whom the memories belong to, or set it."""
    with open_memory(store, scope) as hf:
        wanted = {"proactive_recall": recall, "enabled": memory}
        changes = {name: switch == "on" for name, switch in wanted.items() if switch is not None}
        told = hf.set_profile(**changes) if changes else hf.profile()
        if as_json:
            output.emit(told)
            return
        output.fields(
            (
                ("recall", "on" if told["proactive_recall"] else "off"),
                ("memory", "on" if told["enabled"] else "off"),
            )
        )


def _known(hf: Holdfast, session: str) -> Session:
    for one in hf.sessions():
        if one.id == session:
            return one
    raise NotFound(f"No session {session!r} here. `holdfast session list` shows them.", id=session)


def _is_of(memory: Memory, session: str) -> bool:
    return session in (memory.session, memory.metadata.get("session"))


def _stands(hf: Holdfast, session: Session) -> str:
    """How a conversation stands, in a few words."""
    marks = marks_of(hf.store, session)
    if session.ended_at is None:
        stands = "open"
    elif not covers(marks.get(SUMMARY), session):
        stands = f"ended ({session.end_reason or 'ended'}), not learned from yet"
    else:
        stands = f"ended ({session.end_reason or 'ended'}), learned from"
    failed = marks[FACTS].detail.get("failed") if FACTS in marks else None
    return f"{stands}; not considered: {failed['error']}" if failed else stands


def _session_json(hf: Holdfast, session: Session) -> dict[str, Any]:
    read = marks_of(hf.store, session).get(SUMMARY)
    return {
        "id": session.id,
        "scope": str(session.scope),
        "agent": session.agent,
        "started_at": json_time(session.started_at),
        "last_activity": json_time(session.last_activity),
        "ended_at": json_time(session.ended_at),
        "end_reason": session.end_reason,
        "learned": session.ended_at is not None and covers(read, session),
        "outcome": read.detail.get("outcome", "") if read else "",
        "metadata": dict(session.metadata),
    }
