"""What tests of records may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from shop import Shop


@pytest.fixture
def shop(tmp_path: Path, clock) -> Iterator[Shop]:
    """A project that keeps records, with nothing in it."""
    opened = Shop(tmp_path / "shop", clock)
    yield opened
    opened.close()
