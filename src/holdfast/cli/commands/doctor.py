"""`doctor`: check the store, the models and what is installed around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ...models.embeddings import packs
from ...text.terminal import plain
from .. import output as show
from ..app import UPKEEP, Json, Scope, Store, app, open_memory
from ..open_store import doctor_of

if TYPE_CHECKING:
    from ...storage import Findings
    from ..environment import Note


@app.command(rich_help_panel=UPKEEP)
def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild the indexes and repair damaged rows.")
    ] = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Check the store, the embedding models and the optional packages, and say how to fix what is
    wrong. The exit code is 1 if the store or a bundled model is damaged.

    Example: holdfast doctor --repair
    """
    from ..environment import notes

    around = list(notes(store))
    # Printed before the store is opened, because opening may be what fails.
    if not as_json:
        _tell_around(around)
    with open_memory(store, scope, make=False, quiet=True) as hf:
        with show.progress("checking") as bar:
            findings = hf.admin.check(repair=repair, progress=show.follow(bar))
        models = _model_problems()
        vectors = hf.admin.embedding_problems(ask=True)
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
        # Any failure is a finding; `doctor` must report it rather than crash.
        except Exception as error:
            problems.append(str(error))
    return problems


def _tell_around(around: Sequence[Note]) -> None:
    """Print what works, one line each, then what is missing or wrong with the fix."""
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


def _tell(
    location: str,
    findings: Findings,
    models: list[str],
    repair: str,
) -> None:
    for finding in findings:
        print(plain(f"! {finding.check}: {finding.detail}"))
    for problem in models:
        print(f"! models: {problem}")
    if not findings and not models:
        from ...storage.connect import is_server

        first = "schema, row-level security" if is_server(location) else "file, schema"
        print(f"{location} is in order: {first}, words, vectors, totals, journal, model packs.")
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
