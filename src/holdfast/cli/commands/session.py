"""`session`: list conversations, extract memories from them, end them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import NotFound
from ...extraction.progress import FACTS, SUMMARY, covers, marks_of
from ...storage import Filter
from ...text.terminal import counted, plain
from .. import output
from ..app import READING, Json, Scope, Store, app, json_time, open_memory, when

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...extraction.policy import JudgedCandidate
    from ...types import Memory, Micros, Session

session_app = typer.Typer(
    no_args_is_help=True,
    help="""List and end sessions, and extract memories from them. Feedback and safety events of
sessions are stored apart from memories.

Example: holdfast session list""",
)
app.add_typer(session_app, name="session", rich_help_panel=READING)
SessionId = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="Id of a session; see `holdfast session list`."),
]


@session_app.command("extract")
def extract_session(
    session: SessionId,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Show what a language model would cost. Ask nobody."),
    ] = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Extract memories from a session's new turns. Certain ones are stored at once; the others are
    held until the session ends, proposed for review, or dropped.

    Example: holdfast session extract monday --plan
    """
    with open_memory(store, scope, make=False) as hf:
        if plan:
            _show_cost(hf, session, as_json=as_json)
            return
        judged = hf.sessions.extract(session)
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


def _show_cost(
    hf: Holdfast,
    session: str,
    *,
    as_json: bool,
) -> None:
    from ...extraction.turn_extraction import planned_cost
    from ...model_access import reading_of
    from ...models.llm.budget import ANSWER
    from ...models.llm.prices import price_in_dollars

    cost = planned_cost(hf.store, _known(hf, session), reading_of(hf))
    settings = hf.settings
    price = price_in_dollars(settings.model, cost, base_url=settings.model_url)
    if not as_json:
        print(output.cost(cost, price))
        return
    answers = cost.calls * ANSWER
    output.emit(
        {
            "model": settings.model,
            "calls": cost.calls,
            "prompt_tokens": cost.tokens - answers,
            "answer_tokens": answers,
            "dollars": price,
        }
    )


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
    open_only: Annotated[bool, typer.Option("--open", help="Only open sessions.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of results.")
    ] = 50,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """List sessions with their state. The latest conversation comes first.

    Example: holdfast session list --open
    """
    with open_memory(store, scope, make=False) as hf:
        found = hf.sessions.list(open_only=open_only)[:limit]
        if as_json:
            output.emit([_session_json(hf, one) for one in found])
            return
        rows = [
            (one.id, one.agent, when(one.started_at), when(_last_said(hf, one)), _stands(hf, one))
            for one in found
        ]
        output.table(("id", "agent", "began", "last said", "text"), rows, empty="No conversations.")


@session_app.command("show")
def show_session(
    session: SessionId,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Show the state of a session. The memories that came from it follow.

    Example: holdfast session show monday
    """
    with open_memory(store, scope, make=False) as hf:
        known = _known(hf, session)
        learned = [
            one for one in hf.list(statuses=("active", "held", "proposed")) if _is_of(one, session)
        ]
        # `list` returns the newest first; a session is read from its beginning.
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
    session: SessionId,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """End a session and extract from it now. Held candidates are kept or archived, and a summary is
    written.

    Example: holdfast session end monday
    """
    with open_memory(store, scope, make=False) as hf:
        _known(hf, session)
        ended = hf.sessions.end(session)
        done = hf.sessions.learn(session)
        if as_json:
            output.emit({"ended": ended, **asdict(done)})
            return
        print(f"Session {plain(session)} {'has ended' if ended else 'had ended before'}.")
        summary = "a summary was written" if done.arcs else "no summary"
        print(
            f"{counted(done.new, 'new memory')}, {counted(done.refused, 'held one')} not kept, "
            f"{summary}."
        )


def _known(hf: Holdfast, session: str) -> Session:
    for one in hf.sessions.list():
        if one.id == session:
            return one
    raise NotFound(f"No session {session!r} here. `holdfast session list` shows them.", id=session)


def _last_said(hf: Holdfast, session: Session) -> Micros:
    turns = hf.store.list(
        Filter(scopes=(session.scope,), kinds=("turn",), sessions=(session.id,)), limit=1
    )
    return turns[0].event_time if turns else session.last_activity


def _is_of(memory: Memory, session: str) -> bool:
    return session in (memory.session, memory.metadata.get("session"))


def _stands(hf: Holdfast, session: Session) -> str:
    """Describe the state of a session."""
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
