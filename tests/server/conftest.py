"""What the tests of the server share."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from live_server import serving


@pytest.fixture
def keys(tmp_path):
    """Where the keys of this test are, if it makes any."""
    return tmp_path / "keys.jsonl"


@pytest.fixture
def serve(keys):
    """Serves a memory until the end of the test."""
    with ExitStack() as stack:
        yield lambda hf, **options: stack.enter_context(serving(hf, keys, **options))


@pytest.fixture
def http(hf, serve):
    """A client of a server without keys, whose owner is Ann unless a request names another."""
    return serve(hf).client()
