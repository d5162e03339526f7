"""`holdfast bench`: recall measured on a public question set, from the file you give."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import config
from ...errors import InvalidInput
from ...text.terminal import counted
from .. import output
from ..app import Json, Store, app, output_file, write_lines


@app.command(hidden=True)
def bench(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="locomo or longmemeval.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The data set's JSON file.")],
    models: Annotated[
        str | None, typer.Option(help="Embedding models: static,encoder (default), static, none.")
    ] = None,
    fusion: Annotated[str | None, typer.Option(help="learned or rrf.")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Measure deep recall.")] = False,
    questions: Annotated[
        str | None,
        typer.Option("--questions", metavar="FILE", help="Write one JSON line per question here."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first conversations.")] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Measure how often recall finds the evidence for a question; no language model takes part."""
    from dataclasses import replace
    from itertools import islice

    from ... import benchmark

    if dataset not in benchmark.DATASETS:
        raise InvalidInput(
            f"Unknown data set {dataset!r}. Use one of: {', '.join(benchmark.DATASETS)}."
        )
    target = output_file(questions) if questions else None
    settings = config.load()
    chosen = config.checked("fusion", fusion or settings.fusion, "--fusion")
    settings = replace(
        settings, embedding_models=models or settings.embedding_models, fusion=chosen
    )
    pools = list(islice(benchmark.DATASETS[dataset](path), limit))
    # Unless --store is given, a fresh store: no other memories take part.
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        output.progress("starting") as bar,
    ):

        def told(what: str, steps: int) -> None:
            bar.update(bar.tasks[0].id, description=what)
            output.advance(bar, steps)

        answers = benchmark.evaluate(
            pools, store or Path(folder) / "bench.db", settings, told, deep=deep
        )
    if target is not None:
        write_lines(target, (f"{line}\n" for line in benchmark.per_question(answers)))
    report: dict[str, Any] = {
        "dataset": dataset,
        "models": settings.embedding_models,
        "fusion": settings.fusion,
        "deep": deep,
    }
    report |= benchmark.report(answers)
    output.emit(report) if as_json else _tables(report)


def _tables(report: dict[str, Any]) -> None:
    questions = counted(report["questions"], "question")
    print(f"{report['dataset']}: {questions}, models {report['models']}, fusion {report['fusion']}")
    if report["deep"]:
        print("deep: the best candidates read together with the question")
    for level in ("turns", "sessions"):
        groups = report[level]
        columns = list(next(iter(groups.values())))
        print(f"\n{level[:-1]} recall")
        rows = [
            (name, *(_figure(figures[column]) for column in columns))
            for name, figures in groups.items()
        ]
        output.table(("category", *columns), rows, empty="")


def _figure(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
