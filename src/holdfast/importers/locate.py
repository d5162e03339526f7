"""A reader out of what is done with one record: whatever is wrong with a record is told with its
line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import InvalidInput
from .json_values import Problem, Value, values
from .memory_file import ImportedItem


def each(
    text: str,
    record: Callable[[Value], Iterable[ImportedItem]],
    *,
    lists: Sequence[str] = (),
) -> Iterator[ImportedItem | Problem]:
    """What `record` finds in each record of a text."""
    for one in values(text, lists=lists):
        if isinstance(one, Problem):
            yield one
            continue
        try:
            yield from list(record(one))
        except InvalidInput as error:
            yield Problem(one.line, str(error))
