"""Daemon: runs an agent for its triggers, one firing after the other, until stopped."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING

from ..errors import InvalidInput
from ..types import Clock
from . import triggers
from .role_memory import describe_consolidation, from_outside
from .triggers import Announce, Firing, excerpt

if TYPE_CHECKING:
    from .agent_runner import RoleAgent

log = logging.getLogger(__name__)

ROOM = 100  # maximum queue length
# Seconds between two checks of `stop`.
STEP = 0.2
# Characters of an answer stored as an episode.
KEPT = 500

Answered = Callable[[Firing, str], None]


class Service:
    """An agent with a queue of firings.

    `open`, then `work` until `stop` is set, then `close`. Firings can be offered from any thread.
    """

    def __init__(
        self,
        agent: RoleAgent,
        *,
        stop: threading.Event,
        report: Announce,
        room: int = ROOM,
        answered: Answered = lambda firing, answer: None,
    ) -> None:
        """`answered` is called after each successful run."""
        self.agent = agent
        self._stop = stop
        self._report = report
        self._answered = answered
        self._inbox: Queue[Firing] = Queue(room)
        self._session = ""
        self._captured = 0

    def offer(self, firing: Firing, wait: float = 0) -> bool:
        """Queue a firing; False if there was no room within `wait` seconds, or it is stopping."""
        deadline = time.monotonic() + wait
        while not self._stop.is_set():
            left = deadline - time.monotonic()
            try:
                # In short steps, so that a shutdown is noticed.
                self._inbox.put(firing, timeout=max(0, min(STEP, left)))
                return True
            except Full:
                if left <= 0:
                    return False
        return False

    def open(self) -> None:
        """Start the session of all its runs."""
        if self.agent.memory is not None:
            self._session = self.agent.memory.open_session("daemon")

    def work(self) -> None:
        """Run queued firings until stopped; the current run is finished first."""
        while not self._stop.is_set():
            try:
                firing = self._inbox.get(timeout=STEP)
            except Empty:
                continue
            self._run(firing)

    def close(self) -> None:
        """Report unprocessed firings and end the session. All producers must have stopped
        before.
        """
        while not self._inbox.empty():
            firing = self._inbox.get()
            self._report(
                f"{firing.type}: dropped because of the shutdown: {excerpt(firing.prompt)}"
            )
        memory = self.agent.memory
        if memory is not None:
            # Consolidate now, after autonomous runs and at the end of the session, unless it is
            # manual.
            due = memory.config.consolidation.interval != "manual"
            for line in memory.end_session(self._session, reason="shutdown", consolidate=due):
                self._report(line)

    def _run(self, firing: Firing) -> None:
        token = from_outside.set(firing.metadata.get("trust") == "external")
        try:
            self._do(firing)
        finally:
            from_outside.reset(token)

    def _do(self, firing: Firing) -> None:
        try:
            answer = self.agent.run(firing.prompt).text
        except Exception as error:  # a failed run must not stop the next one
            log.debug(
                "a run of %s failed",
                self.agent.role.name,
                exc_info=True,
            )
            reason = f"the run failed: {str(error) or type(error).__name__}"
            self._report(f"{firing.type}: {reason}")
            self._remember(firing, reason)
            return
        self._report(f"{firing.type}: {answer}")
        self._remember(firing, answer)
        self._answered(firing, answer)

    def _remember(self, firing: Firing, outcome: str) -> None:
        if self.agent.memory is not None:
            self.agent.memory.capture(
                f"Daemon trigger ({firing.type}): {outcome[:KEPT]}",
                category="daemon_run",
                metadata={**firing.metadata, "trigger_type": firing.type},
            )
            self.agent.memory.prune_sessions()
            self._captured += 1
            self._consolidate_now_and_then()

    def _consolidate_now_and_then(self) -> None:
        """Consolidate during the session: a daemon's session may last for months."""
        memory = self.agent.memory
        if memory is None or memory.config.consolidation.interval == "manual":
            return
        if self._captured % memory.config.consolidation.max_episodes_per_run == 0:
            for line in describe_consolidation(memory.consolidate()):
                self._report(line)


def serve(
    agent: RoleAgent,
    *,
    clock: Clock,
    stop: threading.Event,
    report: Announce,
    environ: Mapping[str, str],
) -> None:
    """Run an agent by its triggers until `stop` is set, then end its session. The agent stays open.

    Raises InvalidInput before anything runs if there is no trigger or one is invalid.
    """
    if not agent.role.spec.triggers:
        raise InvalidInput(
            f"{agent.role.file} has no triggers, so nothing would ever run. Add some under "
            "spec, e.g. triggers: "
            f"[{{type: cron, schedule: '0 9 * * *', prompt: Write the morning report.}}]"
        )
    report = one_by_one(report)
    service = Service(agent, stop=stop, report=report)
    threads = triggers.start(
        agent.role,
        service.offer,
        clock=clock,
        stop=stop,
        environ=environ,
        report=report,
    )
    try:
        for thread in threads:
            report(thread.about)
        service.open()
        service.work()
    finally:
        # Also after an interrupt: no trigger may outlive its agent.
        stop.set()
        for thread in threads:
            thread.join()
        service.close()


def one_by_one(report: Announce) -> Announce:
    """Return a thread-safe version of `report`."""
    # Triggers and services report from their own threads; lines must not interleave.
    lock = threading.Lock()

    def tell(line: str) -> None:
        with lock:
            report(line)

    return tell


def stop_on_signals(stop: threading.Event, report: Announce = lambda line: None) -> None:
    """Set `stop` on Ctrl-C and SIGTERM; a second Ctrl-C exits at once. Main thread only."""

    # Signature of a signal handler.
    def stopping(number: int, frame: object) -> None:  # noqa: ARG001
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stop.set()
        report("Stopping after the current run. Press Ctrl-C again to exit at once.")

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stopping)
