"""Seed 002 through the hooks of coding agents: told when a session starts, built when one has
ended.
"""

from __future__ import annotations

import json

import pytest
from hosts import HOSTS, Project, ask, claude_code, context, entries, when_finished
from projects import DECIDED

from holdfast.client import Holdfast
from holdfast.coding_agents.hooks.events import MOST_CHARACTERS
from holdfast.namespaces.project_view import project_at
from holdfast.types import DAY, system_clock


class Shop(Project):
    """A project with a record, and a session that ended a day ago."""

    def __init__(self, folder):
        super().__init__(folder)
        with self.open() as hf:
            hf.records.add("Every public function has a docstring", category="principles")
            self.scope = hf.scopes[0]
        self.talk("thread-1", DECIDED)

    def talk(self, session, text):
        with Holdfast.open(
            scope=self.scope, clock=lambda: system_clock() - DAY, background=False
        ) as hf:
            hf.capture(session=session, role="user", text=text)
            hf.sessions.end(session)

    def set(self, **memories):
        (self.folder / "holdfast.yaml").write_text(json.dumps({"memories": memories}))

    def build(self):
        with self.open() as hf:
            hf.records.sync_files()
            assert project_at(hf, self.folder).build().files

    def started(self, host=claude_code):
        return context(ask("SessionStart", host("SessionStart", self.folder)), "SessionStart")


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path / "shop")


@pytest.mark.parametrize("tool", HOSTS)
def test_a_session_starts_with_what_past_ones_taught_ahead_of_the_records(shop, tool):
    shop.set(enabled=True)
    shop.build()
    told = shop.started(HOSTS[tool])
    assert told.index("# Memory Guidance") < told.index("pnpm") < told.index("docstring")
    assert told == shop.started(HOSTS[tool])


@pytest.mark.parametrize("why", [{"enabled": False}, {"enabeld": True}])
def test_not_enabled_or_misspelt_it_is_left_out_and_the_records_are_told(shop, why):
    shop.build()
    shop.set(**why)
    told = shop.started()
    assert "Memory Guidance" not in told
    assert "docstring" in told
    assert ("error" in entries()[0]) == ("enabeld" in why)


def test_a_project_that_is_switched_off_tells_nothing(shop):
    shop.set(enabled=True)
    shop.build()
    shop.switch(on=False)
    assert shop.started() == ""


def test_a_long_summary_leaves_room_for_the_records(shop):
    shop.set(enabled=True)
    shop.build()
    with shop.open() as hf:
        (project_at(hf, shop.folder).folder / "memory_summary.md").write_text("Use pnpm. " * 4_000)
    told = shop.started()
    assert "...[truncated]..." in told
    assert "docstring" in told
    assert len(told) <= MOST_CHARACTERS


@pytest.mark.parametrize(("event", "built"), [("SessionEnd", True), ("Stop", False)])
def test_what_was_said_before_is_built_when_a_session_has_ended(shop, tmp_path, event, built):
    shop.set(enabled=True)
    transcript = tmp_path / "abc123.jsonl"
    said = {
        "type": "user",
        "sessionId": "abc123",
        "cwd": str(shop.folder),
        "timestamp": "2026-05-04T09:00:00.000Z",
        "uuid": "1",
        "parentUuid": None,
        "message": {"role": "user", "content": "Hello there."},
    }
    transcript.write_text(json.dumps(said) + "\n")
    ask(event, claude_code(event, shop.folder, transcript))
    assert when_finished().get("built", False) is built
    assert ("pnpm" in shop.started()) is built
