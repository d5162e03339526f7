"""Files of a model pack, memory-mapped so that only the needed parts are read."""

from __future__ import annotations

import json
import mmap
import struct
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .wordpiece import Lookup

# Characters of a text up to which searching the vocabulary file for each piece is faster than
# parsing it.
FEW_CHARACTERS = 160
# Short texts after which the file is parsed anyway: a process that embeds this many, such as a
# server, will embed more.
FEW_TEXTS = 4


class HalfFloats(NamedTuple):
    """A float16 matrix in a safetensors file, memory-mapped."""

    data: mmap.mmap
    offset: int
    shape: tuple[int, int]

    @classmethod
    def open(cls, path: Path, name: str) -> HalfFloats:
        """Open the matrix `name` of the file; raises ValueError if it is not float16."""
        with path.open("rb") as file:
            header_size = int.from_bytes(file.read(8), "little")
            entry = json.loads(file.read(header_size))[name]
            if entry["dtype"] != "F16":
                raise ValueError(f"{name} is {entry['dtype']}, not F16")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        rows, width = entry["shape"]
        return cls(data, 8 + header_size + entry["data_offsets"][0], (rows, width))

    def row(self, number: int) -> tuple[float, ...]:
        """Return one row."""
        width = self.shape[1]
        return struct.unpack_from(f"<{width}e", self.data, self.offset + 2 * width * number)

    def matrix(self) -> NDArray[np.float16]:
        """Return the whole matrix as a view of the mapped file."""
        # Deferred import: a single query does without numpy.
        import numpy as np  # noqa: PLC0415

        rows, width = self.shape
        return np.frombuffer(
            self.data, dtype="<f2", count=rows * width, offset=self.offset
        ).reshape(self.shape)


class Vocabulary:
    """Vocabulary of a `tokenizer.json`: word pieces and their numbers."""

    def __init__(self, path: Path) -> None:
        self._text = path.read_bytes()
        self._start = self._text.index(b'"vocab":{')
        self._texts = 0

    def lookup(self, characters: int) -> Lookup:
        """Return the fastest lookup of piece numbers for a text of this length."""
        self._texts += 1
        short = characters <= FEW_CHARACTERS and self._texts <= FEW_TEXTS
        if short and "_numbers" not in vars(self):
            return self._find
        return self._numbers.get

    @cached_property
    def _numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = json.loads(self._text)["model"]["vocab"]
        return numbers

    def _find(self, piece: str) -> int | None:
        key = f",{json.dumps(piece, ensure_ascii=False)}:".encode()
        place = self._text.find(key, self._start)
        if place < 0:
            return None
        digits = self._text[place + len(key) : place + len(key) + 10]
        return int(digits.replace(b"}", b",").split(b",")[0])
