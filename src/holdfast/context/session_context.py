"""What goes before a model: a block that is the same for a whole session, and one for this prompt.

The stable block shows rules and the latest reflection as they were when the session began, so that
it stays byte-identical and a provider's prompt cache holds. What is learned during the session
reaches the turn block at once and the stable block of the next session: a rule when it helps, a
reflection in any case.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..retrieval.recall import Engine, Question, recall
from ..storage.protocol import Filter, Store
from ..text.budget import count_tokens
from ..text.fences import fence, neutralise
from ..text.reference import BRANCH
from ..types import (
    MOST_HITS,
    MOST_RULES,
    OUTDATED_BY,
    STATUSES,
    Hit,
    Memory,
    Micros,
    Scope,
    to_datetime,
)

# Of the budget, at most: the rest is for what this prompt needs.
STABLE_SHARE = 0.5
Line = tuple[Memory, str]
Section = tuple[str, Iterable[Line]]
"""A heading, and the memories under it with their lines."""


@dataclass(frozen=True, slots=True)
class Context:
    """Two blocks, either of which may be empty, and the memories in them."""

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
) -> Context:
    """The blocks for a prompt; together they stay within `tokens`.

    What was said in `session`, or learned from it, is left out. `where` and `limit` narrow what the
    turn block recalls; rules and reflections stand whatever is asked for.
    """
    anything = replace(where, kinds=())
    stable, standing = _stable(engine, anything, session, int(tokens * STABLE_SHARE))
    asked = replace(where, excluded_sessions=(session,)) if session else where
    hits = recall(engine, Question(prompt, asked, limit=limit + len(standing))).hits
    news = [one for one in _reflections(engine, anything) if one not in standing]
    known = {memory.id for memory in (*standing, *news)}
    fresh = [hit for hit in hits if hit.memory.id not in known][:limit]
    turn, recalled = _turn(fresh, news, tokens - count_tokens(stable))
    return Context(stable, turn, (*standing, *recalled))


def _stable(
    engine: Engine, where: Filter, session: str | None, tokens: int
) -> tuple[str, list[Memory]]:
    then = _began(engine, where, session)
    at = replace(where, as_of=then, valid_at=then or where.valid_at)
    rules = engine.store.list(replace(at, kinds=("rule",)), limit=MOST_RULES, order="latest")
    sections = (_rules(rules), _insight(_reflections(engine, at)))
    return _block(sections, label="standing memory", tokens=tokens)


def _reflections(engine: Engine, where: Filter) -> list[Memory]:
    """The latest reflection, if there is one. Read anew each time, so one by another process is
    seen at once.
    """
    return engine.store.list(replace(where, kinds=("reflection",)), limit=1, order="latest")


def _began(engine: Engine, where: Filter, session: str | None) -> Micros | None:
    """When the first turn of the session was stored, or None for a session that has not been heard
    of.

    Not when it was said: a conversation may be told long after, and what was known is what counts.
    """
    if session is None:
        return None
    turns = Filter(where.scopes, sessions=(session,), statuses=STATUSES)
    return next(
        (first.created_at for first in engine.store.list(turns, limit=1, order="oldest")), None
    )


def procedures(store: Store, scope: Scope, now: Micros) -> str:
    """A block of the newest rules of a scope, all of each; empty when there are none."""
    where = Filter((scope,), kinds=("rule",), valid_at=now)
    rules = store.list(where, limit=MOST_RULES, order="latest")
    return _block((_rules(rules),), label="standing memory", tokens=None)[0]


def _rules(rules: Iterable[Memory]) -> Section:
    return "## Learned Procedures and Policies", (
        (m, f"- [{_safe(m.category)}] {_safe(m.content)}") for m in rules
    )


def _insight(reflections: Iterable[Memory]) -> Section:
    return "## Weekly insight", ((m, _safe(m.content)) for m in reflections)


def _turn(hits: Iterable[Hit], news: Iterable[Memory], tokens: int) -> tuple[str, list[Memory]]:
    lines = ((hit.memory, f"- {_source(hit.memory)}{_safe(hit.memory.content)}") for hit in hits)
    sections = (("## Relevant memory", lines), _insight(news))
    return _block(sections, label="memory for this prompt", tokens=tokens, last_first=True)


def _source(memory: Memory) -> str:
    """Who said it and when, for what was said; a fact speaks for itself."""
    if memory.kind not in ("turn", "episode", "document"):
        return ""
    who = memory.author or memory.role
    day = to_datetime(memory.event_time).date().isoformat()
    since = "replaced since" if memory.kind == "turn" and OUTDATED_BY in memory.metadata else ""
    branch = "abandoned branch" if memory.metadata.get(BRANCH) else ""
    return f"({_safe(', '.join(filter(None, (who, day, branch, since))))}) "


def _safe(text: str) -> str:
    return neutralise(text)


def _block(
    sections: Sequence[Section], *, label: str, tokens: int | None, last_first: bool = False
) -> tuple[str, list[Memory]]:
    """A fenced block of sections with as many lines as the budget allows, if there is one; empty
    when no line fits.

    With `last_first` the last section has its lines before the others get what is left.
    """
    overhead = count_tokens(fence("", block_id="0" * 12, label=label))
    room = math.inf if tokens is None else tokens - overhead
    places = range(len(sections))
    fitted: dict[int, list[Line]] = {}
    for place in reversed(places) if last_first else places:
        fitted[place], room = _fitting(sections[place], room)
    kept = [(sections[place][0], fitted[place]) for place in places if fitted[place]]
    if not kept:
        return "", []
    text = "\n\n".join("\n".join((head, *(line for _, line in lines))) for head, lines in kept)
    shown = [memory for _, lines in kept for memory, _ in lines]
    return fence(text, block_id=hashlib.sha256(text.encode()).hexdigest()[:12], label=label), shown


def _fitting(section: Section, room: float) -> tuple[list[Line], float]:
    """The first lines of a section that fit into so many tokens, and how many are left."""
    head, lines = section
    left = room - count_tokens(head) - 1
    kept = list[Line]()
    for memory, line in lines:
        cost = count_tokens(line) + 1
        if cost > left:
            break
        left -= cost
        kept.append((memory, line))
    return kept, left if kept else room
