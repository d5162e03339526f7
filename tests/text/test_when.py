"""Which time a question is about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.time_expressions import BEGINNING, END, spans
from holdfast.types import from_datetime

NOW = from_datetime(datetime(2023, 7, 19, 12, tzinfo=UTC))  # a Wednesday


def day(text: str) -> int:
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=UTC))


def only(text: str) -> tuple[int, int]:
    (span,) = spans(text, NOW)
    return span.start, span.end


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("on 2023-05-07", "2023-05-07", "2023-05-08"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("May 7th, 2022", "2022-05-07", "2022-05-08"),
        ("on the 3rd of June", "2023-06-03", "2023-06-04"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("3/25/2023", "2023-03-25", "2023-03-26"),
        ("25/3/2023", "2023-03-25", "2023-03-26"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("2024-02-29", "2024-02-29", "2024-03-01"),
    ],
)
def test_dates_are_read(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize(
    "text, start, end",
    [
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
    ],
)
def test_relative_times_count_from_now(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("in March", "2023-03-01", "2023-04-01"),
        ("in October", "2022-10-01", "2022-11-01"),
        ("on August 1", "2022-08-01", "2022-08-02"),
        ("on 29 February", "2020-02-29", "2020-03-01"),
    ],
)
def test_a_date_without_a_year_is_the_latest_that_has_begun(
    text: str, start: str, end: str
) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("between March and May", "2023-03-01", "2023-06-01"),
        ("from November to January 2023", "2022-11-01", "2023-02-01"),
        ("between 1 May and 5 May", "2023-05-01", "2023-05-06"),
        ("2021-2022", "2021-01-01", "2023-01-01"),
    ],
)
def test_two_times_make_a_range(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


def test_before_and_after_are_open_ended() -> None:
    assert only("before May 2023") == (BEGINNING, day("2023-05-01"))
    assert only("after 7 June") == (day("2023-06-08"), END)
    assert only("since 2021") == (day("2021-01-01"), END)


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("am 7. Mai 2023", "2023-05-07", "2023-05-08"),
        ("letzte Woche", "2023-07-10", "2023-07-17"),
        ("на прошлой неделе", "2023-07-10", "2023-07-17"),
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
    ],
)
def test_german_spanish_and_french_are_read(text: str, start: str, end: str) -> None:
    assert only(text) == (day(start), day(end))


@pytest.mark.parametrize(
    "text",
    [
        "before we moved",
        "I may march on",
        "where is it and may I see it",
        "Was ist hier?",
        "vamos en el mar",
        "Will Mark sit in the sun?",
        "room 12",
        "",
        "the second time",
    ],
)
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
    st.sampled_from(
        ["last", "next", "in", "before", "99", "two", "2023-02-31", "31 June", "9999", "to", "and"]
    ),
    st.sampled_from(
        [
            "week",
            "year",
            "May",
            "years ago",
            "1900",
            "Friday",
            "0001-01-01",
            "31.12.2099",
            "centuries",
        ]
    ),
    st.sampled_from([0, NOW, BEGINNING, END - 1]),
)
def test_impossible_dates_are_passed_over(first: str, second: str, now: int) -> None:
    assert all(span.start < span.end for span in spans(f"{first} {second}", now))


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("in the last two weeks of August 2022", "2022-08-18", "2022-09-01"),
        ("in the last 2 weeks in August 2022", "2022-08-18", "2022-09-01"),
        ("in the first week of March", "2023-03-01", "2023-03-08"),
        ("in the second week of April 2022", "2022-04-08", "2022-04-15"),
        ("in the first ten days of June 2022", "2022-06-01", "2022-06-11"),
        ("in the first days of May", "2023-05-01", "2023-05-04"),
        ("on the last day of 2022", "2022-12-31", "2023-01-01"),
        ("on the last weekend of May 2023", "2023-05-27", "2023-05-29"),
        ("on the first weekend in May 2023", "2023-05-06", "2023-05-08"),
        ("on the last Friday of May 2023", "2023-05-26", "2023-05-27"),
        ("on the first Monday in March 2023", "2023-03-06", "2023-03-07"),
        ("in the last two months of 2022", "2022-11-01", "2023-01-01"),
        ("in the first quarter of 2022", "2022-01-01", "2022-04-01"),
        ("in the second half of 2022", "2022-07-01", "2023-01-01"),
        ("in the first half of June 2022", "2022-06-01", "2022-06-16"),
        ("in the last week of last month", "2023-06-24", "2023-07-01"),
        ("in the last week of last summer", "2022-08-25", "2022-09-01"),
        ("in the first month of spring 2022", "2022-03-01", "2022-04-01"),
        ("in the last week of winter", "2023-02-22", "2023-03-01"),
        ("at the beginning of June", "2023-06-01", "2023-06-11"),
        ("in the middle of June 2022", "2022-06-11", "2022-06-21"),
        ("at the end of June 2022", "2022-06-21", "2022-07-01"),
        ("at the end of 2022", "2022-10-02", "2023-01-01"),
    ],
)
def test_a_part_of_a_month_season_or_year_is_that_part(text: str, start: str, end: str) -> None:
    assert only(f"What happened {text}?") == (day(start), day(end))


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("in den letzten zwei Wochen im August 2022", "2022-08-18", "2022-09-01"),
        ("in der ersten Woche von März 2022", "2022-03-01", "2022-03-08"),
        ("Anfang März", "2023-03-01", "2023-03-11"),
        ("Mitte Juni 2022", "2022-06-11", "2022-06-21"),
        ("Ende Juni 2022", "2022-06-21", "2022-07-01"),
        ("en las últimas dos semanas de agosto de 2022", "2022-08-18", "2022-09-01"),
        ("en las dos últimas semanas de agosto de 2022", "2022-08-18", "2022-09-01"),
        ("la primera semana de marzo", "2023-03-01", "2023-03-08"),
        ("el último fin de semana de mayo de 2023", "2023-05-27", "2023-05-29"),
        ("a principios de marzo de 2022", "2022-03-01", "2022-03-11"),
        ("a finales de junio de 2022", "2022-06-21", "2022-07-01"),
        ("les deux dernières semaines d'août 2022", "2022-08-18", "2022-09-01"),
        ("la première semaine de mars", "2023-03-01", "2023-03-08"),
        ("le dernier week-end de mai", "2023-05-27", "2023-05-29"),
        ("début mars", "2023-03-01", "2023-03-11"),
        ("à la mi-juin 2022", "2022-06-11", "2022-06-21"),
        ("fin juin 2022", "2022-06-21", "2022-07-01"),
    ],
)
def test_parts_are_read_in_other_languages(text: str, start: str, end: str) -> None:
    assert only(text) == (day(start), day(end))


@pytest.mark.parametrize(
    "text, start, end",
    [
        ("since the beginning of March", "2023-03-01", None),
        ("after the first week of March 2022", "2022-03-08", None),
        ("before the last week of June 2022", None, "2022-06-24"),
        ("until the end of June 2022", None, "2022-07-01"),
        ("from the first week of March to the end of May 2022", "2022-03-01", "2022-06-01"),
    ],
)
def test_a_part_can_be_where_a_time_begins_or_ends(
    text: str, start: str | None, end: str | None
) -> None:
    assert only(text) == (day(start) if start else BEGINNING, day(end) if end else END)


@pytest.mark.parametrize(
    "text, words",
    [
        ("What did we do last year in May?", ["last year", "May"]),
        ("the last two weeks in Paris", ["last two weeks"]),
        ("the first day of school", []),
        ("the sound of spring", []),
        ("I may end up there", []),
    ],
)
def test_what_only_looks_like_a_part_is_none(text: str, words: list[str]) -> None:
    assert [span.text for span in spans(text, NOW)] == words


@pytest.mark.parametrize(
    "text, start, end",
    [
        # NOW is Wednesday, 19 July 2023.
        ("我上个月搬到了杭州", "2023-06-01", "2023-07-01"),
        ("我上週開始學日語", "2023-07-10", "2023-07-17"),
        ("上周三见了李医生", "2023-07-12", "2023-07-13"),
        ("下周末去爬山", "2023-07-29", "2023-07-31"),
        ("周五下午开会", "2023-07-14", "2023-07-15"),
        ("前天看了牙医", "2023-07-17", "2023-07-18"),
        ("三个月前换了工作", "2023-04-01", "2023-05-01"),
        ("半年前开始跑步", "2023-01-01", "2023-02-01"),
        ("两周前见过", "2023-07-01", "2023-07-09"),
        ("去年夏天结婚了", "2022-06-01", "2022-09-01"),
        ("去年十二月二十五号", "2022-12-25", "2022-12-26"),
        ("2021年5月7日去了北京", "2021-05-07", "2021-05-08"),
        ("上个月5号", "2023-06-05", "2023-06-06"),
        ("十月开始上学", "2022-10-01", "2022-11-01"),
        ("先週、京都に引っ越しました", "2023-07-10", "2023-07-17"),
        ("先週の金曜日に会いました", "2023-07-14", "2023-07-15"),
        ("先週末に登りました", "2023-07-15", "2023-07-17"),
        ("おととい退院しました", "2023-07-17", "2023-07-18"),
        ("三ヶ月ほど前に転職しました", "2023-04-01", "2023-05-01"),
        ("去年の夏に結婚しました", "2022-06-01", "2022-09-01"),
        ("再来月、留学します", "2023-09-01", "2023-10-01"),
        ("12月3日前に届きます", "2022-12-03", "2022-12-04"),
    ],
)
def test_times_are_found_where_words_have_no_spaces(text: str, start: str, end: str) -> None:
    assert only(text) == (day(start), day(end))


@pytest.mark.parametrize(
    "text",
    [
        "晚上周围很安静",
        "第三天前面有山",
        "1990年代",
        "一年半前",
        "13月",
        "后天性的病",
        "明日香さん",
    ],
)
def test_what_only_looks_like_a_time_without_spaces_is_none(text: str) -> None:
    assert spans(text, NOW) == []


@pytest.mark.parametrize("text", ["上周一起吃饭了", "上周三个人来了"])
def test_a_figure_after_a_week_may_count_something_else(text: str) -> None:
    assert only(text) == (day("2023-07-10"), day("2023-07-17"))
