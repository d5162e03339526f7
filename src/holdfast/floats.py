"""What a text and a vector are on the way to a model and back, without a numeric library, which is
slow to load.
"""

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
    """The first `limit` characters of `text`, with lone surrogates (which no model can read)
    replaced.
    """
    text = text[:limit]
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def packed(vector: Vector) -> bytes:
    """Its numbers as 32-bit floats, one behind the other."""
    numbers = memoryview(vector)  # type: ignore[arg-type]  # numpy's types do not tell that it is one
    return numbers.tobytes() if numbers.format == "f" else array("f", vector).tobytes()


def unpacked(data: bytes) -> array[float]:
    """The reverse of `packed`; ValueError when it is not a whole number of floats."""
    numbers = array("f")
    numbers.frombytes(data)
    return numbers


def unit(numbers: Iterable[float]) -> array[float]:
    """The same direction with length one; zeros stay zeros.

    >>> list(unit([3.0, 0.0, -4.0]))
    [0.6000000238418579, 0.0, -0.800000011920929]
    """
    values = [float(number) for number in numbers]
    length = math.hypot(*values) or 1.0
    return array("f", [value / length for value in values])
