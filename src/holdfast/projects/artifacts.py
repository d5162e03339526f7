"""Files of a project's memory: names, permitted content, and atomic replacement of all of them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..extraction.coding.project_settings import MEMORY, RAW, SUMMARY
from ..ingest.sanitize import clean
from ..text.secrets import redact
from ..types import iso

if TYPE_CHECKING:
    from .compose_memory import Composed
    from .stage1_outputs import Output

FOLDERS = ("scripts", "templates", "examples")
# Limits that every file system accepts.
LONGEST_NAME = 64
LONGEST_PATH = 200
NOTHING = "No raw memories yet."

FileSet = Mapping[str, str]
"""Contents by path below the folder, with forward slashes."""

# Text that a person writes between these marks survives a rebuild.
OWN_BEGIN = "<!-- yours:begin -->"
OWN_END = "<!-- yours:end -->"
_OWN = re.compile(f"{re.escape(OWN_BEGIN)}(.*?){re.escape(OWN_END)}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Skill:
    """A playbook: name, text and attached files."""

    name: str
    content: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Contents by path below the skill's own folder."""


def skill_of(answered: Any) -> Skill | None:
    """Validate a playbook from a model; None if it has no name or text. Unsafe paths are
    dropped.
    """
    if not isinstance(answered, Mapping):
        return None
    name = skill_name(text_of(answered, "name"))
    content = text_of(answered, "content")
    files: dict[str, str] = {}
    for folder in FOLDERS:
        files.update(_files_of(answered.get(folder), folder))
    if not name or not (content.strip() or files):
        return None
    # A file cannot have the path of another file's folder.
    writable = {}
    for path, text in files.items():
        if not any(str(above) in files for above in PurePosixPath(path).parents):
            writable[path] = text
    return Skill(name, content, writable)


def _files_of(answered: Any, folder: str) -> Iterator[tuple[str, str]]:
    """Files of one playbook folder that are safe to write, by path."""
    for one in answered if isinstance(answered, list) else ():
        if (
            isinstance(one, Mapping)
            and set(one) == {"path", "content"}
            and isinstance(one["content"], str)
        ):
            path = text_of(one, "path")
            if is_safe(path):
                yield f"{folder}/{path}", text_of(one, "content")


def text_of(answered: Mapping[str, Any], key: str) -> str:
    """Text of an answer without secrets; empty if it is not text."""
    value = answered.get(key)
    return redact(clean(value))[0] if isinstance(value, str) else ""


def skill_name(text: str) -> str:
    """Turn a name into a safe folder name.

    >>> skill_name("Deploy: Playbook!")
    'deploy-playbook'
    """
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")[:LONGEST_NAME].strip("-")


def is_safe(path: str) -> bool:
    """Whether a path stays below its folder and is valid on every system."""
    parts = path.split("/")
    named = re.fullmatch(r"[A-Za-z0-9._/-]+", path) and len(path) <= LONGEST_PATH
    return bool(named) and not any(part in ("", ".", "..") for part in parts)


def laid_out(composed: Composed | None, kept: Sequence[Output]) -> FileSet:
    """Return the files to write; without composed text, only the list of sessions."""
    files = {RAW: _raw(kept)}
    for one in kept:
        files[f"rollout_summaries/{_file_name(one)}"] = (
            f"thread_id: {one.session}\nupdated_at: {iso(one.updated_at)}\n\n{one.taught.summary}\n"
        )
    if composed is not None:
        files |= {MEMORY: _ended(composed.memory), SUMMARY: _ended(composed.summary)}
        for skill in composed.skills:
            below = f"skills/{skill.name}"
            files[f"{below}/SKILL.md"] = _ended(skill.content)
            files |= {f"{below}/{path}": _ended(text) for path, text in skill.files.items()}
    return files


def _raw(kept: Sequence[Output]) -> str:
    parts = [
        f"## {one.session}\nupdated_at: {iso(one.updated_at)}\n\n{one.taught.memory.strip()}\n"
        for one in kept
    ]
    return "\n".join(["# Raw Memories\n", *(parts or [f"{NOTHING}\n"])])


def _file_name(kept: Output) -> str:
    session = re.sub(r"[^A-Za-z0-9._-]", "-", kept.session).lstrip(".")[:120]
    # Two ids can map to the same file name.
    if session != kept.session:
        session += f"-{hashlib.sha256(kept.session.encode()).hexdigest()[:8]}"
    return f"{session}-{kept.taught.slug}.md" if kept.taught.slug else f"{session}.md"


def _ended(text: str) -> str:
    return text.strip() + "\n"


# Regions of the user


def own_regions(folder: Path) -> dict[str, list[str]]:
    """Return the user's text in their regions by file, in order."""
    found = {}
    for name in (MEMORY, SUMMARY):
        with suppress(OSError, UnicodeDecodeError):
            texts = _OWN.findall((folder / name).read_text("utf-8"))
            if any(text.strip() for text in texts):
                found[name] = texts
    return found


def put_back(files: FileSet, own: Mapping[str, Sequence[str]]) -> FileSet:
    """Put the user's text back into the files; a file that lost its region gets one at the end."""
    return {name: _with_own(text, list(own.get(name, ()))) for name, text in files.items()}


def _with_own(text: str, own: list[str]) -> str:
    waiting = [words for words in own if words.strip()]
    made = _OWN.sub(lambda region: _region(waiting.pop(0)) if waiting else region[0], text)
    return made + "".join(f"\n{_region(words)}\n" for words in waiting)


def _region(words: str) -> str:
    return f"{OWN_BEGIN}{words}{OWN_END}"


# Atomic replacement


def replace_files(
    folder: Path,
    files: FileSet,
    version: str,
) -> None:
    """Make `folder` hold exactly these files, by one rename: readers see the old or the new
    version.

    `folder` is a link to the current version. Raises InvalidInput if the disk refuses; then the old
    version stays.
    """
    home = folder.parent / f".{folder.name}"
    new = home / re.sub(r"\W", "", version)
    try:
        shutil.rmtree(new, ignore_errors=True)
        for name, text in files.items():
            _write(new / name, text)
        new.mkdir(parents=True, exist_ok=True)
        _point(folder, new)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise InvalidInput(
            f"Cannot write {folder}: {error.strerror}. The previous files are unchanged."
        ) from error
    for old in home.iterdir():
        if old != new:
            shutil.rmtree(old, ignore_errors=True)


def remove_files(folder: Path) -> bool:
    """Delete a project's files; return whether there were any."""
    there = folder.is_dir()
    if folder.is_symlink():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder.parent / f".{folder.name}", ignore_errors=True)
    return there


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(
        os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(text)
        out.flush()
        # On disk before the rename makes the file visible.
        os.fsync(out.fileno())


def _point(folder: Path, target: Path) -> None:
    """Point the link at the new version. A real folder in its place is renamed and kept."""
    if folder.is_dir() and not folder.is_symlink():
        folder.rename(folder.with_name(f"{folder.name}.before-{target.name[-8:]}"))
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.link")
    draft.unlink(missing_ok=True)
    draft.symlink_to(os.path.relpath(target, folder.parent), target_is_directory=True)
    draft.replace(folder)
