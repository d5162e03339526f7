"""The judge of what is worth keeping, and statements that stand alone, with the real encoder."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from holdfast.errors import EmbedderError
from holdfast.extraction import standalone_judge
from holdfast.extraction.antecedents import resolved
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.clauses import clauses_of
from holdfast.extraction.dates import dated
from holdfast.extraction.judge import HASHED, IDENTITY, PLACES, PLAIN, judge_of, place_of
from holdfast.extraction.patterns import language
from holdfast.extraction.reconcile import statement_text
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.standalone import answers, lies_ahead, question_before, with_question
from holdfast.extraction.standalone import told as told_alone
from holdfast.extraction.third_person import retell
from holdfast.models import cross_encoder
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.embeddings.tiers import Tiers
from holdfast.models.fake import FakeEmbedder
from holdfast.types import Memory, Scope

NOVEMBER_20 = 1_700_481_600_000_000  # of 2023, a Monday


def turn(text, *, author="", role="user", number=1):
    return Memory(
        id=f"ep_{number}",
        scope=Scope("user", "ann"),
        kind="turn",
        content=text,
        created_at=NOVEMBER_20,
        updated_at=NOVEMBER_20,
        event_time=NOVEMBER_20,
        author=author,
        role=role,
    )


def judging():
    return RuleExtractor(judge=judge_of(Tiers.of(OnnxEmbedder())))


def kept(text, **about):
    return [one.content for one in judging().extract([turn(text, **about)])]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # Simple events of the past, with their date.
        (
            "I adopted a cat named Luna last month.",
            "The user adopted a cat named Luna last month (2023-10)",
        ),
        ("I went to the dentist on Friday.", "The user went to the dentist on Friday (2023-11-17)"),
        # What has a name is somebody's.
        (
            "We rescued a beagle named Pépite.",
            "The user and others rescued a beagle named Pépite",
        ),
        # Counts, and what a statement inside a question says.
        (
            "I've read 12 books so far this year.",
            "The user has read 12 books so far this year (2023)",
        ),
        ("Can you suggest a case for my iPhone 13 Pro?", "The user has an iPhone 13 Pro"),
        # A name that changed.
        (
            "I just legally changed my last name to Okafor.",
            "The user just legally changed their last name to Okafor",
        ),
        # The statement before a question, whole.
        (
            "I'm building a treehouse for my two daughters, do you have any tips?",
            "The user is building a treehouse for their two daughters",
        ),
    ],
)
def test_statements_that_patterns_miss_are_kept(said, told):
    assert kept(said) == [told]


@pytest.mark.parametrize(
    "said",
    [
        "Thanks, that helps a lot!",
        "Could you write a poem about the sea?",
        "If I had a car I would drive to work.",
        "It was great.",
        "He told me about that yesterday.",
        "That sounds like a good plan.",
        "As for the US",
        "I see, a fan of South Korea.",
        "Please hit me with a good strategy for climbing.",
    ],
)
def test_small_talk_requests_and_what_points_elsewhere_are_not(said):
    assert kept(said) == []


def test_a_statement_that_needs_the_one_before_is_kept_with_it():
    said = "I adopted a rescue dog from the shelter in May. She's a three-legged greyhound."
    (told,) = kept(said)
    assert told.startswith("The user adopted a rescue dog from the shelter in May (2023-05)")
    found = judging().extract([turn(said)])
    assert all(one.quote in said for one in found)


def test_a_figure_is_told_with_what_it_is_of():
    said = (
        "I've been trying to perfect my Negroni recipe with Hendrick's gin. I've tried making it "
        "at home for 5 times now since Emma taught me how to make it."
    )
    (told,) = judging().extract([turn(said)])
    assert "perfect their Negroni" in told.content and "5 times now" in told.content
    assert told.quote in said
    alone = "I've tried making it at home for 5 times now since Emma taught me how to make it."
    assert kept(alone) == []


def second_of(first, second, *, authors=("", "")):
    """What is kept of the second of two turns."""
    talk = [
        turn(first, author=authors[0], number=1),
        turn(second, author=authors[1], number=2),
    ]
    return [one for one in judging().extract(talk) if one.source == "ep_2"]


def test_whom_and_where_it_means_is_named_in_the_turn_before():
    (one,) = second_of("My sister Ines moved to Porto.", "She works as a nurse there.")
    assert one.content == "Ines works as a nurse in Porto"
    assert one.quote == "She works as a nurse there"


@pytest.mark.parametrize(
    "before",
    [
        "Nothing much happened.",
        "My brother Tom moved to Porto.",
        "My sister Ines and my cousin Clara moved to Porto.",
        "My mother and my sister Ines moved to Porto.",
        "My sister Ines moved from Lisbon to Porto.",
        "My sister is moving soon.",
    ],
)
def test_a_statement_whose_pronoun_may_mean_several_or_nobody_is_not_kept(before):
    assert second_of(before, "She works as a nurse there.") == []


@pytest.mark.parametrize(
    ("question", "answer", "told"),
    [
        (
            "That's lovely! How many cats do you have?",
            "I have four.",
            'Ann has four (asked: "How many cats do you have?")',
        ),
        (
            "How long have you been playing the cello?",
            "About six years now, since I was ten.",
            "About six years now, since Ann was ten "
            '(asked: "How long have you been playing the cello?")',
        ),
        # What says enough by itself is told without the question.
        (
            "What do you do for a living?",
            "I work as a nurse at a children's hospital.",
            "Ann works as a nurse at a children's hospital",
        ),
    ],
)
def test_an_answer_is_told_with_its_question_if_it_needs_one(question, answer, told):
    (one,) = second_of(question, answer, authors=("Bo", "Ann"))
    assert one.content == told
    assert one.quote in answer


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Nice! How many cats do you have?", "How many cats do you have"),
        ("So, how many cats do you have?", "how many cats do you have"),
        # It means something said earlier, or asks for nothing in particular.
        ("How long have you had it?", ""),
        ("What's new?", ""),
        ("Any other news?", ""),
        ("Do you want me to look for a shelter nearby?", ""),
        # Not the last sentence, too short, quoted or not a question.
        ("How many cats do you have? I have two.", ""),
        ("Why so?", ""),
        ('Did you read "Emma" this year?', ""),
        ("I have two cats.", ""),
        ("", ""),
    ],
)
def test_the_question_that_an_answer_may_need(said, asked):
    assert question_before(language("en"), said) == asked


@pytest.mark.parametrize(
    ("question", "answer", "is_answer"),
    [
        ("How many cats do you have", "Four, and a dog.", True),
        ("What's your favourite composer", "I like Chopin.", True),
        ("Tried any new places", "Yeah, the one in Leeds.", True),
        ("Tried any new places", "Not really, I still go to Sai's.", True),
        # Whoever is asked so often speaks of something else.
        ("Tried any new places", "I have a test tomorrow.", False),
        ("Read any good books lately", "No but we tried a really good udon place.", False),
        ("How is your thesis going", "I am on the third movie.", False),
    ],
)
def test_what_follows_a_question_may_not_answer_it(question, answer, is_answer):
    assert answers(language("en"), question, answer) is is_answer


def test_answers_in_other_languages_are_told_without_their_question():
    assert question_before(language("de"), "Wie viele Katzen hast du?") == ""


def test_an_answer_is_compared_with_what_is_known_without_its_question():
    asked = Candidate(with_question("Ann has four", "how many cats do you have"), "I have four")
    assert asked.content == 'Ann has four (asked: "How many cats do you have?")'
    assert statement_text(asked) == statement_text(replace(asked, content="Ann has four"))


@pytest.mark.parametrize(
    ("before", "said", "told"),
    [
        ("I met Rachel in Leeds", "I saw her there on Sunday", "I saw Rachel in Leeds on Sunday"),
        ("I met Rachel", "She's a doctor", "Rachel is a doctor"),
        ("I met Rachel", "She's been a doctor for years", "Rachel has been a doctor for years"),
        ("In March my aunt Clara moved", "Her job is hard", "Clara's job is hard"),
        ("My sister Ines and my brother Tom came", "He plays chess", "Tom plays chess"),
        ("My sister Ines and my brother Tom came", "He likes her garden", None),
        ("My sister Ines came", "My aunt said she was late", None),
        ("My sister Ines came", "She'd like that", None),
        ("Rachel came with my sister Ines", "She plays chess", None),
        ("My sister Ines came", "I bought a car", None),
        ("We stayed in Porto", "There is a lot to see", None),
        ("We drove from Porto to Braga", "I liked it there", None),
        # No place is meant.
        ("We stayed in Porto", "The rents are up there", None),
        ("We stayed in Porto", "There's a lot of fish out there", None),
    ],
)
def test_one_person_or_place_that_fits(before, said, told):
    assert resolved(language("en"), said, before) == told


def test_nobody_speaks_of_themselves_as_she():
    before = "I missed you, Clara"
    said = "She is a teacher"
    assert resolved(language("en"), said, before, "Clara") is None
    assert resolved(language("en"), said, before, "Tom") == "Clara is a teacher"


def retold(said):
    """What a clause says alone."""
    found = told_alone(language("en"), said, "", "Ann", NOVEMBER_20)
    return found and found[0]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Tom moved to Madrid", "Tom moved to Madrid"),
        ("Karen left the company in May", "Karen left the company in May (2023-05)"),
        # No name, or a word that only begins the sentence.
        ("Dinner was great", None),
        ("Karen told me about it", None),
        ("Recommend me some good shows", None),
        ("Stop asking me about my thesis", None),
        ("Actually one of my hobbies", None),
        ("Since I belong to a choir", None),
        ("Since I moved I sleep better", "Since Ann moved they sleep better"),
        ("There, I can enjoy the sun", None),
        ("Nah, I still play the cello", "Ann still plays the cello"),
        ("I havent moved yet", "Ann has not moved yet"),
    ],
)
def test_a_clause_is_told_alone_or_not_at_all(said, told):
    assert retold(said) == told


def test_somebody_else_who_is_named_is_kept():
    talk = [
        turn("What is new with you?", author="Maria"),
        turn("Tom got married to Julia in June.", author="John", number=2),
    ]
    found = [one.content for one in judging().extract(talk)]
    assert found == ["Tom got married to Julia in June (2023-06)"]


def test_the_day_somebody_was_born_is_not_of_this_year():
    assert retold("I was born in March") == "Ann was born in March"


def test_a_left_out_subject_is_judged_as_said():
    assert kept("Started hitting the gym last week to stay on track.", author="Jon")


def test_a_turn_without_a_clause_is_read():
    assert kept("…, —") == [] == kept("and")


@pytest.mark.parametrize(
    ("code", "alone", "not_alone"),
    [
        ("en", "My neighbour Piet repairs bicycles in Utrecht", "I took both of them back to him"),
        ("de", "Meine Nachbarin Petra repariert Fahrräder", "Den habe ich ihm dort gegeben"),
        ("es", "Mi vecino Pedro repara bicicletas en Burgos", "Se la di a él allí"),
        ("fr", "Mon voisin Pierre répare des vélos à Tours", "Il la lui a rendue là-bas"),
        ("ru", "Мой сосед Пётр чинит велосипеды в Туле", "Он ей там это отдал"),
        ("zh", "我的邻居老王在苏州修自行车", "他把那个给她了"),
        ("ja", "隣の鈴木さんは京都で自転車を修理しています", "それを彼にあげました"),
    ],
)
def test_what_can_be_understood_alone_scores_above_what_cannot(code, alone, not_alone):
    vectors = OnnxEmbedder().embed_documents([alone, not_alone])
    can, cannot = standalone_judge.scores(language(code), [alone, not_alone], vectors)
    assert can >= standalone_judge.enough(place_of(code, among_people=False)) > cannot


def test_a_statement_that_cannot_be_understood_is_not_kept(monkeypatch):
    said = "Meine Schwester Ines wohnt seit März in Porto."
    assert kept(said) == [said.rstrip(".")]
    monkeypatch.setattr(standalone_judge, "enough", lambda code: 1.1)
    assert (
        judging()
        ._kept(judge_of(Tiers.of(OnnxEmbedder())), [language("de")], said, turn(said), False, "")
        .candidates
        == []
    )


def test_patterns_do_where_the_model_that_reads_statements_fails(monkeypatch):
    def damaged(pack, *rest):
        raise EmbedderError(f"{pack} is damaged")

    monkeypatch.setattr(cross_encoder, "load", damaged)
    tiers = Tiers.of(OnnxEmbedder())
    extractor = RuleExtractor(judge=judge_of(tiers))
    said = "I have lived in Graz since 2019. We watched a film on Friday."
    assert [one.content for one in extractor.extract([turn(said)])] == [
        one.content for one in RuleExtractor().extract([turn(said)])
    ]
    assert tiers.errors == {"local:memory-judge-s": "memory-judge-s-int8 is damaged"}
    assert tiers.usable(IDENTITY) is not None, "recall needs the encoder"


def test_a_language_without_examples_is_not_judged():
    said = ["Ik heb het hem gegeven"]
    vectors = OnnxEmbedder().embed_documents(said)
    assert standalone_judge.scores(language("nl"), said, vectors) is None


def test_the_weights_fit_the_encoder():
    shipped = json.loads(Path(standalone_judge.__file__).with_suffix(".json").read_text("utf-8"))
    assert shipped["provenance"]["encoder"] == IDENTITY
    size = OnnxEmbedder.dimensions + standalone_judge.HASHED + standalone_judge.PLAIN
    assert len(shipped["weights"]) == size


def test_people_are_named():
    talk = [
        turn("How was your week?", author="Mel", number=1),
        turn("Lost my job as a banker yesterday.", author="Jon", number=2),
    ]
    (one,) = judging().extract(talk)
    assert one.content == "Jon lost their job as a banker yesterday (2023-11-19)"
    assert one.author == "Jon"


@pytest.mark.parametrize(
    "said",
    [
        "Ich habe eine Nussallergie",
        "Früher habe ich in Köln gewohnt, inzwischen wohne ich in Hamburg",
        "我以前住在上海，现在住在成都",
        "妹妹在杭州做程序员",
        "妹妹在医院当护士",
        "姐姐是会计",
    ],
)
def test_statements_of_other_languages_that_were_missed(said):
    assert kept(f"{said}。" if "，" in said or "在" in said else f"{said}.") == [said]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("В прошлом месяце я переехал в Казань", "прошлом месяце (2023-10) я переехал"),
        ("В прошлую пятницу мы с братом ездили в Тверь", "пятницу (2023-11-17) мы"),
        ("В следующем месяце я начинаю работать в Яндексе", "месяце (2023-12) я начинаю"),
    ],
)
def test_times_in_russian_have_their_date(said, told):
    (one,) = kept(f"{said}.")
    assert told in one


def test_a_move_in_spanish_has_its_date():
    assert kept("El mes pasado me mudé a Valencia.") == [
        "El mes pasado (2023-10) me mudé a Valencia"
    ]


def test_an_assistant_is_not_believed():
    assert kept("I adopted a cat named Luna last month.", role="assistant") == []


def test_spoken_verbs_agree():
    assert retell("I gotta call my mother", "Ann") == "Ann has to call their mother"
    assert retell("I wanna open a dance studio", "Ann") == "Ann wants to open a dance studio"


def test_the_judge_needs_the_encoder_it_was_made_with():
    assert judge_of(Tiers.of(FakeEmbedder())) is None
    assert judge_of(Tiers(["none"], environ={})) is None
    assert judge_of(Tiers(["encoder"], environ={})) is not None
    shipped = json.loads(
        (Path(sys.modules["holdfast.extraction.judge"].__file__).parent / "judge.json").read_text()
    )
    assert shipped["provenance"]["encoder"] == IDENTITY == OnnxEmbedder().identity
    sizes = {len(row) for row in shipped["weights"].values()}
    vector = OnnxEmbedder.dimensions
    assert sizes == {vector + HASHED + PLAIN + len(PLACES) * (1 + vector)}


class Broken(OnnxEmbedder):
    """An encoder whose file cannot be read."""

    def embed_documents(self, texts):
        raise EmbedderError("damaged")


def test_patterns_do_where_the_encoder_fails():
    tiers = Tiers.of(Broken())
    extractor = RuleExtractor(judge=judge_of(tiers))
    said = [turn("I'm allergic to shellfish."), turn("I bought a red Volvo.", number=2)]
    assert [one.content for one in extractor.extract(said)] == ["The user is allergic to shellfish"]
    assert IDENTITY in tiers.errors


def test_a_clause_ends_where_its_speaker_begins_anew_or_asks():
    said = (
        "I'm planning a trip to Hawaii and I need the right adapters, can you help? "
        "I started it in May, and it took me a year."
    )
    found = clauses_of(language("en"), said)
    assert [(one.text, one.asks) for one in found] == [
        ("I'm planning a trip to Hawaii", False),
        ("I need the right adapters", False),
        ("can you help", True),
        ("I started it in May, and it took me a year", False),
    ]


def test_a_question_that_speaks_of_a_statement_leaves_it_one():
    said = "I've been using my Fitbit for 6 months now - speaking of which, do you have any tips?"
    assert [(one.text, one.asks) for one in clauses_of(language("en"), said)] == [
        ("I've been using my Fitbit for 6 months now", False),
        ("do you have any tips", True),
    ]


@pytest.mark.parametrize(
    ("said", "clauses"),
    [
        # The last part has not come to its point.
        ("I use my phone but when I travel, I take a camera", None),
        ("I think if Tom was here, I could sleep", None),
        ("I don't like spiders although I have two", ["I don't like spiders", "I have two"]),
        ("Because I feel tired", ["I feel tired"]),
        ("So far my favourite trip was to Italy", None),
    ],
)
def test_a_clause_is_whole(said, clauses):
    assert [one.text for one in clauses_of(language("en"), said)] == (clauses or [said])


@pytest.mark.parametrize(
    ("text", "ahead", "told"),
    [
        ("on Friday", True, "on Friday (2023-11-24)"),
        ("on Friday", False, "on Friday (2023-11-17)"),
        ("on Friday", None, "on Friday"),
        # What is past stays so, whatever the rest is about, in any language.
        ("last month", True, "last month (2023-10)"),
        ("Gestern war ich da", True, "Gestern (2023-11-19) war ich da"),
        ("el mes pasado", None, "el mes pasado (2023-10)"),
        ("every Friday", True, "every Friday"),
        ("tonight's dinner", True, "tonight's dinner"),
        ("her birthday is in May", True, "her birthday is in May"),
    ],
)
def test_times_get_their_date_where_it_is_clear(text, ahead, told):
    assert dated(text, NOVEMBER_20, ahead=ahead) == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # NOVEMBER_20 is a Monday.
        (
            "I plan to bring the power bank that I bought on March 3rd",
            "I plan to bring the power bank that I bought on March 3rd (2023-03-03)",
        ),
        (
            "I met the curator on March 3rd, and she mentioned upcoming shows",
            "I met the curator on March 3rd (2023-03-03), and she mentioned upcoming shows",
        ),
        (
            "I need to see a dentist on March 3rd",
            "I need to see a dentist on March 3rd (2024-03-03)",
        ),
        ("I'll see Ann on Monday", "I'll see Ann on Monday (2023-11-27)"),
        ("I saw Ann on Monday", "I saw Ann on Monday (2023-11-13)"),
    ],
)
def test_a_time_belongs_to_the_verb_before_it(said, told):
    ahead = partial(lies_ahead, language("en"), said)
    assert dated(said, NOVEMBER_20, ahead=ahead) == told


@pytest.mark.parametrize(
    ("said", "clauses"),
    [
        ("My mom and I made dinner together.", ["My mom and I made dinner together"]),
        (
            "When I was young, my family and I went to Oregon.",
            ["When I was young, my family and I went to Oregon"],
        ),
        ("Jo and I started a band.", ["Jo and I started a band"]),
        ("I sold the car and I bought a bike.", ["I sold the car", "I bought a bike"]),
    ],
)
def test_whoever_acts_together_with_the_speaker_stays_in_the_clause(said, clauses):
    assert [one.text for one in clauses_of(language("en"), said)] == clauses


def test_facts_of_a_session_are_judged_and_dated(open_memory, clock):
    clock.now = NOVEMBER_20
    hf = open_memory("user:ann", embedders=(OnnxEmbedder(),))
    hf.capture("s1", "user", "I adopted a cat named Luna last month.")
    hf.capture("s1", "assistant", "How lovely! Thanks for telling me.")
    hf.sessions.end("s1")
    hf.sessions.learn("s1")
    assert [one.content for one in hf.list(kinds=["fact"])] == [
        "The user adopted a cat named Luna last month (2023-10)"
    ]


@pytest.mark.parametrize(
    ("text", "ahead", "told"),
    [
        ("上个月我搬到了杭州", None, "上个月(2023-10)我搬到了杭州"),
        (
            "先週、京都に引っ越しました",
            None,
            "先週(2023-11-13 to 2023-11-19)、京都に引っ越しました",
        ),
        ("下个月我要去东京", None, "下个月(2023-12)我要去东京"),
        # Which Friday nobody knows, unless it is a plan.
        ("周五去看牙医", None, "周五去看牙医"),
        ("周五去看牙医", True, "周五(2023-11-24)去看牙医"),
        ("金曜日に歯医者に行く予定です", True, "金曜日(2023-11-24)に歯医者に行く予定です"),
        ("三月五号搬家", True, "三月五号(2024-03-05)搬家"),
    ],
)
def test_times_get_their_date_in_chinese_and_japanese(text, ahead, told):
    assert dated(text, NOVEMBER_20, ahead=ahead) == told


@pytest.mark.parametrize(
    "said",
    [
        # A pattern fits, but nobody knows what is meant.
        "I'm hoping to finish it by the end of the month.",
        "I'm planning to order online and pick it up.",
        "I've been using a spreadsheet to do so.",
        "Wir nehmen ihn.",
        "Ich fange morgen an.",
    ],
)
def test_what_only_a_pattern_finds_has_to_be_understood_alone(said):
    assert kept(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "Ich habe Diabetes.",
        "Tengo asma.",
        "J'ai de l'asthme.",
        "У моего сына астма.",
        "У мамы аллергия на орехи.",
        "我有哮喘。",
        "老公现在在腾讯上班。",
        "息子は喘息です。",
        "ソフィアと付き合っています。",
    ],
)
def test_illness_work_and_partners_are_kept_as_short_as_they_are_told(said):
    assert kept(said) == [said.rstrip(".。")]


@pytest.mark.parametrize(
    "said",
    [
        # Of people in general, to look at, and without what is meant.
        "Our kids are our future.",
        "Having a support system is key to staying motivated and reaching our goals.",
        "Check my ideal dance studio by the water!",
        "Here's a pic of my trophies from the dance contest.",
        "Last weekend I did something new that had an impact on me.",
        "I love how it's both a creative outlet and a form of therapy.",
    ],
)
def test_what_is_no_statement_about_the_speaker_is_not_kept(said):
    assert kept(said, author="Maria") == []


def test_a_clause_is_not_told_with_one_that_is_not_about_the_speaker():
    said = "Having symbols of travel in our homes is so cool! I feel drawn to it in this way."
    assert kept(said, author="John") == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "I went to the museum in Leeds last Friday - they had so many of those!",
            "The user went to the museum in Leeds last Friday (2023-11-17)",
        ),
    ],
)
def test_a_remark_does_not_keep_a_statement_from_being_kept(said, told):
    assert kept(said) == [told]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # A mood is of the moment, unless it is said what it is about.
        ("I'm super excited to be involved and to help out.", []),
        ("I felt like I was in a fairy tale there.", []),
        (
            "I'm so excited about our trip to Lisbon next month!",
            ["Ann is so excited about their trip to Lisbon next month (2023-12)"],
        ),
    ],
)
def test_a_mood_between_people_is_not_kept(said, told):
    talk = [
        turn("How are you?", author="Tom", number=1),
        turn(said, author="Ann", number=2),
    ]
    assert [one.content for one in judging().extract(talk)] == told


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "I live in Vienna.",
            "How do I register my car now that I live in Villach?",
            "The user lives in Villach",
        ),
        (
            "Ich wohne in Wien.",
            "Wie melde ich mein Auto um, jetzt wo ich in Villach wohne?",
            "Ich wohne in Villach",
        ),
        ("我住在北京。", "我现在住在成都，车怎么上牌？", "我现在住在成都"),
    ],
)
def test_a_change_told_in_passing_replaces_what_was_known(open_memory, before, after, told):
    hf = open_memory("user:ann", embedders=(OnnxEmbedder(),))
    for session, said in (("s1", before), ("s2", after)):
        hf.clock.forward(days=30)
        hf.capture(session, "user", said)
        hf.sessions.end(session)
        hf.sessions.learn(session)
    assert [one.content for one in hf.list(kinds=["fact"])] == [told]
