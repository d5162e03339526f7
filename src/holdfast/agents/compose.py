"""Several agents in one process: started in order, handing answers to each other, perhaps with one
memory.
"""

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
"""The model that a service uses instead of its role's own, by the service's name."""


def up(
    compose: Compose,
    *,
    clock: Clock,
    stop: threading.Event,
    told: Announce,
    environ: Mapping[str, str],
    model_for: ModelFor | None = None,
) -> None:
    """Runs every service until `stop` is set; then ends their sessions, the last one started first.

    Raises InvalidInput, before anything runs, when a file, a trigger or the way they are connected
    cannot work.
    """
    order = _order(compose)
    roles = _roles(compose)
    _check_work(compose, roles)
    with ExitStack() as opened:
        composition = _Composition(compose, stop, one_by_one(told))
        for name in order:
            model = model_for(name) if model_for else None
            agent = RoleAgent.open(roles[name], clock=clock, model=model)
            opened.callback(agent.close)
            composition.add(name, agent)
        composition.prepare(clock, environ)
        composition.run()


def _order(compose: Compose) -> list[str]:
    """The services, each after those it depends on."""
    services = compose.spec.services
    answers = {name: service.sink.targets for name, service in services.items() if service.sink}
    _sorted(answers, "hand their answers to each other in a circle, without end")
    return _sorted(
        {name: service.depends_on for name, service in services.items()},
        "depend on each other in a circle",
    )


def _sorted(needs: Mapping[str, tuple[str, ...]], complaint: str) -> list[str]:
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise InvalidInput(
            f"Services {complaint}: {circle}. Take one of these links out."
        ) from error


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
    # A file is one memory anyhow; on a server a name of their own is what they share.
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
    targets = {
        target
        for service in compose.spec.services.values()
        if service.sink
        for target in service.sink.targets
    }
    for name, role in roles.items():
        if not role.spec.triggers and name not in targets:
            raise InvalidInput(
                f"Service {name!r} would never do anything: {role.file} has no triggers, and no "
                "other service has it "
                f"as the target of its sink. Give it triggers, or take it out of {compose.file}."
            )


class _Composition:
    """The services of one compose file, in the order in which they start."""

    def __init__(self, compose: Compose, stop: threading.Event, told: Announce) -> None:
        self._compose = compose
        self._stop = stop
        self._told = told
        self._services: dict[str, Service] = {}
        self._triggers: dict[str, list[TriggerThread]] = {}

    def add(self, name: str, agent: RoleAgent) -> None:
        """Makes a service of an agent."""
        self._services[name] = Service(
            agent,
            stop=self._stop,
            told=partial(self._tell, name),
            room=self._room(name),
            answered=partial(self._hand_on, name),
        )

    def prepare(self, clock: Clock, environ: Mapping[str, str]) -> None:
        """Checks the triggers of all services; none of them runs yet."""
        try:
            for name, service in self._services.items():
                told = partial(self._tell, name)
                self._triggers[name] = triggers.prepare(
                    service.agent.role,
                    service.offer,
                    clock=clock,
                    stop=self._stop,
                    environ=environ,
                    told=told,
                )
        except BaseException:
            self._release_but(())
            raise

    def run(self) -> None:
        """Starts them in order, waits for `stop`, and ends them in reverse."""
        threads: list[threading.Thread] = []
        started: list[Service] = []
        try:
            for name, service in self._services.items():
                service.open()
                started.append(service)
                worker = threading.Thread(target=service.work, name=f"holdfast-{name}", daemon=True)
                for thread in (worker, *self._triggers[name]):
                    thread.start()
                    threads.append(thread)
                self._announce(name)
            while not self._stop.wait(STEP):
                pass
        finally:
            self._stop.set()
            # All have ended before any session does: until then one may still hand its answer to
            # another.
            for thread in threads:
                thread.join()
            self._release_but(threads)
            for service in reversed(started):
                service.close()

    def _release_but(self, running: Sequence[threading.Thread]) -> None:
        """Gives back the ports and watches of triggers that never ran."""
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
        self._told(f"{name}: {line}")

    def _room(self, name: str) -> int:
        sinks = [service.sink for service in self._compose.spec.services.values() if service.sink]
        return max((sink.queue_size for sink in sinks if name in sink.targets), default=ROOM)

    def _hand_on(self, name: str, firing: Firing, answer: str) -> None:
        sink = self._compose.spec.services[name].sink
        if sink is None or not answer.strip():
            return
        # What began with a stranger's words stays that, however many agents have rephrased it.
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
                    name, f"an answer for {target} was dropped, because {why}: {excerpt(answer)}"
                )
