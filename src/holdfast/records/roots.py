"""Where records are kept: in a project, beside its code, and with a person, across all projects.

A project's place is the folder `.holdfast` at its root. Everything in it may be committed:
`project.yaml` names the project, so every clone shares one memory, and `records/` holds one
Markdown file a record, in a folder a category.
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
"""The folder in a person's data that has one for each project they indexed, imported or built."""
_SIGN = f"{FOLDER}/{PROJECT_FILE}"
CATEGORIES: Mapping[str, Kind] = {
    "decisions": "fact",
    "procedures": "rule",
    "principles": "rule",
    "incidents": "episode",
    "preferences": "fact",
}
"""What a record may be about, and of which kind its memory is then."""

PlaceName = Literal["project", "assistant"]
SOURCE = "record"
"""What the memory of a record says that it comes from."""
_FILE = later(rf"{RECORDS}/([^/\\\0]+)/[^./\\\0][^/\\\0]*\.md")
_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,119}")


@dataclass(frozen=True)
class RecordRoot:
    """A folder that keeps records, and the scope that they belong to."""

    root: Path
    """The folder that holds `records/`: `.holdfast` in a project, `assistant` in a person's
    data.
    """
    scope: Scope
    name: PlaceName

    @property
    def records(self) -> Path:
        """Where its records are, in one folder for each category."""
        return self.root / RECORDS

    @property
    def folder(self) -> Path:
        """What paths in its records are relative to: the project's own folder, or the place
        itself.
        """
        return self.root.parent if self.name == "project" else self.root


def project_place(start: Path) -> RecordRoot | None:
    """The place of the project that a folder lies in: that of the nearest one upwards; None when
    there is none.
    """
    found = _nearest(start.resolve(), _SIGN)
    return _place(found) if found else None


def place_around(folder: Path) -> RecordRoot:
    """The place of the project that a folder belongs to, whether or not anything is there: one that
    keeps records, else the repository, else the folder itself. One that is gone is still the
    project that it was."""
    known = project_place(folder) if folder.is_dir() else None
    if known is not None:
        return known
    top = repository_top(folder.resolve())
    return RecordRoot(top / FOLDER, Scope("project", project_id(top)), "project")


def noted_place(folder: Path, data: Path) -> RecordRoot | None:
    """The place of the project that a folder belongs to, if it keeps no records but past sessions
    of it were taken in.

    A person's `data` has a folder for each such project; version 0.1.0 left a list in the project
    instead.
    """
    # The usual case costs one look, and loads nothing.
    if not (data / PROJECTS).is_dir():
        return None
    place = place_around(folder)
    is_noted = (data / PROJECTS / place.scope.key).is_dir() or place.root.is_dir()
    return place if is_noted else None


def project_folder(start: Path) -> Path:
    """The top of the project that a folder lies in: one that keeps records, else the repository,
    else `start` itself.

    Nothing is read, so one that does not say how it is called is found as well.
    """
    return _nearest(start, _SIGN) or repository_top(start)


def folder_to_make(start: Path) -> Path:
    """Which folder becomes a project for who is in `start`: the nearest that is one or holds a
    repository, else it.
    """
    return _nearest(start, _SIGN, ".git") or start


def repository_top(folder: Path) -> Path:
    """The top of the repository that a folder lies in; the folder itself without one."""
    return _nearest(folder, ".git") or folder


def _nearest(start: Path, *signs: str) -> Path | None:
    """The nearest folder upwards, from `start` itself on, that has one of these."""
    around = (start, *start.parents)
    return next(
        (folder for folder in around if any((folder / sign).exists() for sign in signs)), None
    )


def assistant_place(owner: str, data: Path) -> RecordRoot:
    """The place of what a person's assistant knows in every project. It need not be there yet."""
    return RecordRoot(data / "assistant", Scope("assistant", owner), "assistant")


def places_around(
    start: Path,
    owner: str,
    data: Path,
) -> tuple[RecordRoot, ...]:
    """The places whose records count in a folder: the project's, if it lies in one, and the
    person's own.
    """
    project = project_place(start)
    own = assistant_place(owner, data)
    return (project, own) if project else (own,)


def places_here(folder: Path) -> tuple[RecordRoot, ...]:
    """The same, for the person at the keyboard."""
    return places_around(folder, config.login(), config.data_folder())


def init_project(folder: Path, name: str = "") -> RecordRoot:
    """Makes a folder a project that keeps records; what it is already stays as it is.

    Its id is the one that the folder went by before, so that what was known of it stays its own.
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
    """The id of the project at a folder: the one that its project file says, else one made of its
    name and path.
    """
    here = folder.resolve()
    if (here / FOLDER / PROJECT_FILE).is_file():
        return _read(here / FOLDER / PROJECT_FILE)["id"]
    # It loads OpenSSL.
    from hashlib import sha256  # noqa: PLC0415

    tail = sha256(str(here).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{slug(here.name, ascii_only=True) or 'project'}-{tail}"


def project_name(place: RecordRoot) -> str:
    """What people call a project."""
    return _read(place.root / PROJECT_FILE).get("name") or place.folder.name


def check_category(category: str) -> str:
    """`category` itself, when it is one of the five."""
    if category in CATEGORIES:
        return category
    raise InvalidInput(
        f"There is no category {category!r} of records. Use one of: {', '.join(CATEGORIES)}."
    )


def is_record(memory: Memory) -> bool:
    """Whether a memory is kept in a file: one in the folder of a category. What others sync may say
    anything.
    """
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
    """A text as part of a file's name: its words in small letters, joined by hyphens.

    >>> slug("Use pnpm, not npm!")
    'use-pnpm-not-npm'
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = re.findall(r"[a-z0-9]+" if ascii_only else r"[^\W_]+", folded)
    cut = "-".join(words)[:limit]
    while len(cut.encode("utf-8", "replace")) > 2 * limit:
        cut = cut[:-1]
    return cut.strip("-")


def _place(folder: Path) -> RecordRoot:
    known = _read(folder / FOLDER / PROJECT_FILE)
    return RecordRoot(folder / FOLDER, Scope("project", known["id"]), "project")


def _read(file: Path) -> dict[str, str]:
    """What a project file says; InvalidInput, with what to do, when it does not name the
    project.
    """
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
