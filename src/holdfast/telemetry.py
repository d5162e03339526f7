"""OpenTelemetry spans around the verbs of `Holdfast`, following the GenAI conventions for memory.

Nothing is imported for it. A program that uses tracing has already loaded OpenTelemetry's API,
which is then found in `sys.modules`; for every other program a call costs one dictionary lookup.
Memory contents and queries are left out of spans unless OpenTelemetry's own variable
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT enables them.
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

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = ("true", "1", "span_only", "span_and_event")


def traced(operation: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap a verb in a span with the operation name of the conventions.

    Verbs without a span call verbs that have one, or only read.
    """

    def spanned(verb: Callable[P, R]) -> Callable[P, R]:
        @wraps(verb)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            api = sys.modules.get("opentelemetry.trace")
            if api is None:
                return verb(*args, **kwargs)
            provider = api.get_tracer_provider()
            # The proxy stands for a provider that was never configured: nobody collects spans.
            if isinstance(provider, api.ProxyTracerProvider):
                return verb(*args, **kwargs)
            return _within(api, provider, operation, verb, args, kwargs)

        return call

    return spanned


def _within(
    api: Any,
    provider: Any,
    operation: str,
    verb: Callable[..., R],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> R:
    """Call the verb inside a span and record its outcome."""
    # A verb of a namespace acts for the client that it belongs to.
    memory = getattr(args[0], "client", args[0])
    arguments = args[1:]
    tracer = provider.get_tracer("holdfast")
    attributes = _call_attributes(memory, operation, arguments, kwargs)
    # Exception messages may quote memory contents.
    quiet = {
        "record_exception": False,
        "set_status_on_exception": False,
    }
    with tracer.start_as_current_span(operation, attributes=attributes, **quiet) as span:
        try:
            result = verb(*args, **kwargs)
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(api.Status(api.StatusCode.ERROR))
            raise
        if span.is_recording():
            span.set_attributes(dict(_result_attributes(result, operation, arguments)))
        return result


def _call_attributes(
    memory: Any,
    operation: str,
    arguments: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> dict[str, str]:
    """Span attributes known before the call."""
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "holdfast",
        "gen_ai.memory.store.id": ",".join(map(str, memory.scopes)),
    }
    kind, _, agent = memory.actor.partition(":")
    if kind == "agent" and agent:
        attributes["gen_ai.agent.id"] = agent
    if isinstance(session := kwargs.get("session"), str):
        attributes["gen_ai.conversation.id"] = session
    if operation == "search_memory" and arguments and _wants_content():
        attributes["gen_ai.memory.query.text"] = str(arguments[0])
    return attributes


def _result_attributes(
    result: object,
    operation: str,
    arguments: Sequence[Any],
) -> Iterator[tuple[str, str | int]]:
    """Span attributes known after the call: ids and number of memories."""
    found = list(_memories(result))
    ids = [memory.id for memory, _ in found]
    if not ids and operation == "delete_memory":
        ids = [one for one in arguments if isinstance(one, str)]
    # An erasure receipt has only a count: the memories are gone.
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
    """Memories in the return value of a verb, with their scores."""
    if isinstance(result, Memory):
        yield result, None
    elif isinstance(result, Hit):
        yield result.memory, result.score
    elif isinstance(result, list | tuple):
        for one in result:
            yield from _memories(one)
    else:
        # Attributes of `Context` and of the companion's working memory.
        for name in ("memories", "entries", "rules"):
            yield from _memories(getattr(result, name, ()))


def _record(memory: Memory, score: float | None) -> dict[str, Any]:
    record: dict[str, Any] = {"id": memory.id, "content": memory.content}
    if score is not None:
        record["score"] = score
    return record


def _wants_content() -> bool:
    return os.environ.get(CONTENT, "").lower() in _ON_SPANS
