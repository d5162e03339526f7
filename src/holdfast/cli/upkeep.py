"""Commands that look after the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from .. import config
from ..errors import InvalidInput, NotFound
from ..models import packs
from ..types import Scope as ScopeType
from . import show
from .app import UPKEEP, Json, Scope, Scopes, Store, app, open_memory, output_file


@app.command(rich_help_panel=UPKEEP)
def export(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; '-' is standard output.")
    ] = "-",
    all_: Annotated[bool, typer.Option("--all", help="Every scope in the store.")] = False,
    history: Annotated[bool, typer.Option(help="With the journal.")] = True,
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors.")] = False,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Write a lossless bundle: one JSON object a line, with history."""
    with open_memory(store, scope) as hf:
        view = hf.scoped(*_every_scope(hf.store.scopes())) if all_ else hf
        lines = view.export(history=history, vectors=vectors)
        if output == "-":
            sys.stdout.writelines(lines)
            return
        count = _write_whole(output_file(output), lines)
        if as_json:
            show.emit({"file": output, "lines": count})
        else:
            print(f"Exported {count} lines to {output}.")


def _every_scope(scopes: list[ScopeType]) -> list[ScopeType]:
    if not scopes:
        raise NotFound("There is nothing to export yet.")
    return scopes


def _write_whole(file: Path, lines: Iterable[str]) -> int:
    """Writes beside the target and renames, so that a half-written export never carries its name."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    count = 0
    try:
        with (
            os.fdopen(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out,
            show.progress("exporting") as bar,
        ):
            for line in lines:
                out.write(line)
                count += 1
                show.advance(bar, 1)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    return count


@app.command("import", rich_help_panel=UPKEEP)
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A bundle; '-' is standard input.")],
    into: Annotated[
        str | None, typer.Option("--into", metavar="KIND:KEY", help="Put it into this scope instead.")
    ] = None,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Take a bundle in, all or nothing; importing twice equals once."""
    with open_memory(store, scope) as hf:
        with _lines_of(file) as lines, show.progress("importing") as bar:
            done = hf.import_(lines, into=into, progress=lambda steps: show.advance(bar, steps))
        if as_json:
            show.emit({"added": dict(done.added), "skipped": done.skipped, "vectors": done.vectors})
        else:
            print(f"Imported {done.added['memory']} memories; {done.skipped} rows were already there.")


@contextmanager
def _lines_of(file: str) -> Iterator[Iterable[str]]:
    if file == "-":
        yield sys.stdin
        return
    try:
        with Path(file).open(encoding="utf-8") as lines:
            yield lines
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {file}: {error}. Nothing was imported.") from error


@app.command(rich_help_panel=UPKEEP)
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild every index from the memories first.")] = False,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Check every promise the store makes; exit code 1 when something is wrong."""
    with open_memory(store, scope) as hf:
        findings = hf.doctor(repair=repair)
        models = _model_problems()
        if as_json:
            show.emit(
                {
                    "store": hf.store.location,
                    "findings": [{"check": f.check, "detail": f.detail, "repairable": f.repairable} for f in findings],
                    "models": models,
                }
            )
        else:
            _tell(hf.store.location, [(f.check, f.detail, f.repairable) for f in findings], models)
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


def _tell(location: str, findings: list[tuple[str, str, bool]], models: list[str]) -> None:
    for check, detail, _ in findings:
        print(f"{check}: {detail}")
    for problem in models:
        print(f"models: {problem}")
    if not findings and not models:
        print(f"{location} is in order: file, schema, words, vectors, totals, journal, model packs.")
    elif any(repairable for *_, repairable in findings):
        print("Nothing is lost that the memories themselves hold. Rebuild the rest with: holdfast doctor --repair")


@app.command(rich_help_panel=UPKEEP)
def reembed(
    fresh: Annotated[bool, typer.Option("--fresh", help="Drop the vectors there are and start over.")] = False,
    store: Store = None,
    scope: Scopes = None,
    as_json: Json = False,
) -> None:
    """Give every memory a vector of every model in use; stop it any time, it goes on where it stopped."""
    with open_memory(store, scope) as hf:
        total = sum(hf.store.counts(hf.scopes)[kind].get("active", 0) for kind in hf.store.counts(hf.scopes))
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
