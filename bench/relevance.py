"""Whether recall knows when there is nothing to say, on conversations and prompts that nobody here
wrote.

    python bench/relevance.py locomo10.json longmemeval.json [--models static] [--prompts 100]

Each conversation of LoCoMo is asked its own questions, and as many opening messages of
LongMemEval's sessions with an assistant: prompts that have nothing to do with it. The bars: at
least 97 % of the questions find something, at most 5 % of the prompts do.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import finish
from holdfast import Settings, benchmark

PROMPT = "prompt"
# Prompts that each conversation is asked.
EACH = 100
# Characters of a prompt: shorter ones are greetings, longer ones pasted documents.
SHORTEST, LONGEST = 15, 300


def prompts(path: Path) -> list[str]:
    """The first messages of users, each once."""
    found = set()
    for pool in benchmark.DATASETS["longmemeval"](path):
        opened = set()
        for turn in pool.turns:
            if turn["session"] not in opened and turn["role"] == "user":
                found.add(turn["text"])
            opened.add(turn["session"])
    return sorted(text for text in found if SHORTEST < len(text) < LONGEST)


def measure(locomo: Path, longmemeval: Path, models: str, prompts_each: int) -> dict[str, Any]:
    """How many questions of each kind, and how many prompts, find something."""
    apart = prompts(longmemeval)
    chance = random.Random(0)
    pools = []
    for pool in benchmark.DATASETS["locomo"](locomo):
        now = pool.questions[0].now
        asked = [
            benchmark.Asked(text, text, now, PROMPT, frozenset())
            for text in chance.sample(apart, min(prompts_each, len(apart)))
        ]
        pools.append(replace(pool, questions=[*pool.questions, *asked]))
    settings = Settings(embedding_models=models)
    with tempfile.TemporaryDirectory() as folder:
        answers = benchmark.evaluate(pools, Path(folder) / "memory.db", settings, min_score=None)
    found = defaultdict(list)
    for answer in answers:
        category = answer.asked.category
        found[category].append(bool(answer.ranked))
        if category not in (PROMPT, "adversarial"):
            found["answerable"].append(bool(answer.ranked))
    shares = {name: round(sum(values) / len(values), 4) for name, values in sorted(found.items())}
    return {
        "models": models,
        "asked": {name: len(values) for name, values in sorted(found.items())},
        "found something": shares,
        "met_questions_keep_their_hits": shares["answerable"] >= 0.97,
        "met_prompts_find_nothing": shares[PROMPT] <= 0.05,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("longmemeval", type=Path)
    parser.add_argument("--models", default="static,encoder")
    parser.add_argument("--prompts", type=int, default=EACH, help="for each conversation")
    options = parser.parse_args()
    finish(measure(options.locomo, options.longmemeval, options.models, options.prompts))


if __name__ == "__main__":
    main()
