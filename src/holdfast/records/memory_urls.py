"""`memory://` URLs: read the files of a project's memory by name, never outside their folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import InvalidInput, NotFound

SCHEME = "memory://"
NAMESPACE = "root"
SUMMARY = "memory_summary.md"
"""The file that `memory://root` itself refers to."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a project's memory."""

    url: str
    text: str
    type: Literal["text/markdown", "text/plain"]
    size: int
    path: Path


def read_url(url: str, folder: Path) -> Artifact:
    """Read the file that a URL names in the folder of a project's memory.

    Raises InvalidInput for a malformed URL, NotFound if there is no such file.
    """
    named = parts_of(url) or (SUMMARY,)
    try:
        return _read(url, folder.resolve(), named)
    except NotFound:
        # The folder may be replaced by a new version between two steps; a second try reads that.
        return _read(url, folder.resolve(), named)


def _read(
    url: str,
    root: Path,
    named: tuple[str, ...],
) -> Artifact:
    if not root.is_dir():
        raise NotFound(
            "Memory artifacts are not available for this project yet. Run a session with "
            "memories "
            "enabled first."
        )
    path = root.joinpath(*named)
    _check_inside(path, root)
    if path.is_dir():
        raise InvalidInput(f"memory:// URL must resolve to a file: {url}")
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"Memory file not found: {url}") from error
    except OSError as error:
        # A name that is too long, a file that may not be read.
        raise NotFound(f"Memory file not found: {url} ({error.strerror})") from error
    kind: Literal["text/markdown", "text/plain"] = (
        "text/markdown" if path.suffix == ".md" else "text/plain"
    )
    return Artifact(url, content.decode("utf-8", "replace"), kind, len(content), path.resolve())


def parts_of(url: str) -> tuple[str, ...]:
    """Return the path components of a URL; none for the summary. Raises InvalidInput.

    >>> parts_of("memory://root/skills/deploy/SKILL.md")
    ('skills', 'deploy', 'SKILL.md')
    """
    if not url.lower().startswith(SCHEME):
        raise InvalidInput(
            f"{url!r} is not a memory:// URL. Write it like {SCHEME}{NAMESPACE}/MEMORY.md."
        )
    namespace, slash, path = url[len(SCHEME) :].partition("/")
    if not namespace:
        raise InvalidInput(f"memory:// URL requires a namespace: {SCHEME}{NAMESPACE}")
    if namespace != NAMESPACE:
        raise InvalidInput(f"Unknown memory namespace: {namespace}. Supported: {NAMESPACE}")
    return _steps(_decoded(path)) if slash else ()


def _decoded(path: str) -> str:
    # `urllib.parse.unquote` would let a bad escape pass; here it is an error.
    if re.search(r"%(?![0-9A-Fa-f]{2})", path):
        raise InvalidInput(f"Invalid URL encoding in memory:// path: {path}")
    try:
        return re.sub(
            r"(?:%[0-9A-Fa-f]{2})+",
            lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8"),
            path,
        )
    except UnicodeDecodeError as error:
        raise InvalidInput(f"Invalid URL encoding in memory:// path: {path}") from error


def _steps(path: str) -> tuple[str, ...]:
    if "\0" in path:
        raise InvalidInput("Invalid URL encoding in memory:// path: it has a NUL")
    # A backslash is a separator on Windows. Treating it so everywhere makes every system reject
    # the same URLs.
    names = path.replace("\\", "/").split("/")
    if (names[0] == "" and any(names)) or re.match(r"[A-Za-z]:", names[0]):
        raise InvalidInput("Absolute paths are not allowed in memory:// URLs")
    if ".." in names:
        raise InvalidInput("Path traversal (..) is not allowed in memory:// URLs")
    return tuple(name for name in names if name not in ("", "."))


def _check_inside(path: Path, root: Path) -> None:
    """Raise InvalidInput if a link leads out of the folder."""
    if not all(place.resolve().is_relative_to(root) for place in (path, path.parent)):
        raise InvalidInput("memory:// URL escapes memory root")
