"""Questions that are all grammar: "Who am I?", "What do I like?", "Where am I from?".

Their words are stop words, yet they ask for something. They are searched by meaning, by the words
they have after all, and by the words in which people answer them.
"""

from __future__ import annotations

import re

from ..text.lazy_regex import later
from ..text.tokens import index_terms

# Words that ask, in the seven languages. A question mark does as well.
_ASKS = later(
    r"(?<!\w)(?:what|who|whom|whose|which|where|when|why|how|tell|was|wer|wen|wem|wessen|wo|woher|wohin|wie|wann|warum"
    r"|welche\w?|qu[eé]|qui[eé]n(?:es)?|d[oó]nde|c[oó]mo|cu[aá]l(?:es)?|cu[aá]ndo|qui|que|qu|quoi|quel(?:le)?s?|o[uù]"
    r"|comment|quand|pourquoi|кто|что|кого|где|откуда|куда|как|как(?:ой|ая|ие|ое)|чей|чья|когда|почему)(?!\w)|[?？]",
    re.IGNORECASE,
)
# Whom it asks about: the one who asks, or somebody who was named before.
_SOMEBODY = later(
    r"(?<!\w)(?:i|i['’]m|i['’]ve|me|my|mine|myself|we|us|our|he|she|they|him|her|them|his|their|ich|mich|mir|mein\w{0,2}"
    r"|wir|uns|unser\w?|er|sie|yo|mi|mis|me|soy|tengo|estoy|eres|somos|nosotros|[eé]l|ella|je|j|moi|mon|ma|mes|suis|ai"
    r"|nous|notre|nos|il|elle|я|мне|меня|мной|мой|моя|мои|мы|нас|нам|он|она|они)(?!\w)|[我私僕俺]",
    re.IGNORECASE,
)
# Asks what to do, not what is known: "What should I do?", "Can we?".
_SEEKS_ADVICE = later(
    r"(?<!\w)(?:can|can['’]t|could|should|shall|may|might|must|would|will|kann|k[oö]nnen|soll|sollte|muss|d[uü]rfen"
    r"|puedo|debo|puis|dois|peux|могу|должен|должна)(?!\w)",
    re.IGNORECASE,
)
# By a word of the question, the words of its answers; what is stored in the third person among
# them.
_ANSWERED_WITH: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (later(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE), answers)
    for words, answers in (
        ("like|likes", "like love prefer favorite favourite enjoy fan hate dislike"),
        (
            "from|woher|dónde|donde|où|откуда",
            "from born grew home hometown country live aus komme "
            "geboren vivo nací"
            " viens habite né родился живу родом",
        ),
        (
            "who|wer|quién|quien|qui|кто",
            "name called work job live born heiße heißt name arbeite "
            "wohne llamo nombre"
            " trabajo vivo appelle travaille habite зовут имя работаю живу",
        ),
        (
            "have|has|own|habe|hat|tengo|tiene|ai|a|есть",
            ("have has own got habe hat tengo tiene есть"),
        ),
        (
            "do|does|doing|machen|mache|hago|fais",
            ("work works job do does arbeite arbeitet trabajo travaille"),
        ),
        ("where|wo|где", "live lives in at wohne wohnt vivo habite живу"),
        ("am|are|is|bin|ist|soy|es|suis|est", "am is bin ist soy es suis est"),
    )
)


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
    answers = " ".join(words for cue, words in _ANSWERED_WITH if cue.search(text))
    return tuple(dict.fromkeys(index_terms(answers)))
