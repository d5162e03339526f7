"""Which time a question is about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.when import BEGINNING, END, spans
from holdfast.types import from_datetime

NOW = from_datetime(datetime(2023, 7, 19, 12, tzinfo=UTC))  # a Wednesday


def day(text: str) -> int:
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=UTC))


def only(text: str) -> tuple[int, int]:
    (span,) = spans(text, NOW)
    return span.start, span.end


@pytest.mark.parametrize("text, start, end", [
    ("on 2023-05-07", "2023-05-07", "2023-05-08"),
    ("on 7 May 2023", "2023-05-07", "2023-05-08"),
    ("May 7th, 2022", "2022-05-07", "2022-05-08"),
    ("on the 3rd of June", "2023-06-03", "2023-06-04"),
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("3/25/2023", "2023-03-25", "2023-03-26"),
    ("25/3/2023", "2023-03-25", "2023-03-26"),
    ("in 2022", "2022-01-01", "2023-01-01"),
    ("2024-02-29", "2024-02-29", "2024-03-01"),
])  # fmt: skip
def test_dates_are_read(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize("text, start, end", [
    ("yesterday", "2023-07-18", "2023-07-19"),
    ("last week", "2023-07-10", "2023-07-17"),
    ("last month", "2023-06-01", "2023-07-01"),
    ("last year", "2022-01-01", "2023-01-01"),
    ("last Friday", "2023-07-14", "2023-07-15"),
    ("on Wednesday", "2023-07-12", "2023-07-13"),
    ("next Friday", "2023-07-21", "2023-07-22"),
    ("two weeks ago", "2023-07-01", "2023-07-09"),
    ("3 days ago", "2023-07-16", "2023-07-17"),
    ("in the past 3 days", "2023-07-16", "2023-07-20"),
    ("this summer", "2023-06-01", "2023-09-01"),
    ("last summer", "2022-06-01", "2022-09-01"),
    ("next summer", "2024-06-01", "2024-09-01"),
    ("last fall", "2022-09-01", "2022-12-01"),
    ("next fall", "2023-09-01", "2023-12-01"),
    ("next winter", "2023-12-01", "2024-03-01"),
    ("next May", "2024-05-01", "2024-06-01"),
    ("next September", "2023-09-01", "2023-10-01"),
    ("last July", "2022-07-01", "2022-08-01"),
    ("last June", "2023-06-01", "2023-07-01"),
    ("in the winter of 2021", "2021-12-01", "2022-03-01"),
])  # fmt: skip
def test_relative_times_count_from_now(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize("text, start, end", [
    ("in March", "2023-03-01", "2023-04-01"),
    ("in October", "2022-10-01", "2022-11-01"),
    ("on August 1", "2022-08-01", "2022-08-02"),
    ("on 29 February", "2020-02-29", "2020-03-01"),
])  # fmt: skip
def test_a_date_without_a_year_is_the_latest_that_has_begun(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize("text, start, end", [
    ("between March and May", "2023-03-01", "2023-06-01"),
    ("from November to January 2023", "2022-11-01", "2023-02-01"),
    ("between 1 May and 5 May", "2023-05-01", "2023-05-06"),
    ("2021-2022", "2021-01-01", "2023-01-01"),
])  # fmt: skip
def test_two_times_make_a_range(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


def test_before_and_after_are_open_ended() -> None:
    assert only("before May 2023") == (BEGINNING, day("2023-05-01"))
    assert only("after 7 June") == (day("2023-06-08"), END)
    assert only("since 2021") == (day("2021-01-01"), END)


@pytest.mark.parametrize("text, start, end", [
    ("am 7. Mai 2023", "2023-05-07", "2023-05-08"),
    ("letzte Woche", "2023-07-10", "2023-07-17"),
    ("vor zwei Wochen", "2023-07-01", "2023-07-09"),
    ("im März", "2023-03-01", "2023-04-01"),
    ("el 7 de mayo de 2023", "2023-05-07", "2023-05-08"),
    ("la semana pasada", "2023-07-10", "2023-07-17"),
    ("hace tres días", "2023-07-16", "2023-07-17"),
    ("le 7 mai 2023", "2023-05-07", "2023-05-08"),
    ("la semaine dernière", "2023-07-10", "2023-07-17"),
    ("il y a deux semaines", "2023-07-01", "2023-07-09"),
    ("Qu'ai-je fait hier ?", "2023-07-18", "2023-07-19"),
    ("l’année dernière", "2022-01-01", "2023-01-01"),
])  # fmt: skip
def test_german_spanish_and_french_are_read(text: str, start: str, end: str) -> None:
    assert only(text) == (day(start), day(end))


@pytest.mark.parametrize("text", [
    "before we moved", "I may march on", "where is it and may I see it", "Was ist hier?",
    "vamos en el mar", "Will Mark sit in the sun?", "room 12", "", "the second time",
])  # fmt: skip
def test_words_that_name_no_time_give_no_span(text: str) -> None:
    assert spans(text, NOW) == []


def test_a_span_quotes_the_words_that_named_it() -> None:
    assert [span.text for span in spans("Was it 7 May 2023 or before last week?", NOW)] == [
        "7 May 2023",
        "before last week",
    ]


@given(st.text(alphabet=st.characters(), max_size=200), st.integers(-(2**70), 2**70))
def test_any_text_at_any_time_is_legal(text: str, now: int) -> None:
    assert all(span.start < span.end for span in spans(text, now))


@given(
    st.sampled_from(["last", "next", "in", "before", "99", "two", "2023-02-31", "31 June", "9999", "to", "and"]),
    st.sampled_from(["week", "year", "May", "years ago", "1900", "Friday", "0001-01-01", "31.12.2099", "centuries"]),
    st.sampled_from([0, NOW, BEGINNING, END - 1]),
)
def test_impossible_dates_are_passed_over(first: str, second: str, now: int) -> None:
    assert all(span.start < span.end for span in spans(f"{first} {second}", now))
