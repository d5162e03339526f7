"""Session context: a block that is constant for a whole session, and one for each prompt.

The stable block shows rules and the latest reflection as of the start of the session, so that it
stays byte-identical and prompt caches keep working. What is learned during the session appears in
the turn block at once and in the stable block of the next session: a rule if it is relevant, a
reflection always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..retrieval.recall import Engine, Question, recall
from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..text.token_count import count_tokens
from ..types import MOST_HITS, STATUSES, Hit, Memory, Micros, Scope
from .blocks import (
    Budget,
    Entry,
    Line,
    attribution_of,
    fence_block,
    fence_tokens,
    fit,
    render_line,
    under_headings,
)
from .standing_rules import standing_entries
from .states import State, states, told

# Maximum share of the budget for the stable block; the rest is for this prompt.
STABLE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Context:
    """Two blocks, either of which may be empty, and their memories."""

    stable: str
    turn: str
    memories: tuple[Memory, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories in the blocks."""
        return tuple(memory.id for memory in self.memories)


def context(
    engine: Engine,
    where: Filter,
    prompt: str,
    *,
    session: str | None,
    tokens: int,
    limit: int = MOST_HITS,
    deep: bool = False,
) -> Context:
    """Build the blocks for a prompt; together they stay within `tokens`.

    Excludes what was said in `session` or learned from it. `where` and `limit` restrict the recall
    of the turn block; rules and reflections do not depend on the prompt.
    """
    anything = replace(where, kinds=())
    stable, standing = _stable(engine, anything, session, int(tokens * STABLE_SHARE))
    asked = replace(where, excluded_sessions=(session,)) if session else where
    # Twice as many as are shown: a fact and its source turn take one place.
    question = Question(prompt, asked, limit=2 * limit + len(standing), deep=deep)
    hits = _told_once(engine.store, recall(engine, question).hits)
    news = [one for one in _reflections(engine, anything) if one not in standing]
    known = {memory.id for memory in (*standing, *news)}
    fresh = [hit for hit in hits if hit.memory.id not in known][:limit]
    turn, recalled = _block(
        (_recalled(fresh, states(engine.store, [hit.memory for hit in fresh])), _insight(news)),
        label="memory for this prompt",
        tokens=tokens - count_tokens(stable),
        last_first=True,
    )
    return Context(stable, turn, (*standing, *recalled))


def _told_once(store: Store, hits: Iterable[Hit]) -> list[Hit]:
    """The hits without a fact whose source turn stands above it, and without a turn that a fact
    above it rests on.
    """
    kept: list[Hit] = []
    shown: set[str] = set()
    retold: set[str] = set()
    for hit in hits:
        memory = hit.memory
        links = store.edges(memory.scope, memory.id) if memory.kind in ("fact", "rule") else []
        sources = {
            edge.target
            for edge in links
            if edge.relation == "derived_from" and edge.source == memory.id
        }
        if memory.id not in retold and shown.isdisjoint(sources):
            kept.append(hit)
            shown.add(memory.id)
            retold |= sources
    return kept


def _stable(
    engine: Engine,
    where: Filter,
    session: str | None,
    tokens: int,
) -> tuple[str, list[Memory]]:
    then = _began(engine, where, session)
    at = replace(where, as_of=then, valid_at=then or where.valid_at)
    sections = (standing_entries(engine.store, at), _insight(_reflections(engine, at)))
    return _block(sections, label="standing memory", tokens=tokens)


def _reflections(engine: Engine, where: Filter) -> list[Memory]:
    """Return the latest reflection, if any. Not cached, so that one written by another process is
    seen at once.
    """
    return engine.store.list(replace(where, kinds=("reflection",)), limit=1, order="latest")


def _began(
    engine: Engine,
    where: Filter,
    session: str | None,
) -> Micros | None:
    """Return when the first turn of the session was stored; None for an unknown session.

    Not when it was said: a conversation may be captured long after, and what was known counts.
    """
    if session is None:
        return None
    turns = Filter(where.scopes, sessions=(session,), statuses=STATUSES)
    return next(
        (first.created_at for first in engine.store.list(turns, limit=1, order="oldest")), None
    )


def procedures(
    store: Store,
    scope: Scope,
    now: Micros,
) -> tuple[str, list[Memory]]:
    """Return a block with the best rules of a scope, and these rules; empty if there are none."""
    rules = standing_entries(store, Filter((scope,), valid_at=now))
    return _block((rules,), label="standing memory", tokens=None)


def _insight(reflections: Iterable[Memory]) -> Iterator[Entry]:
    for memory in reflections:
        yield Entry(memory, render_line(Line(memory.content, bullet="")), "## Weekly insight")


def _recalled(hits: Iterable[Hit], known: Mapping[str, State]) -> Iterator[Entry]:
    for hit in hits:
        memory = hit.memory
        attribution = told(memory, known.get(memory.id)) or attribution_of(memory)
        line = render_line(Line(memory.content, attribution=attribution))
        yield Entry(memory, line, "## Relevant memory")


def _block(
    sections: Sequence[Iterable[Entry]],
    *,
    label: str,
    tokens: int | None,
    last_first: bool = False,
) -> tuple[str, list[Memory]]:
    """Return a fenced block of the entries that fit, with its memories; empty if none fits.

    Sections share one budget in order; with `last_first`, the last section is served first.
    """
    budget = Budget(None if tokens is None else tokens - fence_tokens(label))
    if last_first:
        fitted = [fit(section, budget) for section in reversed(sections)][::-1]
    else:
        fitted = [fit(section, budget) for section in sections]
    kept = [entry for section in fitted for entry in section]
    if not kept:
        return "", []
    text = "\n".join(under_headings(kept, blank_lines=True))
    return fence_block(text, label=label), [entry.memory for entry in kept]
