"""Turns of a project's past sessions are recalled for a question or for nearly the same words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, Settings
from holdfast.retrieval.project_turns import asks, is_near

SAID = (
    "Add a settings page with a form for the shop's address and its opening hours.",
    "The test of the invoice parser fails since the update of the PDF library, look into it.",
    "We keep sessions in Redis, because Postgres was too slow for them in March.",
    "Rename the package from shopkit to storefront in every import.",
    "Please write the release notes for 2.3 and push the tag.",
    "The build of the container takes nine minutes, make it faster.",
    "Show the total with tax in the cart, and round it half up.",
    "Remove the feature flag for the new checkout, it is on everywhere.",
    "The search box loses focus when the list of products is loaded again.",
    "Deploy only from the branch called harbour, never from main.",
    "Translate the mail about a late parcel into Danish.",
    "Let the importer skip products without a price and count them.",
    "Upgrade the linter and mend what it complains about.",
    "Write a fixture with three customers for the tests of discounts.",
)
INSTRUCTION = (
    "Write the tests for the tuning of the guitar, push a new branch and write the release notes."
)
SAME = "The test of the invoice parser fails again since the update of the PDF library."
QUESTION = "Where do we keep the sessions?"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same turns in a project and in a person's memory, and a record, embedded by both models
    that ship.
    """
    path = tmp_path_factory.mktemp("project") / "memory.db"
    for scope in ("project:shop", "user:ann"):
        with Holdfast.open(path, scope=scope) as hf:
            for text in SAID:
                hf.capture("monday", "user", text)
            hf.remember("A new branch is pushed only after its tests have passed.")
            hf.admin.reembed()
    return path


@pytest.fixture
def shop(store: Path) -> Iterator[Holdfast]:
    with Holdfast.open(store, scope="project:shop") as hf:
        yield hf


def turns(hf: Holdfast, text: str, **options: object) -> list[str]:
    hits = hf.recall(text, **options)  # type: ignore[arg-type]
    return [hit.memory.content for hit in hits if hit.memory.kind == "turn"]


def test_an_instruction_about_something_else_brings_up_no_turn(shop: Holdfast) -> None:
    assert turns(shop, INSTRUCTION) == []


def test_records_and_facts_are_found_beside_it_all_the_same(shop: Holdfast) -> None:
    kinds = {hit.memory.kind for hit in shop.recall(INSTRUCTION)}
    assert kinds == {"fact"}


def test_a_turn_that_says_nearly_the_same_is_found(shop: Holdfast) -> None:
    assert turns(shop, SAME)[0] == SAID[1]


def test_a_question_and_words_to_look_for_are_answered(shop: Holdfast) -> None:
    assert turns(shop, QUESTION)[0] == SAID[2]
    assert turns(shop, "sessions Redis")[0] == SAID[2]


def test_whoever_asks_for_any_score_or_for_turns_gets_them(shop: Holdfast) -> None:
    about_guitars = (
        "Make the build of the guitar component faster and translate the mail on strings."
    )
    assert turns(shop, about_guitars) == []
    assert turns(shop, about_guitars, min_score=0)
    assert turns(shop, about_guitars, kinds=["turn"])


def test_a_person_s_own_turns_are_found_as_ever(store: Path) -> None:
    with Holdfast.open(store, scope="user:ann") as hf:
        assert turns(hf, INSTRUCTION)


def test_of_several_scopes_only_the_projects_are_narrowed(store: Path) -> None:
    with Holdfast.open(store, scope=["project:shop", "user:ann"]) as hf:
        found = [hit.memory for hit in hf.recall(INSTRUCTION)]
    assert {one.scope.kind for one in found if one.kind == "turn"} == {"user"}


def test_explain_says_why_a_turn_is_not_shown(shop: Holdfast) -> None:
    turn = next(one for one in shop.list(kinds=["turn"]) if one.content == SAID[4])
    why = shop.explain(turn.id, INSTRUCTION)
    assert (why.recalled, why.dropped_by) == (False, "order")
    assert "`--min-score 0` shows it" in why.explanation
    assert shop.explain(turn.id, SAID[4]).recalled


def test_without_vectors_words_alone_decide_nothing(tmp_path: Path) -> None:
    words = Settings(embedding_models="none")
    with Holdfast.open(tmp_path / "memory.db", scope="project:shop", settings=words) as hf:
        for text in SAID:
            hf.capture("monday", "user", text)
        assert turns(hf, INSTRUCTION)


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("Where do we keep the sessions", True),
        ("Do we keep sessions in Redis?", True),
        ("wo liegen die Sitzungen", True),
        ("数据库在哪里？", True),
        ("run the tests", False),
        ("Tests laufen lassen", False),
        ("", False),
    ],
)
def test_a_question_has_its_mark_or_an_interrogative_word_first(
    text: str, is_question: bool
) -> None:
    assert asks(text) is is_question


def test_a_long_turn_has_to_be_nearer() -> None:
    assert is_near(0.7, "run the tests", "static")
    assert not is_near(0.7, "tests " * 200, "static")
