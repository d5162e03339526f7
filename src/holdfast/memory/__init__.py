"""Class `Holdfast`, the public API: one short method per verb."""

from __future__ import annotations

from ..errors import InvalidInput
from ..telemetry import traced
from .extracting import Extracting
from .given import Moment, Ref, ScopeLike
from .indexing import Indexing
from .keeping import Keeping
from .publishing import Publishing
from .reading import Reading
from .writing import Writing

__all__ = ["Holdfast", "Moment", "Ref", "ScopeLike", "check_open"]


@traced
class Holdfast(Writing, Reading, Keeping, Indexing, Extracting, Publishing):
    """An open memory, bound to one scope for writing and one or several for reading.

    Every change is a run, and `last_run` is what the latest one is called, for `undo`. Threads may
    share one.

    >>> hf = Holdfast.open(":memory:", scope="user:me")
    >>> tea = hf.remember("Prefers green tea to coffee", category="preferences")
    >>> [hit.memory.content for hit in hf.recall("what does she drink, tea?")]
    ['Prefers green tea to coffee']
    >>> hf.close()
    """


def check_open(given: Holdfast) -> Holdfast:
    """`given` itself, when it is an open memory; an adapter is easily given a path, or the
    awaitable one.
    """
    if isinstance(given, Holdfast):
        return given
    if isinstance(getattr(given, "blocking", None), Holdfast):
        raise InvalidInput(
            "This takes a Holdfast. Give the `blocking` of the AsyncHoldfast, which is one."
        )
    wrong = type(given).__name__
    raise InvalidInput(
        "This takes an open memory, such as Holdfast.open('memory.db', scope='user:me'), not a "
        f"{wrong}."
    )
