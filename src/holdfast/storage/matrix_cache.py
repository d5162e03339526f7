"""The vectors of a scope as one in-memory matrix: exact search without reading the file.

Built from the store and kept current by the journal, so that it sees writes of other processes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..floats import Vector
from .filters import Dialect
from .table_access import Newest, Read

Floats = npt.NDArray[np.float32]
ABSENT = -2.0  # below any cosine
MOST_ALONE = 8_000_000  # numbers that one thread multiplies in a few milliseconds


class Matrix:
    """Active vectors of one scope and model in a growing array; inactive ones are masked."""

    def __init__(
        self,
        read: Read,
        newest: Newest,
        dialect: Dialect,
        model: int,
        scope: int,
    ) -> None:
        # One thread may search while another refreshes the rows.
        self._lock = threading.Lock()
        self._newest = newest
        self._removed = dialect.field("e.before", "seq")
        self._model = model
        self._scope = scope
        self._fill(read)

    def _fill(self, read: Read) -> None:
        # Read before the vectors: a write in between is then read again, not missed.
        self._event, self._vector, self._drops = self._newest(self._scope)
        rows = read(
            "SELECT v.seq, v.vector FROM vectors v JOIN memories m ON m.scope = v.scope AND m.seq "
            "= v.seq "
            "WHERE v.model = ? AND v.scope = ? AND m.status = 'active' ORDER BY v.seq",
            (self._model, self._scope),
        )
        self._compared: tuple[Vector | None, Floats] = None, np.zeros(0, np.float32)
        self._place: dict[int, int] = {}
        self._seqs = np.zeros(0, np.int64)
        self._vectors = np.zeros((0, 0), np.float32)
        self._alive = np.zeros(0, bool)
        self._append({row[0]: row[1] for row in rows})

    @property
    def size(self) -> int:
        """Size in bytes."""
        return int(self._vectors.nbytes + self._seqs.nbytes)

    def refresh(self, read: Read) -> None:
        """Apply what this or another process has written since."""
        event, vector, drops = self._newest(self._scope)
        if (event, vector, drops) == (self._event, self._vector, self._drops):
            return
        with self._lock:
            self._compared = None, np.zeros(0, np.float32)
            # Dropped vectors leave no journal entries, so only a full reload is safe.
            if drops != self._drops:
                self._fill(read)
                return
            # In this order: `_take_new` sets the state of replaced vectors last.
            self._drop_inactive(read)
            self._take_new(read)
            self._event = event
            self._vector = vector

    def _drop_inactive(self, read: Read) -> None:
        changed = read(
            f"SELECT coalesce(m.seq, CAST({self._removed} AS BIGINT)), "
            "max(CASE WHEN m.status = 'active' AND v.seq IS NOT NULL THEN 1 ELSE 0 END) "
            "FROM events e LEFT JOIN memories m ON m.scope = e.scope AND m.id = e.target "
            "LEFT JOIN vectors v ON v.model = ? AND v.scope = m.scope AND v.seq = m.seq "
            "WHERE e.seq > ? AND e.scope = ? AND e.noun = 'memory' AND e.before IS NOT NULL GROUP "
            "BY 1",
            (self._model, self._event, self._scope),
        )
        for seq, alive in changed:
            if seq in self._place:
                self._alive[self._place[seq]] = bool(alive)

    def _take_new(self, read: Read) -> None:
        rows = read(
            "SELECT v.seq, v.vector, m.status FROM vectors v JOIN memories m ON m.scope = v.scope "
            "AND m.seq = v.seq "
            "WHERE v.number > ? AND v.model = ? AND v.scope = ?",
            (self._vector, self._model, self._scope),
        )
        fresh = self._restored(read)
        for seq, vector, status in rows:
            if seq in self._place:
                place = self._place[seq]
                self._vectors[place], self._alive[place] = (
                    np.frombuffer(vector, np.float32),
                    status == "active",
                )
            elif status == "active":
                fresh[seq] = vector
        self._append(fresh)

    def _restored(self, read: Read) -> dict[int, bytes]:
        """Vectors of memories that are active again and were not in the matrix."""
        rows = read(
            "SELECT DISTINCT v.seq, v.vector FROM events e JOIN memories m ON m.scope = e.scope "
            "AND m.id = e.target "
            "JOIN vectors v ON v.seq = m.seq AND v.model = ? AND v.scope = e.scope "
            "WHERE e.seq > ? AND e.scope = ? AND e.noun = 'memory' AND m.status = 'active'",
            (self._model, self._event, self._scope),
        )
        return {seq: vector for seq, vector in rows if seq not in self._place}

    def _append(self, fresh: dict[int, bytes]) -> None:
        if not fresh:
            return
        start = len(self._place)
        end = len(self._place) + len(fresh)
        added = unpack(list(fresh.values()))
        if end > len(self._seqs):
            # Exact size for the first fill; a quarter more later, so that appends are amortised.
            self._grow(end if not start else end * 5 // 4, added.shape[1])
        self._place.update({seq: start + offset for offset, seq in enumerate(fresh)})
        self._seqs[start:end] = list(fresh)
        self._vectors[start:end] = added
        self._alive[start:end] = True

    def _grow(self, capacity: int, dimensions: int) -> None:
        used = len(self._place)
        seqs = self._seqs
        vectors = self._vectors
        alive = self._alive
        self._seqs = np.zeros(capacity, np.int64)
        self._vectors = np.zeros((capacity, dimensions), np.float32)
        self._alive = np.zeros(capacity, bool)
        if used:
            self._seqs[:used], self._vectors[:used], self._alive[:used] = (
                seqs[:used],
                vectors[:used],
                alive[:used],
            )

    def nearest(
        self,
        vector: Vector,
        limit: int,
        hidden: set[int],
    ) -> list[tuple[int, float]]:
        """Best `limit` active rows that are not hidden, best first, ties in insertion order."""
        with self._lock:
            used = len(self._place)
            if not used or self._vectors.shape[1] != len(vector):
                return []
            raw = products(self._vectors[:used], np.asarray(vector, np.float32))
            self._compared = vector, raw
            scores = np.where(self._alive[:used], raw, np.float32(ABSENT))
            if hidden:
                scores[[self._place[seq] for seq in hidden & self._place.keys()]] = ABSENT
            return top(self._seqs[:used], scores, limit)

    def vectors(self, seqs: Sequence[int]) -> dict[int, Floats]:
        """Vectors of those of these memories that are active here."""
        with self._lock:
            places = {seq: self._place[seq] for seq in seqs if seq in self._place}
            return {
                # A copy: a refresh may overwrite the row after the lock is released.
                seq: self._vectors[place].copy()
                for seq, place in places.items()
                if self._alive[place]
            }

    def similarities(self, vector: Vector, seqs: Sequence[int]) -> dict[int, float]:
        """Cosine similarity to a vector of those of these memories that are active here."""
        with self._lock:
            places = np.array([self._place[seq] for seq in seqs if seq in self._place], np.int64)
            if not places.size or self._vectors.shape[1] != len(vector):
                return {}
            known = places[self._alive[places]]
            compared, raw = self._compared
            # Usually the same question has just been compared with all of them.
            near = (
                raw[known]
                if compared is vector and len(raw) == len(self._place)
                else products(self._vectors[known], np.asarray(vector, np.float32))
            )
            return dict(zip(self._seqs[known].tolist(), near.tolist(), strict=True))


def products(rows: Floats, vector: Floats) -> Floats:
    """The product of each row with a vector."""
    if rows.size > MOST_ALONE:
        return rows @ vector
    # Not by BLAS, which hands it to threads: on a busy machine they start later than one is done.
    alone: Floats = np.einsum("ij,j->i", rows, vector)
    return alone


def unpack(blobs: list[bytes]) -> Floats:
    """Stored vectors as the rows of one array."""
    return np.frombuffer(b"".join(blobs), np.float32).reshape(len(blobs), -1)


def top(
    seqs: npt.NDArray[np.int64],
    scores: Floats,
    limit: int,
) -> list[tuple[int, float]]:
    """Best `limit` entries of parallel arrays, best first, ties by `seq`; ABSENT ones are left
    out.
    """
    if limit < len(scores):
        # Keep everything that ties with the last place, or the order of ties would depend on the
        # partition.
        floor = np.partition(scores, -limit)[-limit]
        keep = np.flatnonzero(scores >= floor)
        seqs = seqs[keep]
        scores = scores[keep]
    order = np.lexsort((seqs, -scores))[:limit]
    order = order[scores[order] > ABSENT]
    return list(zip(seqs[order].tolist(), scores[order].clip(0.0, 1.0).tolist(), strict=True))
