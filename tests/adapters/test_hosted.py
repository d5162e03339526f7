"""What every adapter is given: an open memory, and nothing that only looks like one."""

from __future__ import annotations

import pytest

from holdfast import AsyncHoldfast, InvalidInput
from holdfast.integrations import langgraph, openai_agents, pydantic_ai
from holdfast.integrations.anthropic import memory_tool
from holdfast.integrations.mem0 import Memory

ADAPTERS = [
    langgraph.HoldfastStore,
    memory_tool,
    Memory,
    pydantic_ai.HoldfastMemory,
    lambda hf: openai_agents.HoldfastMemory(hf, session="monday"),
    lambda hf: openai_agents.HoldfastSession(hf, "monday"),
]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_path_is_no_open_memory(adapter, tmp_path):
    with pytest.raises(
        InvalidInput, match=r"takes an open memory, such as Holdfast.open\(.*\), not a str"
    ):
        adapter(str(tmp_path / "memory.db"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_awaitable_memory_says_what_to_give(adapter, hf):
    with pytest.raises(InvalidInput, match="Give the `blocking` of the AsyncHoldfast"):
        adapter(AsyncHoldfast(hf))
    adapter(AsyncHoldfast(hf).blocking)
