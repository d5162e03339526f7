"""pgvector's type as numpy arrays, in its binary format: two bytes length, two unused, then
big-endian floats.

The `pgvector` package does the same through its own objects, thirty times slower per vector.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from .scoped_session import Connection

Floats = npt.NDArray[np.float32]
_HEADER = struct.Struct(">HH")
_ARRAY = struct.Struct(">iiIii")
_ELEMENT = np.dtype([("bytes", ">i4"), ("float", ">f4")])


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


class FloatArray(NamedTuple):
    """Floats to send as one array of type real[], whatever their shape."""

    floats: Floats


class FloatArrayDumper(Dumper):
    """Dump floats in the binary format of an array: each behind its length."""

    format = Format.BINARY
    oid = 1021  # real[]

    def dump(self, obj: FloatArray) -> Buffer:
        elements = np.empty(obj.floats.size, _ELEMENT)
        elements["bytes"] = 4
        elements["float"] = obj.floats.ravel()
        # One dimension, no NULL, elements of type real, their number, the index of the first.
        return _ARRAY.pack(1, 0, 700, elements.size, 1) + elements.tobytes()


def teach_vectors(connection: Connection, type_name: str) -> None:
    """Register the vector type on a connection, if the database has it."""
    info = TypeInfo.fetch(connection, type_name)
    if info is not None:
        connection.adapters.register_loader(info.oid, VectorLoader)
        connection.adapters.register_dumper(FloatArray, FloatArrayDumper)
        connection.adapters.register_dumper(
            np.ndarray, type("_Dumper", (VectorDumper,), {"oid": info.oid})
        )
