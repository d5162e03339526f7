"""The tokenizer for index terms, questions and duplicate detection.

One pattern splits a text into raw tokens; a cached function turns each raw token into terms, so a
repeated word costs one dictionary lookup. Terms consist of letters, digits, combining marks, emoji
and `_`.

Language matters only for stemming. Scripts with a single stemmer use it. Latin text is stemmed as
English; if its stop words indicate another language, that language's stem is added to the English
one. So two occurrences of a word always share a term, however little text there is to detect the
language.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, Protocol

from ..languages import words_of_all
from .lazy_regex import later
from .stopwords import ENGLISH_LOOKALIKES, LATIN_LANGUAGES, STEMMERS, STOP_WORDS, TOLD_BY_ACCENT

# Longer words are keys, hashes or noise; their beginning identifies them.
LONGEST_TERM = 64
# Enough words to detect a language; more only cost time.
_DETECTION_TOKENS = 200

# Scripts written without spaces: each character (with its marks) is a token.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_APOSTROPHES = "'\u2019\u02bc"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?![\d,])"
# C++, C#, F#.
_LANGUAGE_NAME = r"(?<!\w)[A-Za-z](?:\+\+|\#)(?!\w)"

# Most texts have neither grouped numbers nor such names, and need only the short pattern.
_GROUPED = re.compile(r",(?<=\d,)\d")
_PLAIN_TOKEN = re.compile(r"\w++(?:['.]\w++)*", re.ASCII)
_ASCII_TOKEN = later(rf"{_NUMBER}|{_LANGUAGE_NAME}|\w+(?:['.]\w+)*", re.ASCII)
# Latin, Greek and Cyrillic letters, punctuation, currency signs, arrows, mathematical signs: no
# combining marks, no emoji, no scripts without spaces. Such texts need only the simple pattern.
_SIMPLE = (range(0x300), range(0x370, 0x483), range(0x2000, 0x20D0), range(0x2100, 0x2600))
_SIMPLE_TOKEN = later(rf"{_NUMBER}|{_LANGUAGE_NAME}|\w+(?:[{_APOSTROPHES}.]\w+)*")
# Blocks with combining marks; skips the tens of thousands of ideographs and syllables between them.
_WITH_MARKS = (
    range(0x300, 0x3100),
    range(0xA66F, 0xABF0),
    range(0xFB1E, 0xFE30),
    range(0x101FD, 0x20000),
)
# Joiners, soft hyphens, direction marks, tatweel and variation selectors: invisible, so never part
# of a word.
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x640, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0xFE00, 0xFE10)]
)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


# Pronouns and articles attached by an apostrophe: "she's", "l'amour".
_CONTRACTION = later(
    rf"[{_APOSTROPHES}](?:{_any_of(words_of_all('stopwords', 'contractions'))})$", re.IGNORECASE
)
_ELISION = later(
    rf"^(?:{_any_of(words_of_all('stopwords', 'elisions'))})[{_APOSTROPHES}](?=\w\w)", re.IGNORECASE
)
_APOSTROPHE = re.compile(f"[{_APOSTROPHES}]")
_CAMEL = later(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_UNDECOMPOSED_LATIN = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
    }
)

# First code point, last code point, stemmer.
_SCRIPT_STEMMERS = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
    (0x1F00, 0x1FFF, "greek"),
)
_LAST_LATIN = 0x024F
_LATIN_ADDITIONAL = range(0x1E00, 0x1F00)

_EVERY_LANGUAGE_STOPS = frozenset().union(
    *(words for language, words in STOP_WORDS.items() if language not in LATIN_LANGUAGES[1:])
)
_LATIN_STOPS = frozenset().union(*(STOP_WORDS[language] for language in LATIN_LANGUAGES))
_DISTINCTIVE = {language: STOP_WORDS[language] - ENGLISH_LOOKALIKES for language in LATIN_LANGUAGES}
# What `writing` tells apart.
ENGLISH = "English"
OTHER_LATIN = "other Latin"
OTHER_SCRIPT = "other script"
# What a question ends with.
QUESTION_MARKS = ("?", "？", "؟")
# Stemmers keep state, so each thread has its own.
_local = threading.local()


def index_terms(text: str) -> list[str]:
    """Return the terms of `text` in order, including stop words; an identifier gives its parts and
    itself.

    >>> index_terms("Caroline's user_name")
    ['carolin', 'user', 'name', 'user_name']
    """
    tokens = _whole_tokens(text)
    english = list(map(_IF_ENGLISH.__getitem__, tokens))
    if None not in english:
        return list(chain.from_iterable(english))
    tokens = _cut(tokens)
    language = _language(tokens)
    return [term for token in tokens for term in _terms(token, language)]


class _IfEnglish(dict[str, Any]):
    """Cache of the English terms of tokens; None for a token that indicates another language.

    A plain dictionary, because most of the time is spent here.
    """

    def __missing__(self, token: str) -> tuple[str, ...] | None:
        if len(token) > LONGEST_TERM:
            cut: tuple[str, ...] | None = self[token[:LONGEST_TERM]]
            return cut
        if token.isascii() and token.isalnum() and not token.isalpha() and token == token.lower():
            # Numbers are too many to cache, and need no work.
            return (token,)
        if len(self) > _TOKENS_KEPT:
            self.clear()
        word = _surface(token)
        foreign = word in _LATIN_STOPS and word not in STOP_WORDS["en"]
        self[token] = terms = None if foreign else _terms(token, "en")
        return terms


_TOKENS_KEPT = 1 << 16
_IF_ENGLISH = _IfEnglish()


def writing(text: str) -> str:
    """Return `English`, `other Latin` for another language in Latin letters, or `other script`.

    >>> writing("Wo wohnt sie jetzt?"), writing("Где она живёт?")
    ('other Latin', 'other script')
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(ord(letter) > _LAST_LATIN for letter in letters) > len(letters):
        return OTHER_SCRIPT
    if _language(_tokens(text)) == "en":
        return ENGLISH
    return OTHER_LATIN


def query_terms(text: str) -> list[str]:
    """Return the distinct meaningful index terms of a question, in order; empty if there are none.

    >>> query_terms("What did the dogs do?")
    ['dog']
    """
    return [term for term in _meaningful(text) if not _is_letter(term)]


def words_with(text: str, terms: Collection[str]) -> list[str]:
    """Return the distinct words of `text` that have one of these terms, as they are written.

    Neighbouring characters of a script without spaces are one word.

    >>> words_with("The dogs of Ana: two dogs", query_terms("Which dog?"))
    ['dogs']
    """
    tokens = _tokens(text)
    language = _language(tokens)
    words: list[str] = []
    begun = False
    for token in tokens:
        wanted = any(term in terms for term in _terms(token, language))
        if wanted and begun and f"{words[-1]}{token}" in text:
            words[-1] += token
        elif wanted:
            words.append(token)
        begun = wanted
    return list(dict.fromkeys(words))


def lone_letters(text: str) -> list[str]:
    """Return the single Latin letters of a question, which `query_terms` skips.

    >>> lone_letters("What about C?")
    ['c']
    """
    return [term for term in _meaningful(text) if _is_letter(term)]


def _meaningful(text: str) -> list[str]:
    tokens = _tokens(text)
    language = _language(tokens)
    meaningful = (token for token in tokens if not _carries_grammar(token, language))
    return list(dict.fromkeys(term for token in meaningful for term in _terms(token, language)))


def _is_letter(term: str) -> bool:
    return len(term) == 1 and "a" <= term <= "z"


def dedup_tokens(text: str) -> list[str]:
    """Return every token of `text`, lower-cased and otherwise unchanged, to compare near-equal
    texts.

    >>> dedup_tokens("I don't feel sad")
    ['i', 'dont', 'feel', 'sad']
    """
    return [_APOSTROPHE.sub("", token).casefold() for token in _tokens(text)]


def _tokens(text: str) -> list[str]:
    return _cut(_whole_tokens(text))


def _cut(tokens: list[str]) -> list[str]:
    if max(map(len, tokens), default=0) <= LONGEST_TERM:
        return tokens
    return [token[:LONGEST_TERM] for token in tokens]


def _whole_tokens(text: str) -> list[str]:
    if text.isascii():
        unusual = "#" in text or "++" in text or ("," in text and _GROUPED.search(text))
        found: list[str] = (_ASCII_TOKEN if unusual else _PLAIN_TOKEN).findall(text)
    else:
        plain = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
        found = (_SIMPLE_TOKEN if all(map(_is_simple, set(plain))) else _unicode_token()).findall(
            plain
        )
    return found


@lru_cache(maxsize=1 << 12)
def _is_simple(character: str) -> bool:
    """Whether a character forms or separates words as in ASCII text."""
    return any(ord(character) in block for block in _SIMPLE)


@lru_cache(maxsize=1)
def _unicode_token() -> re.Pattern[str]:
    # `\w` does not match combining marks, without which Devanagari or vocalised Arabic words would
    # be split.
    marks = _ranges(
        code for block in _WITH_MARKS for code in block if unicodedata.category(chr(code))[0] == "M"
    )
    word = rf"[^\W{_UNSPACED}]+(?:[{marks}]+[^\W{_UNSPACED}]*)*"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    character = rf"(?=\w)[{_UNSPACED}][{marks}]*"
    return re.compile(
        rf"{_NUMBER}|{_LANGUAGE_NAME}|{character}|{word}(?:[{_APOSTROPHES}.]{word})*|{flag}|[{_EMOJI}]"
    )


def _ranges(codes: Iterable[int]) -> str:
    """Write ascending code points as ranges of a pattern, which compiles three times faster."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in runs)


def _language(tokens: list[str]) -> str:
    """Return the language whose stop words the text uses most; English unless another clearly
    wins.
    """
    beginning = tokens[:_DETECTION_TOKENS]
    if None not in map(_IF_ENGLISH.__getitem__, beginning):
        return "en"
    words = {_surface(token) for token in beginning}
    hits = {language: len(words & STOP_WORDS[language]) for language in LATIN_LANGUAGES}
    best = max(LATIN_LANGUAGES, key=lambda language: hits[language])
    clear = hits[best] > hits["en"] and words & _DISTINCTIVE[best]
    if clear:
        return best
    return "en"


@lru_cache(maxsize=16)
def _stop_words(language: str) -> frozenset[str]:
    return _EVERY_LANGUAGE_STOPS | STOP_WORDS[language]


def _carries_grammar(token: str, language: str) -> bool:
    """Whether a token is a stop word. Stop words are listed without accents, and an accent can make
    a different word.
    """
    surface = _surface(token)
    if surface not in _stop_words(language):
        return False
    accented = any(letter.isalpha() and not letter.isascii() for letter in token)
    if not accented or not surface.isascii():
        return True
    return (
        language != "en"
        and surface in STOP_WORDS[language]
        and token.casefold() not in TOLD_BY_ACCENT
    )


@lru_cache(maxsize=1 << 15)
def _surface(token: str) -> str:
    """Return a token as stop words are listed: contractions resolved, lower case, no accents."""
    return _fold(_without_apostrophes(token))


@lru_cache(maxsize=1 << 16)
def _terms(token: str, language: str) -> tuple[str, ...]:
    if token.isascii() and token.isalnum() and token.islower():
        # Fast path: a plain word, like most tokens.
        return _stems(token, language)
    if token.endswith(("+", "#")):
        return (token[0].casefold() + ("plusplus" if token[-1] == "+" else "sharp"),)
    pieces = [
        piece for piece in re.split(r"[._]", _without_apostrophes(token.replace(",", ""))) if piece
    ]
    # Initials: U.S.A. becomes one term.
    if len(pieces) > 1 and all(len(piece) == 1 and piece.isalpha() for piece in pieces):
        return _stems("".join(pieces), language)
    parts = [part for piece in pieces for part in _CAMEL.split(piece)]
    terms = [term for part in parts for term in _stems(part, language)]
    if len(pieces) > 1:
        terms.append("_".join(map(_fold, pieces)))
    elif len(parts) > 1:
        terms.extend(_stems(pieces[0], language))
    return tuple(terms)


def _without_apostrophes(token: str) -> str:
    if token.isalnum():
        return token
    return _APOSTROPHE.sub("", _ELISION.sub("", _CONTRACTION.sub("", token)))


def _fold(word: str) -> str:
    """Lower-case a word; remove accents if it is in Latin script."""
    folded = word.casefold()
    if folded.isascii() or not _is_latin(folded):
        return folded
    letters = (
        letter
        for letter in unicodedata.normalize("NFD", folded)
        if not unicodedata.combining(letter)
    )
    return "".join(letters).translate(_UNDECOMPOSED_LATIN)


def _is_latin(word: str) -> bool:
    return all(
        ord(c) <= _LAST_LATIN or ord(c) in _LATIN_ADDITIONAL or unicodedata.combining(c)
        for c in word
    )


def _stems(word: str, language: str) -> tuple[str, ...]:
    """Return the terms of one plain word; see the module docstring."""
    folded = _fold(word)
    if not folded.isalpha() and folded.isascii():
        return (folded,) if folded else ()
    if not folded.isalpha():
        return tuple(_plain(folded))
    if not folded.isascii():
        own = _script_language(folded)
        return (_stem(folded, own) if own else folded,)
    english = _english_stem(folded)
    if language == "en":
        return (english,)
    foreign = _fold(_stem(word.casefold(), STEMMERS[language]))
    if foreign != english:
        return (english, foreign)
    return (english,)


def _english_stem(word: str) -> str:
    """Return the stem with Porter's final `i` turned back: `happy` and `happiness` give `happy`."""
    stem = _stem(word, "english")
    if len(stem) > 3 and stem[-1] == "i" and word[-1] != "i":
        return stem[:-1] + "y"
    return stem


def _plain(word: str) -> Iterable[str]:
    """Yield a word with digits or marks, with the digits of all scripts unified."""
    if word:
        own = _script_language(word) if not word.isascii() else ""
        digits = "".join(str(unicodedata.decimal(c, c)) for c in word)
        yield _stem(digits, own) if own else digits


def _script_language(word: str) -> str:
    code = ord(word[0])
    return next(
        (language for first, last, language in _SCRIPT_STEMMERS if first <= code <= last), ""
    )


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


def _stem(word: str, language: str) -> str:
    """Return the stem of a word by the Snowball stemmer of this name; the word itself without
    one.
    """
    if not language:
        return word
    stemmers: dict[str, _Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        # Deferred import: a fifth of the start-up time, and only writing and recall need it.
        import Stemmer  # noqa: PLC0415

        stemmers[language] = Stemmer.Stemmer(language)
    return stemmers[language].stemWord(word) or word
