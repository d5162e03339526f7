"""Conversations that are trees: an edited prompt or a second answer makes a branch, and one branch
was gone on with.
"""

from __future__ import annotations

from collections.abc import Mapping


def path_to(leaf: str, parents: Mapping[str, str]) -> list[str]:
    """From `leaf` up to its root, by each node's parent; a circle is walked once.

    >>> path_to("c", {"a": "", "b": "a", "c": "a"})
    ['c', 'a']
    """
    path = [leaf]
    seen = {leaf}
    while (parent := parents.get(path[-1], "")) in parents and parent not in seen:
        path.append(parent)
        seen.add(parent)
    return path
