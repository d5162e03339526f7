"""What the one tokenizer promises."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.tokens import dedup_tokens, index_terms, lone_letters, query_terms

# Lone surrogates and control characters included.
ANY_TEXT = st.text(alphabet=st.characters(), max_size=300)
FORBIDDEN = re.compile(f"[{re.escape(string.punctuation.replace('_', ''))}\\s\x00-\x1f\x7f]")


@given(ANY_TEXT)
def test_any_text_is_legal_and_gives_terms_the_index_can_hold(text: str) -> None:
    for term in [*index_terms(text), *query_terms(text)]:
        assert term
        assert not FORBIDDEN.search(term)
    dedup_tokens(text)


@given(st.text(st.sampled_from("abcXYZ'’ʼ.,-_#+019 éßÄñøЖяλΣ→“”…€½"), max_size=60))
def test_a_text_is_cut_alike_whatever_else_is_in_it(text: str) -> None:
    # A sign that needs the pattern for every script.
    assert dedup_tokens(f"{text} 🙂")[:-1] == dedup_tokens(text)


@given(ANY_TEXT)
def test_what_a_question_asks_for_is_among_its_index_terms(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text))


@given(
    st.lists(st.sampled_from(["casa", "Häuser", "running", "école", "дома", "東京"]), min_size=1)
)
def test_the_same_words_always_share_a_term_whatever_surrounds_them(words: list[str]) -> None:
    foreign = "Wo ist das und wie kommt man mit dem Zug dorthin? " + " ".join(words)
    assert all(set(index_terms(word)) & set(index_terms(foreign)) for word in words)


def test_large_texts_and_endless_words_are_tokenized() -> None:
    assert len(index_terms("word " * 20_000)) == 20_000
    assert all(len(term) <= 64 for term in index_terms("x" * 100_000))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("今日は辛い", ["今", "日", "は", "辛", "い"]),
        ("今日はsunny", ["今", "日", "は", "sunny"]),
        ("ｶﾌｪ ＡＢＣ", ["カ", "フ", "ェ", "abc"]),
        ("한국", ["한", "국"]),
        ("👍🏽 🇩🇪", ["👍", "🇩🇪"]),
        ("nul\x00byte \ud800", ["nul", "byte"]),
    ],
)
def test_scripts_without_spaces_are_split_per_character(text: str, terms: list[str]) -> None:
    assert index_terms(text) == terms


@pytest.mark.parametrize("word", ["हिन्दी", "مُحَمَّد", "தமிழ்", "ไทย"])
def test_combining_marks_stay_inside_their_word(word: str) -> None:
    assert dedup_tokens(word) in ([word], list(word))


@pytest.mark.parametrize(
    "one, other",
    [
        ("Caroline's", "Caroline"),
        ("the Joneses'", "the Joneses"),
        ("l'école", "école"),
        ("Café", "cafe"),
        ("Łódź", "lodz"),
        ("happiness", "happy"),
        ("running", "runs"),
        ("U.S.A.", "USA"),
        ("1,200", "1200"),
        ("книги", "книг"),
        ("l’été", "été"),
        ("१२३", "123"),
        ("STRASSE", "straße"),
    ],
)
def test_two_spellings_of_a_word_are_one_term(one: str, other: str) -> None:
    assert index_terms(one) == index_terms(other)


@pytest.mark.parametrize(
    "identifier, terms",
    [
        ("user_name", ["user", "name", "user_name"]),
        ("getUserName", ["get", "user", "name", "getusernam"]),
        ("holdfast.types", ["holdfast", "type", "holdfast_types"]),
        ("3.11", ["3", "11", "3_11"]),
        ("C++", ["cplusplus"]),
        ("C#", ["csharp"]),
        ("IDs", ["id"]),
    ],
)
def test_an_identifier_gives_its_parts_and_itself(identifier: str, terms: list[str]) -> None:
    assert index_terms(identifier) == terms


def test_other_languages_add_their_own_stem() -> None:
    german = query_terms("Wo stehen die Häuser?")
    assert "haus" in german
    assert "hauser" in german
    assert "haus" in index_terms("Das Haus ist alt und die Tür ist rot")


@pytest.mark.parametrize(
    "question",
    [
        "What did you do?",
        "Was hast du?",
        "¿Qué es esto?",
        "Qu'est-ce que c'est?",
        "Кто это?",
        "I",
        "",
    ],
)
def test_a_question_of_stop_words_asks_for_nothing(question: str) -> None:
    assert query_terms(question) == []


def test_a_question_keeps_distinct_terms_in_order_without_single_letters() -> None:
    assert query_terms("Dogs, plan B and the dog's 3 cats") == ["dog", "plan", "3", "cat"]
    assert (lone_letters("And R, or plan B?"), lone_letters("A or I?")) == (["r", "b"], [])


def test_an_english_question_keeps_words_that_are_stop_words_elsewhere() -> None:
    assert query_terms("die hard war man") == ["die", "hard", "war", "man"]


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("Où as-tu mis le thé ?", "the"),
        ("thé", "the"),
        ("¿Dónde está el té?", "te"),
        ("En quelle année es-tu né ?", "ne"),
    ],
)
def test_an_accent_can_make_another_word_of_a_stop_word(question: str, term: str) -> None:
    assert term in query_terms(question)
    assert term in index_terms(question)


def test_a_stop_word_with_an_accent_is_one_in_its_own_language() -> None:
    assert query_terms("¿Y tú más que él?") == []
    assert query_terms("Où étais-tu ?") == []
    assert query_terms("Don’t you?") == []


def test_dedup_tokens_keep_what_tells_two_texts_apart() -> None:
    assert dedup_tokens("I feel sad") != dedup_tokens("she feels sad")
    assert dedup_tokens("I do") != dedup_tokens("I don't")
