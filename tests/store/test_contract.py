"""The store contract, on every backend of conftest.py."""

from __future__ import annotations

from holdfast.testing import StoreContract


class TestStore(StoreContract):
    """See holdfast/testing."""
