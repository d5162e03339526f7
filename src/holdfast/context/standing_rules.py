"""The rules in every prompt: the best ones that fit a small budget of their own."""

from __future__ import annotations

from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..types import MOST_RULES, Memory
from ..values import replace
from .blocks import Budget, Entry, Line, fit, render_line

# Rules are paid for with every prompt.
MOST_TOKENS = 300
# Rules that are ranked; an agent keeps a hundred procedures unless told otherwise.
_RANKED = 100
_HEADING = "## Learned Procedures and Policies"


def standing_rules(store: Store, where: Filter) -> list[Memory]:
    """Rules that pass `where`, best first, at most twenty and as many as fit 300 tokens."""
    return [entry.memory for entry in standing_entries(store, where)]


def standing_entries(store: Store, where: Filter) -> list[Entry]:
    """The same as lines of a prompt. A rule that is too long leaves its place to shorter ones."""
    rules = store.list(replace(where, kinds=("rule",)), limit=_RANKED, order="latest")
    best = sorted(rules, key=_rank)[:MOST_RULES]
    return fit(map(_entry, best), Budget(MOST_TOKENS), skip_long=True)


def _rank(rule: Memory) -> float:
    """The surest first; equal ones stay newest first. Nothing that changes with use: the block has
    to stay the same for prompt caches.
    """
    return -rule.confidence


def _entry(rule: Memory) -> Entry:
    return Entry(rule, render_line(Line(rule.content, labels=(rule.category,))), _HEADING)
