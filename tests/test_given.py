"""What a program gives by mistake is refused in words that say what to give, and nothing is
written.
"""

from __future__ import annotations

from datetime import date

import pytest

from holdfast import Holdfast, InvalidInput, NotFound
from holdfast.errors import ScopeError
from holdfast.storage import InMemoryStore

HUGE = 10**30


@pytest.mark.parametrize("limit", [-1, "3", 2.5])
@pytest.mark.parametrize(
    "ask",
    [
        lambda hf, limit: hf.recall("tea", limit=limit),
        lambda hf, limit: hf.recall("tea", tokens=limit),
        lambda hf, limit: hf.explain(1, "tea", limit=limit),
        lambda hf, limit: hf.context("tea", limit=limit),
        lambda hf, limit: hf.context("tea", tokens=limit),
        lambda hf, limit: hf.list(limit=limit),
        lambda hf, limit: hf.admin.log(limit=limit),
        lambda hf, limit: hf.entities.list(limit=limit),
        lambda hf, limit: hf.entities.get("Bob", limit=limit),
        lambda hf, limit: hf.sessions.messages("chat", last=limit),
        lambda hf, limit: hf.admin.evict(kinds=["fact"], keep=limit),
        lambda hf, limit: hf.admin.consolidate(str, limit=limit),
    ],
)
def test_a_number_of_things_is_whole_and_not_below_none(hf, ask, limit):
    hf.remember("Drinks tea with @Bob")
    with pytest.raises(InvalidInput, match=f"must be a whole number, 0 or more, not {limit!r}"):
        ask(hf, limit)
    assert len(hf.admin.log()) == len(hf.admin.log(limit=None))


def test_none_of_them_may_be_wanted_and_any_number(hf):
    tea = hf.remember("Drinks tea with @Bob")
    assert (
        hf.recall("tea", limit=0),
        hf.list(limit=0),
        hf.admin.log(limit=0),
        hf.entities.get("Bob", limit=0).memories,
    ) == ([],) * 4
    assert hf.list(limit=HUGE) == hf.entities.get("Bob", limit=HUGE).memories == [tea]
    assert [hit.memory for hit in hf.recall("tea", limit=HUGE)] == [tea]
    assert hf.admin.log(limit=HUGE) == hf.admin.log()


@pytest.mark.parametrize(
    "ask",
    [
        lambda hf: hf.recall("tea", kinds="fact"),
        lambda hf: hf.recall("tea", categories="fact"),
        lambda hf: hf.recall("tea", tags="fact"),
        lambda hf: hf.list(sessions="fact"),
        lambda hf: hf.list(statuses="fact"),
        lambda hf: hf.entities.list(types="fact"),
        lambda hf: hf.admin.evict(kinds="fact", keep=0),
    ],
)
def test_one_name_in_the_place_of_several_is_told(hf, ask):
    hf.remember("Drinks tea", category="fact", tags=["fact"])
    with pytest.raises(
        InvalidInput, match=r"must be a list of names, not 'fact'\. Write \['fact'\]\."
    ):
        ask(hf)


def test_a_name_that_is_no_text_is_told(hf):
    with pytest.raises(InvalidInput, match="categories must be a list of names, and 5 is no name"):
        hf.recall("tea", categories=["taste", 5])


@pytest.mark.parametrize("bound", ["since", "until", "as_of"])
@pytest.mark.parametrize("moment", ["2026-01-01", date(2026, 1, 1), 1.5, HUGE])
def test_a_time_that_is_none_does_not_find_nothing(hf, bound, moment):
    with pytest.raises(
        InvalidInput, match=f"{bound} must be a datetime or microseconds since 1970"
    ):
        hf.recall("tea", **{bound: moment})


@pytest.mark.parametrize("text", [None, 5, b"tea"])
def test_a_question_is_text(hf, text):
    asking = [hf.recall, hf.context, hf.sessions.working_memory]
    if text is not None:  # without a question, `explain` says why a memory was stored
        asking.append(lambda given: hf.explain(hf.remember("Tea").id, given))
    for ask in asking:
        with pytest.raises(InvalidInput, match="is text, not "):
            ask(text)


def test_a_list_of_ids_in_the_place_of_ids_is_told(hf):
    tea = hf.remember("Drinks tea")
    for ask in (hf.forget, hf.get, hf.admin.purge, hf.archive):
        with pytest.raises(
            InvalidInput, match=r"by its id or number, not by a list\. Give several as \*ids"
        ):
            ask([tea.id])
    assert hf.get(tea.id) == tea


def test_a_number_beyond_all_numbers_is_not_found(hf):
    with pytest.raises(NotFound):
        hf.get(HUGE)


@pytest.mark.parametrize("one", ["Drinks tea", b"Drinks tea", {"content": "Drinks tea"}])
def test_a_single_thing_in_the_place_of_many_is_not_taken_apart(hf, one):
    with pytest.raises(InvalidInput, match=r"Give a list of memories, .* there is remember"):
        hf.remember_many(one)
    with pytest.raises(InvalidInput, match=r"Give a list of turns, .* there is capture"):
        hf.capture_many(one)
    assert hf.list() == []


def test_fields_that_do_not_fit_are_named(hf):
    with pytest.raises(
        InvalidInput,
        match=r"no field 'contnt'\. Did you mean 'content'\? It may have: content, kind",
    ):
        hf.remember_many([{"contnt": "Drinks tea"}])
    with pytest.raises(InvalidInput, match="A memory needs its text, as content"):
        hf.remember_many([{"kind": "fact"}])
    with pytest.raises(InvalidInput, match="A memory is text, not int"):
        hf.remember_many([5])
    with pytest.raises(
        InvalidInput, match="A turn is a mapping with session, role and text, not a str"
    ):
        hf.capture_many(["Drinks tea"])


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_is_a_share(hf, threshold):
    hf.remember("Drinks tea", decay_rate=0.1)
    with pytest.raises(InvalidInput, match="threshold must lie between 0 and 1"):
        hf.admin.decay(threshold=threshold)
    assert len(hf.list()) == 1


def test_an_empty_path_is_not_the_file_of_the_person():
    with pytest.raises(InvalidInput, match="None for the per-user file"):
        Holdfast.open("", scope="user:ann")


def test_settings_are_settings(tmp_path):
    with pytest.raises(InvalidInput, match=r"settings must be holdfast.Settings\(…\), not a dict"):
        Holdfast.open(tmp_path / "memory.db", scope="user:ann", settings={"recall_limit": 3})
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_for_open_and_scopes_may_be_text(tmp_path):
    with pytest.raises(InvalidInput, match=r"A path is opened by Holdfast\.open\(path, scope="):
        Holdfast(str(tmp_path / "memory.db"), "user:ann")  # type: ignore[arg-type]
    with Holdfast(InMemoryStore(), "user:ann") as hf:
        assert str(hf.remember("Drinks tea").scope) == "user:ann"
    with pytest.raises(ScopeError), Holdfast(InMemoryStore(), []):
        pass
