"""`holdfast demo`: a one-minute tour in its own store, offline and without setup."""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import config
from ...text.terminal import counted
from ...types import Hit, from_iso
from .. import output
from ..app import START, app, when

if TYPE_CHECKING:
    from ...client import Holdfast

QUESTIONS = (
    "When do we move to Lisbon?",
    "Who must not eat peanuts?",
    "What did we learn from the billing job that ran out of memory?",
    "How much deposit does the old landlord owe me?",
)
UNKNOWN = "Write a haiku about autumn."
CHANGE = {
    "small-talk": ("2026-01-10T20:05", "I live in Hamburg, near the harbour."),
    "new-home": ("2026-05-03T08:30", "I live in Lisbon now, with a view of the river."),
}
SCOPE = "user:demo"
STORE_OPTION = typer.Option("--store", metavar="PATH", help="File for the demo's store.")


@app.command(rich_help_panel=START)
def demo(
    store: Annotated[str | None, STORE_OPTION] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Show Holdfast at work on sample conversations: recall with reasons, a question without an
    answer, a change over time, an undo. It uses a temporary store unless --store names one.

    Example: holdfast demo
    """
    # The folder is not deleted: the last lines suggest commands to try on this store.
    path = Path(store) if store else Path(tempfile.mkdtemp(prefix="holdfast-demo-")) / "memory.db"
    told = _Teller(silent=as_json)
    steps: dict[str, Any] = {"store": str(path)}
    with _open(path) as hf:
        steps["captured"] = _take_in(hf, told)
        steps["answers"] = _ask(hf, told)
        steps["unknown"] = _ask_what_nobody_said(hf, told)
        steps["change"] = _change(hf, told)
        steps["correction"] = _correct_and_undo(hf, told)
    # A second client on the same file shows what survives a restart.
    with _open(path) as hf:
        steps["restart"] = _after_restart(hf, told)
    told.say(_what_next(path))
    if as_json:
        output.emit(steps)


class _Teller:
    """Prints the tour unless silent."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")

    def head(self, text: str) -> None:
        self.say(f"\n{self._bold[0]}{text}{self._bold[1]}")

    def say(self, text: str) -> None:
        if not self._silent:
            print(text)


def _open(path: Path) -> Holdfast:
    from ...client import Holdfast

    # Only what installs with the package: the tour must not depend on anyone's settings.
    return Holdfast.open(
        path, scope=SCOPE, settings=config.Settings(), actor="demo", background=False
    )


def _take_in(hf: Holdfast, told: _Teller) -> int:
    told.head("1. Past conversations go in, verbatim: one transaction, no model, no network")
    conversations = json.loads((files("holdfast.cli.commands") / "demo.json").read_text("utf-8"))
    captured = 0
    for conversation in conversations:
        at = from_iso(conversation["date"])
        turns = [
            {"session": conversation["session"], "role": role, "text": text, "event_time": at}
            for role, text in conversation["turns"]
        ]
        captured += len(hf.capture_many(turns))
    told.say(
        f"   {counted(captured, 'turn')} of {counted(len(conversations), 'conversation')} in "
        f"{hf.store.location}"
    )
    # In daily use this happens in the background, after the reply.
    hf.admin.reembed()
    return captured


def _ask(hf: Holdfast, told: _Teller) -> list[dict[str, Any]]:
    told.head("2. Questions, answered with their source and the reasons for the score")
    answers = []
    for question in QUESTIONS:
        hits = hf.recall(question, limit=2)
        told.say(f"\n   {question}")
        for hit in hits:
            told.say(_line(hit))
        answers.append({"question": question, "hits": [output.hit_json(hit) for hit in hits]})
    return answers


def _ask_what_nobody_said(hf: Holdfast, told: _Teller) -> list[dict[str, Any]]:
    told.head("3. A request that has nothing to do with what is remembered finds nothing")
    hits = hf.recall(UNKNOWN)
    told.say(f"   {UNKNOWN}")
    for hit in hits:
        told.say(_line(hit))
    if not hits:
        told.say("   Nothing relevant is known.")
    return [output.hit_json(hit) for hit in hits]


def _change(hf: Holdfast, told: _Teller) -> dict[str, Any]:
    told.head("4. What changes replaces what was: facts learned from two conversations, offline")
    for session, (date, said) in CHANGE.items():
        hf.capture(session, "user", said, event_time=from_iso(date))
        hf.sessions.end(session)
        hf.sessions.learn(session)
        told.say(f'   {date[:10]}  "{said}"')
    facts = hf.list(kinds=["fact"], statuses=["active", "superseded"])
    for fact in reversed(facts):
        told.say(f"   {fact.status:>10}  {fact.content}")
    return {fact.content: fact.status for fact in facts}


def _line(hit: Hit) -> str:
    memory = hit.memory
    return (
        f"   {hit.score:.2f}  {memory.content}\n"
        f"         {memory.role} in {memory.session}, {when(memory.event_time)[:10]} · "
        f"{memory.id}\n"
        f"         why: {hit.why}"
    )


def _correct_and_undo(hf: Holdfast, told: _Teller) -> dict[str, Any]:
    told.head("5. A fact is remembered, corrected, and the correction undone")
    fact = hf.remember(
        "The landlord's deadline for the deposit is the end of June", category="deadlines"
    )
    new = hf.correct(
        fact.id,
        "The landlord's deadline for the deposit is the 15th of July",
        reason="he asked for more time",
    )
    told.say(f"   corrected: {hf.recall('deposit deadline', limit=1)[0].memory.content}")
    told.say(f"   history of {fact.id}: " + " → ".join(event.verb for event in hf.history(fact.id)))
    hf.undo(hf.last_run)
    after = hf.recall("deposit deadline", kinds=["fact"], limit=1)[0].memory
    told.say(f"   undone:    {after.content}")
    return {
        "corrected": new.content,
        "after_undo": after.content,
        "same_memory": after.id == fact.id,
    }


def _after_restart(hf: Holdfast, told: _Teller) -> dict[str, Any]:
    told.head("6. The store is closed and opened again: everything is there")
    found = hf.stats()
    problems = hf.admin.check()
    memories = counted(found["active"], "memory")
    entries = counted(len(hf.admin.log(limit=None)), "journal entry")
    told.say(f"   {memories}, {entries}, doctor: {problems or 'all in order'}")
    told.say(f"   {QUESTIONS[0]}  {hf.recall(QUESTIONS[0], limit=1)[0].memory.content}")
    return {"active": found["active"], "findings": len(problems)}


def _what_next(path: Path) -> str:
    from .serve import PORT

    option = f"--store {path} --scope {SCOPE}"
    return f"""
The file is {path}. Try:
   holdfast recall "what should I cook for Priya?" --why {option}
   holdfast history {option}
   holdfast serve --open {option}          (the Memory page, http://127.0.0.1:{PORT})
   holdfast remember "I take my coffee black"          (your own memory, in your own file)
   holdfast --help"""
