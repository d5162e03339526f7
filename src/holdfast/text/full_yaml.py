"""Full YAML through a library, for what plain_yaml.py does not handle: parse, locate keys, rewrite.

Importing this takes longer than most commands, so it is imported only when needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode


class NotYAML(ValueError):
    """Invalid YAML: the reason, and the line counted from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


class Entry(NamedTuple):
    """Positions of an entry: start of the key, the character after its colon, end of the value, and
    column.
    """

    start: int
    colon: int
    end: int
    column: int


def load(yaml: str) -> dict[str, Any]:
    """Parse a mapping; raises NotYAML if it is not one."""
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
    """Return the keys of a block-style mapping with their positions; None for anything else."""
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
    """Return the end of a value, without the comments and blank lines after it."""
    if isinstance(node.value, list) and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last, yaml)
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    # An empty value may be positioned lines below its key.
    if end > start:
        return start + len(yaml[start:end].rstrip())
    return 0


def written_again(yaml: str, changes: Mapping[str, Any]) -> str | None:
    """Rewrite a mapping with changes: comments and unknown keys stay, spaces may change."""
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
