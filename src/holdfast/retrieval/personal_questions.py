"""Questions made of stop words: "Who am I?", "What do I like?", "Where am I from?".

They are searched by meaning, by their stop words, and by the words in which people answer them.
"""

from __future__ import annotations

import re
from functools import cache

from ..languages import in_every_language, patterns_of_all, words_of_all
from ..text.lazy_regex import later
from ..text.tokens import index_terms

# Interrogative words, or a question mark.
_ASKS = later(rf"(?<!\w)(?:{patterns_of_all('questions', 'asks')})(?!\w)|[?？]", re.IGNORECASE)
# The person asked about: the speaker, or somebody mentioned before.
_SOMEBODY = later(
    rf"(?<!\w)(?:{patterns_of_all('questions', 'somebody')})(?!\w)"
    rf"|{patterns_of_all('questions', 'somebody_within')}",
    re.IGNORECASE,
)
# Asks for advice rather than knowledge: "What should I do?", "Can we?".
_SEEKS_ADVICE = later(rf"(?<!\w)(?:{patterns_of_all('questions', 'advice')})(?!\w)", re.IGNORECASE)
_SUBJECTS = ("liking", "origin", "identity", "having", "doing", "place", "being")


@cache
def _answered_with() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Map words of a question to words of its answers, including those in the third person."""
    found = []
    for subject in _SUBJECTS:
        asked = "|".join(sorted(words_of_all("answers", f"{subject}_asked")))
        answers = " ".join(str(table.get(subject, "")) for _, table in in_every_language("answers"))
        found.append((re.compile(rf"(?<!\w)(?:{asked})(?!\w)", re.IGNORECASE), answers))
    return tuple(found)


def asks_of_somebody(text: str) -> bool:
    """Whether a text of stop words asks about a person."""
    return bool(_ASKS.search(text) and _SOMEBODY.search(text) and not _SEEKS_ADVICE.search(text))


def personal_terms(text: str) -> tuple[str, ...]:
    """Return search terms for a question that has only stop words; empty for any other question.

    >>> personal_terms("What do I like?")[:3]
    ('like', 'love', 'prefer')
    """
    if not asks_of_somebody(text):
        return ()
    answers = " ".join(words for cue, words in _answered_with() if cue.search(text))
    return tuple(dict.fromkeys(index_terms(answers)))
