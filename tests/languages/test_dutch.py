"""Dutch, a language that came with its file alone: what it knows, and that no code knows it."""

from pathlib import Path

import pytest

import holdfast
from holdfast.extraction.coding.finder import find_notes
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.vocabulary import vocabulary
from holdfast.models.entities.entity_patterns import PatternRecogniser
from holdfast.models.entities.names import NameRecogniser
from holdfast.retrieval.query import analyse
from holdfast.text.memory_requests import read_request
from holdfast.text.negation import differ, particulars
from holdfast.text.spoken_commands import answer, command
from holdfast.text.time_expressions import spans
from holdfast.text.tokens import query_terms
from holdfast.types import Memory, Scope

NOW = 1_700_000_000_000_000  # 14 November 2023
DAY = 86_400_000_000


def turn(text: str) -> Memory:
    return Memory(
        id="turn_1",
        scope=Scope("user", "anouk"),
        kind="turn",
        content=text,
        created_at=NOW,
        updated_at=NOW,
        event_time=NOW,
        role="user",
    )


@pytest.mark.parametrize(
    ("said", "category", "predicate"),
    [
        ("Ik woon in Utrecht.", "identity", "LIVES_IN"),
        ("Ik werk als verpleegkundige in het AMC.", "identity", "WORKS_AT"),
        ("Ik heet Joris.", "identity", "NAMED"),
        ("Ik hou niet van koriander.", "preference", "DISLIKES"),
        ("Ik ben allergisch voor noten.", "preference", "ALLERGIC_TO"),
        ("Mijn lievelingskleur is blauw.", "preference", "FAVOURITE"),
        ("Ik drink 's ochtends het liefst thee.", "preference", "PREFERS"),
        ("Mijn zus Sanne werkt bij Philips.", "relationship", "HAS_SISTER"),
        ("Bram is mijn broer.", "relationship", "HAS_BROTHER"),
        ("Ik rook niet meer.", "correction", "NO_LONGER"),
        ("Volgende maand verhuizen we naar Gent.", "plan", "PLANS"),
        ("We hebben besloten om Postgres te gebruiken.", "decision", "DECIDED"),
        ("We gebruiken Postgres voor de database.", "project", "USES"),
        ("Noem me Jo.", "instruction", "CALLED"),
    ],
)
def test_facts_are_found(said, category, predicate):
    (found,) = RuleExtractor().extract([turn(said)])
    assert (found.category, found.triple.predicate) == (category, predicate)
    assert found.quote in said


@pytest.mark.parametrize(
    "said",
    [
        "Misschien verhuis ik naar Gent.",
        "Wat vind je van tulpen?",
        "Stel dat ik in Parijs woon.",
        "Volgens mijn zus woon ik in Gent.",
        "Vertaal dit: ik woon in Gent.",
    ],
)
def test_what_is_only_supposed_asked_or_reported_is_no_fact(said):
    assert RuleExtractor().extract([turn(said)]) == []


@pytest.mark.parametrize(
    ("said", "category", "text"),
    [
        ("Gebruik pnpm in plaats van npm.", "principles", "Gebruik pnpm in plaats van npm."),
        ("Commit nooit direct naar main.", "principles", "Commit nooit direct naar main."),
        (
            "De oorzaak was een verlopen certificaat. Opgelost door het te vernieuwen.",
            "incidents",
            "Oorzaak: Een verlopen certificaat. Oplossing: Het te vernieuwen.",
        ),
    ],
)
def test_notes_are_found(said, category, text):
    assert [(note.category, note.text) for note in find_notes([turn(said)])] == [(category, text)]


@pytest.mark.parametrize(
    ("said", "kind", "topic"),
    [
        ("Onthoud dit gesprek niet.", "forget_session", ""),
        ("Vergeet wat ik net zei.", "forget_last", ""),
        ("Vergeet alles over mijn ex.", "forget_topic", "mijn ex"),
        ("Sla vanaf nu niets meer op.", "pause", ""),
        ("Je mag weer dingen onthouden.", "resume", ""),
        ("Wat weet je over mij?", "list", ""),
        ("Onthoud dat ik in Leiden woon.", "remember", "ik in Leiden woon"),
    ],
)
def test_requests_are_read(said, kind, topic):
    found = read_request(said)
    assert (found.kind, found.topic) == (kind, topic)


@pytest.mark.parametrize(
    "said",
    [
        "Ik ben mijn sleutels vergeten.",
        "Vergeet het maar.",
        "Schrijf een gedicht over vergeten.",
        "Vergeet niet om melk te kopen.",
    ],
)
def test_what_only_mentions_memory_is_no_request(said):
    assert read_request(said) is None


def test_commands_and_answers_are_understood():
    assert command("Vergeet alles over de oude flat.").about == "de oude flat"
    assert command("vergeet nummer 3").number == 3
    assert command("Wis je geheugen").name == "wipe"
    assert command("Vergeet het maar") is None
    assert [answer(text) for text in ("ja graag", "nee", "allebei")] == ["yes", "no", "all"]


def test_the_write_policy_knows_its_cues():
    words = vocabulary("general")
    assert words.request("Onthoud dit niet.").reach == "this"
    assert words.is_small_talk("Goedemorgen, hoe gaat het?")
    assert words.says("durable", "Antwoord vanaf nu altijd kort")
    assert words.says("turn_scoped", "alleen deze keer")
    assert words.believes_ill_of_itself("Ik ben waardeloos")


@pytest.mark.parametrize(
    ("asked", "text", "days"),
    [
        ("Wat deed ik drie weken geleden?", "drie weken geleden", 8),
        ("Waar was ik op 7 mei 2023?", "7 mei 2023", 1),
        ("Wat aten we vorige week?", "vorige week", 7),
        ("Waar waren we in de zomer?", "zomer", 92),
        ("Wat zei ik eergisteren?", "eergisteren", 1),
        ("Wat gebeurde er tussen maart en juni?", "maart en juni", 122),
        ("de laatste twee weken van augustus", "laatste twee weken van augustus", 14),
        ("Wie belde afgelopen vrijdag?", "afgelopen vrijdag", 1),
    ],
)
def test_times_are_found(asked, text, days):
    (span,) = spans(asked, NOW)
    assert (span.text, (span.end - span.start) // DAY) == (text, days)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ik eet vlees", "Ik eet geen vlees"),
        ("De knop is links", "De knop is rechts"),
        ("Elke maandag", "Elke dinsdag"),
        ("Zij heeft twee katten", "Zij heeft drie katten"),
    ],
)
def test_words_that_turn_a_statement_are_known(one, other):
    assert differ(particulars(one), particulars(other))


def test_number_words_and_figures_are_one():
    assert not differ(particulars("Zij heeft 2 katten"), particulars("Zij heeft twee katten"))


def test_stop_words_leave_questions_and_stems_are_shared():
    assert query_terms("Waar zijn de honden van mijn moeder?") == ["honden", "hond", "moeder"]
    assert analyse("Wat heb je me aangeraden?", NOW).roles == {"assistant"}


def test_names_and_dates_are_recognised():
    found = NameRecogniser().recognise("Mijn zus Sanne woont in Eindhoven en werkt bij Philips.")
    assert [(one.name, one.type) for one in found] == [
        ("Sanne", "person"),
        ("Eindhoven", "location"),
        ("Philips", "organization"),
    ]
    assert [one.name for one in PatternRecogniser().recognise("op 3 mrt 2024")] == ["2024-03-03"]


def test_no_code_names_it():
    source = Path(holdfast.__file__).parent
    for file in source.rglob("*.py"):
        text = file.read_text("utf-8")
        assert '"nl"' not in text, file
        assert "niet" not in text.split(), file
