"""OpenTelemetry spans around the verbs of a memory, by the GenAI conventions for memory.

Nothing is loaded for it. A program that traces has loaded OpenTelemetry's API itself, and then its
spans are found; every other one pays a look into a dictionary. What memories and questions say
stays out of the spans unless OpenTelemetry's own variable asks for it:
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .types import Hit, Memory

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

OPERATIONS: Mapping[str, str] = {
    "recall": "search_memory",
    "context": "search_memory",
    "working_memory": "search_memory",
    "remember_many": "upsert_memory",
    "capture_many": "create_memory",
    "propose": "create_memory",
    "add_record": "create_memory",
    "consider": "upsert_memory",
    "learn": "upsert_memory",
    "import_": "upsert_memory",
    "correct": "update_memory",
    "confirm": "update_memory",
    "archive": "update_memory",
    "restore": "update_memory",
    "approve": "update_memory",
    "reject": "update_memory",
    "update_record": "update_memory",
    "forget": "delete_memory",
    "evict": "delete_memory",
    "delete_record": "delete_memory",
    "purge": "delete_memory",
}
"""The verbs that have a span, with what the conventions call them; the others are made of these, or
only look.
"""
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = ("true", "1", "span_only", "span_and_event")


def traced(memory: C) -> C:
    """The same class, with a span around each of the verbs that have one."""
    for name, operation in OPERATIONS.items():
        setattr(memory, name, _spanned(getattr(memory, name), operation))
    return memory


def _spanned(verb: Callable[P, R], operation: str) -> Callable[P, R]:
    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        api = sys.modules.get("opentelemetry.trace")
        if api is None or isinstance(
            provider := api.get_tracer_provider(), api.ProxyTracerProvider
        ):
            return verb(*args, **kwargs)
        return _within(api, provider, operation, verb, args, kwargs)

    return call


def _within(
    api: Any,
    provider: Any,
    operation: str,
    verb: Callable[..., R],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> R:
    """What the verb returns, or raises, told by a span."""
    memory = args[0]
    given = args[1:]
    tracer = provider.get_tracer("holdfast")
    asked = _asked(memory, operation, given, kwargs)
    # A message may hold what somebody said.
    quiet = {
        "record_exception": False,
        "set_status_on_exception": False,
    }
    with tracer.start_as_current_span(operation, attributes=asked, **quiet) as span:
        try:
            result = verb(*args, **kwargs)
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(api.Status(api.StatusCode.ERROR))
            raise
        if span.is_recording():
            span.set_attributes(dict(_told(result, operation, given)))
        return result


def _asked(
    memory: Any, operation: str, given: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, str]:
    """What is known before a verb does anything."""
    told = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "holdfast",
        "gen_ai.memory.store.id": ",".join(map(str, memory.scopes)),
    }
    kind, _, agent = memory.actor.partition(":")
    if kind == "agent" and agent:
        told["gen_ai.agent.id"] = agent
    if isinstance(session := kwargs.get("session"), str):
        told["gen_ai.conversation.id"] = session
    if operation == "search_memory" and given and _wants_content():
        told["gen_ai.memory.query.text"] = str(given[0])
    return told


def _told(result: object, operation: str, given: Sequence[Any]) -> Iterator[tuple[str, str | int]]:
    """What is known afterwards: which memories it was about, and how many."""
    found = list(_memories(result))
    named = [one for one in given if isinstance(one, str)] if operation == "delete_memory" else []
    ids = [memory.id for memory, _ in found] or named
    # Of a receipt: what it was about is gone.
    erased = getattr(result, "memories", None)
    yield "gen_ai.memory.record.count", erased if isinstance(erased, int) else len(found)
    if len(ids) == 1:
        yield "gen_ai.memory.record.id", ids[0]
    sessions = {memory.session for memory, _ in found if memory.kind == "turn" and memory.session}
    if len(sessions) == 1 and operation == "create_memory":
        yield "gen_ai.conversation.id", sessions.pop()
    if found and _wants_content():
        yield (
            "gen_ai.memory.records",
            json.dumps([_record(*one) for one in found], ensure_ascii=False),
        )


def _memories(result: object) -> Iterator[tuple[Memory, float | None]]:
    """The memories in what a verb returns, with the scores that they have."""
    if isinstance(result, Memory):
        yield result, None
    elif isinstance(result, Hit):
        yield result.memory, result.score
    elif isinstance(result, list | tuple):
        for one in result:
            yield from _memories(one)
    else:
        for name in (
            "memories",
            "entries",
            "rules",
        ):  # of a context, and of what a companion has in mind
            yield from _memories(getattr(result, name, ()))


def _record(memory: Memory, score: float | None) -> dict[str, Any]:
    told: dict[str, Any] = {"id": memory.id, "content": memory.content}
    return told if score is None else {**told, "score": score}


def _wants_content() -> bool:
    return os.environ.get(CONTENT, "").lower() in _ON_SPANS
