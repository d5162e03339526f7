"""Checks that all embedders share: texts on input, vectors on output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import DimensionMismatchError, EmbedderError


def checked(
    rows: ArrayLike,
    *,
    count: int,
    dimensions: int | None,
    identity: str,
) -> NDArray[np.float32]:
    """Return `rows` as `count` × `dimensions` unit vectors in float32; zero vectors stay zero.

    Raises DimensionMismatchError for rows of unexpected length, EmbedderError for a wrong number of
    rows or a value that is not finite. `dimensions` None accepts any length.
    """
    try:
        matrix = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbedderError(
            f"{identity} answered with something that is not a matrix: {error}"
        ) from error
    if matrix.ndim != 2 or len(matrix) != count:
        raise EmbedderError(f"{identity} answered with shape {matrix.shape} for {count} texts.")
    _check_width(matrix.shape[1], dimensions, identity)
    if not np.isfinite(matrix).all():
        raise EmbedderError(f"{identity} answered with a vector that holds NaN or infinity.")
    return _normalised(matrix)


def blank(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts are only white space."""
    return np.fromiter((not text.strip() for text in texts), dtype=np.bool_, count=len(texts))


def _check_width(
    width: int,
    dimensions: int | None,
    identity: str,
) -> None:
    if width == 0 or dimensions not in (None, width):
        raise DimensionMismatchError(
            f"{identity} answered with {width} dimensions; {dimensions or 'some'} were expected. "
            "If the model changed on purpose, embed the memories anew with it.",
            expected=dimensions,
            actual=width,
        )


def _normalised(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    # Dividing by the maximum first keeps the squares of huge and tiny values within float32.
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    scaled: NDArray[np.float32] = np.divide(
        matrix, largest, out=np.zeros_like(matrix), where=largest > 0
    )
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    np.divide(scaled, lengths, out=scaled, where=lengths > 0)
    return scaled
