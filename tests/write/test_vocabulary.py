"""Vocabularies and cues: what ships, what a deployment may bring, and what is said when it is
wrong.
"""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.vocabulary import vocabulary
from holdfast.types import Triple

GENERAL, COUCH = vocabulary("general"), vocabulary("couch")
LANGUAGES = {"de", "en", "es", "fr", "ja", "ru", "zh"}


def candidate(quote="said", category="general", predicate="", **fields):
    triple = (
        Triple("user", predicate, "it", object_type=fields.pop("object_type", ""))
        if predicate
        else None
    )
    return Candidate(quote, quote, category=category, triple=triple, **fields)


def test_the_couch_has_its_seven_categories_and_predicates():
    assert set(COUCH.categories) == {
        "loss",
        "preference",
        "coping_strategy",
        "relationship",
        "trigger",
        "goal",
        "context",
    }
    assert COUCH.predicates == {
        "KNOWS",
        "WORRIES_ABOUT",
        "EXPERIENCED",
        "USES",
        "WANTS",
        "PARTICIPATED_IN",
        "MENTIONED_IN",
    }
    assert {COUCH.timing("loss"), COUCH.timing("trigger")} == {"session_end"}


@pytest.mark.parametrize("words", [GENERAL, COUCH], ids=lambda words: words.name)
def test_every_language_has_every_cue(words):
    assert {cues.language for cues in words.cues} >= LANGUAGES
    for cues in words.cues:
        assert all(
            pattern.pattern != "(?!)" for pattern in (*cues.control.values(), *cues.words.values())
        )
        assert all(
            part in cues.arc[key] for key, part in (("about", "{themes}"), ("said", "{quotes}"))
        )


@pytest.mark.parametrize(
    ("found", "category", "predicate"),
    [
        (candidate(category="plan", predicate="PLANS"), "goal", "WANTS"),
        (candidate(category="relationship", predicate="HAS_SISTER"), "relationship", "KNOWS"),
        (candidate(category="identity", predicate="HAS_CONDITION"), "context", "EXPERIENCED"),
        (candidate(category="sports", predicate="LIKES"), "context", None),
        (candidate("my mother died in May", category="relationship"), "loss", None),
    ],
)
def test_what_the_extractor_calls_it_is_told_in_the_words_of_the_couch(found, category, predicate):
    fitted = COUCH.fitted(found)
    assert (fitted.category, fitted.triple and fitted.triple.predicate) == (category, predicate)


def test_the_general_vocabulary_leaves_words_as_they_are():
    found = candidate(category="sports", predicate="PLAYS", object_type="Game")
    assert GENERAL.fitted(found) == found


def test_a_type_that_the_vocabulary_does_not_have_is_left_out():
    assert COUCH.fitted(candidate(predicate="USES", object_type="Gadget")).triple.object_type == ""
    assert (
        COUCH.fitted(candidate(predicate="USES", object_type="Person")).triple.object_type
        == "Person"
    )


@pytest.fixture
def own(tmp_path):
    """Writes a vocabulary and says where."""

    def write(text, name="own.toml"):
        (tmp_path / name).write_text(text, "utf-8")
        return str(tmp_path / name)

    return write


def test_a_deployment_brings_its_own_vocabulary_and_cues(own, tmp_path):
    (tmp_path / "cues").mkdir()
    (tmp_path / "cues" / "pt.toml").write_text("[control]\nthis = 'não guardes isso'\n", "utf-8")
    words = vocabulary(
        own(
            'default_category = "note"\ncues = "cues"\n[categories]\nnote = '
            '"repetition"\nhealth '
            '= "propose"\n'
        )
    )
    assert (words.timing("health"), words.timing("anything")) == ("propose", "repetition")
    assert words.request("Não guardes isso").reach == "this"
    assert words.request("don't remember this") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[categories]\nnote = 'sometimes'\n", "must be one of at_once, session_end"),
        ("[categories]\nnote = 'at_once'\n", "default_category 'general', but no such category"),
        ("", "has no categories"),
        ("categories = 3\n", r"must be a table, written as \[categories\]"),
        ("[categories]\ngeneral = 'at_once'\n[predicate]\n", "no key 'predicate'"),
        (
            "superseded = 'vanishes'\n[categories]\ngeneral = 'at_once'\n",
            "must be fades or retires",
        ),
        ("[categories]\ngeneral = 'at_once'\n[recognised]\ngeneral = '('\n", "no valid pattern"),
        ("categories = {", "not valid TOML"),
        (
            "cues = 'nowhere'\n[categories]\ngeneral = 'at_once'\n",
            "Cannot read the folder of cue files",
        ),
    ],
)
def test_what_is_wrong_with_a_vocabulary_is_said(own, text, message):
    with pytest.raises(InvalidInput, match=message):
        vocabulary(own(text))


def test_a_vocabulary_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InvalidInput, match=r"no vocabulary 'sofa'.*couch, general"):
        vocabulary("sofa")
    with pytest.raises(InvalidInput, match="Cannot read"):
        vocabulary(str(tmp_path / "missing.toml"))


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("Don't remember this.", "this"),
        ("Please don’t save that, ok?", "this"),
        ("Thanks! Forget what I just said.", "this"),
        ("Don't save any of this conversation", "conversation"),
        ("please forget everything", "conversation"),
        ("Switch to incognito mode", "onwards"),
        ("stop remembering things", "onwards"),
        ("Merk dir das bitte nicht!", "this"),
        ("Vergiss alles", "conversation"),
        ("Wechsle in den Inkognito-Modus", "onwards"),
        ("No guardes esto, por favor", "this"),
        ("Olvida todo", "conversation"),
        ("Cambia a modo incógnito", "onwards"),
        ("Oublie ça", "this"),
        ("N'enregistre rien de cette conversation", "conversation"),
        ("Passe en mode incognito", "onwards"),
        ("Не запоминай это", "this"),
        ("забудь всё", "conversation"),
        ("перейди в режим инкогнито", "onwards"),
        ("不要记住这个", "this"),
        ("忘掉一切", "conversation"),
        ("切换到隐身模式", "onwards"),
        ("これは覚えないで", "this"),
        ("全部忘れて", "conversation"),
        ("シークレットモードにして", "onwards"),
    ],
)
def test_a_request_not_to_remember_is_understood(text, reach):
    assert GENERAL.request(text).reach == reach


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget this: I'm allergic to nuts",
        "I'll never forget this trip",
        "don't save this file yet",
        "I can't forget about him",
        "Vergiss nicht, dass ich Nüsse nicht vertrage",
        "No olvides que soy alérgico",
        "N'oublie pas que je suis allergique",
        "Не забудь, что у меня аллергия",
        "别忘了我对坚果过敏",
        "忘れないでね、ナッツアレルギーなんだ",
        "",
    ],
)
def test_what_only_sounds_like_one_is_none(text):
    assert GENERAL.request(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "hi there!",
        "Hello, how are you?",
        "thanks, bye",
        "Guten Morgen, wie geht's?",
        "¡Hola! ¿Qué tal?",
        "Bonjour, ça va ?",
        "привет, как дела?",
        "你好！",
        "こんにちは、お元気ですか",
        "   ",
    ],
)
def test_small_talk_is_small_talk(text):
    assert GENERAL.is_small_talk(text)
    assert not GENERAL.is_small_talk(
        f"{text} Mein Chef kündigt, my boss quits, 老板辞职了, шеф уходит, 上司が辞める"
    )


def test_a_long_row_of_greetings_takes_no_time():
    assert not GENERAL.is_small_talk("good morning " * 5_000 + "x")
