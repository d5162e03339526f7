"""What goes before a model: a block that is the same for a whole session, and one for this prompt.

The stable block shows rules and reflections as they were when the session began, so that it stays
byte-identical and a provider's prompt cache holds. What is learned during the session reaches the turn block
at once and the stable block of the next session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..store.base import Filter
from ..text.budget import count_tokens
from ..text.fences import fence, neutralise
from ..types import STATUSES, Hit, Memory, Micros, to_datetime
from .recall import Engine, Question, recall

STABLE_SHARE = 0.5  # of the budget, at most: the rest is for what this prompt needs
MOST_RULES = 20
MOST_HITS = 30


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


def context(engine: Engine, where: Filter, prompt: str, *, session: str | None, tokens: int) -> Context:
    """The blocks for a prompt; together they stay within `tokens`. Turns of `session` itself are left out."""
    stable, standing = _stable(engine, where, session, int(tokens * STABLE_SHARE))
    left = tokens - count_tokens(stable)
    asked = replace(where, excluded_sessions=(session,)) if session else where
    hits = recall(engine, Question(prompt, asked, limit=MOST_HITS)).hits
    fresh = [hit for hit in hits if hit.memory not in standing]
    turn, recalled = _turn(fresh, left)
    return Context(stable, turn, (*standing, *recalled))


def _stable(engine: Engine, where: Filter, session: str | None, tokens: int) -> tuple[str, list[Memory]]:
    then = _began(engine, where, session)
    at = replace(where, as_of=then, valid_at=then or where.valid_at)
    rules = engine.store.list(replace(at, kinds=("rule",)), limit=MOST_RULES)
    reflections = engine.store.list(replace(at, kinds=("reflection",)), limit=1)
    return _block(
        (
            (
                "## Learned Procedures and Policies",
                ((m, f"- [{_safe(m.category)}] {_safe(m.content)}") for m in rules),
            ),
            ("## Weekly insight", ((m, _safe(m.content)) for m in reflections)),
        ),
        label="standing memory",
        tokens=tokens,
    )


def _began(engine: Engine, where: Filter, session: str | None) -> Micros | None:
    """When the first turn of the session was stored, or None for a session that has not been heard of.

    Not when it was said: a conversation may be told long after, and what was known is what counts.
    """
    if session is None:
        return None
    turns = Filter(where.scopes, sessions=(session,), statuses=STATUSES)
    return next((first.created_at for first in engine.store.list(turns, limit=1, order="oldest")), None)


def _turn(hits: Iterable[Hit], tokens: int) -> tuple[str, list[Memory]]:
    lines = ((hit.memory, f"- {_source(hit.memory)}{_safe(hit.memory.content)}") for hit in hits)
    return _block((("## Relevant memory", lines),), label="memory for this prompt", tokens=tokens)


def _source(memory: Memory) -> str:
    """Who said it and when, for what was said; a fact speaks for itself."""
    if memory.kind not in ("turn", "episode", "document"):
        return ""
    who = memory.author or memory.role
    day = to_datetime(memory.event_time).date().isoformat()
    return f"({_safe(f'{who}, {day}' if who else day)}) "


def _safe(text: str) -> str:
    return neutralise(text)


def _block(
    sections: Iterable[tuple[str, Iterable[tuple[Memory, str]]]], *, label: str, tokens: int
) -> tuple[str, list[Memory]]:
    """A fenced block of sections with as many lines as the budget allows; empty when no line fits."""
    parts: list[str] = []
    shown: list[Memory] = []
    used = count_tokens(fence("", block_id="0" * 12, label=label))
    for head, lines in sections:
        kept = []
        used += count_tokens(head) + 1
        for memory, line in lines:
            used += count_tokens(line) + 1
            if used > tokens:
                break
            kept.append(line)
            shown.append(memory)
        if kept:
            parts.append("\n".join((head, *kept)))
    if not parts:
        return "", []
    text = "\n\n".join(parts)
    return fence(text, block_id=hashlib.sha256(text.encode()).hexdigest()[:12], label=label), shown
