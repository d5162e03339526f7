"""Which turns of a project's past sessions are worth showing.

The words of an instruction to a coding agent ("run the tests", "now the settings page") occur in
the sessions of every project. So a turn is shown if it says nearly the same, or if a question is
asked that a turn may answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..languages import patterns_of_all
from ..models.embeddings.base import LOCAL
from ..storage.protocol import Store
from ..storage.store_types import Candidate
from ..text.lazy_regex import later
from ..text.tokens import QUESTION_MARKS, index_terms
from ..types import Scope
from .candidates import Gathered
from .features import ENCODER, STATIC

# Similarity of a turn that says nearly the same, by model, and what the logarithm of its length
# adds: a long text is a little like everything. Chosen with prompts of published projects.
NEAR = {STATIC: 0.5, ENCODER: 0.45}
NEARER_IF_LONG = 0.05
# Score of the best turn from which a question may be answered by turns.
MAY_ANSWER = 0.25
# Terms or characters of a text that is not an instruction, but words to look for.
MOST_TERMS = 4
MOST_CHARACTERS = 12

_ASKS = later(rf"\W*(?:{patterns_of_all('questions', 'asks')})(?!\w)", re.IGNORECASE)


def unrelated_turns(
    store: Store,
    scopes: Sequence[Scope],
    gathered: Gathered,
    memories: Sequence[Candidate],
    scores: Sequence[float],
) -> set[int]:
    """Return the places of turns of projects that are not worth showing. `memories` are ranked, the
    best first. None without vectors of a bundled model, because words alone do not tell.
    """
    if not gathered.views or not all(view.model.startswith(LOCAL) for view in gathered.views):
        return set()
    turns = [place for place, memory in enumerate(memories) if memory.kind == "turn"]
    numbers = _projects(store, scopes, [memories[place] for place in turns])
    turns = [place for place in turns if memories[place].scope in numbers]
    is_search = asks(gathered.query.text) or _is_short(gathered)
    if not turns or (is_search and max(scores[place] for place in turns) >= MAY_ANSWER):
        return set()
    return {place for place in turns if not _says_the_same(gathered, memories[place])}


def asks(text: str) -> bool:
    """Whether a text is a question: it ends with its mark or begins with an interrogative word."""
    return text.rstrip().endswith(QUESTION_MARKS) or bool(_ASKS.match(text))


def is_near(similarity: float, content: str, model: str) -> bool:
    """Whether a turn says nearly the same as a prompt, by their similarity in a model."""
    words = len(index_terms(content))
    return similarity >= NEAR[model] + NEARER_IF_LONG * math.log1p(words)


def _is_short(gathered: Gathered) -> bool:
    """Whether a text is words to look for. In Chinese and Japanese every character is a term."""
    query = gathered.query
    return len(query.terms) <= MOST_TERMS or len(query.text.strip()) <= MOST_CHARACTERS


def _says_the_same(gathered: Gathered, turn: Candidate) -> bool:
    known = gathered.similarity.get(turn.seq, {})
    model = next((view.tier for view in gathered.views if view.tier in known), None)
    return model is None or is_near(known[model], turn.content, model)


def _projects(
    store: Store,
    scopes: Sequence[Scope],
    turns: Sequence[Candidate],
) -> set[int]:
    """Return the numbers of the projects among the scopes of some turns."""
    numbers = {turn.scope: turn.seq for turn in turns}
    if all(scope.kind == "project" for scope in scopes):
        return set(numbers)
    return {
        number
        for number, seq in numbers.items()
        for turn in store.get(scopes, [seq])
        if turn.scope.kind == "project"
    }
