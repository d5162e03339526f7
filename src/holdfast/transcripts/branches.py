"""Conversations that are trees: an edited prompt or a second answer creates a branch, and one
branch continues.
"""

from __future__ import annotations

from collections.abc import Mapping

from .json_fields import as_text
from .jsonl_file import Object, Survey


def path_to(leaf: str, parents: Mapping[str, str]) -> list[str]:
    """Return the path from `leaf` to its root, by each node's parent; cycles end the path.

    >>> path_to("c", {"a": "", "b": "a", "c": "a"})
    ['c', 'a']
    """
    path = [leaf]
    seen = {leaf}
    while (parent := parents.get(path[-1], "")) in parents and parent not in seen:
        path.append(parent)
        seen.add(parent)
    return path


class PathToEnd(Survey):
    """The path to the last record of each tree: what stands beside it was abandoned.

    A file may contain several trees, each an earlier conversation.
    """

    id_field = "id"
    parent_field = "parentId"

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._lines: dict[str, int] = {}

    def see(self, line: int, record: Object) -> None:
        """Record the position of the record in its tree."""
        if key := as_text(record.get(self.id_field)):
            self._parents.setdefault(key, as_text(record.get(self.parent_field)))
            self._lines.setdefault(key, line)

    def left_out(self) -> set[int]:
        """Return the lines that are on no such path."""
        kept: set[str] = set()
        roots: set[str] = set()
        # The last record of a tree comes first.
        for key in reversed(self._parents):
            path = path_to(key, self._parents)
            if path[-1] not in roots:
                roots.add(path[-1])
                kept.update(path)
        return {line for key, line in self._lines.items() if key not in kept}
