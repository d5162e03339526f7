"""Whether words that were said bear out a statement that a model made of them.

A quote that occurs in its turn is not enough: models quote "to the gym" for "goes to the gym every
day". So a quote has to be long enough to say something, it shares its content words with the
statement, both or neither are negated, and names and figures come from what the model was shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..text.negation import MONTHS, UNSPACED, fold_word, language_of, particulars
from ..text.normal_forms import content_hash
from ..text.tokens import query_terms
from ..types import Micros, to_datetime
from .dates import days_meant
from .similarity.change_words import THE_USER, clause_texts, shared, terms_of, words_of

# Words of a quote that is not the whole turn.
FEWEST_WORDS = 5
# Of the content words of a statement, those that its quote has; pronouns that were resolved and
# the subject are not in it.
SHARED = 0.35
# The same for a question, which mostly asks about a matter and says nothing of it.
SHARED_IN_QUESTION = 0.6
_ASKS = ("?", "？")
_AROUND = " \n\"'”’)»"
# One character stands for a word where words are not written apart.
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")
# Its nouns all look like names.
_CAPITAL_NOUNS = "de"


@dataclass(frozen=True, slots=True)
class Shown:
    """Words and figures of what a model was shown."""

    words: frozenset[str]
    figures: frozenset[str]


def shown_in(texts: Iterable[tuple[str, int]]) -> Shown:
    """The words and figures of these texts, each with the time it was said; a time such as "last
    month" also counts as the date that it means then.
    """
    words: set[str] = set()
    figures: set[str] = set()
    for text, said_at in texts:
        found = particulars(text)
        words |= found.words | found.names | found.openers
        figures |= found.figures
        for first, last in days_meant(text, said_at):
            figures |= _figures(first) | _figures(last)
    return Shown(frozenset(words), frozenset(figures))


def _figures(micros: Micros) -> set[str]:
    """Year, month and day of a moment, as people and models may write them."""
    day = to_datetime(micros)
    months = {MONTHS[day.month - 1], str(day.month), f"{day.month:02}"}
    return {str(day.year), *months, str(day.day), f"{day.day:02}", f"#{day.day}"}


def is_whole(quote: str, text: str) -> bool:
    """Whether a quote is all of a text but for marks around it."""
    return content_hash(quote) == content_hash(text)


def is_long_enough(quote: str, text: str) -> bool:
    """Whether a quote of this text says something: five words, or all of it."""
    return len(_WORD.findall(quote)) >= FEWEST_WORDS or is_whole(quote, text)


def supports(
    quote: str,
    statement: str,
    shown: Shown,
    *,
    author: str = "",
    share: float = SHARED,
) -> bool:
    """Whether a statement only says what the quote says, about the author or whoever was named."""
    terms = terms_of(THE_USER.sub(" ", statement)) - set(query_terms(author))
    common = shared(terms, terms_of(quote))
    # "My job at Kobo" and "works at Kobo" are on the same matter in other words.
    matters = words_of(quote).single_slots & words_of(statement).single_slots
    if not common or len(common) + len(matters) < share * len(terms):
        return False
    if quote.rstrip(_AROUND).endswith(_ASKS) and len(common) < SHARED_IN_QUESTION * len(terms):
        return False
    return _agree(quote, statement, terms) and _is_of(statement, shown, author)


def _agree(quote: str, statement: str, terms: frozenset[str]) -> bool:
    """Whether both are negated or neither is, in the clauses that they have in common; "I left
    Kobo" also says "no longer at Kobo".
    """
    meant = [part for part in clause_texts(quote) if shared(terms, terms_of(part))]
    said, stated = words_of(" ".join(meant)), words_of(statement)
    if said.negated == stated.negated:
        return True
    negated, other = (said, stated) if said.negated else (stated, said)
    return bool(negated.marks & {"ended", "once"}) and "ended" in other.marks


def _is_of(
    statement: str,
    shown: Shown,
    author: str,
) -> bool:
    """Whether names and figures of a statement were shown."""
    found = particulars(statement)
    if not found.figures <= shown.figures:
        return False
    names = set() if language_of(statement) == _CAPITAL_NOUNS else set(found.names)
    own = {fold_word(word) for word in author.split()}
    return not any(_lacks(shown.words, name) for name in (names | found.marks) - own)


def _lacks(words: frozenset[str], name: str) -> bool:
    """Whether no word is this name or a form of it: "Anna" and "Annas"."""
    if name in words:
        return False
    alike = (word for word in words if word[:3] == name[:3] and min(len(word), len(name)) > 2)
    return not any(word.startswith(name) or name.startswith(word) for word in alike)
