"""The front door: class Holdfast, one short method per verb. The work is done by the packages below.

Belongs here: class Holdfast, one short method a verb, in families. Does not: the work, which the packages below do.
"""

from __future__ import annotations

from ..telemetry import traced
from .extracting import Extracting
from .given import Moment, Ref, ScopeLike
from .indexing import Indexing
from .keeping import Keeping
from .publishing import Publishing
from .reading import Reading
from .writing import Writing

__all__ = ["Holdfast", "Moment", "Ref", "ScopeLike"]


@traced
class Holdfast(Writing, Reading, Keeping, Indexing, Extracting, Publishing):
    """An open memory, bound to one scope for writing and one or several for reading.

    >>> hf = Holdfast.open(":memory:", scope="user:me")
    >>> tea = hf.remember("Prefers green tea to coffee", category="preferences")
    >>> [hit.memory.content for hit in hf.recall("what does she drink, tea?")]
    ['Prefers green tea to coffee']
    >>> hf.close()
    """
