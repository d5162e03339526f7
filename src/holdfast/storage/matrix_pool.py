"""The matrices of a process, one for each scope and model that is queried repeatedly.

Only a cache: built on the second query of a scope, so that a one-shot command pays neither for it
nor for numpy, and evicted when memory is short.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..floats import Vector
from .filters import Dialect
from .table_access import Newest, Read

if TYPE_CHECKING:
    from .matrix_cache import Matrix

# One million vectors of 384 floats, the largest scope that we promise to support.
CACHE_BYTES = 1_600_000_000


class Matrices:
    """Matrices of a process, evicted least recently used first."""

    def __init__(self, newest: Newest, dialect: Dialect) -> None:
        self._newest = newest
        self._dialect = dialect
        # Any thread may search: a matrix is built once, and refreshed by one thread at a time.
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, int], Matrix] = OrderedDict()
        self._asked: set[tuple[int, int]] = set()

    def get(
        self,
        read: Read,
        model: int,
        scope: int,
    ) -> Matrix | None:
        """Return an up-to-date matrix; None on the first query, or when it would not fit."""
        key = (model, scope)
        with self._lock:
            matrix = self._held.get(key)
            if matrix is None:
                if key not in self._asked or self._too_big(read, key):
                    self._asked.add(key)
                    return None
                # Deferred import: numpy loads only when a matrix is worth building.
                from .matrix_cache import Matrix  # noqa: PLC0415

                matrix = self._held[key] = Matrix(read, self._newest, self._dialect, model, scope)
            else:
                matrix.refresh(read)
            self._held.move_to_end(key)
            self._trim()
            return matrix

    def vectors(
        self,
        read: Read,
        model: int,
        scope: int,
        seqs: Sequence[int],
    ) -> dict[int, Vector]:
        """Vectors of these memories, as far as a cached matrix has them."""
        with self._lock:
            matrix = self._at_hand(read, model, scope)
            return {} if matrix is None else dict(matrix.vectors(seqs))

    def similarities(
        self,
        read: Read,
        model: int,
        scope: int,
        vector: Vector,
        seqs: Sequence[int],
    ) -> dict[int, float]:
        """Cosine similarity of these memories, as far as a cached matrix has them."""
        with self._lock:
            matrix = self._at_hand(read, model, scope)
            return {} if matrix is None else matrix.similarities(vector, seqs)

    def _at_hand(
        self,
        read: Read,
        model: int,
        scope: int,
    ) -> Matrix | None:
        """Return the refreshed matrix of a scope if it is cached. The caller holds the lock."""
        matrix = self._held.get((model, scope))
        if matrix is not None:
            matrix.refresh(read)
        return matrix

    def _too_big(self, read: Read, key: tuple[int, int]) -> bool:
        ((size,),) = read(
            "SELECT coalesce(max(d.dimensions) * 4 * (SELECT count(*) FROM vectors WHERE model = "
            "? AND scope = ?), 0) "
            "FROM models d WHERE d.number = ?",
            (*key, key[0]),
        )
        return bool(size > CACHE_BYTES)

    def _trim(self) -> None:
        # The last matrix always stays, because it is the one in use.
        while (
            len(self._held) > 1 and sum(matrix.size for matrix in self._held.values()) > CACHE_BYTES
        ):
            self._held.popitem(last=False)
