"""The two sides of a decision: "Valkey instead of Redis" chooses one and rejects the other."""

from __future__ import annotations

from ...text.tokens import query_terms
from .cue_words import words_of


def chooses_against(later: str, earlier: str) -> bool:
    """Whether a later decision rejects what an earlier one chose.

    >>> chooses_against("use Valkey instead of Redis", "go with Redis instead of Memcached")
    True
    >>> chooses_against("use Valkey instead of Redis", "use tabs instead of spaces")
    False
    """
    chosen, _ = _sides(earlier)
    _, rejected = _sides(later)
    return bool(rejected) and rejected <= chosen


def is_another_matter(later: str, earlier: str) -> bool:
    """Whether two decisions are between different things: the later one rejects something that the
    earlier one does not mention.

    >>> is_another_matter("use ruff instead of flake8", "use uv instead of pip")
    True
    """
    _, rejected = _sides(later)
    _, rejected_before = _sides(earlier)
    return bool(rejected and rejected_before) and rejected.isdisjoint(terms(earlier))


def terms(text: str) -> set[str]:
    """The terms of a text as a set."""
    return set(query_terms(text))


def _sides(text: str) -> tuple[set[str], set[str]]:
    """Terms of what was chosen, and of what was rejected."""
    for words in words_of(text):
        if over := words.says("decided.over", text):
            rest = text[over.end() :]
            reason = words.says("decided.because", rest)
            return terms(text[: over.start()]), terms(rest[: reason.start()] if reason else rest)
    return terms(text), set()
