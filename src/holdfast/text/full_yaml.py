"""All of YAML, by a library, for what plain_yaml.py leaves to it: read, taken apart, and written
again.

Importing this takes longer than most commands, so nobody does before it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode


class NotYAML(ValueError):
    """What is wrong, and in which line, counted from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


class Entry(NamedTuple):
    """Where a key stands: its first character, the one behind its colon, the end of its value, and
    its column.
    """

    start: int
    colon: int
    end: int
    column: int


def load(yaml: str) -> dict[str, Any]:
    """The keys and values of a mapping; NotYAML when there is none."""
    try:
        values = YAML(typ="safe").load(yaml)
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        reason = str(getattr(error, "problem", None) or error).strip() or type(error).__name__
        raise NotYAML(reason.splitlines()[0], mark.line + 1 if mark else 1) from error
    if not isinstance(values or {}, dict):
        raise NotYAML("there must be lines such as 'title: Use pnpm'", 1)
    return values or {}


def entries(yaml: str) -> dict[str, Entry] | None:
    """The keys of a mapping in block style with their places; None when it is something else."""
    root = YAML(typ="safe", pure=True).compose(yaml)
    if root is None:
        return {}
    if not isinstance(root, MappingNode) or root.flow_style:
        return None
    found: dict[str, Entry] = {}
    for key, value in root.value:
        if not isinstance(key, ScalarNode):
            return None
        colon = yaml.index(":", key.end_mark.index) + 1
        found[str(key.value)] = Entry(
            key.start_mark.index, colon, max(colon, _end(value, yaml)), key.start_mark.column
        )
    return found


def _end(node: Any, yaml: str) -> int:
    """Where a value ends: behind its last character, not behind the comments and blank lines that
    follow.
    """
    if isinstance(node.value, list) and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, yaml)
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    # Nothing may stand lines below its key.
    if end > start:
        return start + len(yaml[start:end].rstrip())
    return 0


def written_again(yaml: str, changes: Mapping[str, Any]) -> str | None:
    """A mapping with changes, as the library writes it: comments and unknown keys stay, spaces may
    not.
    """
    library = YAML()
    library.preserve_quotes, library.width = True, 4096
    try:
        values = library.load(yaml)
        for key, value in changes.items():
            values.pop(key, None) if value is None else values.__setitem__(key, value)
        library.dump(values, out := StringIO())
    except (YAMLError, ValueError, TypeError, AttributeError):
        return None
    return out.getvalue().replace("\r\n", "\n")
