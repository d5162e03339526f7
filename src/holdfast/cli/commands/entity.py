"""`entity`: the people, projects and places that memories mention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...text.terminal import plain
from .. import output
from ..app import READING, Json, Scope, Store, app, open_memory, undo_command

if TYPE_CHECKING:
    from ...client import Holdfast
    from ...types import Entity

entity_app = typer.Typer(
    no_args_is_help=True,
    help="""Show and fix the people, projects and places that memories mention. Every change can
be undone.

Example: holdfast entity list""",
)
app.add_typer(entity_app, name="entity", rich_help_panel=READING)


def _entity_json(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "mentions": entity.mentions,
    }


@entity_app.command("list")
def list_entities(
    type_: Annotated[
        str | None, typer.Option("--type", help="Only person, project, organization, location…")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of results.")
    ] = 50,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """List entities with their type and aliases. The most mentioned one comes first.

    Example: holdfast entity list --type person
    """
    with open_memory(store, scope, make=False) as hf:
        found = hf.entities.list(types=[type_] if type_ else (), limit=limit)
        if as_json:
            output.emit([_entity_json(one) for one in found])
            return
        rows = [
            (one.id, one.type, str(one.mentions), one.name, ", ".join(one.aliases)) for one in found
        ]
        output.table(
            ("id", "type", "mentions", "name", "text"), rows, empty="Nobody is mentioned yet."
        )


@entity_app.command("show")
def show_entity(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, an alias or an id.")],
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of memories.")
    ] = 10,
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """Show one entity: aliases, first and last mention. The latest memories that mention it follow.

    Example: holdfast entity show Ines
    """
    with open_memory(store, scope, make=False) as hf:
        about = hf.entities.get(name, limit=None)
        entity = about.entity
        days = list(about.timeline)
        shown = about.memories[:limit]
        first, last = (days[0], days[-1]) if days else (None, None)
        if as_json:
            told = {
                "first_mentioned": first,
                "last_mentioned": last,
                "memories": [output.memory_json(m) for m in shown],
            }
            output.emit({**_entity_json(entity), **told})
            return
        output.fields(
            (
                ("id", entity.id),
                ("name", entity.name),
                ("type", entity.type),
                ("also", ", ".join(entity.aliases)),
                ("summary", entity.summary),
                ("mentions", entity.mentions),
                ("first", first),
                ("last", last),
            )
        )
        output.memories(shown)


@entity_app.command()
def duplicates(
    store: Store = None,
    scope: Scope = None,
    as_json: Json = False,
) -> None:
    """List entities that may be the same, with a reason. `entity merge` makes them one.

    Example: holdfast entity duplicates
    """
    with open_memory(store, scope, make=False) as hf:
        found = hf.entities.duplicates()
        if as_json:
            output.emit(
                [
                    {
                        "keep": _entity_json(one.keep),
                        "other": _entity_json(one.other),
                        "reason": one.reason,
                    }
                    for one in found
                ]
            )
            return
        rows = [(one.keep.name, one.other.name, one.reason) for one in found]
        output.table(("name", "other", "reason"), rows, empty="No two entities look the same.")


@entity_app.command()
def merge(
    keep: Annotated[str, typer.Argument(metavar="KEEP", help="The entity to keep.")],
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER…", help="Entities to merge into it.")
    ],
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Merge entities that are the same. `undo` separates them again.

    Example: holdfast entity merge Ines "Ines Ferreira"
    """
    with open_memory(store, scope, make=False) as hf:
        kept = hf.entities.merge(keep, *others)
        _print_change(hf, f"{kept.name} also goes by {', '.join(kept.aliases)}.")


@entity_app.command()
def split(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The entity to split.")],
    names: Annotated[
        list[str], typer.Argument(metavar="ALIAS…", help="Aliases of the new entity.")
    ],
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Give some aliases of an entity to a new entity. The memories with these names go with them.

    Example: holdfast entity split Ines "Ines Costa"
    """
    with open_memory(store, scope, make=False) as hf:
        new = hf.entities.split(name, *names)
        _print_change(hf, f"{new.name} is now apart from {name}.")


@entity_app.command()
def rename(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The entity to rename.")],
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    type_: Annotated[
        str | None, typer.Option("--type", help="Its type: person, project, organization…")
    ] = None,
    store: Store = None,
    scope: Scope = None,
) -> None:
    """Rename an entity. The old name stays as an alias.

    Example: holdfast entity rename Ines "Ines Ferreira"
    """
    with open_memory(store, scope, make=False) as hf:
        renamed = hf.entities.rename(name, new_name, type=type_)
        _print_change(hf, f"{name} is now {renamed.name}.")


def _print_change(hf: Holdfast, text: str) -> None:
    print(plain(f"{text} Undo with: {undo_command(hf)}"))
