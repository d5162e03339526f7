"""Records for commands: open them, find them by id, complete ids, convert to JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import HoldfastError, InvalidInput, NotFound
from ..records.roots import is_record
from ..text.terminal import shorten
from ..types import Memory
from . import output
from .app import here, open_memory

if TYPE_CHECKING:
    from ..client import Holdfast
    from ..records.roots import PlaceName, RecordRoot

GUIDES = {
    "decisions": "what was chosen and why, and what was turned down",
    "procedures": "the steps, in order, and how to tell that they worked",
    "principles": "the rule, why it is one, and where it does not hold",
    "incidents": "what went wrong, its cause, and what fixed it",
    "preferences": "how it is liked best, and where that applies",
}
"""What belongs in a record of each category."""
WHERE = "project|personal"
NO_PROJECT = "There is no project here or above. `holdfast project init` makes one."


Where = Literal["project", "personal", "assistant"]
"""Where records live, as people name it. `assistant` is the records' own word for `personal`."""


def place_name(where: Where | None) -> PlaceName | None:
    """Return the internal name of a place."""
    return "assistant" if where == "personal" else where


@contextmanager
def open_records(store: str | None) -> Iterator[Holdfast]:
    """Open a memory with records only: the project's, if any, and the person's own.

    Raises InvalidInput if memory is incognito.
    """
    with open_memory(store, [str(place.scope) for place in here()]) as hf:
        if not hf.records.places:
            raise InvalidInput("This memory is incognito: records are neither read nor written.")
        yield hf


def every_record(hf: Holdfast) -> list[Memory]:
    """Return active records, latest change first, then archived ones."""
    return [*hf.records.list(), *hf.records.list(archived=True)]


def record_of(hf: Holdfast, ref: str) -> Memory:
    """Return the record with this id. Raises NotFound, with the nearest ids."""
    with suppress(NotFound):
        found = hf.get(ref)
        if is_record(found):
            return found
    raise NotFound(f"There is no record {ref!r} here. {_nearest(hf, ref)}", id=ref)


def _nearest(hf: Holdfast, ref: str) -> str:
    known = {one.id: one for one in every_record(hf)}
    near = get_close_matches(ref, known, n=3, cutoff=0.5)
    told = "; ".join(f"{id_} ({headline(known[id_])})" for id_ in near)
    return f"The nearest: {told}." if near else "`holdfast record list` shows them all."


def chosen_place(hf: Holdfast, name: str | None) -> RecordRoot:
    """Return the named place; by default the project's, else the person's. Raises InvalidInput."""
    for place in hf.records.places:
        if name in (None, place.name):
            return place
    raise InvalidInput(NO_PROJECT)


def place_of(hf: Holdfast, record: Memory) -> RecordRoot:
    """Return the place of a record."""
    return next(place for place in hf.records.places if place.scope == record.scope)


def file_of(hf: Holdfast, record: Memory) -> Path:
    """Return the file of a record."""
    return place_of(hf, record).root / str(record.metadata["file"])


def near(path: Path) -> Path:
    """Return a path relative to the working directory if it lies below it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def headline(record: Memory) -> str:
    """Return a record in a few words."""
    return shorten(record.title or record.content, 60)


def record_json(
    hf: Holdfast,
    record: Memory,
    **more: Any,
) -> dict[str, Any]:
    """Return a record for scripts: a memory with its file, keywords and aliases."""
    aliases = list(record.metadata.get("aliases", ()))
    return output.memory_json(
        record,
        place=place_of(hf, record).name,
        file=str(file_of(hf, record)),
        keywords=[tag for tag in record.tags if tag not in aliases],
        aliases=aliases,
        **more,
    )


# For the shell


def complete_records(incomplete: str) -> list[tuple[str, str]]:
    """Ids of records with the typed prefix, with their titles."""
    try:
        with open_records(None) as hf:
            return [
                (one.id, headline(one)) for one in every_record(hf) if one.id.startswith(incomplete)
            ][:50]
    except HoldfastError:
        return []


def complete_categories(incomplete: str) -> list[tuple[str, str]]:
    """The five categories, with what belongs in each."""
    return [(name, guide) for name, guide in GUIDES.items() if name.startswith(incomplete)]
