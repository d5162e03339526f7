"""What a question asks for, read once: its terms, its times, whose words are wanted, and what to
embed.

People speak of themselves in the first person. A question about Caroline is best answered by what
Caroline said, and what she said reads "I went", not "Caroline went". So a person named in the
question who is also an author is remembered in `authors`, and becomes "I" in the text that is
embedded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..text.lazy_regex import later
from ..text.time_expressions import Span, spans
from ..text.tokens import index_terms, lone_letters, query_terms
from .personal_questions import asks_of_somebody, personal_terms

# "Mel" may be Melanie; "Jo" may be anyone.
_SHORTEST_NICKNAME = 3
_WORD = re.compile(r"[^\W\d_]+", re.UNICODE)

# The person who asks, in the languages whose stop words we know.
_FIRST_PERSON = later(
    r"(?<![\w'])(?:i|i'm|i've|i'd|my|mine|me|myself|ich|mein\w{0,2}|mich|mir|je|j'\w+|mon|mes|moi|yo|mi|mis|conmigo"
    r"|io|mio|mia|miei|eu|meu|minha|ik|mijn|я|мой|моя|мои|мне|меня|мою|私|僕|俺|我|나|내)(?!\w)",
    re.IGNORECASE,
)
# What was said to that person: "you told me", "your last suggestion", "our last chat", "remind me
# what you …". A request is none: "can you suggest", "what would you recommend", "hast du einen
# Tipp". So verbs stand in the past, or after "did".
_SAID = (
    r"said|told|mentioned|suggested|recommended|proposed|advised|gave|given|provided|listed|explained|described|showed"
    r"|shown|wrote|written|generated|created|shared|helped|claimed|pointed|answered|compared|outlined|came up"
)
_SAID_BY_ASSISTANT = later(
    r"\byou(?:['’]d|['’]ve| had| "
    rf"have)?\s+(?:\w+ly\s+|already\s+|once\s+|just\s+|also\s+)?(?:{_SAID})\b"
    r"|\bdid you\b(?!\s+know\b)"
    rf"|\b(?:had|have|haven['’]t|hadn['’]t) you\s+(?:\w+\s+){{0,2}}?(?:{_SAID})\b"
    r"|\b(?:was|were|in|from|of|with|about|on|to|by|per|follow\w*|tried|used|liked|remember) "
    r"your\s+"
    r"(?:\w+\s+)?(?:advice|suggestion|recommendation|answer|list|explanation|response|reply)"
    r"|\byour (?:last|previous|earlier|first|original) (?:\w+\s+)?"
    r"(?:advice|suggestion|recommendation|answer|list|explanation|response|reply|message)"
    r"|\b(?:previous|last|earlier) (?:conversation|chat|discussion)"
    r"|\bwe(?:['’]ve| have| had| "
    r"were)?\s+(?:discuss(?:ed|ing)|talk(?:ed|ing)|chatt(?:ed|ing)|spoke)\b"
    r"|\bdid we (?:discuss|talk|chat|speak)"
    # "Remind me which hotel it was", but neither "remind me to call" nor "remind me where I live".
    r"|\bremind "
    r"me\b(?!\s+(?:to|tomorrow|later|in|at|on|every|when)\b)(?!.*\b(?:i|my|mine|i['’]m|i['’]ve)\b)"
    r"|\b(?:hast|hattest) "
    r"du\b.{0,80}\b(?:gesagt|empfohlen|vorgeschlagen|erwähnt|erzählt|erklärt|genannt|gezeigt"
    r"|geschrieben|gegeben|geraten|gemeint|beschrieben)\b"
    r"|\bdu\b.{0,40}\b(?:gesagt|empfohlen|vorgeschlagen|erwähnt|erzählt|erklärt|genannt|gezeigt|geraten)"
    r" (?:hast|hattest)|\bdu (?:gesagt|empfohlen|vorgeschlagen|sagtest|meintest|empfahlst)\b"
    r"|\b(?:sagtest|meintest|empfahlst) du\b"
    r"|\b(?:as-tu|avais-tu|avez-vous|tu (?:m['’])?(?:as|avais)|vous (?:m['’])?avez)\b.{0,60}"
    r"\b(?:dit|conseillé|recommandé|suggéré|proposé|expliqué|mentionné|donné|montré|écrit)"
    r"|\b(?:dijiste|recomendaste|sugeriste|aconsejaste|explicaste|mencionaste|propusiste"
    r"|me (?:diste|mostraste|contaste))\b"
    r"|\b(?:ты|вы)\s+(?:\w+\s+){0,2}?(?:сказал|говорил|рассказал|посоветовал|советовал|рекомендовал|порекомендовал"
    r"|предложил|предлагал|объяснил|упомянул|упоминал|назвал|показал|написал)[аи]?\b"
    r"|你(?:之前|刚才|上次|以前|曾经)?(?:跟我|给我|向我)?(?:说|推荐|建议|提到|告诉|提)(?:过|了)"
    r"|你(?:之前|刚才|上次|以前|曾经)(?:跟我|给我|向我)?(?:说|推荐|建议|提到|告诉)"
    r"|(?:さっき|前に|以前|この前).{0,16}(?:言って|言った|勧めて|勧めた|教えて|提案して|提案した|おすすめして)",
    re.IGNORECASE | re.DOTALL,
)
# Questions for a time and for a number, and the terms by which a passage tells one.
_ASKS_WHEN = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|year|month|time)\b|\bhow long\b|\bwann\b|\bwie "
    r"lange\b|\bcu[aá]ndo\b|\bquand\b"
    r"|\bquando\b|\bwanneer\b|когда|何時|いつ|什么时候|언제",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|often)\b|\bwie "
    r"?(?:viele?|oft)\b|\bcu[aá]nt[oa]s?\b|\bcombien\b|\bquant[eio]s?\b"
    r"|\bhoeveel\b|сколько|いくつ|多少|몇",
    re.IGNORECASE,
)
_TIME_WORDS = """
    yesterday today tomorrow last next ago week weekend month year morning night since recently just
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december gestern heute morgen woche monat jahr letzte letzten seit ayer hoy mañana
    semana mes año pasado hier aujourd'hui semaine mois année dernier dernière вчера сегодня завтра неделю месяц год
    昨 明 月 週 周 年
"""
_NUMBER_WORDS = """
    one two three four five six seven eight nine ten eleven twelve once twice couple dozen hundred thousand
    eins zwei drei vier fünf sechs sieben acht neun zehn uno dos tres cuatro cinco seis siete ocho nueve diez
    deux trois quatre cinq sept huit neuf dix один два три четыре пять шесть семь восемь девять десять
    一 二 三 四 五 六 七 八 九 十
"""
# Whoever is named is usually also who "she" is.
_OWN_PRONOUNS = (
    (later(r"\b(?:her|his|their)\b(?=\s+\w)"), "my"),
    (later(r"\b(?:she|he|they)\b"), "I"),
    (later(r"\b(?:her|him|them)\b"), "me"),
)


class Query(NamedTuple):
    """A question, analysed.

    `authors` are the known authors it names, `names` the terms that name them, and `roles` the
    roles whose words it wants. `telling` are terms of which an answer should have one. Each may be
    empty. A `plain` question has stop words only, and its terms are those of likely answers.
    `embed` is the text whose vector should be compared with memories.
    """

    text: str
    terms: tuple[str, ...]
    spans: tuple[Span, ...]
    embed: str
    authors: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    plain: bool = False


def analyse(text: str, now: int, *, authors: Sequence[str] = ()) -> Query:
    """Read `text` as asked at `now` (microseconds) in a scope whose memories are by `authors`."""
    words = {word.casefold(): word for word in _WORD.findall(text)}
    # R and C are languages too.
    meant = query_terms(text) or lone_letters(text)
    named = {author: alias for author in authors if (alias := _alias(author, words))}
    return Query(
        text=text,
        terms=tuple(meant or personal_terms(text)),
        spans=tuple(spans(text, now)),
        embed=_first_person(text, list(named.values())),
        authors=frozenset(author.casefold() for author in named),
        names=frozenset(index_terms(" ".join(named.values()))),
        roles=_roles(text) if not named else frozenset(),
        telling=_telling(text),
        plain=not meant and asks_of_somebody(text),
    )


def _alias(author: str, words: dict[str, str]) -> str:
    """The word of the question that names `author`: a part of the name, or its beginning as a
    nickname.
    """
    parts = [part.casefold() for part in _WORD.findall(author)]
    for part in parts:
        if part in words and len(part) > 1:
            return words[part]
    for word, written in words.items():
        is_name = written[0].isupper() and len(word) >= _SHORTEST_NICKNAME
        if is_name and any(part.startswith(word) for part in parts):
            return written
    return ""


def _telling(text: str) -> frozenset[str]:
    if _ASKS_WHEN.search(text):
        return _time_terms()
    return _number_terms() if _ASKS_NUMBER.search(text) else frozenset()


@cache
def _time_terms() -> frozenset[str]:
    return frozenset(index_terms(f"{_TIME_WORDS} {' '.join(map(str, range(1950, 2051)))}"))


@cache
def _number_terms() -> frozenset[str]:
    return frozenset(index_terms(f"{_NUMBER_WORDS} {' '.join(map(str, range(101)))}"))


def _roles(text: str) -> frozenset[str]:
    if _SAID_BY_ASSISTANT.search(text):
        return frozenset({"assistant"})
    return frozenset({"user"}) if _FIRST_PERSON.search(text) else frozenset()


def _first_person(text: str, names: list[str]) -> str:
    """`text` as the people it names would say it of themselves."""
    if not names:
        return text
    name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    spoken = re.sub(rf"\b(?:{name})(?:['’]s|(?<=s)['’])(?!\w)", "my", text)
    spoken = re.sub(rf"\b(?:{name})\b", "I", spoken)
    for pronoun, own in _OWN_PRONOUNS:
        spoken = pronoun.sub(own, spoken)
    return spoken
