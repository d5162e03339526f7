"""Where records are kept: in a project next to its code, and in a person's data folder.

A project's root is its folder `.holdfast`, which may be committed. `project.yaml` names the
project, so that all clones share one memory; `records/` has one folder per category and one
Markdown file per record.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from .. import config
from ..errors import InvalidInput, reason
from ..text import frontmatter
from ..text.frontmatter import Broken, Document
from ..text.lazy_regex import later
from ..types import Kind, Memory, Scope
from ..values import dataclass

FOLDER = ".holdfast"
PROJECT_FILE = "project.yaml"
RECORDS = "records"
PROJECTS = "projects"
"""Folder in a person's data, with one subfolder per project that was indexed, imported or built."""
_SIGN = f"{FOLDER}/{PROJECT_FILE}"
CATEGORIES: Mapping[str, Kind] = {
    "decisions": "fact",
    "procedures": "rule",
    "principles": "rule",
    "incidents": "episode",
    "preferences": "fact",
}
"""Categories of records, and the kind of memory of each."""

PlaceName = Literal["project", "assistant"]
SOURCE = "record"
"""Value of `source` in the memory of a record."""
# One file directly in a category folder, neither hidden nor able to leave it: other stores may
# sync any value.
_FILE = later(rf"{RECORDS}/([^/\\\0]+)/[^./\\\0][^/\\\0]*\.md")
_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,119}")


@dataclass(frozen=True)
class RecordRoot:
    """A folder with records, and their scope."""

    root: Path
    """Parent of `records/`: `.holdfast` in a project, `assistant` in a person's data."""
    scope: Scope
    name: PlaceName

    @property
    def records(self) -> Path:
        """Folder with one subfolder per category."""
        return self.root / RECORDS

    @property
    def folder(self) -> Path:
        """Base of relative paths in records: the project's folder, or the root itself."""
        return self.root.parent if self.name == "project" else self.root


def project_place(start: Path) -> RecordRoot | None:
    """Return the root of the nearest project around a folder, or None."""
    found = _nearest(start.resolve(), _SIGN)
    return _place(found) if found else None


def place_around(folder: Path) -> RecordRoot:
    """Return the root of the project around a folder, whether or not it exists.

    The project is one with records, else the repository, else the folder itself; a deleted folder
    keeps its project.
    """
    known = project_place(folder) if folder.is_dir() else None
    if known is not None:
        return known
    top = repository_top(folder.resolve())
    return RecordRoot(top / FOLDER, Scope("project", project_id(top)), "project")


def noted_place(folder: Path, data: Path) -> RecordRoot | None:
    """Return the root of a project without records whose past sessions were imported, or None.

    A person's `data` has a folder for each such project; version 0.1.0 left a list in the project
    instead.
    """
    # The usual case costs one system call and no import.
    if not (data / PROJECTS).is_dir():
        return None
    place = place_around(folder)
    is_noted = (data / PROJECTS / place.scope.key).is_dir() or place.root.is_dir()
    return place if is_noted else None


def project_folder(start: Path) -> Path:
    """Return the top of the project around a folder: one with records, else the repository, else
    `start`.

    Reads no file, so it also finds a project whose file is malformed.
    """
    return _nearest(start, _SIGN) or repository_top(start)


def folder_to_make(start: Path) -> Path:
    """Return the folder to initialise: the nearest project or repository, else `start`."""
    return _nearest(start, _SIGN, ".git") or start


def repository_top(folder: Path) -> Path:
    """Return the top of the repository around a folder, or the folder itself."""
    return _nearest(folder, ".git") or folder


def _nearest(start: Path, *signs: str) -> Path | None:
    """Return the nearest folder, from `start` upwards, that contains one of `signs`."""
    around = (start, *start.parents)
    return next(
        (folder for folder in around if any((folder / sign).exists() for sign in signs)), None
    )


def assistant_place(owner: str, data: Path) -> RecordRoot:
    """Return the root of a person's own records, which count in every project. It may not exist
    yet.
    """
    return RecordRoot(data / "assistant", Scope("assistant", owner), "assistant")


def places_around(
    start: Path,
    owner: str,
    data: Path,
) -> tuple[RecordRoot, ...]:
    """Return the roots whose records count in a folder: the project's, if any, and the person's."""
    project = project_place(start)
    own = assistant_place(owner, data)
    return (project, own) if project else (own,)


def places_here(folder: Path) -> tuple[RecordRoot, ...]:
    """Return the same for the current user."""
    return places_around(folder, config.login(), config.data_folder())


def init_project(folder: Path, name: str = "") -> RecordRoot:
    """Create a project in a folder; idempotent.

    Keeps the id that the folder had before, so that earlier memories stay attached. Raises
    InvalidInput if it cannot be written.
    """
    file = folder.resolve() / FOLDER / PROJECT_FILE
    if not file.is_file():
        called = " ".join((name or folder.resolve().name).split())
        text = frontmatter.write({"id": project_id(folder), "name": called}, "").yaml
        try:
            (file.parent / RECORDS).mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        except OSError as error:
            raise InvalidInput(
                f"Cannot write {file}: {error.strerror}. Nothing was made a project."
            ) from error
    return _place(folder.resolve())


def project_id(folder: Path) -> str:
    """Return the id of a project: from its project file, else derived from its name and path."""
    here = folder.resolve()
    if (here / FOLDER / PROJECT_FILE).is_file():
        return _read(here / FOLDER / PROJECT_FILE)["id"]
    # Imported here because it loads OpenSSL, which slows every start-up.
    from hashlib import sha256  # noqa: PLC0415

    tail = sha256(str(here).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{slug(here.name, ascii_only=True) or 'project'}-{tail}"


def project_name(place: RecordRoot) -> str:
    """Return the display name of a project."""
    return _read(place.root / PROJECT_FILE).get("name") or place.folder.name


def check_category(category: str) -> str:
    """Return `category`; raise InvalidInput unless it is one of the five."""
    if category in CATEGORIES:
        return category
    raise InvalidInput(
        f"There is no category {category!r} of records. Use one of: {', '.join(CATEGORIES)}."
    )


def is_record(memory: Memory) -> bool:
    """Whether a memory is kept in a file of a category folder. Synced metadata is not trusted."""
    found = (
        _FILE.fullmatch(str(memory.metadata.get("file", ""))) if memory.source == SOURCE else None
    )
    return found is not None and found[1].casefold() in CATEGORIES


def slug(
    text: str,
    *,
    ascii_only: bool = False,
    limit: int = 50,
) -> str:
    """Return a text as part of a file name: lower-case words joined by hyphens.

    >>> slug("Use pnpm, not npm!")
    'use-pnpm-not-npm'
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = re.findall(r"[a-z0-9]+" if ascii_only else r"[^\W_]+", folded)
    cut = "-".join(words)[:limit]
    # File systems limit names to 255 bytes; a character may take four.
    while len(cut.encode("utf-8", "replace")) > 2 * limit:
        cut = cut[:-1]
    return cut.strip("-")


def _place(folder: Path) -> RecordRoot:
    known = _read(folder / FOLDER / PROJECT_FILE)
    return RecordRoot(folder / FOLDER, Scope("project", known["id"]), "project")


def _read(file: Path) -> dict[str, str]:
    """Read a project file. Raises InvalidInput, with advice, unless it names the project."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {file}: {reason(error)}. Nothing was changed.") from error
    try:
        values = frontmatter.read(Document("", text, "", ""))
    except Broken as error:
        raise InvalidInput(f"{file}:{error.line - 1}: {error}. Mend it and try again.") from error
    known = {key: str(values[key]) for key in ("id", "name") if values.get(key)}
    if not _ID.fullmatch(known.get("id", "")):
        like = slug(file.parent.parent.name, ascii_only=True) or "my-project"
        raise InvalidInput(
            f"{file} does not name its project. It needs a line such as 'id: {like}': letters, "
            "digits, dots and "
            "hyphens. If git left a conflict in it, keep one of the two ids."
        )
    return known
