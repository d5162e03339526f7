"""Commands for records: decisions, procedures, principles, incidents and preferences in
Markdown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InvalidInput, meant
from ...text.terminal import plain
from ...types import Memory
from .. import output
from ..app import WRITING, Json, Store, app, parse_time, text_or_stdin, undo_command, when
from ..editor import edit, edited
from ..record_roots import (
    GUIDES,
    WHERE,
    Where,
    complete_categories,
    complete_records,
    file_of,
    headline,
    near,
    open_records,
    place_name,
    place_of,
    record_json,
    record_of,
)

if TYPE_CHECKING:
    from ...client import Holdfast

record_app = typer.Typer(
    help="""Manage records: durable knowledge in Markdown files that people edit and commit. They
belong to the project or to you.

Example: holdfast record list""",
)
app.add_typer(record_app, name="record", rich_help_panel=WRITING, no_args_is_help=True)

UNCHANGED = "Nothing was changed."
SHEET = """

;; Write above what is to be known from now on. A first line that begins with "# " is its title.
;; {category}: {guide}.
;; Lines that begin with ;; are left out. An empty text adds nothing.
"""

Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id of a record.", autocompletion=complete_records)
]
Ids = Annotated[
    list[str],
    typer.Argument(metavar="ID…", help="Ids of records.", autocompletion=complete_records),
]
Text = Annotated[
    str | None,
    typer.Argument(
        metavar="TEXT", help="The text; '-' reads a pipe. Default: a pipe, or your editor."
    ),
]
Title = Annotated[str | None, typer.Option(help="A short name for it.")]
Keywords = Annotated[
    list[str] | None, typer.Option("--keyword", help="A search keyword (repeatable).")
]
Aliases = Annotated[
    list[str] | None, typer.Option("--alias", help="Another name for it (repeatable).")
]
Expires = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Do not recall it after this time. The file stays."),
]
Confidence = Annotated[
    float | None, typer.Option(min=0, max=1, help="How sure it is, from 0 to 1.")
]
Evidence = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        metavar="FILE[:A-B]|URL|COMMIT",
        help="A file or line that supports it (repeatable).",
    ),
]


@record_app.command()
def add(
    text: Text = None,
    category: Annotated[
        str, typer.Option(help=f"One of: {', '.join(GUIDES)}.", autocompletion=complete_categories)
    ] = "",
    title: Title = None,
    where: Annotated[
        Where | None,
        typer.Option(
            "--in",
            metavar=WHERE,
            help="Where it goes. Default: the project inside one, else your own records.",
        ),
    ] = None,
    keyword: Keywords = None,
    alias: Aliases = None,
    source: Annotated[
        str | None, typer.Option(help="Where it comes from: a ticket, a person, a link.")
    ] = None,
    expires: Expires = None,
    confidence: Confidence = None,
    evidence: Evidence = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Add a record to a category. Without a text or a pipe, your editor opens.

    Example: holdfast record add "Use pnpm, not npm" --category decisions --in project
    """
    _check_category(category)
    with open_records(store) as hf:
        body, headed = _titled(_written(text, category))
        record = hf.records.add(
            body,
            category=category,
            title=title or headed,
            place=place_name(where),
            keywords=keyword or (),
            aliases=alias or (),
            source=source,
            expires=parse_time(expires, end=True),
            confidence=confidence,
            evidence=evidence or (),
        )
        _told(hf, record, "Added", as_json=as_json)


def _check_category(category: str, *, effect: str = " Nothing was written.") -> None:
    if category not in GUIDES:
        wrong = "A record needs a --category."
        if category:
            wrong = f"{category!r} is not a category of records.{meant(category, GUIDES)}"
        raise InvalidInput(f"{wrong} Use one of: {', '.join(GUIDES)}.{effect}")


def _written(text: str | None, category: str) -> str:
    """Return the text to add: the argument, standard input, or the result of an editor."""
    if text is not None or not sys.stdin.isatty():
        return text_or_stdin(text, what="text")
    sheet = SHEET.format(category=category, guide=GUIDES[category])
    lines = edited(sheet, untouched="Nothing was added.", ending=".md").split("\n")
    return "\n".join(line for line in lines if not line.startswith(";;")).strip()


def _titled(text: str) -> tuple[str, str]:
    """Split a text and its title, if the first line is a heading."""
    first, _, rest = text.strip().partition("\n")
    return (
        (rest.strip(), first[2:].strip()) if first.startswith("# ") and rest.strip() else (text, "")
    )


@record_app.command()
def update(
    id_: Id,
    text: Text = None,
    title: Title = None,
    keyword: Keywords = None,
    alias: Aliases = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="DATE|never", help="Do not recall it after this time. The file stays."
        ),
    ] = None,
    confidence: Confidence = None,
    evidence: Evidence = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Change the text or the fields of a record. With only an id, your editor opens its file.

    Example: holdfast record update rec_01 --keyword pnpm
    """
    changes = {"title": title, "keywords": keyword, "aliases": alias, "confidence": confidence}
    wanted: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if expires is not None:
        wanted["expires"] = expires if expires == "never" else parse_time(expires, end=True)
    with open_records(store) as hf:
        record = record_of(hf, id_)
        # Only an id at a terminal: the person wants to edit the file.
        if text is None and not wanted and evidence is None and sys.stdin.isatty():
            _edit(hf, record, as_json=as_json)
            return
        if evidence is not None:
            wanted["evidence"] = evidence
        if text is not None or not wanted:
            wanted["body"] = text_or_stdin(text, what="text")
        _told(hf, hf.records.update(record.id, **wanted), "Updated", as_json=as_json)


def _edit(
    hf: Holdfast,
    record: Memory,
    *,
    as_json: bool,
) -> None:
    """Open the file itself; it is the source of truth, so the saved content counts."""
    file = file_of(hf, record)
    edit(file, untouched=UNCHANGED)
    if told := [warning for warning in hf.records.sync_files().warnings if str(file) in warning]:
        print(plain(f"Saved, but not taken in. {told[0]}"), file=sys.stderr)
        raise typer.Exit(1)
    now = hf.get(record.id)
    if as_json:
        output.emit(record_json(hf, now))
    else:
        print(UNCHANGED if now == record else plain(f"Updated {now.id}: {headline(now)}"))


@record_app.command()
def reclassify(
    id_: Id,
    category: Annotated[
        str,
        typer.Argument(help=f"One of: {', '.join(GUIDES)}.", autocompletion=complete_categories),
    ],
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Move a record to another category. Its id stays the same.

    Example: holdfast record reclassify rec_01 principles
    """
    _check_category(category)
    with open_records(store) as hf:
        record = hf.records.reclassify(record_of(hf, id_).id, category)
        _told(hf, record, f"Put under {category}:", as_json=as_json)


@record_app.command()
def move(
    id_: Id,
    where: Annotated[Where, typer.Argument(metavar=WHERE, help="Where it belongs from now on.")],
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Move a record between the project and your personal records. Its id stays the same.

    Example: holdfast record move rec_01 personal
    """
    with open_records(store) as hf:
        record = hf.records.move(record_of(hf, id_).id, place_name(where) or "project")
        _told(hf, record, f"Moved to {where}:", as_json=as_json)


@record_app.command()
def archive(
    ids: Ids,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Archive records, so that recall skips them. Their files stay.

    Example: holdfast record archive rec_01
    """
    with open_records(store) as hf:
        _told_each(hf, ids, hf.archive, "Archived", as_json=as_json)


@record_app.command()
def unarchive(
    ids: Ids,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Bring archived records back into recall. Their files stay where they are.

    Example: holdfast record unarchive rec_01
    """
    with open_records(store) as hf:
        _told_each(hf, ids, hf.restore, "Unarchived", as_json=as_json)


@record_app.command()
def delete(
    ids: Ids,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Delete records and their files. If one of them does not exist, nothing is deleted.

    Example: holdfast record delete rec_01 rec_02
    """
    with open_records(store) as hf:
        records = [record_of(hf, id_) for id_ in ids]
        hf.records.delete(*(record.id for record in records))
        if as_json:
            output.emit([{"id": record.id, "run": hf.last_run} for record in records])
            return
        for record in records:
            print(f"Deleted {record.id}: {plain(headline(record))}")
        print(f"Undo with: {undo_command(hf)}")


@record_app.command("list")
def list_(
    category: Annotated[
        list[str] | None,
        typer.Option(help="Only this category (repeatable).", autocompletion=complete_categories),
    ] = None,
    where: Annotated[
        Where | None,
        typer.Option("--in", metavar=WHERE, help="Only the project's, or only your own."),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Only archived records.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """List the records of this project and your personal ones. The latest change comes first.

    Example: holdfast record list --category decisions --in project
    """
    for one in category or ():
        _check_category(one, effect="")
    with open_records(store) as hf:
        found = hf.records.list(
            categories=category or (), place=place_name(where), archived=archived
        )
        if as_json:
            output.emit([record_json(hf, record) for record in found])
            return
        rows = [
            (one.id, place_of(hf, one).name, one.category, when(one.updated_at), headline(one))
            for one in found
        ]
        output.table(("id", "scope", "category", "updated", "text"), rows, empty="No records.")


@record_app.command()
def get(
    id_: Id,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Show a record in full. Its fields and its file follow the text.

    Example: holdfast record get rec_01
    """
    with open_records(store) as hf:
        record = record_of(hf, id_)
        if as_json:
            output.emit(
                record_json(
                    hf, record, links=[output.edge_json(edge) for edge in hf.admin.links(record.id)]
                )
            )
            return
        print(plain(record.content))
        print()
        output.fields(_details(hf, record))


def _details(hf: Holdfast, record: Memory) -> list[tuple[str, object]]:
    from ...records.evidence import Evidence, citations

    told = record_json(hf, record)
    return [
        ("id", record.id),
        ("title", record.title),
        ("scope", f"{told['place']} ({record.scope})"),
        ("category", record.category),
        ("status", record.status),
        ("file", near(Path(told["file"]))),
        ("created", when(record.created_at)),
        ("updated", when(record.updated_at)),
        ("expires", when(record.valid_until)),
        ("confidence", f"{record.confidence:.2f}"),
        ("keywords", ", ".join(told["keywords"])),
        ("aliases", ", ".join(told["aliases"])),
        ("source", _source(record)),
        ("quote", record.quote),
        *(("evidence", Evidence.of(one)) for one in citations(record)),
    ]


def _source(record: Memory) -> str:
    source = record.metadata.get("source") or ""
    return (
        source
        if isinstance(source, str)
        else ", ".join(f"{name} {value}" for name, value in source.items())
    )


def _told_each(
    hf: Holdfast,
    ids: Sequence[str],
    change: Callable[[str], Memory],
    said: str,
    *,
    as_json: bool,
) -> None:
    """Change records and report each. Raises NotFound before any change if one is missing."""
    # The inner list checks all ids first; the generator then changes one record at a time.
    changes = (change(record.id) for record in [record_of(hf, id_) for id_ in ids])
    output.tell_each(
        changes,
        lambda record: record_json(hf, record, run=hf.last_run),
        lambda record: _told(hf, record, said, as_json=False),
        as_json=as_json,
    )


def _told(
    hf: Holdfast,
    record: Memory,
    said: str,
    *,
    as_json: bool,
) -> None:
    if as_json:
        output.emit(record_json(hf, record, run=hf.last_run))
        return
    print(f"{said} {record.id}: {plain(headline(record))}")
    print(f"{near(file_of(hf, record))}  Undo with: {undo_command(hf)}")
