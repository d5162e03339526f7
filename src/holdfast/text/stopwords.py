"""Words that carry grammar rather than meaning, by language, lower-cased and without accents.

They leave questions (never the index), and which language's words a text uses tells its language.
The words are in the section `stopwords` of the language files.
"""

from __future__ import annotations

from ..languages import languages, words_of_all

STOP_WORDS: dict[str, frozenset[str]] = {
    each.code: each.words("stopwords", "words") for each in languages()
}

LATIN_LANGUAGES = tuple(
    each.code for each in languages() if each.script == "latin" and STOP_WORDS[each.code]
)
"""Languages that share a script, so that only their stop words tell them apart; by rank."""

STEMMERS = {each.code: each.stemmer for each in languages()}

ENGLISH_LOOKALIKES = words_of_all("stopwords", "lookalikes")
"""Stop words of one language that are words of content (or part of a name) in English: one of these
alone does not make a text foreign.
"""

TOLD_BY_ACCENT = words_of_all("stopwords", "told_by_accent")
"""Words that carry meaning, and that only an accent tells from a stop word of their own
language.
"""
