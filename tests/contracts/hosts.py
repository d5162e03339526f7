"""Coding agents as a hook sees them: the JSON that they send, the answers that they take,
and the real command.

The shapes are those of the hooks references of Claude Code, Gemini CLI and Cursor, and of the JSON
schemas that Codex publishes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import psutil

from holdfast import config
from holdfast.client import Holdfast
from holdfast.coding_agents.hooks import log
from holdfast.records.roots import init_project, places_around
from patience import PATIENCE

Answered = namedtuple("Answered", "code out err seconds")
HURRIED = """from holdfast.coding_agents.hooks import deadline
deadline.TIME, deadline.LAST_STEPS = {seconds}, {seconds} / 6
from holdfast.cli import main
main()"""
EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")


def claude_code(
    event: str, folder: Path, transcript: Path | str = "/nowhere/abc123.jsonl", **more
) -> dict:
    """What Claude Code sends."""
    own = {
        "SessionStart": {"source": "startup", "model": "claude-sonnet-4-6"},
        "UserPromptSubmit": {
            "permission_mode": "default",
            "prompt": "Write a function to calculate the factorial",
        },
        "PreCompact": {"trigger": "manual", "custom_instructions": None},
        "Stop": {
            "permission_mode": "default",
            "stop_hook_active": False,
            "last_assistant_message": "Done.",
        },
        "SessionEnd": {"reason": "prompt_input_exit"},
    }
    common = {
        "session_id": "abc123",
        "transcript_path": str(transcript),
        "cwd": str(folder),
        "hook_event_name": event,
    }
    return {**common, **own.get(event, {}), **more}


def codex(event: str, folder: Path, transcript: Path | str | None = None, **more) -> dict:
    """What Codex sends; a session that is not kept has no transcript."""
    turn = {"model": "gpt-5.2-codex", "permission_mode": "default", "turn_id": "turn-7"}
    own = {
        "SessionStart": {
            "model": "gpt-5.2-codex",
            "permission_mode": "default",
            "source": "startup",
        },
        "UserPromptSubmit": {**turn, "prompt": "Write a function to calculate the factorial"},
        "PreCompact": {**turn, "trigger": "auto"},
        "Stop": {**turn, "stop_hook_active": False, "last_assistant_message": None},
        "SessionEnd": {"reason": "other"},
    }
    path = None if transcript is None else str(transcript)
    common = {
        "session_id": "0199-aa",
        "transcript_path": path,
        "cwd": str(folder),
        "hook_event_name": event,
    }
    return {**common, **own.get(event, {}), **more}


def gemini_cli(
    event: str, folder: Path, transcript: Path | str = "/nowhere/s.jsonl", **more
) -> dict:
    """What Gemini CLI sends, by its hooks reference. The event is ours, its name Gemini's."""
    own = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": "Write a function to calculate the factorial"},
        "PreCompact": {"trigger": "auto"},
        "Stop": {
            "prompt": "Write a function",
            "prompt_response": "Done.",
            "stop_hook_active": False,
        },
        "SessionEnd": {"reason": "exit"},
    }
    names = {"UserPromptSubmit": "BeforeAgent", "PreCompact": "PreCompress", "Stop": "AfterAgent"}
    common = {
        "session_id": "5c1f",
        "transcript_path": str(transcript),
        "cwd": str(folder),
        "hook_event_name": names.get(event, event),
        "timestamp": "2026-05-01T09:00:00.000Z",
    }
    return {**common, **own[event], **more}


def cursor(event: str, folder: Path, transcript: Path | str | None = None, **more) -> dict:
    """What Cursor sends, by its documentation: the folders of the window, not of the session."""
    own = {
        "SessionStart": {"session_id": "conv-1", "is_background_agent": False},
        "UserPromptSubmit": {
            "prompt": "Write a function to calculate the factorial",
            "attachments": [],
        },
        "PreCompact": {"trigger": "auto", "is_first_compaction": True},
        "Stop": {"status": "completed", "loop_count": 0},
        "SessionEnd": {"session_id": "conv-1", "reason": "completed", "duration_ms": 1200},
    }
    names = {
        "SessionStart": "sessionStart",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "PreCompact": "preCompact",
        "Stop": "stop",
        "SessionEnd": "sessionEnd",
    }
    common = {
        "conversation_id": "conv-1",
        "generation_id": "gen-1",
        "model": "gpt-5.2",
        "hook_event_name": names[event],
        "cursor_version": "3.20.17",
        "workspace_roots": [str(folder)],
        "user_email": None,
        "transcript_path": None if transcript is None else str(transcript),
    }
    return {**common, **own[event], **more}


HOSTS = {"claude-code": claude_code, "codex": codex}


def command(event: str, *options: str, seconds: float | None = None) -> list[str]:
    """The real command; with `seconds` to answer in, so that what it says can be looked at on any
    machine.
    """
    start = ["-m", "holdfast"] if seconds is None else ["-c", HURRIED.format(seconds=seconds)]
    return [sys.executable, *start, "hook", "run", event, *options]


def ask(
    event: str, said: object, *options: str, seconds: float | None = PATIENCE, **environ: str
) -> Answered:
    """Runs a hook as a host does: JSON in, JSON out."""
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    start = time.monotonic()
    done = subprocess.run(
        command(event, *options, seconds=seconds),
        input=data,
        capture_output=True,
        env={**os.environ, **environ},
        timeout=PATIENCE,
        check=False,
    )
    return Answered(
        done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - start
    )


def context(answered: Answered, event: str) -> str:
    """What a host puts before its model. Codex refuses an answer with anything else in it."""
    assert (answered.code, answered.err) == (0, "")
    told = json.loads(answered.out)
    if not told:
        return ""
    assert list(told) == ["hookSpecificOutput"]
    assert set(told["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert told["hookSpecificOutput"]["hookEventName"] == event
    # The only events that take context from us.
    assert event in (
        "SessionStart",
        "UserPromptSubmit",
    )
    return told["hookSpecificOutput"]["additionalContext"]


class Project:
    """A folder with a memory, in which a coding agent works."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        init_project(folder)

    def open(self) -> Holdfast:
        """Its memory, and that of the person."""
        places = places_around(self.folder, config.login(), config.default_store().parent)
        return Holdfast.open(
            scope=[place.scope for place in places], places=places, background=False
        )

    def add(self, *, place: str = "project", **texts: str) -> None:
        """A record of each category that is named."""
        with self.open() as hf:
            for category, text in texts.items():
                hf.records.add(text, category=category, place=place)

    def switch(self, *, on: bool, place: str = "project") -> None:
        with self.open() as hf:
            (scope,) = (one.scope for one in hf.records.places if one.name == place)
            hf.scoped(scope).sessions.set_profile(enabled=on)

    def recalled(self, question: str) -> list[str]:
        with self.open() as hf:
            return [hit.memory.content for hit in hf.recall(question)]

    def file_of(self, category: str) -> Path:
        """The only record of a category."""
        (file,) = (self.folder / ".holdfast" / "records" / category).glob("*.md")
        return file


def entries() -> list[dict]:
    """The log of hooks, newest first."""
    return list(log.entries())


def when_finished() -> dict:
    """What the log says last of a process that a hook has started, when all of them have ended."""
    given_up = time.monotonic() + PATIENCE
    while True:
        # A process that has just been started still bears the name of its parent, so the list may
        # lack it: then the log says nothing yet.
        running = [one for one in psutil.process_iter(["cmdline", "environ"]) if _of_this_test(one)]
        _, alive = psutil.wait_procs(running, timeout=PATIENCE)
        assert not alive
        assert not any("error" in entry for entry in entries()), entries()
        if finished := [entry for entry in entries() if entry["event"] == "finish"]:
            return finished[0]
        assert time.monotonic() < given_up
        time.sleep(0.1)


def _of_this_test(process: psutil.Process) -> bool:
    command, environ = process.info["cmdline"] or [], process.info["environ"] or {}
    return command[3:5] == ["hook", "finish"] and environ.get("HOME") == os.environ["HOME"]


def shop_with_records(folder: Path) -> Project:
    """A project with a decision and a principle."""
    project = Project(folder / "shop")
    project.add(
        decisions="Payments go through Stripe, because refunds are simple there",
        principles="Every public function has a docstring",
    )
    return project
