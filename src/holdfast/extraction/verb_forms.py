"""English verb forms for rewriting to the third person.

The words are the section `retelling` of `languages/en.toml`.
"""

from __future__ import annotations

from ..languages import language

_RETELLING = language("en").section("retelling")


def listed(key: str) -> frozenset[str]:
    """Words of the space-separated list under this key."""
    return frozenset(_RETELLING[key].split())


def paired(key: str) -> dict[str, str]:
    """Pairs of the list under this key: `don't=does_not`, with `_` for a space."""
    pairs = (pair.split("=") for pair in _RETELLING[key].split())
    return {before: after.replace("_", " ") for before, after in pairs}


def pattern(key: str) -> str:
    """The pattern under this key, not compiled."""
    return str(_RETELLING[key])


ADVERBS = listed("adverbs")
"""Words that may stand between a person and their verb."""

_VERBS_IN_LY = listed("verbs_in_ly")
_VERBS_IN_ING = listed("verbs_in_ing")

MODALS = listed("modals")
"""After these no verb changes, however many follow."""

# Past already. The second group looks the same in the present; see `third_person`.
_PAST = listed("past")
AUXILIARIES = frozenset(("was", "wasn't", "had", "hadn't"))
_SAME_IN_THE_PAST = listed("same_in_the_past")
_RATHER_PRESENT = listed("rather_present")
_PARTICIPLES = listed("participles")
_NOT_PAST = listed("not_past")
IRREGULAR = paired("irregular")

SECOND_AFTER_VERB = listed("second_after_verb")
"""Verbs that often come second: "gets up early and goes running". Most are nouns too, so only after
"and".
"""

SECOND_AFTER_AUXILIARY = listed("second_after_auxiliary")
"""Those that come second also after "is" or "has": "is planning a trip and needs help"."""

AFTER_INFINITIVE = listed("after_infinitive")
"""Nobody plans to need something: "is planning to cook and needs ideas"."""

NEVER_VERBS = listed("never_verbs")
"""Words that are no verb, so that one of them after "I" means that the sentence is not
understood.
"""

_UNCHANGED = MODALS | _PAST | {"and", "or"}


def is_adverb(word: str) -> bool:
    """Whether a word may stand between subject and verb: "I really like", "I gratefully accept"."""
    return word in ADVERBS or (word.endswith("ly") and len(word) > 4 and word not in _VERBS_IN_LY)


def is_participle(word: str) -> bool:
    """Whether a verb has the form that follows "had"."""
    ends = word.endswith("ed") and word not in _NOT_PAST
    return ends or word in _PARTICIPLES or (word in _PAST and word not in AUXILIARIES)


def third_person(verb: str, *, tense: str = "") -> str:
    """The third person singular of a verb; past and invariable forms stay.

    `tense` says that the sentence tells of the `past` or of a `habit`, for verbs that do not show
    it themselves.

    >>> [third_person(verb) for verb in ("prefer", "study", "have", "don't", "moved")]
    ['prefers', 'studies', 'has', 'does not', 'moved']
    """
    lower = verb.lower().replace("’", "'")
    if lower in IRREGULAR:
        return IRREGULAR[lower]
    if _stays(lower, tense):
        return verb
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return verb + ("es" if lower.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _stays(verb: str, tense: str) -> bool:
    """Whether a verb is in the past, invariable, or not a finite verb."""
    if verb in _SAME_IN_THE_PAST:
        return tense == "past" or (tense != "habit" and verb not in _RATHER_PRESENT)
    past = verb.endswith("ed") and verb not in _NOT_PAST
    doing = verb.endswith("ing") and len(verb) > 4 and verb not in _VERBS_IN_ING
    again = verb.removeprefix("re") in _PAST
    return past or doing or again or verb in _UNCHANGED or verb.endswith("'t")
