"""Scripted agent without a model: stores statements and answers questions from memory.

`provider: offline` runs it, so that a role works without a key or a network. It recognises a
question by its mark or first word and an instruction by words such as "always"; the rest is a fact.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from ..extraction.vocabulary import vocabulary
from .memory_tools import NOTHING_RELEVANT, NOTHING_STORED

# A question mark at the end, or a question word at the beginning, in the languages of the demo.
_QUESTION = re.compile(
    r"[?？؟]\s*$|^\s*(?:who|what|when|where|which|why|how|whose|do|does|did|is|are|was|were|"
    r"can|could|should|tell me|"
    r"wer|was|wann|wo|wie|warum|welche\w*|qui|quand|où|comment|pourquoi|quién|qué|cuándo|dónde|cómo|"
    r"кто|что|когда|где|как|почему|谁|什么|哪|誰|何|いつ|どこ)\b",
    re.IGNORECASE,
)
# Instructions for the future, at the beginning of a message.
_RULE = re.compile(
    r"^\s*(?:please\s+)?(?:always|never|from now on|make sure|"
    r"immer|niemals|toujours|siempre|всегда)\b",
    re.I,
)
# Introductions that are not part of the statement.
_ASKED_TO_SAVE = re.compile(
    r"^\s*(?:please\s+)?(?:remember|note|keep in mind|don't forget)(?:\s+that|:)?\s+", re.I
)
_PREFERENCE = re.compile(
    r"\b(?:prefer\w*|like[sd]?|love[sd]?|hate[sd]?|favou?rite|rather|enjoy\w*)\b", re.I
)
# One line per episode, as the consolidation prompt lists them.
_EPISODE = re.compile(r"^- \[(?P<category>[^\]]+)\] \((?P<at>[^)]+)\) (?P<content>.+)$", re.M)
# Words of lasting facts: states, wishes, decisions and their reasons.
_DURABLE = re.compile(
    r"\b(?:prefer\w*|always|never|decided|because|needs?|requires?|must|should|uses?|is|are|has|"
    r"have|lives?|works?|depends?|causes?|caused|fixed by|solved by)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
# Head of a hit in the answer of `recall`.
_FOUND = re.compile(r"\[Type: [^\]]*?\| Score: (?P<score>[\d.]+) \|[^\]]*\]\n")
# Share of the best score; memories further below hardly answer the question.
_WORTH_SAYING = 0.8

Answer = str | ToolCallPart


def offline_model() -> FunctionModel:
    """The scripted agent as a pydantic-ai model."""
    return FunctionModel(
        _respond,
        stream_function=_stream,
        model_name="offline",
    )


def _respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    answer = decide(messages, {tool.name for tool in info.function_tools})
    return ModelResponse(parts=[TextPart(answer) if isinstance(answer, str) else answer])


async def _stream(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    answer = decide(messages, {tool.name for tool in info.function_tools})
    if isinstance(answer, str):
        for word in re.findall(r"\S+\s*|\s+", answer) or [""]:
            yield word
    else:
        yield {
            0: DeltaToolCall(
                answer.tool_name, answer.args_as_json_str(), tool_call_id=answer.tool_call_id
            )
        }


def decide(messages: Sequence[ModelMessage], tools: set[str]) -> Answer:
    """Next step of the scripted agent: call a tool, or answer."""
    last = messages[-1]
    returned: list[ToolReturnPart] = []
    if isinstance(last, ModelRequest):
        returned = [part for part in last.parts if isinstance(part, ToolReturnPart)]
    said = _last_prompt(messages)
    if returned:
        return _after(said, returned[-1], tools)
    if not tools:
        # Without tools it is asked to consolidate, or its role has no memory.
        if _EPISODE.search(said):
            return "\n".join(_durable(said))
        return "Without memory there is nothing to answer from."
    if "recall" not in tools or not said.strip() or vocabulary("general").is_small_talk(said):
        return "Tell me something to remember, or ask about what you told me."
    return _first_call(said, tools)


def _last_prompt(messages: Sequence[ModelMessage]) -> str:
    for message in reversed(messages):
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart):
                return part.content if isinstance(part.content, str) else ""
    return ""


def _first_call(said: str, tools: set[str]) -> ToolCallPart:
    if _QUESTION.search(said):
        # Procedures are in the system prompt already, and answer no question.
        return ToolCallPart("recall", {"query": said, "memory_types": ["semantic", "episodic"]})
    statement = _ASKED_TO_SAVE.sub("", said).strip()
    if _RULE.search(said) and "learn_procedure" in tools:
        return ToolCallPart("learn_procedure", {"content": statement})
    if "remember" in tools:
        category = "preferences" if _PREFERENCE.search(said) else "general"
        return ToolCallPart("remember", {"content": statement, "category": category})
    return ToolCallPart("recall", {"query": said})


def _after(
    said: str,
    returned: ToolReturnPart,
    tools: set[str],
) -> Answer:
    text = _answer(returned)
    if "finish_task" in tools and returned.tool_name != "finish_task":
        summary = text
        if returned.tool_name != "recall":
            summary = f"Was told: {_ASKED_TO_SAVE.sub('', said).strip()}"
        return ToolCallPart("finish_task", {"summary": summary, "status": "completed"})
    return text


def _answer(returned: ToolReturnPart) -> str:
    result = returned.content if isinstance(returned.content, str) else json.dumps(returned.content)
    if returned.tool_name != "recall":
        return f"Noted. {result}" if result.startswith(("Remembered", "Learned")) else result
    if result in (NOTHING_STORED, NOTHING_RELEVANT):
        return "I have nothing on that in memory."
    blocks = [
        (float(found["score"]), _FOUND.sub("", block).strip())
        for block in result.split("\n\n---\n\n")
        if (found := _FOUND.match(block))
    ]
    best = max((score for score, _ in blocks), default=0.0)
    return "From memory:\n" + "\n".join(
        f"- {text}" for score, text in blocks if score >= _WORTH_SAYING * best
    )


def _durable(prompt: str) -> Iterator[str]:
    """Lasting facts of the episodes in a consolidation prompt, in the requested format."""
    for episode in _EPISODE.finditer(prompt):
        for sentence in _SENTENCE.split(episode["content"]):
            if _DURABLE.search(sentence):
                kind = "preference" if _PREFERENCE.search(sentence) else "fact"
                yield f"{kind}: {sentence.strip()}"
