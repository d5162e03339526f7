"""Commands that look after the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ... import config
from ...errors import NotFound
from ...models.embeddings import packs
from ...text.terminal import counted, escaped, plain
from ...types import Scope as ScopeType
from .. import output as show
from ..app import UPKEEP, Json, Scope, Scopes, Store, app, open_memory, output_file, write_lines
from ..open_store import doctor_of

if TYPE_CHECKING:
    from ...storage import Findings
    from ..environment import Note


@app.command(rich_help_panel=UPKEEP)
def export(
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; '-' is standard output."),
    ] = "-",
    all_: Annotated[bool, typer.Option("--all", help="Every scope in the store.")] = False,
    history: Annotated[bool, typer.Option(help="With the journal.")] = True,
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors.")] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="As a file of another memory instead: mem0, mcp-memory.",
        ),
    ] = None,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Write a lossless bundle: one JSON object a line, with history. Or what another memory can
    hold of it.
    """
    with open_memory(store, scope, make=False, quiet=True) as hf:
        view = hf.scoped(*_every_scope(hf.store.scopes())) if all_ else hf
        if format_:
            from ...importers import written

            lines = written(view, format_)
        else:
            lines = view.export(history=history, vectors=vectors)
        if output == "-":
            # A terminal is shown escapes; a pipe is given the very bytes that the last line has the
            # hash of.
            sys.stdout.writelines(map(escaped, lines) if sys.stdout.isatty() else lines)
        else:
            with show.progress("exporting") as bar:
                count = write_lines(
                    output_file(output), lines, progress=lambda: show.advance(bar, 1)
                )
        left_out = view.store.damaged(None if all_ else view.scopes)
        if output != "-" and as_json:
            show.emit({"file": output, "lines": count, "left_out": [str(one) for one in left_out]})
        elif output != "-":
            print(f"Exported {counted(count, 'line')} to {output}.")
        show.left_out(left_out, doctor_of(view))


def _every_scope(scopes: list[ScopeType]) -> list[ScopeType]:
    if not scopes:
        raise NotFound("There is nothing to export yet.")
    return scopes


@app.command(rich_help_panel=UPKEEP)
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what is damaged, rebuild the indexes first.")
    ] = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Say what is missing here and how to get it, and check every promise the store makes.

    Exit code 1 when something is wrong with the store or the models that ship with Holdfast; what
    is only missing around it, an embedding model that does not answer among it, changes nothing
    about that.
    """
    from ..environment import notes

    around = list(notes(store))
    # Before the store is opened, for that may be what fails.
    if not as_json:
        _tell_around(around)
    with open_memory(store, scope, make=False, quiet=True) as hf:
        findings = hf.doctor(repair=repair)
        models = _model_problems()
        vectors = hf.embedding_problems(ask=True)
        if as_json:
            show.emit(
                {
                    "store": hf.store.location,
                    "findings": [
                        {"check": f.check, "detail": f.detail, "repairable": f.repairable}
                        for f in findings
                    ],
                    "models": models,
                    "embedding": vectors,
                    "surroundings": [note._asdict() for note in around],
                }
            )
        else:
            for model, why in vectors.items():
                print(f"! meaning: {model}: {plain(why)}")
            _tell(hf.store.location, findings, models, doctor_of(hf, "--repair"))
        if findings or models:
            raise typer.Exit(1)


def _model_problems() -> list[str]:
    problems = []
    for name in packs.PACKS:
        try:
            packs.verify(name)
        except Exception as error:
            problems.append(str(error))
    return problems


def _tell_around(around: Sequence[Note]) -> None:
    """What is there in a line each, then what is missing or wrong, with what to do about it."""
    for note in around:
        if note.state == "fine" and not note.topic.startswith("extra "):
            print(f"  {note.topic}: {plain(note.detail)}")
    extras = [
        note.topic.removeprefix("extra ") for note in around if note.topic.startswith("extra ")
    ]
    absent = [note.topic.removeprefix("extra ") for note in around if note.state == "missing"]
    print(f"  extras: {', '.join(extra for extra in extras if extra not in absent) or 'none'}")
    for state, mark in (("missing", "-"), ("wrong", "!")):
        for note in around:
            if note.state == state:
                print(
                    f"{mark} {note.topic}: {plain(note.detail)}"
                    + f"\n    {note.do}" * bool(note.do)
                )


def _tell(location: str, findings: Findings, models: list[str], repair: str) -> None:
    for finding in findings:
        print(plain(f"! {finding.check}: {finding.detail}"))
    for problem in models:
        print(f"! models: {problem}")
    if not findings and not models:
        print(
            f"{location} is in order: file, schema, words, vectors, totals, journal, model packs."
        )
    elif any(finding.check == "rows" and finding.repairable for finding in findings):
        print(
            "What the journal has comes back, other memories are put aside, the rest is "
            "rebuilt "
            f"with: {repair}"
        )
    elif any(finding.repairable for finding in findings):
        print(f"Nothing is lost that the memories themselves hold. Rebuild the rest with: {repair}")
    elif any(finding.check != "quarantine" for finding in findings):
        print(
            "That cannot be rebuilt from the memories. Restore a backup, or import an export "
            "into "
            "a new store."
        )


@app.command(rich_help_panel=UPKEEP)
def reembed(
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Drop the vectors there are and start over.")
    ] = False,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Give every memory a vector of every model in use; stop it any time, it goes on where it
    stopped.
    """
    with open_memory(store, scope, make=False) as hf:
        total = sum(
            hf.store.counts(hf.scopes)[kind].get("active", 0) for kind in hf.store.counts(hf.scopes)
        )
        with show.progress("embedding", total * len(list(hf.tiers))) as bar:
            done = hf.reembed(fresh=fresh, progress=lambda model, steps: show.advance(bar, steps))
        if as_json:
            show.emit(done)
        else:
            for model, count in done.items():
                print(f"{count} embedded by {model}.")


@app.command(rich_help_panel=UPKEEP)
def settings(as_json: Json = False) -> None:
    """List every setting, its value and where it comes from."""
    found = config.origins()
    if as_json:
        show.emit({o.name: {"value": o.value, "source": o.source, "help": o.help} for o in found})
        return
    rows = [(o.name, str(o.value), o.source, o.help) for o in found]
    show.table(("setting", "value", "from", "text"), rows, empty="")
    print(f"\nSet one as HOLDFAST_<NAME> or in {config.config_file()}.", file=sys.stderr)
