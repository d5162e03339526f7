"""An agent that runs by itself: what its triggers ask for, one after the other, until it is told to
stop.
"""

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
from .role_memory import describe_consolidation as told_of
from .role_memory import from_outside
from .triggers import Announce, Firing, excerpt

if TYPE_CHECKING:
    from .agent_runner import RoleAgent

log = logging.getLogger(__name__)

ROOM = 100  # how many firings may wait
# Seconds between two looks at `stop`.
STEP = 0.2
# How many characters of an answer are remembered.
KEPT = 500

Answered = Callable[[Firing, str], None]


class Service:
    """An agent and what it still has to do, in the order in which it was asked.

    `open`, then `work` until `stop` is set, then `close`. Anybody may offer it firings at any time.
    """

    def __init__(
        self,
        agent: RoleAgent,
        *,
        stop: threading.Event,
        told: Announce,
        room: int = ROOM,
        answered: Answered = lambda firing, answer: None,
    ) -> None:
        """`answered` hears of each run that succeeded."""
        self.agent = agent
        self._stop = stop
        self._told = told
        self._answered = answered
        self._inbox: Queue[Firing] = Queue(room)
        self._session = ""
        self._captured = 0

    def offer(self, firing: Firing, wait: float = 0) -> bool:
        """Takes a firing; False when there was no room within `wait` seconds, or it is stopping."""
        deadline = time.monotonic() + wait
        while not self._stop.is_set():
            left = deadline - time.monotonic()
            try:
                self._inbox.put(firing, timeout=max(0, min(STEP, left)))
                return True
            except Full:
                if left <= 0:
                    return False
        return False

    def open(self) -> None:
        """Begins the session that all its runs belong to."""
        if self.agent.memory is not None:
            self._session = self.agent.memory.open_session("daemon")

    def work(self) -> None:
        """Runs what it is offered until it is stopped; the run at hand is finished first."""
        while not self._stop.is_set():
            try:
                firing = self._inbox.get(timeout=STEP)
            except Empty:
                continue
            self._run(firing)

    def close(self) -> None:
        """Tells what nobody got round to, and ends the session. Whoever offers firings must have
        ended before.
        """
        while not self._inbox.empty():
            firing = self._inbox.get()
            self._told(f"{firing.type}: dropped, because it stops: {excerpt(firing.prompt)}")
        memory = self.agent.memory
        if memory is not None:
            # Its runs were autonomous and its session ends: either is a time to consolidate, unless
            # that is manual.
            due = memory.config.consolidation.interval != "manual"
            for line in memory.end_session(self._session, reason="shutdown", consolidate=due):
                self._told(line)

    def _run(self, firing: Firing) -> None:
        token = from_outside.set(firing.metadata.get("trust") == "external")
        try:
            self._do(firing)
        finally:
            from_outside.reset(token)

    def _do(self, firing: Firing) -> None:
        try:
            answer = self.agent.run(firing.prompt).text
        except Exception as error:  # whatever goes wrong in one run, the next one may work
            log.debug("a run of %s failed", self.agent.role.name, exc_info=True)
            reason = f"the run failed: {str(error) or type(error).__name__}"
            self._told(f"{firing.type}: {reason}")
            self._remember(firing, reason)
            return
        self._told(f"{firing.type}: {answer}")
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
        """A daemon's session may last for months, so its episodes are not left waiting for the end
        of it.
        """
        memory = self.agent.memory
        if memory is None or memory.config.consolidation.interval == "manual":
            return
        if self._captured % memory.config.consolidation.max_episodes_per_run == 0:
            for line in told_of(memory.consolidate()):
                self._told(line)


def serve(
    agent: RoleAgent,
    *,
    clock: Clock,
    stop: threading.Event,
    told: Announce,
    environ: Mapping[str, str],
) -> None:
    """Runs an agent by its triggers until `stop` is set; then ends its session. The agent stays
    open.

    Raises InvalidInput, before anything runs, when there is no trigger or one of them cannot work.
    """
    if not agent.role.spec.triggers:
        raise InvalidInput(
            f"{agent.role.file} has no triggers, so nothing would ever run. Add some under spec, "
            "e.g. "
            "triggers: [{type: cron, schedule: '0 9 * * *', prompt: Write the morning report.}]"
        )
    told = one_by_one(told)
    service = Service(agent, stop=stop, told=told)
    threads = triggers.start(
        agent.role, service.offer, clock=clock, stop=stop, environ=environ, told=told
    )
    try:
        for thread in threads:
            told(thread.about)
        service.open()
        service.work()
    finally:
        # Also after an interrupt: no trigger may outlive its agent.
        stop.set()
        for thread in threads:
            thread.join()
        service.close()


def one_by_one(told: Announce) -> Announce:
    """The same, for callers on several threads."""
    lock = threading.Lock()

    def tell(line: str) -> None:
        with lock:
            told(line)

    return tell


def stop_on_signals(stop: threading.Event, told: Announce = lambda line: None) -> None:
    """Lets Ctrl-C and SIGTERM set `stop`; another Ctrl-C ends the process at once. For the main
    thread only.
    """

    # The shape of a signal handler.
    def stopping(number: int, frame: object) -> None:  # noqa: ARG001
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stop.set()
        told("Stopping after the run at hand. Ctrl-C ends at once.")

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stopping)
