"""English in the first person, retold in the third: "I prefer tea" becomes "Ann prefers tea".

The author's name stands once, then "they": nobody's gender is guessed. Verbs agree.
"""

from __future__ import annotations

import re

NOBODY = "the user"

_WORD = re.compile(r"[\w'’-]+|[^\w'’-]+")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_ADVERBS = _words("""
    absolutely actually almost already also always barely both currently definitely even ever exclusively finally
    generally genuinely hardly honestly just kind kinda longer mainly mostly much never no normally not now of often
    only originally particularly personally primarily quite rarely really recently secretly seldom simply sometimes
    sort still strongly then too totally truly typically usually very
""")
# The same for everybody, or past already.
_UNCHANGED = _words("""
    can can't cannot could couldn't will won't would wouldn't should shouldn't must mustn't may might shall ought
    was wasn't had hadn't did didn't and or
    became began bought broke built came chose drew drove fell felt found gave gone got grew heard held kept knew left
    lost made met paid quit ran said sang sat saw sent set sold spent spoke stood taught took told thought understood
    went woke won wore wrote
""")
# Verbs that often come second: "gets up early and goes running". Most are nouns too, so only after "and".
_SECOND = _words("""
    avoid bring chill collect cook do drink drive eat enjoy feel get go hate have keep like listen live love make play
    prefer read relax run sing sleep speak study swim take teach think travel try use walk want watch work write
""")
_JOINING = _words("and but or")
_NOT_PAST = _words("bleed breed embed exceed feed heed need proceed seed speed succeed weed")
_IRREGULAR = {
    "am": "is", "have": "has", "haven't": "has not", "do": "does", "don't": "does not", "dont": "does not",
    "were": "was", "are": "is", "aren't": "is not", "go": "goes",
}  # fmt: skip
_FUSED = {"i'm": "am", "i’m": "am", "im": "am", "i've": "have", "ive": "have", "i'll": "will", "i'd": "would",
          "we're": "are", "we've": "have", "we'll": "will", "we'd": "would"}  # fmt: skip
_OBJECTS = {"me": "them", "us": "them", "myself": "themselves", "ourselves": "themselves"}
_OWN = {"my": "their", "our": "their", "mine": "theirs", "ours": "theirs"}


def retell(clause: str, author: str) -> str:
    """The clause as somebody else would state it about `author`, or about the user where nobody is named."""
    teller = _Teller(author or NOBODY)
    told = "".join(map(teller.word, _WORD.findall(clause.replace("’", "'")))).strip()
    return told[:1].upper() + told[1:]


class _Teller:
    """Retells word by word; what a word becomes depends on who was named before it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.named = False
        self.before = ""
        self.verb_of = ""
        """Whose verb is still to come: "one" person's, "many", or nobody's."""
        self.agrees = False
        """Whether the last verb was put in the third person, so that a second one has to be, too."""

    def word(self, word: str) -> str:
        """What this word becomes, spaces and marks included."""
        told = self._told(word)
        if word[0].isalpha() and word.lower() not in _ADVERBS:
            self.before = word.lower()
        return told

    def _told(self, word: str) -> str:
        lower = word.lower()
        if lower in _FUSED:
            return f"{self._subject(lower)} {self._verb(_FUSED[lower])}"
        if lower in ("i", "we"):
            return self._subject(lower)
        if lower in _OBJECTS or lower in _OWN:
            return self._once(self.name, _OBJECTS[lower]) if lower in _OBJECTS else self._owner(lower)
        return self._verb(word) if self._is_verb(word) else word

    def _is_verb(self, word: str) -> bool:
        """Whether this word is the verb that is to come, or a second one that has to agree like the first."""
        lower = word.lower()
        if self.agrees and self.before in _JOINING and lower in _SECOND:
            self.verb_of = "one"
        elif word[0] in ".,;:!?":
            self.verb_of = ""
        return bool(self.verb_of) and word[0].isalpha() and lower not in _ADVERBS

    def _owner(self, word: str) -> str:
        return self._once(f"{self.name}'s", _OWN[word])

    def _subject(self, pronoun: str) -> str:
        many = pronoun.startswith("we")
        alone = not many and not self.named and self.before != "and"  # "Tom and I are"
        self.verb_of, self.agrees = "one" if alone else "many", False
        return self._once(f"{self.name} and others" if many else self.name, "they")

    def _once(self, name: str, later: str) -> str:
        if self.named:
            return later
        self.named = True
        return name

    def _verb(self, verb: str) -> str:
        one, self.verb_of = self.verb_of == "one", ""
        if not one:
            return {"am": "are", "was": "were"}.get(verb.lower(), verb)
        told = third_person(verb)
        self.agrees = told != verb and verb.lower() not in _IRREGULAR  # not after "has been" or "is"
        return told


def third_person(verb: str) -> str:
    """The verb as it goes with he or she; what is past already, or the same for everybody, stays.

    >>> [third_person(verb) for verb in ("prefer", "study", "have", "don't", "moved")]
    ['prefers', 'studies', 'has', 'does not', 'moved']
    """
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    if lower in _UNCHANGED or (lower.endswith("ed") and lower not in _NOT_PAST):
        return verb
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return verb + ("es" if lower.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
