"""Several agents in one process: start order, hand-over of answers, shared memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from pydantic_ai.models import Model

from .. import config
from ..errors import InvalidInput
from ..storage.connect import check_place, is_server
from ..types import Clock
from . import triggers
from .agent_runner import RoleAgent
from .daemon import ROOM, STEP, Service, one_by_one
from .role import Compose, Role, load_role
from .triggers import Announce, Firing, TriggerThread, excerpt

ModelFor = Callable[[str], Model | None]
"""Models that replace those of the roles, by service name."""


def up(
    compose: Compose,
    *,
    clock: Clock,
    stop: threading.Event,
    report: Announce,
    environ: Mapping[str, str],
    model_for: ModelFor | None = None,
) -> None:
    """Run every service until `stop` is set, then end their sessions in reverse order.

    Raises InvalidInput before anything runs if a file, a trigger or a connection is invalid.
    """
    order = _order(compose)
    roles = _roles(compose)
    _check_work(compose, roles)
    with ExitStack() as opened:
        composition = _Composition(compose, stop, one_by_one(report))
        for name in order:
            model = model_for(name) if model_for else None
            agent = RoleAgent.open(roles[name], clock=clock, model=model)
            opened.callback(agent.close)
            composition.add(name, agent)
        composition.prepare(clock, environ)
        composition.run()


def _order(compose: Compose) -> list[str]:
    """Services in dependency order."""
    services = compose.spec.services
    answers = {name: service.sink.targets for name, service in services.items() if service.sink}
    # Only checked for circles: answers do not determine the start order.
    _sorted(answers, "pass their answers around in an endless circle")
    return _sorted(
        {name: service.depends_on for name, service in services.items()},
        "depend on each other in a circle",
    )


def _sorted(needs: Mapping[str, tuple[str, ...]], complaint: str) -> list[str]:
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise InvalidInput(f"Services {complaint}: {circle}. Remove one of these links.") from error


def _roles(compose: Compose) -> dict[str, Role]:
    beside = compose.file.parent
    roles = {
        name: load_role(beside / Path(service.role).expanduser())
        for name, service in compose.spec.services.items()
    }
    shared = compose.spec.shared_memory
    if not shared.enabled:
        return roles
    place = _shared_place(compose)
    # A file is one memory anyway; on a server they share a scope of their own.
    scope = f"shared:{compose.metadata.name}" if is_server(place) else None
    return {
        name: role.sharing(place, shared.max_memories, scope=scope) for name, role in roles.items()
    }


def _shared_place(compose: Compose) -> str:
    wanted = compose.spec.shared_memory.store_path
    if wanted is None:
        store = config.load().store
        return (
            store
            if is_server(store)
            else str(config.agent_store(f"{compose.metadata.name}-shared"))
        )
    check_place(wanted)
    return wanted if is_server(wanted) else str(compose.file.parent / Path(wanted).expanduser())


def _check_work(compose: Compose, roles: Mapping[str, Role]) -> None:
    targets: set[str] = set()
    for service in compose.spec.services.values():
        if service.sink:
            targets.update(service.sink.targets)
    for name, role in roles.items():
        if not role.spec.triggers and name not in targets:
            raise InvalidInput(
                f"Service {name!r} would never run: {role.file} has no triggers, and no "
                "other service names it as the target of its sink. Add triggers, or remove "
                f"it from {compose.file}."
            )


class _Composition:
    """Services of one compose file, in start order."""

    def __init__(
        self,
        compose: Compose,
        stop: threading.Event,
        report: Announce,
    ) -> None:
        self._compose = compose
        self._stop = stop
        self._report = report
        self._services: dict[str, Service] = {}
        self._triggers: dict[str, list[TriggerThread]] = {}

    def add(self, name: str, agent: RoleAgent) -> None:
        """Create a service from an agent."""
        self._services[name] = Service(
            agent,
            stop=self._stop,
            report=partial(self._tell, name),
            room=self._room(name),
            answered=partial(self._hand_on, name),
        )

    def prepare(self, clock: Clock, environ: Mapping[str, str]) -> None:
        """Check the triggers of all services without starting them."""
        try:
            for name, service in self._services.items():
                report = partial(self._tell, name)
                self._triggers[name] = triggers.prepare(
                    service.agent.role,
                    service.offer,
                    clock=clock,
                    stop=self._stop,
                    environ=environ,
                    report=report,
                )
        except BaseException:
            self._release_but(())
            raise

    def run(self) -> None:
        """Start the services in order, wait for `stop`, and end them in reverse."""
        threads: list[threading.Thread] = []
        started: list[Service] = []
        try:
            for name, service in self._services.items():
                service.open()
                started.append(service)
                # Daemon threads: a second Ctrl-C must end the process at once.
                worker = threading.Thread(
                    target=service.work,
                    name=f"holdfast-{name}",
                    daemon=True,
                )
                for thread in (worker, *self._triggers[name]):
                    thread.start()
                    threads.append(thread)
                self._announce(name)
            # In short steps, so that a signal handler gets its turn.
            while not self._stop.wait(STEP):
                pass
        finally:
            self._stop.set()
            # Stop all workers before ending any session: until then one may still pass its answer
            # to another.
            for thread in threads:
                thread.join()
            self._release_but(threads)
            for service in reversed(started):
                service.close()

    def _release_but(self, running: Sequence[threading.Thread]) -> None:
        """Release the ports and watches of triggers that never started."""
        for thread in (
            one for several in self._triggers.values() for one in several if one not in running
        ):
            thread.release()

    def _announce(self, name: str) -> None:
        for thread in self._triggers[name]:
            self._tell(name, thread.about)
        if not self._triggers[name]:
            self._tell(name, "waiting for the answers of other services")

    def _tell(self, name: str, line: str) -> None:
        self._report(f"{name}: {line}")

    def _room(self, name: str) -> int:
        sinks = [service.sink for service in self._compose.spec.services.values() if service.sink]
        return max((sink.queue_size for sink in sinks if name in sink.targets), default=ROOM)

    def _hand_on(
        self,
        name: str,
        firing: Firing,
        answer: str,
    ) -> None:
        sink = self._compose.spec.services[name].sink
        if sink is None or not answer.strip():
            return
        # Text that came from outside stays untrusted, however many agents have rephrased it.
        trust = {"trust": firing.metadata["trust"]} if "trust" in firing.metadata else {}
        passed = Firing("delegate", answer, {"from": name, **trust})
        for target in sink.targets:
            if not self._services[target].offer(passed, wait=sink.timeout_seconds):
                why = (
                    "it stops"
                    if self._stop.is_set()
                    else f"{target} had no room for {sink.timeout_seconds:g} s"
                )
                self._tell(
                    name, f"an answer for {target} was dropped because {why}: {excerpt(answer)}"
                )
