"""`purge`: erase permanently, with a plan before and a receipt after."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidInput
from ...text.terminal import counted, plain, shorten
from .. import output
from ..app import (
    WRITING,
    Json,
    Scope,
    Store,
    Yes,
    app,
    complete_ids,
    confirmed,
    open_memory,
    output_file,
    write_lines,
)

if TYPE_CHECKING:
    from ...erasure.purge import Plan
    from ...erasure.receipt import Receipt
    from ...storage.store_types import ErasureTarget

# Number of memories that a plan shows with their text.
SHOWN = 20
# Singular and plural of row names, in display order.
NOUNS = {
    "memories": ("memory", "memories"),
    "sessions": ("session", "sessions"),
    "messages": ("message", "messages"),
    "entities": ("entity", "entities"),
    "names": ("name", "names"),
    "mentions": ("mention", "mentions"),
    "links": ("link", "links"),
    "vectors": ("vector", "vectors"),
    "profiles": ("profile", "profiles"),
    "files": ("note of a file", "notes of files"),
    "jobs": ("job", "jobs"),
    "journal": ("journal entry", "journal entries"),
    "quotations": ("quotation", "quotations"),
}


@app.command(rich_help_panel=WRITING)
def purge(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID…", help="Ids or numbers of memories.", autocompletion=complete_ids
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="A whole session, with everything learned from it.")
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(metavar="KIND:KEY", help="Everything of one owner, e.g. user:alice."),
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Also erase the turns that the memories came from.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be erased. Change nothing.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Finish the cleanup that an earlier purge left.")
    ] = False,
    receipt: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the receipt to this file.")
    ] = None,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for other processes at each cleanup step.")
    ] = 10.0,
    yes: Yes = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Erase memories, a session or an owner from every table, index, log and file. A receipt proves
    what was erased without repeating it.

    Example: holdfast purge --session monday --plan
    """
    what: dict[str, Any] = {"session": session, "owner": owner is not None, "sources": sources}
    with open_memory(store, owner or scope, make=False) as hf:
        if finish:
            if ids or session or owner or plan:
                raise InvalidInput("--finish stands alone: what it cleans up is erased already.")
            _finished(hf.admin.finish_purge(wait=wait), as_json=as_json)
            return
        # Checked before the purge: afterwards a bad path would lose the receipt.
        target = output_file(receipt) if receipt else None
        if plan:
            _tell_plan(hf.admin.plan_purge(*(ids or ()), **what), as_json=as_json)
            return
        if not yes:
            _tell_plan(hf.admin.plan_purge(*(ids or ()), **what), to_person=True)
        if not confirmed("Erase this for good? There is no way back.", yes=yes):
            print("Nothing was erased.", file=sys.stderr)
            raise typer.Exit(1)
        with output.progress("erasing") as bar:
            given = hf.admin.purge(*(ids or ()), **what, wait=wait, progress=output.follow(bar))
        beside = _apart(store, owner) if owner else {}
    _tell_receipt(given, beside, target, as_json=as_json)


def _finished(places: list[ErasureTarget], *, as_json: bool) -> None:
    if as_json:
        output.emit(
            [{"place": one.name, "state": one.state, "detail": one.detail} for one in places]
        )
    else:
        for place in places:
            print(_place_line(place))
    if any(place.state == "pending" for place in places):
        raise typer.Exit(1)


def _apart(store: str | None, owner: str) -> dict[str, int]:
    """Erase an owner's data outside the store: delete feedback, unlink safety events."""
    from ...audit import open_audit
    from ...feedback import open_feedback
    from .audit_feedback import key_file, place_of

    audit = open_audit(place_of(store), key_file=key_file())
    feedback = open_feedback(place_of(store), key_file=key_file())
    try:
        return {"feedback": feedback.forget(owner), "safety events unlinked": audit.unlink(owner)}
    finally:
        audit.close()
        feedback.close()


def _tell_plan(
    planned: Plan,
    *,
    as_json: bool = False,
    to_person: bool = False,
) -> None:
    if as_json:
        output.emit(
            {
                "scope": str(planned.scope),
                "would_erase": dict(planned.counts),
                "memories": [{"id": one.memory.id, "why": one.why} for one in planned.going],
                "again": list(planned.again),
                "kept": {one.memory.id: one.why for one in planned.kept},
            }
        )
        return
    # Before a confirmation the plan is for a person; stdout stays free for the receipt.
    out = sys.stderr if to_person else sys.stdout
    print(f"Would be erased of {planned.scope}: {_counted(planned.counts)}.", file=out)
    for one in planned.going[:SHOWN]:
        print(f"  {one.memory.id}  {plain(shorten(one.memory.content, 80))}  ({one.why})", file=out)
    if len(planned.going) > SHOWN:
        print(f"  … and {len(planned.going) - SHOWN} more", file=out)
    for line in planned.again:
        print(line, file=out)
    for kept in planned.kept:
        print(
            f"Stays: {kept.memory.id}  {plain(shorten(kept.memory.content, 80))}  ({kept.why})",
            file=out,
        )


def _counted(counts: Mapping[str, int]) -> str:
    known = [
        (name, counts[name])
        for name in (*NOUNS, *(counts.keys() - NOUNS.keys()))
        if counts.get(name)
    ]
    return (
        ", ".join(f"{count} {NOUNS.get(name, (name, name))[count != 1]}" for name, count in known)
        or "nothing"
    )


def _tell_receipt(
    receipt: Receipt,
    beside: dict[str, int],
    file: Path | None,
    *,
    as_json: bool,
) -> None:
    told = receipt.as_json() | ({"apart": beside} if beside else {})
    if file is not None:
        write_lines(file, [json.dumps(told, ensure_ascii=False, indent=2) + "\n"])
    if as_json:
        output.emit(told)
        return
    print(f"Erased {_counted({**receipt.counts, **{k: n for k, n in beside.items() if n}})}.")
    print(
        f"Receipt {receipt.id}, nonce {receipt.nonce}, "
        f"{counted(len(receipt.items), 'sealed item')}."
    )
    clean = [place.name for place in receipt.places if place.state == "clean"]
    print(f"Clean: {', '.join(clean)}.")
    for place in receipt.places:
        if place.state != "clean":
            print(_place_line(place))
    for line in receipt.again:
        print(line)
    for id_, why in (receipt.kept or {}).items():
        print(f"Stays: {id_} ({why}).")


def _place_line(place: ErasureTarget) -> str:
    said = {"clean": "clean", "pending": "PENDING", "beyond": "stays"}[place.state]
    return f"{place.name}: {said}{f'. {place.detail}' if place.detail else ''}"
