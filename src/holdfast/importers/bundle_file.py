"""Importer of Holdfast's own bundles; `replication.bundle` writes and stores them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..transcripts.base import Cursor
from ..transcripts.line_reader import beginning

# A bundle begins by saying what it is; the order of the keys in that line is ours.
_HEADER = re.compile(rb'"bundle"\s*:\s*"holdfast"')


class Bundle:
    """Bundles, line by line. They are checked and stored as a whole, so no line is left out."""

    name = "bundle"

    def discover(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:  # noqa: ARG002
        """Nothing: the user names the file."""
        return iter(())

    def recognises(self, path: Path) -> bool:
        """See `Importer.recognises`."""
        return _HEADER.search(beginning(path, 200)) is not None

    def read(self, path: Path, cursor: Cursor | None = None) -> Iterator[str]:  # noqa: ARG002
        """See `Importer.read`. Always the whole file: rows that are known are skipped."""
        with path.open(encoding="utf-8") as lines:
            yield from lines


BUNDLE = Bundle()
