"""The one installer: puts our entries into other programs' configuration files, finds them, and
takes them out. Nothing else in a file changes.

What is written is computed from the text of the file alone, so uninstalling needs no backup: it
restores the file to the byte, and deletes a file that we created. A file that cannot be read or
parsed is reported and left alone; it never stops the other files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import HoldfastError, InvalidInput
from . import json_edit, toml_edit, yaml_edit
from .config_files import Change, parse_json, parse_toml, parse_yaml, put, read
from .programs import Target

Item = TypeVar("Item")
Entries = dict[str, list[dict[str, Any]]]
"""Our entries by name: an event of hooks, or the name of our MCP server."""


class Feature(Protocol):
    """What is installed: the entries that one feature of Holdfast needs, and where they go."""

    noun: str
    """What the entries are, for people."""
    toml_comment: str
    """The comment above our tables in a TOML file."""
    toml_advice: str
    """What a person does if nothing can be added to a TOML file."""

    def wanted(self, target: Target) -> Entries:
        """The entries that this version writes for a program."""
        ...

    def found(self, settings: dict[str, Any], target: Target) -> Entries:
        """Our entries in the settings of a program; InvalidInput for an unexpected structure."""
        ...

    def json_paths(self, settings: dict[str, Any], target: Target) -> list[json_edit.Path]:
        """The paths of our entries in JSON or YAML settings."""
        ...

    def json_insertions(self, target: Target) -> list[json_edit.Insertion]:
        """How the wanted entries are added to JSON or YAML settings, in this order."""
        ...

    def new_file(self, target: Target) -> str:
        """What a new JSON file starts with; may be empty."""
        ...

    def json_advice(self, target: Target) -> str:
        """What a person does with a JSON file that cannot be parsed; may be empty."""
        ...

    def plugin(self, target: Target) -> str:
        """The whole text of a JavaScript file."""
        ...

    def toml_headers(self, name: str, target: Target) -> str:
        """The headers of the table for one entry in TOML settings."""
        ...


class Outcome(NamedTuple):
    """Changes that are planned or made, and what went wrong with the other files."""

    changes: list[Change]
    problems: list[HoldfastError]

    def raise_problems(self) -> None:
        """Raise what went wrong, if anything did."""
        if len(self.problems) > 1:
            raise InvalidInput("\n".join(map(str, self.problems)))
        if self.problems:
            raise self.problems[0]


def plan_install(target: Target, feature: Feature) -> Change:
    """What installing would change; nothing if all entries are there. InvalidInput for a broken
    file.
    """
    before = read(target.file)
    return Change(target.file, before, with_ours(before, target, feature))


def plan_uninstall(targets: Iterable[Target], feature: Feature) -> Outcome:
    """The changes that uninstalling would make; none in a file without our entries."""

    def plan(target: Target) -> Change:
        before = read(target.file)
        return Change(target.file, before, without_ours(before, target, feature))

    planned = _each(targets, plan)
    changes = [change for change in planned.changes if change.after != change.before]
    return Outcome(changes, planned.problems)


def apply(changes: Sequence[Change]) -> Outcome:
    """Write each change, whole or not at all; a file that fails does not stop the others."""

    def write(change: Change) -> Change:
        put(change)
        return change

    return _each(changes, write)


def _each(items: Iterable[Item], make: Callable[[Item], Change]) -> Outcome:
    outcome = Outcome([], [])
    for item in items:
        try:
            outcome.changes.append(make(item))
        except HoldfastError as error:
            outcome.problems.append(error)
    return outcome


def installed(target: Target, feature: Feature) -> Entries:
    """Our entries in a file as it is now; InvalidInput if that cannot be told."""
    return found(read(target.file), target, feature)


def found(
    text: str | None,
    target: Target,
    feature: Feature,
) -> Entries:
    """Our entries in the text of a file; InvalidInput if it is broken."""
    if text is None or not text.strip():
        return {}
    settings = _parse(text, target, feature)
    if not isinstance(settings, dict):
        title = target.program.title
        raise InvalidInput(
            f"{target.file} is not as {title} wants it: it holds no object. Nothing was changed."
        )
    return feature.found(settings, target)


def _parse(
    text: str,
    target: Target,
    feature: Feature,
) -> Any:
    file = str(target.file)
    if target.format == "js":
        return {"text": text}
    if target.format == "toml":
        return parse_toml(text, file)
    if target.format == "yaml":
        return parse_yaml(text, file)
    try:
        return parse_json(json_edit.strict(text) if target.program.comments else text, file)
    except InvalidInput as error:
        raise InvalidInput(f"{error} {feature.json_advice(target)}".rstrip()) from error


def with_ours(
    text: str | None,
    target: Target,
    feature: Feature,
) -> str | None:
    """The text of a file with our entries, replacing those of other versions."""
    wanted = feature.wanted(target)
    there = found(text, target, feature)
    if there == wanted:
        return text
    if target.format == "js":
        if text and not there:
            raise InvalidInput(
                f"{target.file} is not a file of Holdfast. Nothing was changed. Rename it and try "
                "again."
            )
        return feature.plugin(target)
    longer = without_ours(text, target, feature) or ""
    if target.format == "toml":
        return _with_tables(longer, target, feature)
    insert = yaml_edit.insert if target.format == "yaml" else json_edit.insert
    if not longer.strip() and target.format == "json":
        longer = feature.new_file(target)
    for insertion in feature.json_insertions(target):
        longer = insert(longer, insertion)
    return longer


def _with_tables(
    text: str,
    target: Target,
    feature: Feature,
) -> str:
    wanted = feature.wanted(target)
    tables = [table for _, _, table in _tables(wanted, target, feature)]
    longer = f"{text}\n{feature.toml_comment}\n{''.join(tables)}"
    reason = toml_edit.syntax_error(longer)
    if not reason and found(longer, target, feature) == wanted:
        return longer
    raise InvalidInput(
        f"The {feature.noun} in {target.file} are written as one value, to which nothing can be "
        f"added ({reason or 'ours would not be read'}). Nothing was changed. {feature.toml_advice}"
    )


def without_ours(
    text: str | None,
    target: Target,
    feature: Feature,
) -> str | None:
    """The text of a file without our entries; None if nothing else was in it and we created it."""
    entries = found(text, target, feature)
    if text is None or not entries:
        return text
    if target.format == "js":
        return None
    if target.format == "toml":
        return _without_tables(text, entries, target, feature) or None
    if target.format == "yaml":
        for path in feature.json_paths(parse_yaml(text, str(target.file)), target):
            text = yaml_edit.remove(text, path)
        return text or None
    created_by_us = not json_edit.is_compact(text, json_edit.strict(text).index("{"))
    # The last one first, as the exact reverse of adding. A key that occurs twice in the text shows
    # its earlier value once the later one is gone, so the text is parsed again each time.
    while paths := feature.json_paths(json.loads(json_edit.strict(text)), target):
        text = json_edit.remove(text, paths[-1])
    empty = feature.new_file(target) or "{}\n"
    return None if created_by_us and text == empty else text


def _without_tables(
    text: str,
    entries: Entries,
    target: Target,
    feature: Feature,
) -> str:
    for name, values, table in _tables(entries, target, feature):
        # Only what stands there as we wrote it; a table may have been given other keys since.
        if table not in text:
            line = toml_edit.line_of(text, str(values.get("command", "")))
            raise InvalidInput(
                f"The entry for {name} in {target.file} was rewritten ({line}), so taking it out "
                "could take more than that. Nothing was changed. Delete its tables by hand."
            )
        text = text.replace(table, "", 1)
    return text.replace(f"\n{feature.toml_comment}\n", "", 1)


def _tables(
    entries: Entries,
    target: Target,
    feature: Feature,
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each entry with its name, its values, and its text in a TOML file."""
    for name, several in entries.items():
        headers = feature.toml_headers(name, target)
        for values in several:
            yield name, values, toml_edit.table(headers, values)
