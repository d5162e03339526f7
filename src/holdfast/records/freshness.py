"""Check whether the evidence of records is still current.

FRESH: unchanged and in place. MOVED: unchanged, found elsewhere. STALE: changed or removed.
UNVERIFIABLE: cannot be compared, such as a web page, a missing file or one outside the project. A
check changes nothing; only a person's review binds a record to the current content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..context.brief import Verdict
from ..errors import InvalidInput
from ..types import Memory
from .evidence import Evidence, anchor, citations, runs
from .roots import RecordRoot
from .worktree import GONE, Line, Tree

# What `evidence.fingerprint` writes; a person may have typed anything else.
_HASH = re.compile(r"[1-9]\d{0,6}-[0-9a-f]{16}")


def freshness(
    memories: Iterable[Memory],
    places: Iterable[RecordRoot],
    *,
    patience: float | None = None,
) -> dict[str, tuple[Verdict, ...]]:
    """Return verdicts on the evidence of each memory that has any, by its id.

    `patience` is the time limit in seconds for git to find a renamed file.
    """
    trees = {place.scope: Tree(place.folder, patience=patience) for place in places}
    return {
        memory.id: tuple(check(Evidence.of(one), trees.get(memory.scope)) for one in cited)
        for memory in memories
        if (cited := citations(memory))
    }


def check(evidence: Evidence, tree: Tree | None) -> Verdict:
    """Compare one citation with the current files."""
    cited = str(evidence)
    trouble = _trouble(evidence, tree)
    if tree is None or trouble not in ("", GONE):
        return Verdict("UNVERIFIABLE", cited, reason=trouble)
    spot = _locate(evidence, tree.lines(evidence.file) or [])
    if spot and spot.same:
        return Verdict("FRESH", cited)
    renamed = tree.renamed(evidence.file, evidence.commit) if trouble else ""
    moved = _named(evidence.file, spot) if spot else _elsewhere(evidence, tree, renamed)
    if moved:
        return Verdict("MOVED", cited, found=moved)
    if trouble and not renamed:
        return Verdict("UNVERIFIABLE", cited, reason=trouble)
    return Verdict("STALE", cited, found=renamed)


def _trouble(evidence: Evidence, tree: Tree | None) -> str:
    """Return why a citation cannot be compared, or an empty text."""
    if tree is None:
        return "its project is not open here"
    if not evidence.file:
        return (
            "a web page"
            if evidence.url
            else "a commit"
            if evidence.commit
            else "nothing to look up"
        )
    if not _HASH.fullmatch(evidence.hash):
        return "no fingerprint was noted"
    return tree.trouble(evidence.file)


class _Spot(NamedTuple):
    """Position of cited lines in a file, and whether it is the original one."""

    first: int
    last: int
    same: bool


def _locate(evidence: Evidence, lines: Sequence[Line]) -> _Spot | None:
    """Find the cited lines: in place, else the nearest match. A whole file must match as a
    whole.
    """
    size, _, number = evidence.hash.partition("-")
    count = int(size)
    wanted = int(number, 16)
    if not lines or (evidence.lines is None and count != len(lines)):
        return None
    first = evidence.lines[0] if evidence.lines else lines[0][0]
    starts = [place for place, value in enumerate(runs(lines, count)) if value == wanted]
    best = min(starts, key=lambda place: abs(lines[place][0] - first), default=None)
    return (
        None
        if best is None
        else _Spot(lines[best][0], lines[best + count - 1][0], lines[best][0] == first)
    )


def _elsewhere(
    evidence: Evidence,
    tree: Tree,
    renamed: str,
) -> str:
    """Find the cited lines in another file: git's rename target, else a file of the same name."""
    for other in (*([renamed] if renamed else []), *tree.namesakes(evidence.file)):
        if spot := _locate(evidence, tree.lines(other) or []):
            return _named(other, spot) if evidence.lines else other
    return ""


def _named(file: str, spot: _Spot) -> str:
    return f"{file}:{spot.first}-{spot.last}"


def looked_at(record: Memory, places: Iterable[RecordRoot]) -> tuple[list[Any], list[Any]]:
    """Return a record's citations as written, and as they should be after a person's review."""
    cited = citations(record)
    tree = next((Tree(place.folder) for place in places if place.scope == record.scope), None)
    return cited, cited if tree is None else [_tied(one, tree) for one in cited]


def _tied(cited: Any, tree: Tree) -> Any:
    """Bind a citation to its new place or current lines; unchanged if there is nothing to
    bind to.
    """
    then = Evidence.of(cited)
    verdict = check(Evidence.of(cited), tree)
    now = Evidence.of(verdict.found)
    if verdict.state == "FRESH":
        return cited
    try:
        to = Evidence(now.file or then.file, now.lines or then.lines)
        return anchor(cited if isinstance(cited, Mapping) else {}, to, tree)
    except InvalidInput:
        return cited
