"""LangMem's tools and its store manager, as the package has them, over Holdfast's store."""

from __future__ import annotations

import asyncio
import json
from uuid import uuid4

import pytest

pytest.importorskip("langmem", reason="`make integrations` installs LangMem")

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langmem import (
    create_manage_memory_tool,
    create_memory_store_manager,
    create_search_memory_tool,
)
from pydantic import BaseModel

from holdfast.integrations.langgraph import HoldfastStore

SPACE = ("memories", "{langgraph_user_id}")
ANN = {"configurable": {"langgraph_user_id": "ann"}}
BOB = {"configurable": {"langgraph_user_id": "bob"}}


@pytest.fixture
def store(hf):
    return HoldfastStore(hf)


@pytest.fixture
def manage(store):
    return create_manage_memory_tool(namespace=SPACE, store=store)


@pytest.fixture
def search(store):
    return create_search_memory_tool(namespace=SPACE, store=store)


def made(answer):
    """The id in what the tool says."""
    return answer.rpartition(" ")[2]


def texts(answer):
    found = json.loads(answer) if isinstance(answer, str) else answer
    return [one["value"]["content"] for one in found]


def test_a_memory_is_created_updated_found_and_deleted(manage, search, store):
    id_ = made(manage.invoke({"content": "Likes oolong", "action": "create"}, config=ANN))
    said = manage.invoke({"content": "Likes sencha", "action": "update", "id": id_}, config=ANN)
    assert said == f"updated memory {id_}"
    assert texts(search.invoke({"query": "which tea?"}, config=ANN)) == ["Likes sencha"]
    assert store.get(("memories", "ann"), id_).value == {"content": "Likes sencha"}
    manage.invoke({"action": "delete", "id": id_}, config=ANN)
    assert texts(search.invoke({"query": "which tea?"}, config=ANN)) == []


def test_the_nearest_memory_comes_first_and_of_nobody_else(manage, search):
    for text in ("Keeps bees on the roof", "Drinks green tea in the morning"):
        manage.invoke({"content": text, "action": "create"}, config=ANN)
    manage.invoke({"content": "Drinks coffee", "action": "create"}, config=BOB)
    found = texts(search.invoke({"query": "what does she drink?", "limit": 1}, config=ANN))
    assert found == ["Drinks green tea in the morning"]
    assert texts(search.invoke({"query": "drink"}, config=BOB)) == ["Drinks coffee"]


def test_a_change_by_the_tool_can_be_undone(manage, search, hf):
    id_ = made(manage.invoke({"content": "Likes oolong", "action": "create"}, config=ANN))
    manage.invoke({"action": "delete", "id": id_}, config=ANN)
    hf.undo()
    assert texts(search.invoke({"query": "tea"}, config=ANN)) == ["Likes oolong"]


def test_a_memory_may_have_a_schema(store, search):
    class Profile(BaseModel):
        name: str
        tea: str | None = None

    manage = create_manage_memory_tool(namespace=SPACE, schema=Profile, store=store)
    given = {"content": {"name": "Ann", "tea": "oolong"}, "action": "create"}
    manage.invoke(given, config=ANN)
    assert texts(search.invoke({"query": "oolong"}, config=ANN)) == [
        {"name": "Ann", "tea": "oolong"}
    ]


def test_what_the_tool_refuses_is_not_stored(manage, store):
    with pytest.raises(ValueError, match="cannot provide a MEMORY ID"):
        manage.invoke({"content": "x", "action": "create", "id": str(uuid4())}, config=ANN)
    assert store.search(("memories",)) == []


def test_the_tools_are_awaitable(manage, search):
    async def use():
        await manage.ainvoke({"content": "Likes oolong", "action": "create"}, config=ANN)
        return await search.ainvoke({"query": "tea"}, config=ANN)

    assert texts(asyncio.run(use())) == ["Likes oolong"]


def test_a_graph_gives_the_tools_its_store(store):
    """Without a store of their own, the tools use that of the graph they run in."""
    tools = [create_manage_memory_tool(SPACE), create_search_memory_tool(SPACE)]
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "tools")
    builder.add_edge("tools", END)
    graph = builder.compile(store=store)

    def call(name, **args):
        asked = AIMessage("", tool_calls=[{"name": name, "args": args, "id": "c1"}])
        return graph.invoke({"messages": [asked]}, config=ANN)["messages"][-1].content

    call("manage_memory", content="Likes oolong", action="create")
    assert texts(call("search_memory", query="tea")) == ["Likes oolong"]


def test_the_store_manager_writes_what_the_model_found(store):
    """Its background extraction, with a model that always answers the same."""

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools, **options):
            return self

    calls = [{"name": "Memory", "args": {"content": "Ann lives in Lisbon"}, "id": "c1"}]
    answers = [AIMessage("", tool_calls=calls), *(AIMessage("done") for _ in range(9))]
    manager = create_memory_store_manager(
        Scripted(messages=iter(answers)), namespace=SPACE, store=store
    )
    said = [{"role": "user", "content": "I live in Lisbon."}]
    manager.invoke({"messages": said}, config=ANN)
    (item,) = store.search(("memories", "ann"))
    assert item.value["content"] == {"content": "Ann lives in Lisbon"}
    assert manager.search(query="where does she live?", config=ANN)[0].key == item.key
