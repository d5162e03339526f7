"""The ids of mem0: what is stored under one is found under it, by every verb; what is nobody's id
is refused.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from holdfast.errors import InvalidInput
from holdfast.importers import FORMATS, take_in
from holdfast.integrations.mem0 import AsyncMemory, Memory
from holdfast.integrations.mem0.ids import ACTOR, OWNERS

SAME = [
    (5, "5"),
    (0, "0"),
    (True, "True"),
    (1.5, "1.5"),
    (" ann ", "ann"),
    ("\tann\n", "ann"),
    ("Ann:x/y@z", None),
]
SAME += [(UUID(int=7), str(UUID(int=7))), ("用户", None)]
NOBODY = ["", " ", "\t\n", "\u2003", "a b", "a\nb", ["ann"], ("ann",), {"ann"}]


def adding(memory, text="Likes oolong", **given):
    return memory.add(text, infer=False, **given)["results"][0]["id"]


def texts(found):
    return sorted(item["memory"] for item in found["results"])


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request, hf):
    if request.param == "sqlite":
        yield Memory(hf)
        return
    with Memory.from_config(
        {"store": request.getfixturevalue("postgres_store_url")}
    ) as on_a_server:
        yield on_a_server


@pytest.fixture
def local(hf):
    return Memory(hf)


@pytest.mark.parametrize("name", OWNERS)
def test_an_id_that_is_a_number_is_found_by_every_verb(memory, name):
    id_ = adding(memory, **{name: 5})
    assert memory.get(id_)[name] == "5"
    for same in (5, "5", " 5 "):
        assert texts(memory.get_all(filters={name: same})) == ["Likes oolong"]
        assert texts(memory.search("oolong", filters={name: same})) == ["Likes oolong"]
    memory.delete_all(**{name: 5})
    assert memory.get_all(filters={name: 5}) == {"results": []}


@pytest.mark.parametrize(("given", "kept"), SAME)
@pytest.mark.parametrize("name", OWNERS)
def test_an_id_is_stored_and_found_in_one_form(local, name, given, kept):
    id_ = adding(local, **{name: given})
    assert local.get(id_)[name] == (kept or given)
    assert texts(local.get_all(filters={name: given})) == ["Likes oolong"]
    assert texts(local.get_all(**{name: given})) == ["Likes oolong"]
    assert texts(local.search("oolong", **{name: given})) == ["Likes oolong"]
    assert local.delete_all(**{name: given})
    assert local.get(id_) is None


@pytest.mark.parametrize("wanted", NOBODY)
@pytest.mark.parametrize("name", OWNERS)
def test_an_id_that_can_be_nobodys_is_refused_by_every_verb(local, hf, name, wanted):
    adding(local, user_id="ann")
    runs = len(hf.admin.log())
    asked = [
        lambda: local.add("Likes sencha", infer=False, **{name: wanted}),
        lambda: local.add("I live in Lisbon.", **{name: wanted}),
        lambda: local.add("I live in Lisbon.", **{"user_id": "ann", name: wanted}),
        lambda: local.get_all(filters={name: wanted}),
        lambda: local.get_all(**{name: wanted}),
        lambda: local.search("oolong", filters={name: wanted}),
        lambda: local.search("oolong", **{name: wanted}),
        lambda: local.search("oolong", filters={"AND": [{"user_id": "ann"}, {name: wanted}]}),
        lambda: local.delete_all(**{name: wanted}),
    ]
    for one in asked:
        with pytest.raises(ValueError, match=f"Invalid {name}"):
            one()
    assert len(hf.admin.log()) == runs


@pytest.mark.parametrize("name", OWNERS)
def test_awaited_verbs_treat_ids_alike(hf, name):
    async def talk():
        memory = AsyncMemory(hf)
        await memory.add("Likes oolong", infer=False, **{name: 5})
        found = (
            await memory.search("oolong", filters={name: 5}),
            await memory.get_all(filters={name: " 5 "}),
        )
        for verb, given in (
            (memory.add, {"messages": "x", name: " "}),
            (memory.get_all, {"filters": {name: ""}}),
            (memory.search, {"query": "x", "filters": {name: "a b"}}),
            (memory.delete_all, {name: " "}),
        ):
            with pytest.raises(ValueError, match=f"Invalid {name}"):
                await verb(**given)
        await memory.delete_all(**{name: 5})
        return [texts(one) for one in found], texts(await memory.get_all(filters={name: 5}))

    assert asyncio.run(talk()) == ([["Likes oolong"], ["Likes oolong"]], [])


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"user_id": {"eq": 5}}, ["Likes oolong", "Likes sencha"]),
        ({"user_id": {"in": [5, 6]}}, ["Likes oolong", "Likes sencha"]),
        ({"user_id": {"in": [" 5 "]}}, ["Likes oolong", "Likes sencha"]),
        ({"user_id": "*", "agent_id": {"ne": 7}}, ["Likes oolong"]),
        ({"AND": [{"user_id": 5}, {"agent_id": {"nin": [7]}}]}, ["Likes oolong"]),
        ({"OR": [{"user_id": 5}, {"user_id": 6}]}, ["Likes oolong", "Likes sencha"]),
        ({"user_id": 5, "NOT": [{"agent_id": 7}]}, ["Likes oolong"]),
    ],
)
def test_ids_are_made_equal_wherever_they_stand_in_filters(memory, filters, found):
    adding(memory, "Likes oolong", user_id=5)
    adding(memory, "Likes sencha", user_id=5, agent_id=7)
    assert texts(memory.get_all(filters=filters)) == found
    assert texts(memory.search("likes oolong or sencha?", filters=filters)) == found


@pytest.mark.parametrize("filters", ["ann", ["ann"], 5])
def test_filters_are_a_mapping(local, filters):
    with pytest.raises(InvalidInput, match="filters must be a mapping"):
        local.get_all(filters=filters)


@pytest.mark.parametrize("name", OWNERS)
def test_nobody_is_called_by_the_sign_for_everybody(local, name):
    adding(local, user_id="ann")
    for refused in (lambda: adding(local, **{name: "*"}), lambda: local.delete_all(**{name: "*"})):
        with pytest.raises(ValueError, match=r"'\*' is a wildcard for filters"):
            refused()
    assert texts(local.get_all(filters={"user_id": "*"})) == ["Likes oolong"]


# Actors


@pytest.mark.parametrize(
    ("named", "asked"), [("Ann Lee", "Ann Lee"), (" Ann ", "Ann"), ("Ann", " Ann "), (5, 5)]
)
def test_an_actor_is_found_by_the_name_in_the_message(memory, named, asked):
    said = [
        {"role": "user", "content": "Likes oolong", "name": named},
        {"role": "user", "content": "Likes sencha"},
    ]
    memory.add(said, infer=False, user_id="ann")
    filters = {"user_id": "ann", ACTOR: asked}
    assert texts(memory.get_all(filters=filters)) == ["Likes oolong"]
    assert texts(memory.search("oolong", filters=filters)) == ["Likes oolong"]


@pytest.mark.parametrize("named", ["", " ", None])
def test_a_message_with_a_blank_name_has_no_actor(local, named):
    local.add(
        [{"role": "user", "content": "Likes oolong", "name": named}], infer=False, user_id="ann"
    )
    assert ACTOR not in local.get_all(filters={"user_id": "ann"})["results"][0]


@pytest.mark.parametrize("wanted", ["", " ", ["Ann"]])
def test_an_actor_that_can_be_nobody_is_refused(local, wanted):
    for verb in (local.get_all, lambda **given: local.search("x", **given)):
        with pytest.raises(ValueError, match="Invalid actor_id"):
            verb(filters={"user_id": "ann", ACTOR: wanted})


# What comes from elsewhere


def test_metadata_cannot_say_whose_an_item_is(local):
    own = dict.fromkeys((*OWNERS, ACTOR), "eve")
    id_ = adding(local, user_id="ann", metadata={**own, "cups": 3})
    local.update(id_, metadata={**own, "hot": True})
    item = local.get(id_)
    assert item["metadata"] == {"cups": 3, "hot": True}
    assert item["user_id"] == "ann" and "agent_id" not in item


def test_ids_in_a_file_are_made_equal_as_well(local, hf):
    items = (
        '{"memory": "Likes oolong", "user_id": 5, "agent_id": " tea ", "run_id": "", '
        '"actor_id": " Ann "}'
    )
    take_in(hf, FORMATS["mem0"], FORMATS["mem0"].parse(items))
    filters = {"user_id": 5, "agent_id": "tea", ACTOR: "Ann"}
    assert texts(local.get_all(filters=filters)) == ["Likes oolong"]
