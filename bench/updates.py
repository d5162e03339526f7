"""What becomes of what changed, in whole conversations that are read session by session.

    python bench/updates.py --data DIR [--half develop|kept|all]

`DIR` holds `longmemeval_dev150.json` and `locomo10.json`, at any depth; the labels
are `training/updates.jsonl`: changes in LongMemEval's development questions and in LoCoMo 1 to 3,
found by reading. Each names the turn with the earlier value, the turn with the later one, words of
both, and what should become of the earlier: it is `replaced`, a plan is `fulfilled`, it `stays`
because both hold; where people would disagree, `either` will do. What is superseded is listed, for
a person to judge whether it was right; what no label asks for is listed apart.

A hash of the conversation's name decides which half it is in. Rules were made with the half
`develop` in sight; the other was only counted at first, and has been read since.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from changes import DATA, learned
from common import finish
from fact_labels import LOCOMO, LONGMEMEVAL, READ, missing, path_of
from holdfast.benchmark import DATASETS, Pool
from holdfast.types import Memory

HALVES = ("develop", "kept")


@dataclass(frozen=True, slots=True)
class Update:
    """Something that a conversation tells twice, the second time with another value."""

    conversation: str
    kind: str
    becomes: str
    what: str
    old: Sequence[str]
    """Patterns that occur, all of them, in a fact with the earlier value."""
    new: Sequence[str]
    speaker: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Update:
        """Read a label."""
        return cls(
            row["conversation"],
            row["kind"],
            row["becomes"],
            row["what"],
            row["old"],
            row["new"],
            row.get("speaker", ""),
        )

    def has_old(self, fact: Memory) -> bool:
        """Whether a fact has the earlier value, and not the later one too."""
        return self._has(self.old, fact) and not self._has(self.new, fact)

    def has_new(self, fact: Memory) -> bool:
        """Whether a fact has the later value."""
        return self._has(self.new, fact)

    def _has(self, words: Sequence[str], fact: Memory) -> bool:
        if self.speaker and fact.author not in ("", self.speaker):
            return False
        text = fact.content
        return all(re.search(rf"(?<!\w)(?:{word})(?!\w)", text, re.IGNORECASE) for word in words)


def half_of(conversation: str) -> str:
    """The half that a conversation is in."""
    return HALVES[int(hashlib.sha256(conversation.encode()).hexdigest(), 16) % 2]


def updates() -> Iterator[Update]:
    """Every labelled change."""
    with (DATA / "updates.jsonl").open(encoding="utf-8") as lines:
        yield from (Update.of(json.loads(line)) for line in lines)


def conversations(folder: Path) -> Iterator[Pool]:
    """The conversations: one per question of LongMemEval that has several sessions, and LoCoMo's
    first.
    """
    if absent := missing(folder):
        raise SystemExit(f"There is no {' and no '.join(absent)} in {folder}.")
    path = path_of(folder, LONGMEMEVAL)
    turns = {turn["key"]: turn for pool in DATASETS["longmemeval"](path) for turn in pool.turns}
    for question in json.loads(path.read_text("utf-8")):
        sessions = set(question["haystack_session_ids"])
        said = [turn for key, turn in turns.items() if key.partition("#")[0] in sessions]
        if len(sessions) > 1:
            yield Pool(question["question_id"], said, [])
    yield from list(DATASETS["locomo"](path_of(folder, LOCOMO)))[:READ]


def measured(pools: Iterable[Pool], labels: Sequence[Update]) -> dict[str, Any]:
    """Counts over all labels, how each one went, and what was superseded."""
    counts: Counter[str] = Counter()
    went: list[str] = []
    asked_for: list[str] = []
    unasked: list[str] = []
    for pool in pools:
        facts = learned(pool)
        counts["facts"] += len(facts)
        mine = [one for one in labels if one.conversation == pool.name]
        for one in mine:
            found = _went(one, facts)
            counts.update({f"{one.becomes}: {name}": value for name, value in found.items()})
            told = " ".join(name for name, value in found.items() if value)
            went.append(f"{pool.name} {one.becomes} | {one.what} | {told}")
        for fact in facts:
            if fact.status == "superseded":
                is_due = any(one.becomes != "stays" and one.has_old(fact) for one in mine)
                line = f"{pool.name} | {fact.content} | {fact.status_reason}"
                (asked_for if is_due else unasked).append(line)
    return {
        "counts": dict(sorted(counts.items())),
        "went": went,
        "superseded as labelled": asked_for,
        "superseded without a label": unasked,
    }


def _went(update: Update, facts: Sequence[Memory]) -> dict[str, int]:
    """How a change went, as numbers that can be added up."""
    old = [fact for fact in facts if update.has_old(fact)]
    new = [fact for fact in facts if update.has_new(fact)]
    active = [fact for fact in old if fact.status == "active"]
    return {
        "labelled": 1,
        "old stored": bool(old),
        "new active": any(fact.status == "active" for fact in new),
        "both stored": bool(old and new),
        "old superseded": len(active) < len(old),
        "old gone": bool(old) and not active,
    }


def main() -> None:
    """Print the figures, and how each change went unless the half is one to be only counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=(*HALVES, "all"), default="develop")
    parser.add_argument("--only", help="conversations whose name has this")
    parser.add_argument("--quiet", action="store_true", help="counts, and no lists")
    asked = parser.parse_args()
    pools = [
        pool
        for pool in conversations(asked.data)
        if asked.half in ("all", half_of(pool.name)) and (asked.only or "") in pool.name
    ]
    figures = measured(pools, list(updates()))
    figures["conversations"] = len(pools)
    for name in ("superseded as labelled", "superseded without a label"):
        figures["counts"][name] = len(figures[name])
    if asked.quiet:
        figures = {name: figures[name] for name in ("conversations", "counts")}
    finish(figures)


if __name__ == "__main__":
    main()
