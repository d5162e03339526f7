"""pgvector's type as numpy arrays, in its binary format: two bytes length, two unused, then
big-endian floats.

The `pgvector` package does the same through its own objects, thirty times slower per vector.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from .scoped_session import Connection

Floats = npt.NDArray[np.float32]
_HEADER = struct.Struct(">HH")


class VectorLoader(Loader):
    """Load a stored vector as an array."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Floats:
        return np.frombuffer(data, ">f4", offset=_HEADER.size).astype(np.float32)


class VectorDumper(Dumper):
    """Dump an array as a vector, to store it or compare with it."""

    format = Format.BINARY

    def dump(self, obj: Floats) -> Buffer:
        return _HEADER.pack(len(obj), 0) + obj.astype(">f4").tobytes()


def teach_vectors(connection: Connection, type_name: str) -> None:
    """Register the vector type on a connection, if the database has it."""
    info = TypeInfo.fetch(connection, type_name)
    if info is not None:
        connection.adapters.register_loader(info.oid, VectorLoader)
        connection.adapters.register_dumper(
            np.ndarray, type("_Dumper", (VectorDumper,), {"oid": info.oid})
        )
