"""What the tests of projects' memories share: a project with a past, and a model over HTTP that
builds its memory.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from provider import Provider

from holdfast import config
from holdfast.client import Holdfast
from holdfast.namespaces.project_view import project_at
from holdfast.projects.project_folder import project_around
from holdfast.types import DAY, Micros, Scope, system_clock
from patience import PATIENCE

DECIDED = "We decided to use pnpm instead of npm because npm breaks the lock file."
TAUGHT = {
    "rollout_summary": "Chose pnpm.",
    "rollout_slug": "pnpm",
    "raw_memory": '- Use pnpm instead of npm. — "to use pnpm instead of npm because"',
}
SAID = "Use pnpm instead of npm: npm breaks the lock file."
BUILT = {
    "memory_md": f"# Memory\n\n{SAID}",
    "memory_summary": "Use pnpm.",
    "skills": [{"name": "Deploy", "content": "Run `make deploy`."}],
}
SECOND = "second"


class Held:
    """A request that is not answered yet."""

    def __init__(self) -> None:
        self._came, self._go_on = threading.Event(), threading.Event()

    def come(self) -> None:
        """Waits until it has come."""
        assert self._came.wait(PATIENCE)

    def answer(self) -> None:
        self._go_on.set()

    def wait(self) -> None:
        self._came.set()
        self._go_on.wait(PATIENCE)


class Builder(Provider):
    """Answers both phases: the second with `built`, as it is when it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.built: dict[str, Any] = BUILT
        self._held: dict[str, list[Held]] = {"first": [], SECOND: []}
        self._every: list[Held] = []

    def hold(self, phase: str) -> Held:
        """Has the next request of a phase wait for its answer."""
        held = Held()
        self._held[phase].append(held)
        self._every.append(held)
        return held

    def let_go(self) -> None:
        for held in self._every:
            held.answer()

    def step(self, body: dict[str, Any]) -> str:
        phase = SECOND if "# Raw memories" in json.dumps(body["messages"]) else "first"
        answer = json.dumps(self.built if phase == SECOND else TAUGHT)
        if self._held[phase]:
            self._held[phase].pop(0).wait()
        return answer

    @property
    def calls(self) -> tuple[int, int]:
        """How often it was asked in the first phase, and in the second."""
        second = sum("# Raw memories" in json.dumps(chat["messages"]) for chat in self.chats)
        return len(self.chats) - second, second


class Shop:
    """A project whose sessions lie a day back; the per-user store knows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._hf: Holdfast | None = None

    def enable(
        self, *, model: Provider | None = None, named: str | None = None, **memories: Any
    ) -> None:
        """Has its memory built and told unasked, by a model, by the one that is named, or by
        rules.
        """
        told = {"memories": {"enabled": True, **memories}}
        named = "openai:builder" if model else named
        told |= {"models": {"default": named}} if named is not None else {}
        (self.folder / config.PROJECT_FILE).write_text(json.dumps(told))  # which is YAML too
        if model:
            file = config.config_file()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'model_url = "{model.url}"\nembedding_models = "none"\n')

    def talk(
        self, session: str, *said: str, at: Micros | None = None, scope: Scope | None = None
    ) -> None:
        """A session that ended a day ago, unless told when."""
        ended = system_clock() - DAY if at is None else at
        with Holdfast.open(scope=scope or self.scope, clock=lambda: ended, background=False) as hf:
            hf.capture_many(
                {"session": session, "role": "user", "text": text} for text in said or (DECIDED,)
            )
            hf.sessions.end(session)

    @property
    def scope(self) -> Scope:
        return project_around(self.folder).scope

    @property
    def project(self):
        """Its memory, opened once."""
        if self._hf is None:
            self._hf = Holdfast.open(scope=self.scope, background=False)
        return project_at(self._hf, self.folder)

    def jobs(self) -> dict[str, str]:
        """How its jobs stand."""
        store = self.project.memory.store
        return {f"{job.kind} {job.key}": job.status for job in store.jobs.list([self.scope])}

    def lease(self, kind: str) -> Micros:
        """Until when somebody holds the job of this kind."""
        store = self.project.memory.store
        return next(
            job.lease_until or 0 for job in store.jobs.list([self.scope]) if job.kind == kind
        )

    def held_until(self) -> Micros:
        """Until when somebody holds any of its jobs."""
        store = self.project.memory.store
        return max(job.lease_until or 0 for job in store.jobs.list([self.scope]))

    def text(self, name: str) -> str:
        return (self.project.folder / name).read_text("utf-8")

    def close(self) -> None:
        if self._hf is not None:
            self._hf.close()
