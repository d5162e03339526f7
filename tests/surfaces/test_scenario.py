"""The one story (`scenario.py`), told by the library, its awaitable twin, the command line, HTTP
and MCP.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from scenario import STORY, World

from holdfast import config
from holdfast.async_client import AsyncHoldfast
from holdfast.client import Holdfast
from live_server import serving
from mcp_clients import by_pipe, connected, served


def settings(environ):
    return config.load(
        {name: value for name, value in environ.items() if name.startswith("HOLDFAST_")}
    )


class Library:
    """The class itself."""

    def __init__(self, hf):
        self._hf = hf

    def remember(self, text):
        return self._hf.remember(text).id

    def recall(self, question):
        return [hit.memory.content for hit in self._hf.recall(question)]

    def why(self, question, id):
        return str(self._hf.explain(id, question).explanation)

    def correct(self, id, text):
        return self._hf.correct(id, text).id

    def forget(self, id):
        self._hf.forget(id)
        return self._hf.last_run

    def undo(self, run):
        self._hf.undo(run)


@contextmanager
def library(store, scope, environ):
    with Holdfast.open(store, scope=scope, settings=settings(environ), background=False) as hf:
        yield Library(hf)


class Awaited:
    """A memory whose verbs are awaited, as one whose verbs are called."""

    def __init__(self, hf, run):
        self._hf, self._run = hf, run

    def __getattr__(self, name):
        found = getattr(self._hf, name)
        return (
            (lambda *args, **options: self._run(found(*args, **options)))
            if callable(found)
            else found
        )


@contextmanager
def awaitable(store, scope, environ):
    with asyncio.Runner() as runner:
        opened = AsyncHoldfast.open(
            store, scope=scope, settings=settings(environ), background=False
        )
        hf = runner.run(opened)
        try:
            yield Library(Awaited(hf, lambda verb: _result(runner, verb)))
        finally:
            runner.run(hf.close())


def _result(runner, verb):
    # Of two threads that ask at once, each needs a loop of its own.
    return (
        runner.run(verb)
        if threading.current_thread() is threading.main_thread()
        else asyncio.run(verb)
    )


class CommandLine:
    """The program, a process for each command."""

    def __init__(self, store, scope, environ):
        self._options, self._environ = ("--store", str(store), "--scope", scope, "--json"), environ

    def _told(self, *words):
        command = [sys.executable, "-m", "holdfast", *words, *self._options]
        done = subprocess.run(
            command, capture_output=True, text=True, env=self._environ, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)

    def remember(self, text):
        return self._told("remember", text)["id"]

    def recall(self, question):
        return [hit["content"] for hit in self._told("recall", question)]

    def why(self, question, id):
        return self._told("explain", question, "--expect", id)["explanation"]

    def correct(self, id, text):
        return self._told("correct", id, text)["id"]

    def forget(self, id):
        return self._told("forget", id)[0]["run"]

    def undo(self, run):
        self._told("undo", run)


@contextmanager
def command_line(store, scope, environ):
    yield CommandLine(store, scope, environ)


class Http:
    """The HTTP API."""

    def __init__(self, client, owner):
        self._client, self._owner = client, {"user_id": owner}

    def _told(self, method, path, body=None, **query):
        answer = self._client.request(method, path, params={**self._owner, **query}, json=body)
        if answer.is_error:
            raise RuntimeError(answer.json()["detail"])
        return answer.json()

    def remember(self, text):
        return self._told("POST", "/memories", {"content": text})["id"]

    def _hits(self, question):
        return self._told("POST", "/recall", {"question": question})["items"]

    def recall(self, question):
        return [hit["content"] for hit in self._hits(question)]

    def why(self, question, id):
        """Over HTTP a hit has its reasons with it, and what is no hit has a status."""
        memory, hits = self._told("GET", f"/memories/{id}"), self._hits(question)
        ranks = {
            hit["id"]: f"rank {rank}: {hit['why']['summary']}"
            for rank, hit in enumerate(hits, start=1)
        }
        return ranks.get(id) or f"not recalled: it is {memory['status']}"

    def correct(self, id, text):
        return self._told("PATCH", f"/memories/{id}", {"content": text})["id"]

    def forget(self, id):
        return self._told("DELETE", f"/memories/{id}")["run"]

    def undo(self, run):
        self._told("POST", "/undo", {"run": run})


@contextmanager
def http(store, scope, environ):
    chosen, keys = settings(environ), store.with_name("keys.jsonl")
    with (
        Holdfast.open(store, scope="user:keeper", settings=chosen, background=False) as hf,
        serving(hf, keys) as live,
    ):
        yield Http(live.client(), scope.removeprefix("user:"))


class Mcp:
    """The tools of the MCP server, called by the official SDK's client."""

    def __init__(self, client):
        self._client = client

    def _told(self, tool, **arguments):
        result = self._client.call(tool, **arguments)
        if result.is_error:
            raise RuntimeError(result.content[0].text)
        return result.structured_content

    def remember(self, text):
        return self._told("memory_remember", content=text)["memories"][0]["id"]

    def recall(self, question):
        return [one["text"] for one in self._told("memory_recall", question=question)["memories"]]

    def why(self, question, id):
        return self._told("memory_why", id=id, question=question)["summary"]

    def correct(self, id, text):
        return self._told("memory_correct", id=id, content=text)["memories"][0]["id"]

    def forget(self, id):
        return self._told("memory_forget", ids=[id])["run"]

    def undo(self, run):
        self._told("memory_forget", undo=run)


@contextmanager
def mcp_by_pipe(store, scope, environ):
    with connected(by_pipe(store, "--scope", scope, env=environ)) as client:
        yield Mcp(client)


@contextmanager
def mcp_by_http(store, scope, environ):
    with served(store, scope, settings=settings(environ)) as url, connected(url) as client:
        yield Mcp(client)


SURFACES = (library, awaitable, command_line, http, mcp_by_pipe, mcp_by_http)


@pytest.mark.parametrize("surface", SURFACES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("part", STORY, ids=lambda one: one.__name__)
def test_every_surface_tells_the_same_story(part, surface, tmp_path, monkeypatch):
    monkeypatch.setenv("SCENARIO_KEY", "x")
    part(World(surface, tmp_path / "memory.db"))
