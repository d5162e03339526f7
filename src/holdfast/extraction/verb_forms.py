"""English verbs as far as retelling needs them: which change with the person, and how."""

from __future__ import annotations


def words(listed: str) -> frozenset[str]:
    """The words of a list that is written with spaces between them."""
    return frozenset(listed.split())


ADVERBS = words("""
    absolutely actually almost already also always barely both currently definitely even ever exclusively finally
    generally genuinely hardly honestly just kind kinda longer mainly mostly much never no normally not now of often
    only originally particularly personally primarily quite rarely really recently secretly seldom simply sometimes
    sort still strongly then too totally truly typically usually very soon maybe perhaps all first once sorta
    occasionally nearly
""")
"""Words that may stand between a person and their verb."""

_VERBS_IN_LY = words(
    "ally apply bully comply dally fly imply multiply rally rely reply sully supply tally"
)
_VERBS_IN_ING = words("bring cling fling ping ring sing sling spring sting string swing wing wring")

MODALS = words("""
    can can't cannot could couldn't will won't would wouldn't should shouldn't must mustn't may might shall ought
    did didn't
""")
"""After these no verb changes, however many follow."""

# Past already. The second group looks the same in the present; see `third_person`.
_PAST = words("""
    was wasn't had hadn't ate awoke became began bent bit blew bled bound bred broke brought built burnt bought came
    caught chose clung crept dealt did drank drew dreamt drove dug fed fell felt flew fled forgave forgot fought found
    froze gave gone got grew heard held hid hung kept knelt knew laid leant learnt led left lent lit lost made meant met
    mistook outgrew overcame overheard oversaw overslept overtook paid ran rang redid rode rose said sang sank sat saw
    sent shook shone shot shrank slept slid slung sold sought spat sped spelt spent spilt split spoilt spoke sprang
    spun stole stood stuck stung struck swam swept swore swung taught threw thought told took tore undertook understood
    went wept withdrew woke won wore wove wrote
""")
_SAME_IN_THE_PAST = words(
    "beat bet burst cast cost cut hit hurt let put quit read rid set shed shut spread upset wet"
)
_RATHER_PRESENT = words("bet cost let read")
_PARTICIPLES = words("""
    been begun bitten blown broken chosen come done drawn driven drunk eaten fallen flown forgotten frozen given gone
    grown hidden known ridden risen run seen shaken shown spoken stolen sung sworn taken thrown woken worn written
""")
_NOT_PAST = words(
    "bleed breed embed exceed feed heed need proceed seed shred sled speed succeed weed wed"
)
IRREGULAR = {
    "am": "is",
    "have": "has",
    "haven't": "has not",
    "do": "does",
    "don't": "does not",
    "dont": "does not",
    "were": "was",
    "are": "is",
    "aren't": "is not",
    "go": "goes",
    "need": "needs",
}

SECOND_AFTER_VERB = words("""
    avoid bring chill collect cook do don't drink drive eat enjoy feel get go hate have keep like listen live love make
    need play prefer read relax run sing sleep speak study swim take teach think travel try use walk want watch work
    write
""")
"""Verbs that often come second: "gets up early and goes running". Most are nouns too, so only after
"and".
"""

SECOND_AFTER_AUXILIARY = words(
    "don't enjoy feel hate have know like live love need prefer think want"
)
"""Those that come second also after "is" or "has": "is planning a trip and needs help"."""

AFTER_INFINITIVE = words("need")
"""Nobody plans to need something: "is planning to cook and needs ideas"."""

NEVER_VERBS = words("""
    a about above across after against along although among an and around as at because before behind below beneath
    beside between beyond by despite during each every except for from he her here him his how if in inside into it its
    my near off on onto or other our out outside over per she since so some such than that the their them there these
    they this those though through throughout till to toward towards under unless until up upon via we what when where
    whether which while who whose why with within without you your
""") - words("and or")
"""Words that are no verb, so that one of them after "I" means that the sentence is not
understood.
"""

_UNCHANGED = MODALS | _PAST | words("and or")


def is_adverb(word: str) -> bool:
    """Whether a word may stand between a person and their verb: "I really like", "I gratefully
    accept".
    """
    return word in ADVERBS or (word.endswith("ly") and len(word) > 4 and word not in _VERBS_IN_LY)


def is_participle(word: str) -> bool:
    """Whether a verb has the form that follows "had"."""
    ends = word.endswith("ed") and word not in _NOT_PAST
    return ends or word in _PARTICIPLES or word in (_PAST - words("was wasn't had hadn't"))


def third_person(verb: str, *, tense: str = "") -> str:
    """The verb as it goes with he or she; what is past already, or the same for everybody, stays.

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
    """Whether a verb is past already, the same for everybody, or no verb with a person at all."""
    if verb in _SAME_IN_THE_PAST:
        return tense == "past" or (tense != "habit" and verb not in _RATHER_PRESENT)
    past = verb.endswith("ed") and verb not in _NOT_PAST
    doing = verb.endswith("ing") and len(verb) > 4 and verb not in _VERBS_IN_ING
    return past or doing or verb in _UNCHANGED or verb.endswith("'t")
