"""Evidence of a record: lines of a file, a whole file, a commit or a web page.

Citing a file stores a fingerprint of its lines, by which `freshness` finds them again. White space
is ignored, so re-indenting, spaces around an operator or blank lines do not change it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..types import Memory
from .worktree import Line, Tree

Span = tuple[int, int]

# Any scheme counts, so that a citation such as `ssh://…` is not looked up as a file.
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
# Git abbreviates to seven digits or more; shorter words such as `face` are names.
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_SPAN = re.compile(r"(?P<file>.+?):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?")
# The fingerprint is a polynomial over the lines' own hashes (Karp and Rabin, 1987), because that of
# the next run of lines follows from the last one: a whole file is searched in the time it takes to
# read it.
_PRIME = (1 << 61) - 1
_BASE = 0x9E3779B97F4A7C1


@dataclass(frozen=True, slots=True)
class Evidence:
    """One citation of a record."""

    file: str = ""
    lines: Span | None = None
    commit: str = ""
    hash: str = ""
    """Fingerprint: the number of non-blank lines, and a hash of them."""
    url: str = ""

    @classmethod
    def of(cls, written: object) -> Evidence:
        """Parse a citation from a record's frontmatter.

        People edit it, so any value is accepted and a malformed part is ignored.
        """
        if isinstance(written, str):
            return _plain_words(written)
        if not isinstance(written, Mapping):
            return cls()
        texts = {name: str(written.get(name) or "") for name in ("file", "commit", "hash", "url")}
        return cls(lines=_lines(written.get("lines")), **texts)

    def __str__(self) -> str:
        if self.file:
            return self.file + (f":{self.lines[0]}-{self.lines[1]}" if self.lines else "")
        return self.url or (f"commit {self.commit}" if self.commit else "nothing that can be read")


def _plain_words(text: str) -> Evidence:
    if _URL.fullmatch(text):
        return Evidence(url=text)
    if span := _SPAN.fullmatch(text):
        return Evidence(span["file"], _lines([span["first"], span["last"] or span["first"]]))
    return Evidence(text)


def _lines(written: object) -> Span | None:
    """Parse a span: a list of two numbers, one number, or a text such as `10-20`."""
    parts = (
        written.split("-")
        if isinstance(written, str)
        else written
        if isinstance(written, list)
        else [written]
    )
    numbers = [int(str(part)) for part in parts if re.fullmatch(r" *\d{1,7} *", str(part))]
    return (numbers[0], max(numbers)) if numbers and len(numbers) == len(parts) <= 2 else None


# Noting


def citations(memory: Memory) -> list[Any]:
    """Return the citations of a memory as written."""
    cited = memory.metadata.get("evidence") or []
    return list(cited) if isinstance(cited, (list, tuple)) else [cited]


def noted(cited: Iterable[str | Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return citations in the form that frontmatter stores.

    Each is `src/app.py:10-20`, a whole file, a URL or a commit. Paths are relative to the working
    directory or to the project's `folder`. A mapping is kept as it is. Raises InvalidInput for a
    file that does not exist.
    """
    tree = Tree(folder)
    return [
        dict(one) if isinstance(one, Mapping) else _cited(one.strip(), tree, Path.cwd())
        for one in cited
    ]


def _cited(
    text: str,
    tree: Tree,
    base: Path,
) -> dict[str, Any]:
    if _URL.fullmatch(text):
        return {"url": text}
    # A file name may itself contain a colon and digits, so the whole text is tried first.
    whole = Evidence(text)
    one = whole if _path(whole.file, tree, base) else _plain_words(text)
    path = _path(one.file, tree, base)
    if path is None and _COMMIT.fullmatch(text):
        return {"commit": text}
    if path is None:
        raise InvalidInput(
            f"There is no file {one.file!r} to cite, here or in {tree.root}. Nothing was written."
        )
    name = tree.name_of(path)
    if name is None:
        raise InvalidInput(
            f"{path} is outside of {tree.root}, where nothing can be checked later. Cite a file "
            "in it, or a URL. "
            "Nothing was written."
        )
    return anchor({}, Evidence(name, one.lines), tree)


def _path(
    file: str,
    tree: Tree,
    base: Path,
) -> Path | None:
    try:
        return next((path for path in (base / file, tree.root / file) if path.is_file()), None)
    except ValueError:
        # A NUL in it.
        return None


def anchor(
    written: Mapping[str, Any],
    to: Evidence,
    tree: Tree,
) -> dict[str, Any]:
    """Return a citation bound to the current content of its file.

    Blank lines at either end are dropped. Raises InvalidInput if there is nothing to cite.
    """
    found = tree.lines(to.file)
    if found is None:
        raise InvalidInput(
            f"{to.file} cannot be cited: it is {tree.trouble(to.file)}. Nothing was written."
        )
    chosen = [line for line in found if to.lines is None or to.lines[0] <= line[0] <= to.lines[1]]
    if not chosen:
        raise InvalidInput(
            f"There is nothing at {to}: the file ends before, or is blank there. Nothing was "
            "written."
        )
    span = {"lines": [chosen[0][0], chosen[-1][0]]} if to.lines else {}
    commit = {"commit": tree.commit} if tree.commit else {}
    return {**written, "file": to.file, **span, **commit, "hash": fingerprint(chosen)}


def fingerprint(lines: Sequence[Line]) -> str:
    """Return the fingerprint of lines: their count, and a hash of them."""
    return f"{len(lines)}-{next(runs(lines, len(lines))):016x}"


def runs(lines: Sequence[Line], size: int) -> Iterator[int]:
    """Yield the rolling hash of every run of `size` lines, in order."""
    digests = [
        int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
        for _, text in lines
    ]
    top = pow(_BASE, size, _PRIME)
    value = 0
    for place, digest in enumerate(digests):
        value = (value * _BASE + digest) % _PRIME
        if place >= size:
            value = (value - digests[place - size] * top) % _PRIME
        if place >= size - 1:
            yield value
