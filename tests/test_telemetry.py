"""Spans around the verbs, by the GenAI conventions for memory, read from the SDK's own in-memory
exporter.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from holdfast import telemetry
from holdfast.async_client import AsyncHoldfast
from holdfast.client import Holdfast
from holdfast.errors import NotFound


@pytest.fixture
def provider(monkeypatch):
    """An SDK that is set up for one test: the real setting lasts for the whole process."""
    provider = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.delenv(telemetry.CONTENT, raising=False)
    return provider


@pytest.fixture
def spans(provider):
    """The spans since the last time they were asked for, each as its name and attributes."""
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def ended():
        found = exporter.get_finished_spans()
        exporter.clear()
        return found

    return ended


def attributes(span):
    return {name.removeprefix("gen_ai."): value for name, value in span.attributes.items()}


def test_remembering_and_recalling_have_a_span_each(hf, spans):
    tea = hf.remember("Prefers oolong tea")
    hf.remember_many(["One", "Two"])
    hf.recall("which tea?")
    first, second, third = spans()
    assert (first.name, attributes(first)) == (
        "upsert_memory",
        {
            "operation.name": "upsert_memory",
            "provider.name": "holdfast",
            "memory.store.id": "user:ann",
            "memory.record.id": tea.id,
            "memory.record.count": 1,
        },
    )
    assert (
        attributes(second)["memory.record.count"],
        "memory.record.id" in attributes(second),
    ) == (2, False)
    assert (third.name, attributes(third)["memory.record.count"]) == ("search_memory", 3)
    assert third.instrumentation_scope.name == "holdfast"


def test_every_change_is_told_as_what_it_is(hf, spans):
    tea = hf.remember("Prefers oolong tea")
    sencha = hf.correct(tea.id, "Prefers sencha")
    hf.confirm(sencha.id)
    hf.forget(sencha.id)
    hf.admin.purge(sencha.id)
    hf.capture("s1", "user", "hello there")
    hf.context("hello?", session="s1")
    found = [(span.name, attributes(span).get("memory.record.id")) for span in spans()]
    assert found[:5] == [
        ("upsert_memory", tea.id),
        ("update_memory", sencha.id),
        ("update_memory", sencha.id),
        ("delete_memory", sencha.id),
        ("delete_memory", sencha.id),
    ]
    assert [name for name, _ in found[5:]] == ["create_memory", "search_memory"]


def test_a_conversation_and_an_agent_are_named(hf, spans):
    hf.actor = "agent:helper"
    hf.capture("s1", "user", "hello there")
    hf.context("hello?", session="s1")
    for span in spans():
        assert (attributes(span)["conversation.id"], attributes(span)["agent.id"]) == (
            "s1",
            "helper",
        )


def test_what_is_said_stays_out_of_the_spans(hf, spans):
    with pytest.raises(NotFound):
        hf.forget("swordfish")
    hf.remember("The password of the club is swordfish")
    hf.recall("swordfish")
    hf.capture("s1", "user", "swordfish again")
    assert "swordfish" not in "".join(span.to_json() for span in spans())


@pytest.mark.parametrize("wanted", ["true", "SPAN_ONLY", "SPAN_AND_EVENT"])
def test_what_is_said_is_told_where_opentelemetry_is_asked_for_it(hf, spans, monkeypatch, wanted):
    monkeypatch.setenv(telemetry.CONTENT, wanted)
    tea = hf.remember("Prefers oolong tea")
    (hit,) = hf.recall("which tea?")
    stored, searched = map(attributes, spans())
    assert json.loads(stored["memory.records"]) == [{"id": tea.id, "content": "Prefers oolong tea"}]
    assert searched["memory.query.text"] == "which tea?"
    assert json.loads(searched["memory.records"])[0]["score"] == hit.score


def test_an_error_is_told_by_its_type_alone(hf, spans):
    with pytest.raises(NotFound):
        hf.confirm("fact_none")
    (span,) = spans()
    assert span.attributes["error.type"] == "NotFound"
    assert (span.status.status_code, span.status.description, span.events) == (
        StatusCode.ERROR,
        None,
        (),
    )


def test_spans_stand_below_what_the_program_does(hf, provider, spans):
    async def turn():
        with provider.get_tracer("program").start_as_current_span("turn"):
            await AsyncHoldfast(hf).recall("tea")

    asyncio.run(turn())
    recall, turn_ = spans()
    assert recall.parent.span_id == turn_.context.span_id


def test_a_program_that_does_not_trace_has_no_spans_and_works_the_same(hf, monkeypatch):
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
    assert hf.remember("Prefers oolong tea").content == "Prefers oolong tea"
    assert len(hf.recall("tea")) == 1


def test_nothing_is_loaded_for_it():
    code = (
        "import sys; from holdfast import Holdfast; hf = Holdfast.open(':memory:', "
        "scope='user:me');"
        "hf.remember('tea'); hf.recall('tea'); hf.close(); print('opentelemetry.trace' in "
        "sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


TRACED = {
    "": {
        "recall",
        "context",
        "remember_many",
        "capture_many",
        "correct",
        "confirm",
        "archive",
        "restore",
        "forget",
    },
    "sessions": {"working_memory", "extract", "learn"},
    "records": {"add", "update", "delete"},
    "reviews": {"propose", "approve", "reject"},
    "admin": {"import_", "evict", "purge"},
    "entities": set(),
    "projects": set(),
}


def test_the_verbs_that_have_a_span_keep_their_signatures_and_their_words(hf):
    for space, names in TRACED.items():
        cls = type(getattr(hf, space)) if space else Holdfast
        traced = {name: one for name, one in vars(cls).items() if hasattr(one, "__wrapped__")}
        assert traced.keys() == names
        for verb in traced.values():
            assert verb.__doc__ and "self" in inspect.signature(verb).parameters


def test_a_verb_of_a_namespace_tells_whose_memory_it_is(hf, spans):
    hf.reviews.propose("Plays chess")
    (span,) = spans()
    assert (span.name, attributes(span)["memory.store.id"]) == ("create_memory", "user:ann")
