"""Files indexed for a project: found by its lists or by name, dropped when they are gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..errors import InvalidInput
from ..ingest.documents import Indexed, Indexer, Source, can_be_indexed
from ..storage.store_types import KnownFile
from ..transcripts.base import Transcript
from .roots import FOLDER, RecordRoot, project_place
from .source_lists import FOLLOWED, LIST, Sources, covers

# Folders with generated or downloaded files, where no one's words are.
_NOT_WRITTEN_HERE = frozenset(
    ("node_modules", "__pycache__", "site-packages", "venv", "target", "dist", "build")
)


def given(paths: Sequence[str | Path], place: RecordRoot) -> list[Path]:
    """Return the named files and folders. Raises InvalidInput, before any change, for a missing
    one.
    """
    found = []
    for path in paths:
        known = Path(path).expanduser()
        # Only the parent is resolved: a link keeps its own name, under which it is listed.
        known = (
            known.parent.resolve() / known.name if known.name not in ("", "..") else known.resolve()
        )
        if not known.exists():
            raise InvalidInput(f"There is no {path}. Nothing was indexed.")
        if known.is_relative_to(place.folder / FOLDER):
            raise InvalidInput(f"What is in {FOLDER} is in memory already. Nothing was indexed.")
        found.append(known)
    return found


def follow(
    indexer: Indexer,
    sources: Sources,
    named: Sequence[Path] | None = None,
    *,
    whole: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Indexed:
    """Index the `named` paths, or all listed ones, and drop indexed files that are gone.

    A transcript outside the project disappears when its tool deletes it. Its index stays while a
    list names it, because it may be the last copy. `whole` marks the store as fully indexed.
    """
    listed = sources.patterns()
    patterns = listed if named is None else [str(path) for path in named]
    found = _found(patterns, sources, indexer)
    missing = {
        name: str(sources.place.folder / name) for name in indexer.known if name not in found
    }
    for number, source in enumerate(found.values()):
        progress(number, len(found))
        indexer.index(source)
    progress(len(found), len(found))
    for name, path in missing.items():
        if named is None or any(covers(pattern, path) for pattern in patterns):
            last_copy = Path(name).is_absolute() and any(
                covers(pattern, path) for pattern in listed
            )
            indexer.drop(name, turns=not last_copy)
    if whole:
        indexer.finish(KnownFile(FOLLOWED, LIST, "", 0, 0, ""))
    return indexer.done


def was_held_in(place: RecordRoot, transcript: Transcript) -> bool:
    """Whether a session belongs to a project: its transcript lies there, or it worked there."""
    if transcript.path.is_relative_to(place.folder):
        return True
    worked_in = Path(transcript.cwd or os.sep)
    project = project_place(worked_in) if worked_in.is_dir() else None
    if project is not None:
        return project.scope == place.scope
    return worked_in.is_relative_to(place.folder)


def _found(
    patterns: Sequence[str],
    sources: Sources,
    indexer: Indexer,
) -> dict[str, Source]:
    """Return the files that match the patterns, by name and in order."""
    found: dict[str, Source] = {}
    for pattern in patterns:
        try:
            for path, named in _files(Path(pattern)):
                name = sources.name_of(path)
                if name not in found or named:
                    found[name] = Source(path, name, named)
        except (
            OSError,
            ValueError,
        ) as error:
            # A folder that may not be entered, or no glob at all.
            indexer.warn(pattern, f"nothing can be found by it ({error})")
    return found


def _files(pattern: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files of one pattern, and whether the pattern is the exact path."""
    if pattern.is_file():
        yield pattern, True
        return
    if any("**" in part and part != "**" for part in pattern.parts):
        # Newer Pythons would read it as one star.
        raise ValueError("** stands for folders, between slashes: docs/**/*.md")
    root = Path(pattern.anchor)
    for match in (
        [pattern] if pattern.is_dir() else sorted(root.glob(str(pattern.relative_to(root))))
    ):
        yield from ((file, False) for file in (_walk(match) if match.is_dir() else [match]))


def _walk(folder: Path) -> Iterator[Path]:
    """Yield indexable files below a folder in order, without hidden files and links."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and one not in _NOT_WRITTEN_HERE
        )
        for file in sorted(files):
            path = Path(here, file)
            if not file.startswith(".") and can_be_indexed(path):
                yield path
