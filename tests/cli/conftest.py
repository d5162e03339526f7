"""What every test of a command may ask for."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_store(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setenv("COLUMNS", "120")
