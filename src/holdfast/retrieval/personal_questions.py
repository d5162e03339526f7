"""Questions that are all grammar: "Who am I?", "What do I like?", "Where am I from?".

Their words are stop words, yet they ask for something. They are searched by meaning, by the words
they have after all, and by the words in which people answer them.
"""

from __future__ import annotations

import re
from functools import cache

from ..languages import in_every_language, patterns_of_all, words_of_all
from ..text.lazy_regex import later
from ..text.tokens import index_terms

# Words that ask. A question mark does as well.
_ASKS = later(rf"(?<!\w)(?:{patterns_of_all('questions', 'asks')})(?!\w)|[?？]", re.IGNORECASE)
# Whom it asks about: the one who asks, or somebody who was named before.
_SOMEBODY = later(
    rf"(?<!\w)(?:{patterns_of_all('questions', 'somebody')})(?!\w)"
    rf"|{patterns_of_all('questions', 'somebody_within')}",
    re.IGNORECASE,
)
# Asks what to do, not what is known: "What should I do?", "Can we?".
_SEEKS_ADVICE = later(rf"(?<!\w)(?:{patterns_of_all('questions', 'advice')})(?!\w)", re.IGNORECASE)
_SUBJECTS = ("liking", "origin", "identity", "having", "doing", "place", "being")


@cache
def _answered_with() -> tuple[tuple[re.Pattern[str], str], ...]:
    """By words of a question, the words of its answers; those of the third person are among
    them.
    """
    found = []
    for subject in _SUBJECTS:
        asked = "|".join(sorted(words_of_all("answers", f"{subject}_asked")))
        answers = " ".join(str(table.get(subject, "")) for _, table in in_every_language("answers"))
        found.append((re.compile(rf"(?<!\w)(?:{asked})(?!\w)", re.IGNORECASE), answers))
    return tuple(found)


def asks_of_somebody(text: str) -> bool:
    """Whether a text of stop words asks something about a person that memory may know."""
    return bool(_ASKS.search(text) and _SOMEBODY.search(text) and not _SEEKS_ADVICE.search(text))


def personal_terms(text: str) -> tuple[str, ...]:
    """The terms to look for when a question has none that carry meaning; none when it is no such
    question.

    >>> personal_terms("What do I like?")[:3]
    ('like', 'love', 'prefer')
    """
    if not asks_of_somebody(text):
        return ()
    answers = " ".join(words for cue, words in _answered_with() if cue.search(text))
    return tuple(dict.fromkeys(index_terms(answers)))
