"""What tests of the pipelines share."""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings


@pytest.fixture
def open_with(tmp_path, clock):
    every = []

    def open_one(scope="user:ann", **settings):
        hf = Holdfast.open(
            tmp_path / "memory.db",
            scope=scope,
            settings=Settings(embedding_models="none", **settings),
            clock=clock,
            background=False,
        )
        every.append(hf)
        return hf

    yield open_one
    for hf in every:
        hf.close()
