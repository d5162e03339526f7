"""A project with records, for tests: its files, its memory, and the person who edits both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.models.embeddings.tiers import Tiers
from holdfast.records.file_sync import Followed
from holdfast.records.roots import RecordRoot, assistant_place, init_project
from holdfast.storage import SQLiteStore
from holdfast.types import Memory

RECORD = """---
id: rec_{name}
scope: project
category: {category}
title: About {name}
created: 2026-03-01T12:00:00+00:00
updated: 2026-03-01T12:00:00+00:00
status: active
---

{text}
"""


class Shop:
    """A project in a folder, the place of its person's assistant, and a store that knows both."""

    def __init__(self, folder: Path, clock: Any) -> None:
        self.folder, self.clock = folder, clock
        folder.mkdir(parents=True, exist_ok=True)
        self.place, self.own = init_project(folder), assistant_place("ann", folder.parent / "data")
        self.store = folder.parent / "memory.db"
        self._opened: list[Holdfast] = []
        self._time = 1_600_000_000_000_000_000

    def open(
        self, *places: RecordRoot, actor: str = "library", settings: Settings | None = None
    ) -> Holdfast:
        """An open memory of the project and the assistant; closed at the end of the test."""
        store, here = SQLiteStore(self.store, clock=self.clock), places or (self.place, self.own)
        hf = Holdfast(
            store,
            [place.scope for place in here],
            places=here,
            clock=self.clock,
            actor=actor,
            settings=settings,
            tiers=Tiers.of(clock=self.clock),
        )
        self._opened.append(hf)
        return hf

    def close(self) -> None:
        """Closes what was opened."""
        for hf in self._opened:
            hf.close()

    def write(self, path: str, text: str | bytes, *, place: RecordRoot | None = None) -> Path:
        """A person saves a file. Each save is at another time, long ago, so that none looks like
        the one before.
        """
        file = (place or self.place).records / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        self._time += 1_000_000_007
        os.utime(file, ns=(self._time, self._time))
        return file

    def record(self, name: str, text: str = "", *, category: str = "decisions") -> Path:
        """A person writes a record by hand."""
        whole = RECORD.format(
            name=name, category=category, text=text or f"What was decided about {name}."
        )
        return self.write(f"{category}/{name}.md", whole)

    def follow(self) -> Followed:
        """What a new command finds."""
        hf = self.open()
        hf.list()
        return hf.records.sync_report


def file_of(hf: Holdfast, record: Memory) -> Path:
    """Where the file of a record is."""
    return next(place.root for place in hf.records.places if place.scope == record.scope) / str(
        record.metadata["file"]
    )


def contents(hf: Holdfast, question: str) -> list[str]:
    """What recall answers."""
    return [hit.memory.content for hit in hf.recall(question)]
