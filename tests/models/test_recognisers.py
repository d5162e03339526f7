"""Recognisers of entities: what they find in many languages, what they leave alone, and how they
work together.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.entities import EntityMatch, resolve
from holdfast.models.entities.base import NOWHERE
from holdfast.models.entities.entity_patterns import PatternRecogniser
from holdfast.models.entities.gazetteer import listed
from holdfast.models.entities.llm import LLMRecogniser
from holdfast.models.entities.names import NameRecogniser
from holdfast.models.entities.select import Recognition, standard
from holdfast.models.entities.spacy import SpacyRecogniser

patterns, names = PatternRecogniser(), NameRecogniser()


def seen(text, recogniser=patterns):
    """What a recogniser finds, as `type name`; every place is that of the raw words."""
    found = recogniser.recognise(text)
    assert all(text[one.start : one.end] == one.raw for one in found)
    return [f"{one.type} {one.name}" for one in found]


class TestPatterns:
    def test_an_email_a_url_and_a_hashtag_are_three_entities(self):
        text = "write to ann@example.com about https://example.com/x in #apollo"
        assert seen(text) == [
            "email ann@example.com",
            "url https://example.com/x",
            "project apollo",
        ]

    def test_a_mention_keeps_its_sign_in_the_raw_form_only(self):
        (bob, apollo) = patterns.recognise("@bob shipped #apollo")
        assert (bob.name, bob.type, bob.raw, bob.start, bob.end) == ("bob", "person", "@bob", 0, 4)
        assert (apollo.name, apollo.type, apollo.raw) == ("apollo", "project", "#apollo")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("(@bob), @j.doe's and @bob-smith.", ["bob", "j.doe", "bob-smith"]),
            ("@josé @жан @jose\u0301 ＠ann", ["josé", "жан", "jose\u0301", "ann"]),
            ("@bobさん、@田中 です", ["bob", "田中"]),
            ("ask @alice/@bob", ["alice", "bob"]),
            ("a@b.co, me@3pm, @types/node, @everyone, @5, foo@bar", []),
            ("`@property` and\n```python\n@fixture\n``` but @real", ["real"]),
        ],
    )
    def test_mentions(self, text, expected):
        assert [one.name for one in patterns.recognise(text) if one.type == "person"] == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("#apollo, #проект #プロジェクト ＃企画 #AI開発 #project-x #2026plan", None),
            ("#cafe #release_2", ["cafe", "release_2"]),
            ("#123 #12-3 #fff #FFF #c0ffee #a1b2 #11223344", []),
            ("# Title\n## Heading\n###x\nC# page#part &#39; /#top #include #", []),
            ("`#hidden` ```#define x```", []),
        ],
    )
    def test_hashtags(self, text, expected):
        found = [one.name for one in patterns.recognise(text) if one.type == "project"]
        everything = ["apollo", "проект", "プロジェクト", "企画", "AI開発", "project-x", "2026plan"]
        assert found == (everything if expected is None else expected)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Mail A.Smith+x@Example.COM.", ["a.smith+x@example.com"]),
            (
                "<ann@example.co.uk>, 'bob@x.io'; mailto:eve@x.org!",
                ["ann@example.co.uk", "bob@x.io", "eve@x.org"],
            ),
            ("メールはbob@example.comです", ["bob@example.com"]),
            ("почта@пример.рф", ["почта@пример.рф"]),
            ("user@localhost, a@b, a@1.2, @a.b, a@-x.com, 3@4.5", []),
        ],
    )
    def test_emails(self, text, expected):
        assert [one.name for one in patterns.recognise(text) if one.type == "email"] == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("See HTTPS://Example.COM/Path?Q=1.", ["https://example.com/Path?Q=1"]),
            (
                "https://example.com/ and https://example.com",
                ["https://example.com", "https://example.com"],
            ),
            ("(www.Foo.org/bar), **https://q.w/e**", ["www.foo.org/bar", "https://q.w/e"]),
            ("(https://a.b/c_(d)) https://a.b/c_(d)", ["https://a.b/c_(d)", "https://a.b/c_(d)"]),
            (
                "https://example.com/xを見て、https://ja.wikipedia.org/wiki/日本 です",
                ["https://example.com/x", "https://ja.wikipedia.org/wiki/日本"],
            ),
            ("http:// https:/// www. www.. ftp://", []),
            (
                "https://x.com/@bob/2026-03-18#tag?a@b.co",
                ["https://x.com/@bob/2026-03-18#tag?a@b.co"],
            ),
        ],
    )
    def test_urls_end_where_the_sentence_goes_on_and_hold_nothing_else(self, text, expected):
        assert seen(text) == [f"url {name}" for name in expected]

    @pytest.mark.parametrize(
        "text",
        [
            "2026-03-18",
            "2026-03-18T10:00:00Z",
            "2026/3/18",
            "18.03.2026",
            "18.3.2026",
            "3/18/2026",
            "18/03/2026",
            "3/18/26",
            "March 18, 2026",
            "Mar. 18th, 2026",
            "march 18 2026",
            "18 March 2026",
            "18th of March, 2026",
            "18. März 2026",
            "18 mars 2026",
            "18 de marzo de 2026",
            "18 marzo 2026",
            "18 de março de 2026",
            "18 maart 2026",
            "18 marca 2026",
            "18 марта 2026 года",
            "18 березня 2026",
            "2026年3月18日",
            "2026년 3월 18일",
        ],
    )
    def test_a_date_is_named_by_its_day(self, text):
        assert seen(f"on {text}, that is") == ["date 2026-03-18"]

    @pytest.mark.parametrize(
        "text",
        [
            "18 March",
            "March 18",
            "18. März",
            "18 mars",
            "1er avril",
            "18 de marzo",
            "18 марта",
            "3月18日",
            "3/4/2026",
        ],
    )
    def test_a_date_without_a_year_or_with_two_readings_is_named_as_it_is_written(self, text):
        assert seen(f"due {text}. Then") == [f"date {text}"]

    @pytest.mark.parametrize(
        "text",
        [
            "2026-13-45",
            "31.02.2026",
            "30 February",
            "we may 5 of us",
            "they march 5 miles",
            "1.2.3",
            "10.0.0.1",
            "1.2.2026.4",
            "555-1234",
            "12 eggs",
            "chapter 12",
            "room 18",
            "3/4",
            "18:30",
            "1/2/3/2026",
            "May",
            "12345678",
        ],
    )
    def test_what_looks_like_a_date_and_is_none(self, text):
        assert seen(text) == []

    @pytest.mark.parametrize(
        "text", ["", " ", "\0", "\ud800", "@", "#", "://", "@@@###", "1", "年月日", "a" * 1000]
    )
    def test_nothing_is_found_in_nothing(self, text):
        assert seen(text) == []

    @pytest.mark.parametrize(
        "piece",
        [
            "a",
            "a.",
            "@",
            "a@",
            "#",
            "http://",
            "1",
            "1/",
            "1.",
            "a@b.",
            "may 1 ",
            "18 ",
            "@a.",
            "#a-",
            "www.",
            "1月",
            "`",
            "日/",
            '"Ab Cd" is the ',
            "the **Ab ",
            "Ab, the ",
            "A of the ",
        ],
    )
    def test_time_grows_with_the_text_and_no_faster(self, piece):
        text = (piece * 100_000)[:100_000]
        started = time.thread_time()
        patterns.recognise(text)
        names.recognise(text)
        # A pattern that tries every split would take hours.
        assert time.thread_time() - started < 10

    def test_a_turn_without_entities_costs_next_to_nothing(self):
        turn = (
            "so we talked about the garden and whether to plant beans or peas this year because "
            "the soil is wet"
        ) * 2
        started = time.thread_time()
        for _ in range(1000):
            patterns.recognise(turn)
        # Tens of microseconds each; slow machines may take more.
        assert time.thread_time() - started < 1


class TestNames:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "My sister Ines lives in Lisbon and works at Acme.",
                ["person Ines", "location Lisbon", "organization Acme"],
            ),
            (
                "Ines Duarte called Bob about the Apollo project.",
                ["person Ines Duarte", "person Bob", "project Apollo"],
            ),
            (
                "Dr. Zweistein met Mr. J. Smith at Stanford University.",
                ["person Zweistein", "person J. Smith", "organization Stanford University"],
            ),
            (
                "We moved to Sintra; I joined Zorblat Inc. today.",
                ["location Sintra", "organization Zorblat Inc"],
            ),
            (
                "a company called Initech, a town called Twin Peaks, my dog Rex",
                ["organization Initech", "location Twin Peaks", "other Rex"],
            ),
            (
                "University of Oxford, New York Times, New York",
                [
                    "organization University of Oxford",
                    "organization New York Times",
                    "location New York",
                ],
            ),
            (
                "Anna's birthday. Vincent van Gogh. O'Brien said so to Jean-Luc.",
                ["person Anna", "person Vincent van Gogh", "person Jean-Luc"],
            ),
            ("Florence said she is moving to Florence.", ["person Florence", "location Florence"]),
            (
                "She told Zorblat about it. Zorblat Quux said no.",
                ["person Zorblat", "person Zorblat Quux"],
            ),
            ("I love Star Wars, mostly.", ["other Star Wars"]),
            (
                "Ella and Mia are with Ben. She went to MIT.",
                ["person Ella", "person Mia", "person Ben", "organization MIT"],
            ),
        ],
    )
    def test_english(self, text, expected):
        assert seen(text, names) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                "Meine Schwester Ines wohnt in Lissabon und arbeitet bei Siemens.",
                ["person Ines", "location Lissabon", "organization Siemens"],
            ),
            ("Ich habe Anna Blumen geschenkt und mit Herrn Müller gesprochen.", ["person Anna"]),
            (
                "Frau Schmidt und Karl Müller kommen aus München.",
                ["person Schmidt", "person Karl Müller", "location München"],
            ),
            (
                "Das Hermes-Projekt und das Projekt Apollo bei der Acme GmbH.",
                ["project Hermes", "project Apollo", "organization Acme GmbH"],
            ),
            (
                "Annas Auto steht in Berlin, und der Hund schläft im Garten.",
                ["person Anna", "location Berlin"],
            ),
            ("Mi hermana Inés vive en Sevilla.", ["person Inés", "location Sevilla"]),
            (
                "El señor García trabaja en Zumos. María de la Cruz llamó.",
                ["person García", "organization Zumos", "person María de la Cruz"],
            ),
            (
                "Ma sœur Amélie habite à Lyon, pas en Italie. L'Allemagne est belle.",
                ["person Amélie", "location Lyon", "location Italie", "location Allemagne"],
            ),
            ("João da Silva mora em Porto.", ["person João da Silva", "location Porto"]),
            ("Mio fratello Luca abita a Torino.", ["person Luca", "location Torino"]),
        ],
    )
    def test_other_languages_in_latin_letters(self, text, expected):
        assert seen(text, names) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Моя сестра Инна живёт в Москве.", ["person Инна", "location Москва"]),
            ("Вчера я встретил Ивана и говорил с Ольгой.", ["person Иван", "person Ольга"]),
            ("Г-н Иванов приехал из Лиссабона.", ["person Иванов", "location Лиссабон"]),
            ("Меня зовут Пётр, я работаю в Яндексе.", ["person Пётр", "organization Яндекс"]),
            (
                "Компания «Ромашка» начала проект Аполлон.",
                ["organization Ромашка", "project Аполлон"],
            ),
        ],
    )
    def test_cyrillic_names_in_their_basic_form(self, text, expected):
        assert seen(text, names) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("昨日田中さんに会いました。", ["person 田中"]),
            (
                "林さんとスミス先生は東京に住んでいます。",
                ["person 林さん", "person スミス", "location 東京"],
            ),
            ("株式会社トヨタで働いています。", ["organization トヨタ"]),
            ("お客様と皆さん、お母さん、花屋さん。", []),
            ("我叫王小明，住在北京。", ["person 王小明", "location 北京"]),
            ("张伟先生在上海科技有限公司工作。", ["person 张伟", "organization 上海科技有限公司"]),
            ("李老师很好。", ["person 李老师"]),
            ("김민수 씨가 주식회사 카카오에 다녀요.", ["person 김민수", "organization 카카오"]),
            ("今日は天気がいい。今天天气很好。", []),
        ],
    )
    def test_east_asian_names_by_what_stands_beside_them(self, text, expected):
        assert seen(text, names) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "Will you come? May I? Grant access. Chase the ball. Rose early. Mark my words.",
            "Yesterday was Monday. In March we speak German, French and Spanish. Happy Easter!",
            "User prefers dark mode. Remember that. Nobody said so. Everyone wants one.",
            "I've thought about it. I'm asked. That's what I said.",
            "The API returns JSON. OK. We do DIY and watch TV.",
            "I made the Lemon Chicken Soup and a Mango Smoothie for them.",
            "She is a Senior Account Manager with a degree in Economics.",
            "We eat Peruvian and Lebanese food on Mother's Day and on Sundays.",
            "It is a Korean-style soup from mid-June, for a non-Western kitchen.",
            "Der Hund schläft im Garten. Am Montag esse ich Brot mit Käse. Die Deutsche Sprache.",
            "Mit dem Auto fahren wir nicht. Über das Wetter reden wir auch.",
            "Una vez más. Ella no quiere. Mia madre è qui.",
            "El lunes hablo Español. Le Français est beau. Вчера был понедельник.",
            "How To Build A Great Product In Ten Days",
            "THIS IS ALL IN CAPITALS, ANNA",
            "nothing with a capital, not even anna or lisbon",
            "",
        ],
    )
    def test_ordinary_words_name_nobody(self, text):
        assert seen(text, names) == []

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            # As far as the capitals go: neither Lisbon nor the society alone.
            ("We saw it at the Lisbon Film Festival.", ["other Lisbon Film Festival"]),
            (
                "I gave to the American Heron Society.",
                ["organization American Heron Society"],
            ),
            ("I would take the Blue Heron Trail.", ["location Blue Heron Trail"]),
            (
                "Is the Zorblat X100 better than the Quux 3 Pro?",
                ["other Zorblat X100", "other Quux 3 Pro"],
            ),
            ("That is in the Valley of the Herons.", ["other Valley of the Herons"]),
            # A single word inside a sentence, a brand anywhere.
            ("I bought it from Zorblat and not on eBay.", ["other Zorblat", "organization eBay"]),
            ("DoorZap was late with the food.", ["other DoorZap"]),
            ("We use Docker and the Python APIs.", ["other Docker", "other Python"]),
            # Function words of other languages are names in this one.
            ("She lost her job at Door Dash to Ed.", ["organization Door Dash", "person Ed"]),
            # Titles of works, by their quotation marks.
            ('I loved "The Wind in the Reeds" as a kid.', ["other The Wind in the Reeds"]),
            ('She called it "a very good idea" and "Fine".', ["other Fine"]),
            ("Ich las gerade «Der Zorblat».", []),
            ("我在看《活着》，很好。", ["other 活着"]),
            ("『こころ』を読んだ。", ["other こころ"]),
            # A possessive ends the name of somebody who is known as such.
            (
                "I have been to Tokyo's Zorblat Square.",
                ["location Tokyo", "location Zorblat Square"],
            ),
            ("I have been to Mama's Fish House.", ["other Mama's Fish House"]),
            ("That is great, Zorblat!", ["person Zorblat"]),
            # Neither headings nor addresses.
            ("It is easy.\n**Plan and Budget:** see https://x.org/?v=AbCdEf now", []),
        ],
    )
    def test_a_span_of_capitals_is_one_name(self, text, expected):
        assert seen(text, names) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Ayer fuimos a Benimaclet con los niños.", ["other Benimaclet"]),
            ("On part en vacances à Zorblat-les-Bains.", ["other Zorblat-les-Bains"]),
            ("Мы были на даче, и наш тренер, Гагик, пришёл.", ["person Гагик"]),
            ("我未婚夫叫陆鸣，女儿叫糖糖。", ["person 陆鸣", "person 糖糖"]),
            ("下周去重庆和新西兰。", ["location 重庆", "location 新西兰"]),
            ("娘はつむぎっていうんだ。来週、高崎に行く。", ["person つむぎ", "location 高崎"]),
            ("Die Nachbarin hat einen Kuchen und die Zeitung gebracht.", []),
        ],
    )
    def test_spans_in_other_languages(self, text, expected):
        assert seen(text, names) == expected

    def test_a_title_is_part_of_the_raw_form_only(self):
        (found,) = names.recognise("I saw Dr. Zweistein.")
        assert (found.name, found.raw) == ("Zweistein", "Dr. Zweistein")

    def test_a_name_is_the_surer_the_more_tells_it(self):
        told, known = names.recognise("My sister Zorba knows Anna.")
        assert told.confidence > known.confidence

    def test_the_lists_are_read_and_hold_a_few_thousand_names(self):
        sections = (
            "people",
            "places",
            "organizations",
            "nobody",
            "kin",
            "titles",
            "surnames ja",
            "surnames zh",
        )
        assert (
            2000
            < sum(len(listed(name).sure) + len(listed(name).unsure) for name in sections)
            < 6000
        )
        assert "ines" in listed("people").sure and "will" in listed("people").unsure
        assert "great britain" in listed("places").sure


ANY_TEXT = st.text() | st.lists(
    st.sampled_from(
        [
            "Anna",
            "Mr.",
            "my",
            "sister",
            "@",
            "#",
            "GmbH",
            "de",
            "la",
            " ",
            ".",
            "'s",
            "l'",
            "Paris",
            "さん",
            "1",
            "May",
        ]
    )
).map(" ".join)


@given(ANY_TEXT)
def test_any_text_is_a_legal_one_and_places_are_true(text):
    for recogniser in (patterns, names):
        found = recogniser.recognise(text)
        assert all(text[one.start : one.end] == one.raw and one.name.strip() for one in found)
    settled = standard().recognise(text, "local")
    assert all(before.end <= after.start for before, after in pairwise(settled))


def at(start, end, confidence=0.5, name="x", type_="person"):
    """A finding at a place."""
    return EntityMatch(name, type_, start, end, confidence, name)


class TestResolve:
    def test_the_surest_of_overlapping_findings_wins(self):
        assert resolve([at(0, 9, 0.7), at(3, 5, 0.9)]) == [at(3, 5, 0.9)]

    def test_of_equally_sure_ones_the_longest_then_the_first(self):
        assert resolve([at(0, 3), at(2, 6)]) == [at(2, 6)]
        assert resolve([at(2, 4), at(1, 3)]) == [at(1, 3)]

    def test_findings_side_by_side_all_stay_in_the_order_of_the_text(self):
        assert resolve([at(6, 9, 0.9), at(0, 3), at(3, 6)]) == [at(0, 3), at(3, 6), at(6, 9, 0.9)]

    def test_one_that_lost_does_not_keep_others_out(self):
        assert resolve([at(0, 4, 0.6), at(3, 8, 0.7), at(7, 9, 0.8)]) == [
            at(0, 4, 0.6),
            at(7, 9, 0.8),
        ]

    def test_a_finding_without_a_place_is_looked_for_in_the_text(self):
        lost = EntityMatch("Ann", "person", NOWHERE, NOWHERE, 0.9, "Ann")
        text = "Joanna met Ann"
        assert resolve([lost, at(11, 14, 0.5)], text) == [
            EntityMatch("Ann", "person", 11, 14, 0.9, "Ann")
        ]
        assert (
            resolve([EntityMatch("田中", "person", -1, -1, 0.9, "田中")], "昨日田中さんに")[0].start
            == 2
        )

    def test_what_is_not_in_the_text_is_kept_once_at_the_end(self):
        lost = EntityMatch("Robert", "person", NOWHERE, NOWHERE, 0.9, "Robert")
        assert resolve([lost, at(0, 3), lost], "Bob") == [at(0, 3), lost]


class TestLLM:
    def ask(self, answer, text="Ines lives in Lisbon"):
        asked = []
        found = LLMRecogniser(lambda prompt: asked.append(prompt) or answer).recognise(text)
        assert text in asked[0] and "{text}" not in asked[0]
        return [(one.type, one.name, one.raw) for one in found]

    def test_an_answer_is_read_without_places(self):
        answer = '[{"name": "Ines Duarte", "type": "person", "raw": "Ines"}]'
        (found,) = LLMRecogniser(lambda prompt: answer).recognise("Ines")
        assert found == EntityMatch("Ines Duarte", "person", -1, -1, 0.9, "Ines")

    @pytest.mark.parametrize(
        "answer",
        [
            (
                'Here you are:\n```json\n[{"name": "Ines", "type": "person", "raw": '
                '"Ines"}]\n```\nAnything else?'
            ),
            '{"entities": [{"name": "Ines", "type": "PER"}]}',
            '[{"name": "Ines", "type": "person"}, {"name": "Lis',
            '[{"name": "Ines", "type": "person"},]',
            (
                '[{"name": " Ines\\n", "type": " Person "}, "Lisbon", null, {"name": 7}, {"name": '
                '""}, {"type": "person"}]'
            ),
        ],
    )
    def test_a_broken_answer_is_read_as_far_as_it_goes(self, answer):
        assert self.ask(answer) == [("person", "Ines", "Ines")]

    @pytest.mark.parametrize(
        "answer", ["", "I found nothing.", "[]", "null", "[1, 2]", "{" * 5000, "[" * 5000, "]["]
    )
    def test_an_answer_without_names_is_none(self, answer):
        assert self.ask(answer) == []

    def test_types_go_by_other_words_too(self):
        items = [
            {"name": "x", "type": kind}
            for kind in ("company", "City", "org", "film", None, "project")
        ]
        types = [one[0] for one in self.ask(json.dumps(items))]
        assert types == ["organization", "location", "organization", "other", "other", "project"]

    def test_it_is_there_only_with_a_model_and_asks_nothing_about_nothing(self):
        assert not LLMRecogniser().available()
        assert LLMRecogniser(lambda prompt: 1 / 0).recognise("  ") == []


class FakeSpacy(ModuleType):
    """spaCy with one model, which sees what it is told."""

    def __init__(self, *entities):
        super().__init__("spacy")
        self.__spec__ = SimpleNamespace(name="spacy")
        self.entities, self.loaded = entities, []

    def load(self, model):
        self.loaded.append(model)
        return lambda text: SimpleNamespace(ents=self.entities)


class TestSpacy:
    def test_it_is_not_there_where_it_is_not_installed(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "spacy", None)
        assert not SpacyRecogniser().available()
        assert not SpacyRecogniser("no model ..").available()

    def test_its_labels_become_our_types_and_its_model_is_loaded_once(self, monkeypatch):
        ents = [
            SimpleNamespace(text=text, label_=label, start_char=start)
            for text, label, start in (
                ("Ines ", "PERSON", 0),
                ("Lisbon", "GPE", 14),
                ("German", "NORP", 0),
            )
        ]
        spacy = FakeSpacy(*ents)
        monkeypatch.setitem(sys.modules, "spacy", spacy)
        monkeypatch.setitem(sys.modules, "xx_ent_wiki_sm", FakeSpacy())
        recogniser = SpacyRecogniser("xx_ent_wiki_sm")
        assert recogniser.available()
        for _ in range(2):
            assert recogniser.recognise("Ines lives in Lisbon") == [
                EntityMatch("Ines", "person", 0, 4, 0.75, "Ines"),
                EntityMatch("Lisbon", "location", 14, 20, 0.75, "Lisbon"),
            ]
        assert spacy.loaded == ["xx_ent_wiki_sm"]

    def test_a_model_that_cannot_be_loaded_is_tried_once(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "spacy", FakeSpacy())
        monkeypatch.setitem(sys.modules, "my_model", FakeSpacy())
        monkeypatch.setattr(sys.modules["spacy"], "load", lambda model: 1 / 0)
        recogniser = SpacyRecogniser("my_model")
        with pytest.raises(ZeroDivisionError):
            recogniser.recognise("x")
        assert not recogniser.available()


class Told:
    """A recogniser that finds what it is told, counts its calls, and fails on demand."""

    def __init__(self, *found, name="told"):
        self.found, self.name, self.calls, self.fault, self.there = found, name, 0, None, True

    def available(self):
        return self.there

    def recognise(self, text):
        self.calls += 1
        if self.fault:
            raise self.fault
        return list(self.found)


class TestStrategies:
    def test_each_strategy_knows_more_than_the_one_before(self):
        answer = '[{"name": "Bluebird", "type": "project", "raw": "bluebird"}]'
        recognition = standard(answer=lambda prompt: answer)
        text = "my sister Ines asked @bob about bluebird"
        known = {"fast": ["bob"], "local": ["Ines", "bob"], "accurate": ["Ines", "bob", "Bluebird"]}
        assert {
            name: [one.name for one in recognition.recognise(text, name)] for name in known
        } == known

    def test_an_unknown_strategy_is_the_fast_one_with_a_warning(self, caplog):
        assert [one.name for one in standard().recognise("@bob and Ines", "best")] == ["bob"]
        assert "'best'" in caplog.text

    def test_a_recogniser_that_fails_is_logged_and_the_others_go_on(self, caplog):
        bad, good = Told(name="bad"), Told(at(0, 1))
        bad.fault = RuntimeError("no model")
        recognition = Recognition({"fast": [bad, good]})
        with caplog.at_level(logging.ERROR):
            assert recognition.recognise("x") == [at(0, 1)]
        assert "'bad'" in caplog.text and "no model" in caplog.text
        bad.fault, bad.found = None, (at(0, 1, 0.9),)
        assert recognition.recognise("x") == [at(0, 1, 0.9)]

    def test_what_is_not_there_is_not_asked(self):
        told = Told(at(0, 1))
        told.there = False
        assert Recognition({"fast": [told]}).recognise("x") == [] and told.calls == 0

    def test_the_latest_texts_are_looked_at_once(self):
        told = Told(at(0, 1))
        recognition = Recognition({"fast": [told], "local": [told]})
        for _ in range(2):
            recognition.recognise("x").clear()  # a list of one's own
            recognition.recognise("x", "local")
        assert told.calls == 2
        for number in range(512):
            recognition.recognise(f"text {number}")
        assert recognition.recognise("x") == [at(0, 1)] and told.calls == 515

    def test_accurate_is_available_when_it_has_more_than_the_fast_one(self):
        """Our own names count: they find what patterns cannot."""
        quick, better = Told(name="quick"), Told(name="better")
        assert standard().accurate_available()
        assert not Recognition({"fast": [quick], "accurate": [quick]}).accurate_available()
        better.there = False
        assert not Recognition({"fast": [quick], "accurate": [quick, better]}).accurate_available()
        better.there = True
        assert Recognition({"fast": [quick], "accurate": [quick, better]}).accurate_available()
