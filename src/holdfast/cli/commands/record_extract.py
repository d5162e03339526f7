"""`record extract`: turn indexed sessions of a project into records."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...text.terminal import counted, plain, shorten
from .. import output
from ..app import Json, Store, open_memory
from .record import record_app

if TYPE_CHECKING:
    from ...records.session_notes import Extracted, Noted

MARKS = {"add": "+", "supersedes": "~", "conflicts": "!", "known": "=", "ignored": "-"}


@record_app.command()
def extract(
    sessions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION]…", help="Ids or files of indexed sessions. Default: all new ones."
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Show what would be written, with quotes. The language model is asked.",
        ),
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Extract records from indexed sessions: decisions, procedures, principles, incidents,
    preferences. Each session is read once.

    Example: holdfast record extract --plan
    """
    with open_memory(store, None, project=True) as hf, output.progress("reading sessions") as bar:
        # Spend is counted per day; the difference is the cost of this command.
        before = hf.stats()["spend"]
        done = hf.records.extract(
            *(sessions or ()),
            plan=plan,
            progress=lambda read, total: bar.update(bar.tasks[0].id, completed=read, total=total),
        )
        asked = {name: count - before[name] for name, count in hf.stats()["spend"].items()}
    for session, reason in done.failures.items():
        print(
            f"Warning: {plain(session)} is read again the next time: {plain(reason)}",
            file=sys.stderr,
        )
    if as_json:
        output.emit(_as_json(done))
    else:
        _tell(done, plan=plan)
    if asked["calls"]:
        took = f"{output.times(asked['calls'])}, {asked['tokens']:,} tokens"
        print(f"The language model was asked {took}.", file=sys.stderr)
    if done.failures and not done.sessions:
        # Nothing that was to be read could be.
        raise typer.Exit(1)


def _as_json(done: Extracted) -> dict[str, Any]:
    return asdict(done) | {"records": done.records}


def _tell(done: Extracted, *, plan: bool) -> None:
    for one in done.notes:
        if plan or one.decision not in ("known", "ignored"):
            _tell_note(one, quoted=plan)
    print(_summary(done, plan=plan))


def _tell_note(one: Noted, *, quoted: bool) -> None:
    """Print a note: decision, place and title; in a plan also its text and quote."""
    note = one.note
    where = note.category if note.place == "project" else f"{note.category} (assistant)"
    print(
        f"{MARKS[one.decision]} {where}: "
        f"{plain(shorten(note.title, 100))}{f'  {one.record}' if one.record else ''}"
    )
    if quoted:
        for line in plain(note.text).split("\n"):
            print(f"    {line}")
        print(f'    "{plain(shorten(note.quote, 200))}" ({plain(one.session)})')
    if one.reason:
        print(f"    {one.decision}: {plain(one.reason)}{f' ({one.other})' if one.other else ''}")


def _summary(done: Extracted, *, plan: bool) -> str:
    if not (done.sessions or done.skipped or done.failures):
        return "No session is indexed yet. Name transcripts: holdfast project index PATH…"
    new = sum(one.decision not in ("known", "ignored") for one in done.notes)
    known = sum(one.decision == "known" for one in done.notes)
    records = counted(new, "record")
    sessions = counted(done.sessions, "session")
    read = f"{sessions} read, {done.skipped} read before"
    if plan:
        return f"Would write {records}; {known} known already ({read}). Nothing was written."
    return f"{records[:1].upper()}{records[1:]} written; {known} known already ({read})."
