"""What the learned layer does to recall: facts and summaries beside the turns they come from.

    python bench/learned_recall.py locomo10.json [--pools 3] [--models static,encoder]

Each conversation is captured, and its questions are asked twice: of the turns alone, and after
every session has ended and was read offline, as a worker does it. A fact counts as the turn that
it was found in; a summary counts as nothing. Reported are R@5 and R@10 over the answerable
questions, the tokens of `context`, and which share of them comes from a turn that answers the
question. The bar: recall with the learned layer is never below that of turns alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from common import finish
from holdfast import Holdfast, Settings
from holdfast.benchmark import DATASETS, Asked, Pool
from holdfast.text.token_count import count_tokens
from holdfast.types import Memory

DEPTHS = (5, 10)
# Tokens of a context block; what a host gives to memory.
CONTEXT = 1000

Sources = dict[str, frozenset[str]]


class Clock:
    """Clock that is set by hand."""

    now = 0

    def __call__(self) -> int:
        return self.now


@dataclass(slots=True)
class Figures:
    """Sums over questions."""

    questions: int = 0
    recall: dict[int, float] = field(default_factory=lambda: dict.fromkeys(DEPTHS, 0.0))
    tokens: int = 0
    relevant: int = 0

    def add(
        self, asked: Asked, hits: Sequence[Memory], shown: Sequence[Memory], of: Sources
    ) -> None:
        """Count one question: what recall returned, and what the context showed."""
        self.questions += 1
        for depth in DEPTHS:
            found = frozenset().union(*(of.get(one.id, frozenset()) for one in hits[:depth]))
            self.recall[depth] += len(asked.gold & found) / len(asked.gold)
        for one in shown:
            tokens = count_tokens(one.content)
            self.tokens += tokens
            self.relevant += tokens if of.get(one.id, frozenset()) & asked.gold else 0

    def report(self) -> dict[str, float]:
        """The means."""
        means = {f"R@{depth}": round(self.recall[depth] / self.questions, 4) for depth in DEPTHS}
        return {
            "questions": self.questions,
            **means,
            "tokens per context": round(self.tokens / self.questions, 1),
            "share of relevant tokens": round(self.relevant / max(self.tokens, 1), 4),
        }


def capture(hf: Holdfast, pool: Pool, clock: Clock) -> Sources:
    """Capture the turns; which keys each memory stands for."""
    clock.now = max(turn["event_time"] for turn in pool.turns)
    of: Sources = {}
    for turn in pool.turns:
        fields = {name: value for name, value in turn.items() if name != "key"}
        if turn["text"].strip():
            of |= {one.id: frozenset((turn["key"],)) for one in hf.capture_many([fields])}
    return of


def learn(hf: Holdfast, pool: Pool, of: Mapping[str, frozenset[str]]) -> Sources:
    """Read every session as a worker does; which keys the new facts stand for."""
    for session in dict.fromkeys(turn["session"] for turn in pool.turns):
        hf.sessions.end(session)
    hf.admin.maintain("consolidate")
    found: Sources = {}
    for fact in hf.list(kinds=["fact"], limit=100_000):
        links = hf.store.edges(fact.scope, fact.id)
        keys = [of[edge.target] for edge in links if edge.target in of]
        found[fact.id] = frozenset().union(*keys)
    return found


def ask(hf: Holdfast, pool: Pool, clock: Clock, of: Sources, figures: Figures) -> None:
    for asked in pool.questions:
        if asked.category == "adversarial":
            continue
        clock.now = asked.now
        hits = [hit.memory for hit in hf.recall(asked.text, limit=max(DEPTHS), min_score=0.0)]
        shown = hf.context(asked.text, tokens=CONTEXT).memories
        figures.add(asked, hits, shown, of)


def measure(path: Path, models: str, pools: int | None = None) -> dict[str, Any]:
    """The figures of the first so many conversations."""
    clock = Clock()
    alone, learned = Figures(), Figures()
    kinds: dict[str, int] = {}
    for pool in islice(DATASETS["locomo"](path), pools):
        with (
            tempfile.TemporaryDirectory() as folder,
            Holdfast.open(
                Path(folder) / "memory.db",
                scope="user:bench",
                settings=Settings(embedding_models=models),
                clock=clock,
                background=False,
            ) as hf,
        ):
            of = capture(hf, pool, clock)
            hf.admin.reembed()
            ask(hf, pool, clock, of, alone)
            of |= learn(hf, pool, of)
            hf.admin.reembed()
            for kind, statuses in hf.store.counts(hf.scopes).items():
                kinds[kind] = kinds.get(kind, 0) + statuses.get("active", 0)
            ask(hf, pool, clock, of, learned)
    before, after = alone.report(), learned.report()
    return {
        "turns": before,
        "turns, facts and summaries": after,
        "memories": kinds,
        "met_R@5_is_not_lower": after["R@5"] >= before["R@5"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--pools", type=int, help="only the first so many conversations")
    parser.add_argument("--models", default="static,encoder")
    options = parser.parse_args()
    finish(measure(options.locomo, options.models, options.pools))


if __name__ == "__main__":
    main()
