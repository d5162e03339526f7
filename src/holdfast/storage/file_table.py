"""Known files in SQL: a cache of the disk's state, not journalled, because the disk is the
truth.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Scope
from .filters import marks
from .journal import PAGE, JournalledRows
from .schema import Rows
from .store_types import KnownFile, KnownFiles
from .table_access import Access

_COLUMNS = "root, path, memory, size, mtime, hash"
# A folder's own row has the root ''. Its hash is a seal that says that nothing inside has changed,
# so any change of a file's row must clear it.
UNSEAL = "UPDATE files SET hash = '' WHERE scope = ? AND root = ''"


class SQLFileReads:
    """The files that are known; see `FileReads` in protocol.py."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def list(self, scope: Scope, root: str) -> KnownFiles:
        rows = self._select(_COLUMNS, scope, root, " ORDER BY path")
        return [KnownFile._make(row) for row in rows]

    def stats(self, scope: Scope, root: str) -> dict[str, tuple[int, int]]:
        rows = self._select("path, size, mtime", scope, root)
        return {path: (size, mtime) for path, size, mtime in rows}

    def _select(
        self,
        columns: str,
        scope: Scope,
        root: str,
        order: str = "",
    ) -> Rows:
        numbers = self._access.numbers((scope,))
        if not numbers:
            return []
        sql = f"SELECT {columns} FROM files WHERE scope = ? AND root = ?{order}"
        return self._access.read(numbers, sql, (*numbers, root))


class SQLFileTable(SQLFileReads):
    """The files of a transaction; see `FileTable` in protocol.py."""

    def __init__(self, rows: JournalledRows) -> None:
        super().__init__(rows)
        self._rows = rows

    def put(self, scope: Scope, files: Sequence[KnownFile]) -> None:
        # The last one wins when a path is given twice.
        new = {(file.root, file.path): file for file in files}
        for root in {file.root for file in files}:
            self.drop(scope, root, [path for other, path in new if other == root])
        if new:
            number = self._rows.number(scope)
            self._rows.execute.many(
                f"INSERT INTO files (scope, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(number, *file) for file in new.values()],
            )

    def drop(
        self,
        scope: Scope,
        root: str,
        paths: Sequence[str],
    ) -> None:
        if not paths:
            return
        number = self._rows.known(scope)
        self._rows.execute(f"{UNSEAL} AND path = ?", (number, root))
        for start in range(0, len(paths), PAGE):
            page = paths[start : start + PAGE]
            self._rows.execute(
                f"DELETE FROM files WHERE scope = ? AND root = ? AND path IN ({marks(page)})",
                (number, root, *page),
            )
