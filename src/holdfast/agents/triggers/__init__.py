"""Triggers that start a run of a daemon: cron, file changes, webhooks.

Each trigger is a thread. Making one checks all it needs and takes hold of it (a port, a watched
folder), so that what is wrong with any of them is known before the first one runs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ...types import Clock
from ..role import Cron, FileWatch, Role, Trigger, Webhook
from .base import Announce, Fire, Firing, TriggerThread, Wiring, excerpt
from .cron import CronThread
from .file_changes import FileWatchThread
from .webhook import WebhookThread

__all__ = ["Announce", "Firing", "TriggerThread", "WebhookThread", "excerpt", "prepare", "start"]


def start(
    role: Role,
    fire: Fire,
    *,
    clock: Clock,
    stop: threading.Event,
    environ: Mapping[str, str],
    told: Announce,
) -> list[TriggerThread]:
    """Starts every trigger of a role, or none: InvalidInput says which one cannot work and what to
    do about it.
    """
    threads = prepare(role, fire, clock=clock, stop=stop, environ=environ, told=told)
    for thread in threads:
        thread.start()
    return threads


def prepare(
    role: Role,
    fire: Fire,
    *,
    clock: Clock,
    stop: threading.Event,
    environ: Mapping[str, str],
    told: Announce,
) -> list[TriggerThread]:
    """The triggers of a role, checked as by `start` and yet to be started, or released."""
    wiring = Wiring(role, fire, clock, stop, environ, told)
    threads: list[TriggerThread] = []
    try:
        for trigger in role.spec.triggers:
            threads.append(_thread(trigger, wiring))
    except BaseException:
        for thread in threads:
            thread.release()
        raise
    return threads


def _thread(trigger: Trigger, wiring: Wiring) -> TriggerThread:
    match trigger:
        case Cron():
            return CronThread(trigger, wiring)
        case FileWatch():
            return FileWatchThread(trigger, wiring)
        case Webhook():
            return WebhookThread(trigger, wiring)
