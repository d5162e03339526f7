"""Retelling in the third person: pronouns change, and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_extract import extract, one

from holdfast.extraction.third_person import retell

LANGUAGES = {
    "de": "Ich mag My Neighbor Totoro.",
    "es": "Prefiero escribir a me@example.com antes que llamar a My Office.",
    "fr": "Je préfère écrire à me@example.com.",
    "ru": "Я люблю My Neighbor Totoro и пишу на me@example.com.",
    "zh": "我喜欢 My Neighbor Totoro。",
    "ja": "私は My Neighbor Totoro が好きです。",
}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Write to me at me@example.com", "Write to Ann at me@example.com"),
        ("my address is my.name@us.example.org", "Ann's address is my.name@us.example.org"),
        (
            "my site is https://example.com/my/page?me=1",
            "Ann's site is https://example.com/my/page?me=1",
        ),
        ("my blog is www.me.dev", "Ann's blog is www.me.dev"),
        (
            "I keep my notes in ~/my/notes and /home/me/x",
            "Ann keeps their notes in ~/my/notes and /home/me/x",
        ),
        (
            "I edit my.cnf and us.json with my editor",
            "Ann edits my.cnf and us.json with their editor",
        ),
        (
            "I use `my_var` and `our list` in my code",
            "Ann uses `my_var` and `our list` in their code",
        ),
        ("I pass --me and -i to my script", "Ann passes --me and -i to their script"),
        ("my handle is @me and my tag is #us", "Ann's handle is @me and their tag is #us"),
        ("I call me() and my(x) in my tests", "Ann calls me() and my(x) in their tests"),
        ("I deploy to us-east-1 from my laptop", "Ann deploys to us-east-1 from their laptop"),
    ],
)
def test_addresses_paths_and_code_stay(said, told):
    assert retell(said, "Ann") == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I'm a US citizen", "Ann is a US citizen"),
        ("i'm a us citizen", "Ann is a us citizen"),
        ("I live in the US with my wife", "Ann lives in the US with their wife"),
        ("I work in IT and my wife in HR", "Ann works in IT and their wife in HR"),
        ("I live in Portland, ME", "Ann lives in Portland, ME"),
        ("I'm on IM most of my day", "Ann is on IM most of their day"),
        ("I do I/O for my company", "Ann does I/O for their company"),
        (
            "I read A.I. papers in my free time, i.e. at night",
            "Ann reads A.I. papers in their free time, i.e. at night",
        ),
        ("I have type I diabetes", "Ann has type I diabetes"),
        ("I collect World War I medals", "Ann collects World War I medals"),
        ("I got my Fender Mustang I V2 last year", "Ann got their Fender Mustang I V2 last year"),
    ],
)
def test_abbreviations_and_numerals_stay(said, told):
    assert retell(said, "Ann") == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I love My Neighbor Totoro", "Ann loves My Neighbor Totoro"),
        ("I love How I Met Your Mother", "Ann loves How I Met Your Mother"),
        (
            "How I Met Your Mother is my favourite show",
            "How I Met Your Mother is Ann's favourite show",
        ),
        ("my favourite film is Stand By Me", "Ann's favourite film is Stand By Me"),
        ("I read Us Weekly", "Ann reads Us Weekly"),
        ('my song is "My Way"', 'Ann\'s song is "My Way"'),
        ("my song is 'My Way' and not “Our House”", "Ann's song is 'My Way' and not “Our House”"),
        ("I like *My Hero Academia* a lot", "Ann likes *My Hero Academia* a lot"),
        ("iPhone is my favourite phone", "iPhone is Ann's favourite phone"),
        ("I work in a gold mine near my village", "Ann works in a gold mine near their village"),
        ("a friend of mine is a vet", "A friend of Ann's is a vet"),
        ("oh my god I love tea", "Oh my god Ann loves tea"),
    ],
)
def test_names_and_titles_stay(said, told):
    assert retell(said, "Ann") == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "I listen to jazz while working or studying",
            "Ann listens to jazz while working or studying",
        ),
        ("I'm working or studying all day", "Ann is working or studying all day"),
        ("I completely agree with my boss", "Ann completely agrees with their boss"),
        ("I rode my bike", "Ann rode their bike"),
        ("I lent my car to Tom", "Ann lent their car to Tom"),
        ("I read it last year", "Ann read it last year"),
        ("I read a lot", "Ann reads a lot"),
        ("I set up my tent", "Ann set up their tent"),
        ("I always set my alarm", "Ann always sets their alarm"),
        ("I sort all my socks", "Ann sorts all their socks"),
        ("I kind of like tea", "Ann kind of likes tea"),
        ("I'd been living in Rome", "Ann had been living in Rome"),
        ("I'd never seen snow", "Ann had never seen snow"),
        ("I'd like a dog", "Ann would like a dog"),
        ("I'm planning a trip and need help", "Ann is planning a trip and needs help"),
        ("I'm planning to cook and need ideas", "Ann is planning to cook and needs ideas"),
        ("I've had a cat and have a dog now", "Ann has had a cat and has a dog now"),
        ("I want to go home and have dinner", "Ann wants to go home and have dinner"),
        ("I like those who accept and love me", "Ann likes those who accept and love them"),
        ("I sold my Prius and drive a Golf", "Ann sold their Prius and drives a Golf"),
        ("I sold my Prius and read a book", "Ann sold their Prius and read a book"),
        ("I met Tom and work in Rome", "Ann met Tom and work in Rome"),
        ("I wanted to sell it and drive a Golf", "Ann wanted to sell it and drive a Golf"),
        ("I retook the exam", "Ann retook the exam"),
        ("I saw a film called I am Sam", 'Ann said: "I saw a film called I am Sam"'),
        ("it rains and I'm cold", "It rains and Ann is cold"),
        ("it was late, and I think so", "It was late, and Ann thinks so"),
        ("Tom and I live in Rome", "Tom and Ann live in Rome"),
        ("my best friend and I run", "Ann's best friend and they run"),
        ("I moved. We live in Rome", "Ann moved. They live in Rome"),
        ("it helps us", "It helps Ann and others"),
    ],
)
def test_verbs_are_those_of_the_person(said, told):
    assert retell(said, "Ann") == told


@pytest.mark.parametrize(
    "said",
    [
        "My Neighbor Totoro is my favourite film",
        "I Am Legend is my favourite film",
        "I, Robot is my favourite book",
        "I love MY job",
        "I LOVE MY JOB",
        "I like _my_ way of doing it",
        "I need some me time",
        "I, for one, prefer tea",
        "I as a teacher prefer tea",
        "I working or studying at night",
        "Not only do I love tea",
        "Ask my wife/me first",
        "I live in Oslo.I work in Bergen",
        "I'd've gone with my wife",
    ],
)
def test_what_is_doubtful_is_quoted(said):
    assert retell(said, "Ann") == f'Ann said: "{said}"'


def test_a_quotation_without_an_author_is_the_users():
    assert retell("I love MY job", "") == 'The user said: "I love MY job"'


@pytest.mark.parametrize("code", LANGUAGES)
def test_other_languages_keep_every_word(code):
    said = LANGUAGES[code]
    assert [each.content for each in extract(said)] == [said.rstrip("。.")]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "a walk with my kids, Francis, Michael, and Rachel",
            "Ann's kids are Francis, Michael and Rachel",
        ),
        ("a walk with my friends Emma and Tom", "Ann's friends are Emma and Tom"),
        ("a walk with my sister, Rachel", "Ann's sister is Rachel"),
        ("a walk with my friend Tom, Anna and Bob", "Ann's friend is Tom"),
        ("I gave my sister Ines a book", "Ann's sister is Ines"),
        ("Fui al zoo con mis hijos Ana, Luis y Eva", "mis hijos Ana, Luis y Eva"),
        ("On a dîné avec mes enfants Léa, Max et Tom", "mes enfants Léa, Max et Tom"),
        ("Gestern war ich mit meinem Bruder Jan im Kino", "meinem Bruder Jan"),
    ],
)
def test_people_in_a_list_are_named_together(said, kept):
    assert one(said).content == kept


@pytest.mark.parametrize(
    "said",
    [
        "a walk with my sister, Rachel, and Tom",
        "a walk with my kids, Rachel",
        "we saw My Neighbor Totoro",
        "I met my brother Monday",
        "For my sister I'll buy a book",
        "I got my mom Christmas presents",
        "I taught my wife Spanish",
        "I bought my son Lego sets",
        "I asked my boss CEO stuff",
        "Gestern hat er meinem Bruder Geld geliehen",
        "Gestern war ich mit meinem Bruder Montag im Kino",
        "Hier j'ai vu mon frère Lundi",
    ],
)
def test_what_is_no_name_names_nobody(said):
    assert extract(said) == []


def test_a_list_of_names_is_one_object():
    found = one("My kids are Francis, Michael and Rachel.").triple
    assert found.object == "Francis, Michael and Rachel"


def test_a_second_verb_of_somebody_else_is_not_the_authors():
    assert extract("I love how you use it to tell your stories and teach people about art.") == []


def test_an_adjective_keeps_its_noun():
    assert one("I'm passionate about creating a safe, inviting place for people.").quote.endswith(
        "place for people"
    )


WORDS = [
    "I",
    "me",
    "My",
    "US",
    "us",
    "my",
    "I'm",
    "mine",
    "WE",
    "@me",
    "me.txt",
    "`I`",
    "and",
    ",",
    ".",
    "go",
    "(i)",
]


@given(st.lists(st.sampled_from(WORDS)))
def test_any_words_can_be_retold(words):
    said = " ".join(words)
    told = retell(said, "Ann")
    assert retell(said, "Ann") == told
    for kept in ("me.txt", "@me", "US"):
        assert told.count(kept) == said.count(kept)
