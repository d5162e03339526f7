"""Models for the tests of the role contracts: they call tools in an order, or note what they were
given.
"""

from __future__ import annotations

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def calling(*steps):
    """A model that makes these tool calls, one after the other, and then answers with what the last
    one returned.

    A step is (tool name, arguments); a text is an answer in between.
    """
    waiting = list(steps)

    def respond(messages: list[ModelMessage], info) -> ModelResponse:
        if waiting:
            step = waiting.pop(0)
            return ModelResponse(
                parts=[TextPart(step) if isinstance(step, str) else ToolCallPart(*step)]
            )
        returned = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        return ModelResponse(parts=[TextPart(str(returned[-1].content) if returned else "done")])

    return FunctionModel(respond)


def seen_by(model_calls):
    """A model that answers "ok" and notes the instructions and tools it was given."""

    def respond(messages, info) -> ModelResponse:
        model_calls.append(info)
        return ModelResponse(parts=[TextPart("ok")])

    return FunctionModel(respond)
