"""The files that were seen, in SQL: a note of the disk that is not journalled, for the disk itself
is the truth.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Scope
from .filters import marks
from .journal import PAGE, JournalledRows
from .protocol import KnownFile, KnownFiles
from .schema import Rows
from .scope_numbers import ScopedSQL

_COLUMNS = "root, path, memory, size, mtime, hash"
UNSEAL = "UPDATE files SET hash = '' WHERE scope = ? AND root = ''"
SELECT_FILES = f"SELECT {_COLUMNS} FROM files WHERE scope = ? AND root = ? ORDER BY path"


class SQLFiles(ScopedSQL):
    """The part of a store that knows files; see `Store` in protocol.py for what it promises."""

    def files(self, scope: Scope, root: str) -> KnownFiles:
        numbers = self.numbers((scope,))
        return _known(self.read(numbers, SELECT_FILES, (*numbers, root))) if numbers else []

    def file_stats(self, scope: Scope, root: str) -> dict[str, tuple[int, int]]:
        numbers = self.numbers((scope,))
        sql = "SELECT path, size, mtime FROM files WHERE scope = ? AND root = ?"
        rows = self.read(numbers, sql, (*numbers, root)) if numbers else []
        return {path: (size, mtime) for path, size, mtime in rows}


class FilesWriter(JournalledRows):
    """The files of a transaction; see `Transaction` in protocol.py."""

    def files(self, scope: Scope, root: str) -> KnownFiles:
        return _known(self.execute(SELECT_FILES, (self.known(scope), root)))

    def put_files(self, scope: Scope, files: Sequence[KnownFile]) -> None:
        new = {(file.root, file.path): file for file in files}
        for root in {file.root for file in files}:
            self.drop_files(scope, root, [path for other, path in new if other == root])
        if new:
            number = self.number(scope)
            self.execute.many(
                f"INSERT INTO files (scope, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(number, *file) for file in new.values()],
            )

    def drop_files(self, scope: Scope, root: str, paths: Sequence[str]) -> None:
        if paths:
            self.execute(f"{UNSEAL} AND path = ?", (self.known(scope), root))
        for start in range(0, len(paths), PAGE):
            page = paths[start : start + PAGE]
            self.execute(
                f"DELETE FROM files WHERE scope = ? AND root = ? AND path IN ({marks(page)})",
                (self.known(scope), root, *page),
            )


def _known(rows: Rows) -> KnownFiles:
    return [KnownFile._make(row) for row in rows]
