"""Conversations that are trees: an edited prompt or a second answer creates a branch, and one
branch continues.
"""

from __future__ import annotations

from collections.abc import Mapping


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
