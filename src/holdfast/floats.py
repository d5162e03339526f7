"""Text and vectors for embedding models without numpy, which is slow to import."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[Any] | array[float]"
"""Numbers in a row: an array of numpy, or one of the standard library. Both are buffers, so each
can become the other without a copy."""


def legible(text: str, limit: int) -> str:
    """Return the first `limit` characters of `text`; lone surrogates, which no model can read, are
    replaced.
    """
    text = text[:limit]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def packed(vector: Vector) -> bytes:
    """Return the vector as contiguous 32-bit floats."""
    numbers = memoryview(vector)  # type: ignore[arg-type]  # numpy's types do not tell that it is one
    return numbers.tobytes() if numbers.format == "f" else array("f", vector).tobytes()


def unpacked(data: bytes) -> array[float]:
    """Reverse `packed`; raises ValueError if the length is not a multiple of four bytes."""
    numbers = array("f")
    numbers.frombytes(data)
    return numbers


class UnitVector(array):  # type: ignore[type-arg]  # not generic at run time before Python 3.12
    """A vector that `unit` has normalised, so that it need not be done again."""


def unit(numbers: Iterable[float]) -> array[float]:
    """Normalise to length one; a zero vector stays zero.

    >>> list(unit([3.0, 0.0, -4.0]))
    [0.6000000238418579, 0.0, -0.800000011920929]
    """
    if type(numbers) is UnitVector:
        return numbers
    values = list(map(float, numbers))
    # A text without known words has a zero vector, which has no direction to normalise.
    length = math.hypot(*values) or 1.0
    return UnitVector("f", [value / length for value in values])
