"""Whether what records rest on still stands.

FRESH is what stands where it did, MOVED what is elsewhere now, STALE what changed or went. What
cannot be compared is UNVERIFIABLE: web pages, files that are not there or lie outside the project.
Looking changes nothing; only a person who has looked ties a record to what is there now.
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

_HASH = re.compile(r"[1-9]\d{0,6}-[0-9a-f]{16}")


def freshness(
    memories: Iterable[Memory],
    places: Iterable[RecordRoot],
    *,
    patience: float | None = None,
) -> dict[str, tuple[Verdict, ...]]:
    """By the id of each memory that cites something, a verdict on each thing, as it is in the
    places that are open.

    `patience` is how long git may take to say where a file went, in seconds.
    """
    trees = {place.scope: Tree(place.folder, patience=patience) for place in places}
    return {
        memory.id: tuple(check(Evidence.of(one), trees.get(memory.scope)) for one in cited)
        for memory in memories
        if (cited := citations(memory))
    }


def check(evidence: Evidence, tree: Tree | None) -> Verdict:
    """Whether what was cited still stands where it did."""
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
    """Why a citation cannot be compared with its file."""
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
    """Where cited lines are in a file, and whether that is where they were."""

    first: int
    last: int
    same: bool


def _locate(evidence: Evidence, lines: Sequence[Line]) -> _Spot | None:
    """The run of lines that was cited: where it was, else the nearest one. A whole file is found
    only whole.
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
    """Another file that has what was cited: the one that git says it became, else one of the same
    name.
    """
    for other in (*([renamed] if renamed else []), *tree.namesakes(evidence.file)):
        if spot := _locate(evidence, tree.lines(other) or []):
            return _named(other, spot) if evidence.lines else other
    return ""


def _named(file: str, spot: _Spot) -> str:
    return f"{file}:{spot.first}-{spot.last}"


def looked_at(record: Memory, places: Iterable[RecordRoot]) -> tuple[list[Any], list[Any]]:
    """What a record cites, as it was written and as it is to be written after a person looked at
    it.
    """
    cited = citations(record)
    tree = next((Tree(place.folder) for place in places if place.scope == record.scope), None)
    return cited, cited if tree is None else [_tied(one, tree) for one in cited]


def _tied(cited: Any, tree: Tree) -> Any:
    """A citation tied to where it moved, or to its lines as they are now; as it was where there is
    nothing there.
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
