"""Profiles of scopes in SQL: one JSON object each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..types import Scope
from .filters import marks
from .journal import JournalledRows
from .row_codec import profile_from, to_json
from .schema import PROFILES
from .table_access import Access


class SQLProfileReads:
    """The profiles of a store; see `ProfileReads` in protocol.py."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def get(self, scope: Scope) -> Mapping[str, Any]:
        numbers = self._access.numbers((scope,))
        rows = self._access.read(
            numbers, f"SELECT settings FROM profiles WHERE scope IN ({marks(numbers)})", numbers
        )
        for found in self._access.damages.sound(rows, lambda row: profile_from(row, scope)):
            return found
        return {}


class SQLProfileTable(SQLProfileReads):
    """The profiles of a transaction; see `ProfileTable` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        super().__init__(rows)
        self._rows = rows

    def get(self, scope: Scope) -> Mapping[str, Any]:
        # Damage is an error here, because the next `put` would overwrite the damaged profile.
        row = self._rows.row(PROFILES, scope, ())
        return profile_from((row["settings"],) if row else None, scope)

    def put(self, scope: Scope, settings: Mapping[str, Any]) -> None:
        self._rows.put_row(PROFILES, scope, {"settings": to_json(dict(settings))})
