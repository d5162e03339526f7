"""`record verify`: check the evidence of records, and re-anchor what a person confirms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...text.terminal import plain
from ...types import Memory
from .. import output
from ..app import Json, Store, confirmed
from ..record_roots import complete_records, headline, open_records, record_of
from .record import record_app

if TYPE_CHECKING:
    from ...context.brief import Verdict

Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID…", help="Ids of records. Default: all.", autocompletion=complete_records
    ),
]


Update = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Ask about each stale citation, and re-anchor what still holds.",
    ),
]
COLUMNS = ("id", "state", "cited", "now", "text")


@record_app.command()
def verify(
    ids: Ids = None,
    update: Update = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --update: do not ask, re-anchor all.")
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Check whether the files and lines that records cite still say the same. The result is FRESH,
    MOVED, STALE or UNVERIFIABLE.

    Example: holdfast record verify --update
    """
    with open_records(store) as hf:
        records = [record_of(hf, id_) for id_ in ids] if ids else hf.records.list()
        found = hf.records.verify(records)
        if update:
            for record in records:
                if _still_holds(record, found.get(record.id, ()), yes=yes):
                    hf.records.reanchor(record.id)
            # Verified again, because re-anchoring has changed the evidence.
            found = hf.records.verify([hf.get(record.id) for record in records])
        _show(records, found, as_json=as_json)


def _still_holds(
    record: Memory,
    verdicts: Sequence[Verdict],
    *,
    yes: bool,
) -> bool:
    """Ask a person whether a record with stale evidence still holds."""
    doubts = [str(verdict) for verdict in verdicts if verdict.state != "FRESH"]
    return bool(doubts) and confirmed(
        (
            f"{record.id}: {plain(headline(record))}\n  {plain('; '.join(doubts))}\nDoes it still "
            "hold?"
        ),
        yes=yes,
    )


def _show(
    records: Sequence[Memory],
    found: Mapping[str, Sequence[Verdict]],
    *,
    as_json: bool,
) -> None:
    pairs = [(record, verdict) for record in records for verdict in found.get(record.id, ())]
    if as_json:
        output.emit(
            [
                {"id": record.id, "title": record.title, **asdict(verdict)}
                for record, verdict in pairs
            ]
        )
        return
    rows = [
        (one.id, verdict.state, verdict.cited, verdict.found or verdict.reason, headline(one))
        for one, verdict in pairs
    ]
    output.table(COLUMNS, rows, empty="No record cites anything.")
