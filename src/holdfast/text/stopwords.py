"""Stop words by language, lower-cased and without accents.

They are removed from questions, never from the index, and identify the language of a text. The
words are in the section `stopwords` of the language files.
"""

from __future__ import annotations

from ..languages import languages, words_of_all

STOP_WORDS: dict[str, frozenset[str]] = {
    each.code: each.words("stopwords", "words") for each in languages()
}

LATIN_LANGUAGES = tuple(
    each.code for each in languages() if each.script == "latin" and STOP_WORDS[each.code]
)
"""Languages that share the Latin script, so that only stop words distinguish them; by rank."""

STEMMERS = {each.code: each.stemmer for each in languages()}

ENGLISH_LOOKALIKES = words_of_all("stopwords", "lookalikes")
"""Stop words of one language that are content words (or parts of names) in English: one of these
alone does not make a text foreign.
"""

TOLD_BY_ACCENT = words_of_all("stopwords", "told_by_accent")
"""Content words that differ from a stop word of their language only by an accent."""
