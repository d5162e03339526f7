"""`explain`: why a memory was stored, and why recall did or did not find it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidInput
from ...text.terminal import plain, shorten
from .. import output
from ..app import READING, Json, Scopes, Store, app, complete_ids, open_memory, when

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...retrieval.provenance import Stored
    from ...types import Memory


@app.command(rich_help_panel=READING)
def explain(
    target: Annotated[
        str,
        typer.Argument(
            metavar="ID|QUESTION",
            help="Id or number of a memory; with --expect, the question that was asked.",
            autocompletion=complete_ids,
        ),
    ],
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="ID", help="The memory that recall should have found."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="The limit that recall was given.")
    ] = None,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Explain why a memory was stored, by which policy and from whose words. With --expect, explain
    why a question recalled a memory, or which stage dropped it.

    Example: holdfast explain "which tea?" --expect 3
    """
    with open_memory(store, scope, make=False) as hf:
        if expect is None:
            _explain_stored(hf, target, as_json=as_json)
            return
        found = hf.explain(expect, target, limit=limit)
        if as_json:
            output.emit(found.as_dict())
            return
        print(plain(found.explanation))
        output.fields((stage.name, stage.detail) for stage in found.stages)


def _explain_stored(
    hf: Holdfast,
    ref: str,
    *,
    as_json: bool,
) -> None:
    """Print the decision that stored a memory; of a turn, also what was not stored."""
    # Ids have no spaces, so this is a question without --expect.
    if " " in ref.strip():
        raise InvalidInput(
            "To explain a recall, name the memory that you expected: "
            "holdfast explain QUESTION --expect ID"
        )
    found = hf.explain(ref)
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
