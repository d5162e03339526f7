"""Recall, asked through the front door."""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from holdfast import Holdfast, Settings
from holdfast.models.embeddings.tiers import REST_AFTER_FAILURE
from holdfast.models.fake import FakeEmbedder
from holdfast.retrieval import candidates
from holdfast.retrieval.fusion import logistic, logit
from holdfast.types import from_datetime

DAY = 86_400_000_000


def found(hf, question, **options):
    return [hit.memory.content for hit in hf.recall(question, **options)]


# What matches


def test_a_question_in_plain_language_finds_by_the_words_that_matter(words):
    words.remember_many(
        ["Her passport is in the blue drawer", "The car is in the garage", "She likes drawing"]
    )
    assert (
        found(words, "In which drawer did she say that her passport is?")[0]
        == "Her passport is in the blue drawer"
    )


def test_one_matching_word_is_enough_and_two_are_better(words):
    words.remember_many(
        [
            "The passport expired",
            "The blue drawer is stuck",
            "The passport is in the drawer",
            "Rain",
        ]
    )
    hits = found(words, "passport drawer")
    assert hits[0] == "The passport is in the drawer"
    assert sorted(hits[1:]) == ["The blue drawer is stuck", "The passport expired"]


def test_a_letter_alone_is_looked_for_where_nothing_else_is_asked(words):
    words.remember("I write my statistics in R")
    assert found(words, "And what about R?") == ["I write my statistics in R"]


def test_words_match_in_other_forms(words):
    words.remember("She was running marathons in three countries")
    assert found(words, "Which country's marathon did she run?")


@pytest.mark.parametrize(
    "question", ["", "   ", "the of and is", "What did you do?", "?!… — ()", "\x00", "***", "\n\t"]
)
def test_a_question_without_a_word_that_matters_finds_nothing(hf, question):
    hf.remember("What did you do? The tea of the house and its ()")
    assert found(hf, question) == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("私は緑茶が好きです", "緑茶"),
        ("我們下週搬到里斯本", "里斯本在哪裡"),
        ("나는 녹차를 좋아한다", "녹차"),
        ("Она переехала в Лиссабон весной", "когда переехала?"),
        ("Elle préfère le café crème", "cafe creme"),
        ("Der Schlüssel liegt im Büro", "schlussel buro"),
        ("Μένει στην Αθήνα", "Αθήνα"),
        ("يحب الشاي الأخضر", "الشاي"),
        ("He sent a 🦊 sticker", "🦊"),
        ("Uses C++ and user_name_field", "c++"),
        ("Uses C++ and user_name_field", "user_name_field"),
        ("ＦＵＬＬＷＩＤＴＨ tea", "fullwidth"),
    ],
)
def test_every_script_is_searchable_by_words_alone(words, text, question):
    words.remember("Something else altogether, about gardens")
    words.remember(text)
    assert found(words, question)[0] == text


def test_titles_and_tags_are_searched_too(words):
    words.remember("Always squash before merging", title="Pull requests", tags=("git",))
    assert found(words, "pull request") == found(words, "git") == ["Always squash before merging"]


LEGAL = st.text(st.characters(codec=None, exclude_categories=()), max_size=200) | st.lists(
    st.sampled_from(
        [
            "tea",
            '"',
            "'",
            "NEAR(",
            ")",
            "*",
            "AND",
            "OR",
            "NOT",
            "^",
            "content:",
            "-",
            "\x00",
            "\ud800",
            "🦊",
            "茶",
            "%",
            ";--",
            "last week",
        ]
    ),
    max_size=30,
).map("".join)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@example("tea " * 25_000)
@example("茶" * 33_000)
@example("a" * 100_000)
@example('"unbalanced AND (tea OR')
@example("in 0000-00-00 and 31 February 2021, 99999 years ago, before year 1")
@given(LEGAL)
def test_any_text_is_a_legal_question(hf, question):
    if not hf.list():
        hf.remember("Prefers green tea", author="Ann", event_time=0)
        hf.capture("s1", "user", "last week I had tea 茶 🦊")
    for hit in hf.recall(question):
        assert 0 <= hit.score <= 1
    hf.explain(1, question)
    hf.context(question, session="s1")


@pytest.mark.parametrize(
    "question",
    ["a\x00b tea", "\ud800 tea", '"tea', "tea*" * 20_000, "🦊 tea", "茶" * 5000 + " tea"],
)
def test_any_text_is_legal_for_the_model_that_ships_too(tmp_path, question):
    quick = Settings(embedding_models="static")
    with Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=quick, background=False) as hf:
        hf.remember("tea")
        assert len(hf.recall(question)) == 1
        assert hf.stats()["problems"] == {}


# When


def test_a_relative_date_steers_to_what_happened_then(words, clock):
    words.remember("Met Ines for lunch", kind="episode", event_time=clock.now - 40 * DAY)
    words.remember("Met Otto for lunch", kind="episode", event_time=clock.now - 7 * DAY)
    words.remember("Met Jana for lunch", kind="episode", event_time=clock.now - 100 * DAY)
    assert found(words, "Who did she meet for lunch last week?")[0] == "Met Otto for lunch"
    clock.forward(days=-33)
    assert found(words, "Who did she meet for lunch last week?")[0] == "Met Ines for lunch"


def test_a_question_of_nothing_but_a_time_lists_what_happened_then(words, clock):
    words.remember("Painted the fence", kind="episode", event_time=clock.now - 7 * DAY)
    words.remember("Sold the car", kind="episode", event_time=clock.now - 60 * DAY)
    assert found(words, "What happened last week?") == ["Painted the fence"]
    assert found(words, "what did we do in January?") == ["Sold the car"]


def test_with_as_of_relative_dates_count_from_that_time(words, clock):
    words.remember("Painted the fence", kind="episode", event_time=clock.now - 7 * DAY)
    then = clock.now
    clock.forward(days=365)
    assert found(words, "What happened last week?") == []
    assert found(words, "What happened last week?", as_of=then) == ["Painted the fence"]


# Filters, limits, order


def test_filters_narrow_before_the_limit_is_taken(hf):
    hf.remember_many([f"tea tea tea number {number}" for number in range(300)])
    hf.remember(
        "One rule about tea in a longer sentence than all others",
        kind="rule",
        category="home",
        tags=("x",),
    )
    for narrow in ({"kinds": ["rule"]}, {"categories": ["home"]}, {"tags": ["x"]}):
        assert found(hf, "tea", limit=1, **narrow) == [
            "One rule about tea in a longer sentence than all others"
        ]


def test_a_session_can_be_left_out(words):
    words.capture("s1", "user", "tea in this session")
    words.capture("s2", "user", "tea in another session")
    words.remember("tea in no session")
    assert sorted(found(words, "tea", exclude_session="s1")) == [
        "tea in another session",
        "tea in no session",
    ]


def test_neighbours_of_a_match_pass_the_filters_too(words):
    words.capture_many(
        [
            {"session": "s1", "role": "user", "text": text}
            for text in ("Where do we eat?", "Ramen place")
        ]
    )
    words.archive(words.remember("x", kind="turn", session="s1").id)
    assert found(words, "ramen") == ["Ramen place", "Where do we eat?"]
    assert found(words, "ramen", exclude_session="s1") == []
    assert "x" not in found(words, "ramen")


def test_the_limit_holds_and_its_default_comes_from_the_settings(open_memory):
    hf = open_memory("user:ann", settings=Settings(recall_limit=3))
    hf.remember_many([f"tea from shop {number}" for number in range(8)])
    assert [len(hf.recall("tea", **options)) for options in ({}, {"limit": 5}, {"limit": 0})] == [
        3,
        5,
        0,
    ]


def test_as_many_are_found_as_are_wanted(words):
    words.remember_many([f"tea from shop {number}" for number in range(candidates.DEPTH + 30)])
    assert len(words.recall("tea", limit=candidates.DEPTH + 20)) == candidates.DEPTH + 20


def test_turns_around_the_best_of_all_arms_are_candidates(words):
    """A turn that shares no word with the question is found beside one that does."""
    for number in range(candidates.BEST):
        words.capture_many(
            [
                {"session": f"s{number}", "role": "user", "text": text}
                for text in (f"Where is tea {number}?", f"On shelf {number}")
            ]
        )
    assert len(found(words, "tea", limit=2 * candidates.BEST)) == 2 * candidates.BEST


def test_a_hit_that_cannot_be_read_is_left_out_and_the_others_stay(words):
    damaged = words.remember("tea in the kitchen")
    words.remember("tea in the garden")
    words.store.transact(
        (),
        lambda execute: execute(
            "UPDATE memories SET quote = CAST(x'ff' AS TEXT) WHERE seq = ?", (damaged.seq,)
        ),
    )
    assert found(words, "tea") == ["tea in the garden"]
    assert [one.seq for one in words.store.damaged(words.scopes)] == [damaged.seq]


def test_hits_stop_before_they_outgrow_a_token_budget(words):
    words.remember_many([f"tea {number} " + "leaf " * 20 for number in range(5)])
    everything = words.recall("tea")
    assert len(everything) == 5
    some = words.recall("tea", tokens=60)
    assert 0 < len(some) < 5
    assert [hit.memory.id for hit in some] == [hit.memory.id for hit in everything[: len(some)]]
    assert words.recall("tea", tokens=1) == []


def test_ties_are_in_the_order_of_remembering_every_time(hf):
    hf.remember_many([f"tea from shop {letter}" for letter in "abcdefgh"])
    orders = {tuple(hit.memory.seq for hit in hf.recall("tea")) for _ in range(5)}
    assert orders == {tuple(range(1, 9))}


def test_scores_fall_from_first_to_last_and_lie_between_0_and_1(hf):
    hf.remember_many(["green tea", "tea", "green car", "black tea with green leaves", "nothing"])
    scores = [hit.score for hit in hf.recall("green tea")]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= min(scores) <= max(scores) <= 1


# Near-copies, speakers, confidence


def test_near_copies_do_not_fill_the_list(words):
    text = (
        "Since spring our weekly planning meeting takes place upstairs in that large corner "
        "room with two old windows"
    )
    words.remember_many(
        [{"content": f"{text} {end}", "kind": "episode"} for end in ("now", "today", "again", "ok")]
    )
    words.remember("A room")
    question = "in which corner room upstairs is the planning meeting?"
    assert [hit.memory.seq for hit in words.recall(question, limit=2)] == [1, 5]
    assert [hit.memory.seq for hit in words.recall(question)] == [1, 5, 2, 3, 4]


@pytest.mark.parametrize(
    "other",
    [
        "Please remember that the weekly meeting takes place at 11 in the large room upstairs",
        (
            "Please remember that the weekly meeting never takes place at 10 in the large room "
            "upstairs"
        ),
    ],
)
def test_another_number_or_a_negation_is_not_a_copy(words, other):
    words.remember(
        "Please remember that the weekly meeting takes place at 10 in the large room upstairs"
    )
    words.remember(other)
    words.remember("A meeting")
    assert other in found(words, "weekly meeting in the large room upstairs", limit=2)


def test_what_the_named_person_said_comes_first(words):
    words.capture("s1", "user", "I adopted a dog", author="Melanie")
    words.capture("s2", "user", "I adopted a dog", author="Caroline")
    assert words.recall("Which pet did Caroline adopt, a dog?")[0].memory.author == "Caroline"
    assert words.recall("Which pet did Melanie adopt, a dog?")[0].memory.author == "Melanie"


def test_doubt_lowers_a_memory(words):
    words.remember("The meeting is on Monday", confidence=0.1)
    words.remember("The meeting is on Friday", confidence=0.9)
    sure, unsure = words.recall("When is the meeting?")
    assert (sure.memory.content, unsure.memory.content) == (
        "The meeting is on Friday",
        "The meeting is on Monday",
    )
    assert sure.score > unsure.score


def test_each_hit_tells_its_arms_and_signals(hf, fake):
    hf.remember("green tea")
    why = hf.recall("green tea")[0].why
    assert why.arms == {"words": 1, "meaning (static)": 1}
    assert why.model == fake.identity
    assert str(why).startswith("words #1, meaning (static) #1; shares the question's words +")
    assert {"words", "meaning", "date"} <= {signal.name for signal in why.signals}


# Reciprocal rank fusion


@pytest.fixture
def by_rank(open_memory):
    return open_memory("user:ann", settings=Settings(fusion="rrf"))


def test_by_rank_the_score_is_the_sum_of_reciprocal_ranks_over_the_best_possible(by_rank):
    by_rank.remember_many(["green tea", "green tea with much milk", "quiet library"])
    for hit in by_rank.recall("green tea"):
        expected = sum(1 / (60 + rank) for rank in hit.why.arms.values()) / (2 / 61)
        assert hit.score == pytest.approx(expected)
    assert by_rank.recall("green tea")[0].score == pytest.approx(1.0)


def test_by_rank_what_two_arms_found_beats_what_one_arm_found(by_rank):
    by_rank.remember_many(["quiet library", "green tea"])
    first, second = by_rank.recall("green tea")
    assert (first.why.arms.keys(), second.why.arms.keys()) == (
        {"words", "meaning (static)"},
        {"meaning (static)"},
    )
    assert first.score > second.score


# Embedders that fail, change, and grow


def test_while_the_embedder_is_down_words_do_and_the_problem_shows(hf, fake):
    hf.remember("green tea")
    fake.fault = "down"
    assert found(hf, "tea") == ["green tea"]
    assert "cannot be reached" in hf.stats()["problems"][fake.identity]
    calls = fake.calls
    hf.recall("tea")
    assert fake.calls == calls


def test_an_embedder_that_is_back_is_used_again_after_a_rest(hf, fake, clock):
    hf.remember("green tea")
    fake.fault = "down"
    hf.recall("tea")
    fake.fault = None
    hf.recall("tea")
    assert hf.stats()["vectors"] == {}
    clock.now += REST_AFTER_FAILURE
    assert "meaning (static)" in hf.recall("tea")[0].why.arms
    assert (hf.stats()["vectors"], hf.stats()["problems"]) == ({fake.identity: 1}, {})


def test_an_embedder_that_failed_on_a_question_only_is_forgiven_too(hf, fake, clock):
    hf.remember("green tea")
    hf.recall("tea")
    fake.fault = "slow"
    assert hf.recall("tea")[0].why.arms == {"words": 1}
    assert "in time" in hf.stats()["problems"][fake.identity]
    fake.fault = None
    clock.now += REST_AFTER_FAILURE
    assert "meaning (static)" in hf.recall("tea")[0].why.arms
    assert hf.stats()["problems"] == {}


@pytest.mark.parametrize("fault", ["wrong-sized", "nan", "down", "slow"])
def test_an_embedder_that_misbehaves_loses_nothing(hf, fake, clock, fault):
    hf.remember("green tea")
    hf.recall("tea")
    fake.fault = fault
    hf.remember("black tea")
    assert found(hf, "black tea")[0] == "black tea"
    assert hf.stats()["problems"].keys() == {fake.identity}
    fake.fault = None
    clock.now += REST_AFTER_FAILURE
    hf.recall("tea")
    assert hf.stats()["vectors"] == {fake.identity: 2}
    assert hf.admin.check() == []


def test_a_change_of_model_is_lexical_at_once_and_embedded_again_later(hf, open_memory):
    hf.remember_many(["green tea", "quiet library"])
    hf.recall("tea")
    new = FakeEmbedder(identity="fake:new", dimensions=64)
    new.quick = False
    changed = open_memory("user:ann", embedders=(new,))
    assert changed.recall("tea")[0].why.arms == {"words": 1}
    changed.admin.reembed()
    assert changed.recall("tea")[0].why.model == "fake:new"
    assert changed.stats()["vectors"] == {"fake:bag-of-words": 2, "fake:new": 2}


@pytest.fixture
def better():
    embedder = FakeEmbedder(identity="fake:better", dimensions=64)
    embedder.quick = False
    return embedder


def test_the_better_of_two_models_is_used_when_it_covers_everything(open_memory, fake, better):
    hf = open_memory("user:ann", embedders=(fake, better))
    hf.remember("green tea")
    assert hf.recall("tea")[0].why.model == fake.identity
    hf.admin.reembed()
    assert hf.recall("tea")[0].why.model == "fake:better"


def test_while_the_better_model_covers_a_part_both_are_asked(open_memory, fake, better):
    hf = open_memory("user:ann", embedders=(fake, better))
    hf.remember("green tea")
    hf.admin.reembed()
    hf.remember("green lamp")
    hits = hf.recall("green")
    assert {hit.memory.content for hit in hits} == {"green tea", "green lamp"}
    assert hits[0].why.model == f"fake:better, {fake.identity}"


# A store that cannot be written


@pytest.fixture
def public_folder():
    """A folder outside the tests' private one, so that another user may enter it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="needs POSIX users")
def test_a_store_that_cannot_be_written_can_be_read(open_memory, public_folder):
    file = public_folder / "memory.db"
    with open_memory("user:ann", path=file) as hf:
        hf.remember("green tea")
        hf.recall("tea")
        hf.remember("black tea")
    file.chmod(0o444)
    public_folder.chmod(0o555)
    before = file.read_bytes()
    # newer Pythons import for this on first use, which somebody else may not be allowed to read
    file.as_uri()
    is_root = os.getuid() == 0
    if is_root:
        # Root may write anything, so become somebody else for a moment.
        os.setresuid(65534, 65534, 0)
    try:
        with open_memory("user:ann", path=file) as hf:
            assert sorted(found(hf, "tea")) == ["black tea", "green tea"]
            assert (hf.get(1).content, hf.stats()["active"]) == ("green tea", 2)
    finally:
        if is_root:
            os.setresuid(0, 0, 0)
    assert file.read_bytes() == before


def test_a_named_month_is_read_in_utc(words):
    words.remember(
        "Visited Porto",
        kind="episode",
        event_time=from_datetime(datetime(2026, 1, 31, 23, 59, tzinfo=UTC)),
    )
    words.remember(
        "Visited Faro", kind="episode", event_time=from_datetime(datetime(2026, 2, 1, tzinfo=UTC))
    )
    assert found(words, "what did we visit in January?")[0] == "Visited Porto"
    assert found(words, "what did we visit in February?")[0] == "Visited Faro"


def test_a_question_about_a_time_finds_what_happened_then_whatever_words_it_holds(words, clock):
    week = 7 * 86_400_000_000
    words.remember("Planted the tomatoes", kind="episode", event_time=clock() - week)
    words.remember("The weekly report is due", kind="episode", event_time=clock() - 20 * week)
    assert "Planted the tomatoes" in [
        hit.memory.content for hit in words.recall("What happened last week?")
    ]


def test_what_was_all_forgotten_is_asked_for_in_vain(hf):
    hf.forget(hf.remember("Likes tea").id)
    assert [found(hf, "tea") for _ in range(3)] == [[], [], []], (
        "the matrix of vectors, which is built later, is empty"
    )


@pytest.mark.parametrize(
    ("question", "stored"),
    [
        ("What do I like?", "The user likes jazz"),
        ("Who am I?", "The user's name is Ann"),
        ("Where am I from?", "The user is from Portugal"),
        ("Wer bin ich?", "Ich heiße Clara"),
        ("¿Quién soy?", "Me llamo Lucía"),
        ("¿De dónde soy?", "Soy de Rosario"),
        ("Qui suis-je ?", "Je m'appelle Manon"),
        ("Кто я?", "Меня зовут Лена"),
        ("我是谁？", "我叫小明"),
        ("私は誰？", "私は田中です"),
    ],
)
def test_a_question_of_stop_words_finds_what_is_known_of_somebody(words, question, stored):
    words.remember("quiet library")
    known = words.remember(stored)
    assert words.recall(question)[0].memory.id == known.id


def test_a_question_of_stop_words_is_searched_by_meaning(hf):
    known = hf.remember("green tea")
    assert [hit.memory.id for hit in hf.recall("What do I like?")] == [known.id]


def test_other_stop_words_find_nothing(hf):
    hf.remember("what is the tea")
    assert hf.recall("what is the?") == []


# Summaries


def _ended(words, clock):
    for text in ("We moved to Porto.", "Porto has steep streets.", "I like the port in Porto."):
        words.capture("s1", "user", text)
    words.sessions.end("s1")
    words.admin.maintain("consolidate")
    clock.forward(days=1)
    [summary] = words.list(kinds=["episode"])
    return summary


def test_a_summary_is_not_recalled_beside_its_own_turns(words, clock):
    summary = _ended(words, clock)
    kinds = [hit.memory.kind for hit in words.recall("Porto", min_score=0)]
    assert "turn" in kinds
    assert "episode" not in kinds
    assert [hit.memory.id for hit in words.recall("Porto", kinds=["episode"])] == [summary.id]
    why = words.explain(summary.id, "Porto")
    assert "it retells ep_" in why.explanation
    assert 'kinds=["episode"]' in why.explanation


def test_a_summary_whose_turns_are_not_found_is_recalled(words, clock):
    summary = _ended(words, clock)
    for turn in words.list(kinds=["turn"]):
        words.archive(turn.id)
    assert summary.id in [hit.memory.id for hit in words.recall("Porto", min_score=0)]


def test_a_reflection_is_not_recalled_beside_what_it_was_made_from(words):
    words.remember_many(["Ann read a book on Porto", "Ann reads on Porto", "Ann likes Porto"])
    words.admin.reflect(lambda prompt: "A week of reading about Porto.")
    assert "A week of reading about Porto." not in found(words, "Porto", min_score=0)
    assert found(words, "Porto", kinds=["reflection"]) == ["A week of reading about Porto."]


def test_an_extracted_fact_and_its_turn_take_one_place_before_others(words, clock):
    words.capture("s1", "user", "My sister Ines lives in Lisbon.")
    words.sessions.extract("s1")
    words.remember_many(["Ines has a boat", "Lisbon has trams"])
    clock.forward(days=1)
    hits = words.recall("Where does my sister Ines live?", min_score=0)
    told = [place for place, hit in enumerate(hits) if "lives in Lisbon" in hit.memory.content]
    assert told == [0, len(hits) - 1], "the other one comes after all that says something else"


def test_an_extracted_fact_counts_half_by_what_its_turn_says(words, clock):
    words.capture("s1", "user", "My sister Ines lives in Lisbon. " + "We talked about trains. " * 9)
    words.sessions.extract("s1")
    words.remember_many(["Ines has a boat", "Lisbon has trams"])
    clock.forward(days=1)
    hits = words.recall("Where does my sister Ines live?", min_score=0)
    fact = next(
        hit for hit in hits if hit.memory.content == "The user's sister Ines lives in Lisbon"
    )
    turn = next(hit for hit in hits if hit.memory.kind == "turn")
    lowered = fact.why.signals[-1]
    assert lowered.name == "turn"
    before = logistic(logit(fact.score) - lowered.share)
    assert fact.score == pytest.approx((before + turn.score) / 2)
    assert turn.score < fact.score < before
