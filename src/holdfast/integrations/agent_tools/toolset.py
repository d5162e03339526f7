"""The tools of both agents as plain functions, and as pydantic-ai tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...client import Holdfast
from .chat_tools import Talker
from .consolidator_tools import Reader
from .labels import Functions

if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset


def talking(hf: Holdfast) -> Functions:
    """Return the tools of the chat agent as plain functions."""
    tools = Talker(hf)
    return [
        tools.search_memory,
        tools.remember_fact,
        tools.correct_fact,
        tools.confirm_fact,
        tools.memory_stats,
        tools.get_entity_info,
    ]


def consolidating(hf: Holdfast) -> Functions:
    """Return the tools of the consolidator agent as plain functions."""
    tools = Reader(hf)
    return [
        tools.get_episodes_for_consolidation,
        tools.save_facts_batch,
        tools.mark_session_consolidated,
        tools.is_session_consolidated,
        tools.detect_conflicts,
        tools.resolve_conflict,
    ]


def toolset(functions: Functions) -> FunctionToolset[object]:
    """Turn functions into pydantic-ai tools. Errors of the model are reported to it, and it may
    retry.
    """
    # The package is an optional extra.
    from pydantic_ai import FunctionToolset, Tool  # noqa: PLC0415

    # This module needs the extra, too.
    from ...agents.memory_tools import retried  # noqa: PLC0415

    return FunctionToolset([Tool(retried(function), takes_ctx=False) for function in functions])
