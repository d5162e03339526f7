"""Triggers that start a run of a daemon: cron, file changes, webhooks.

Each trigger is a thread. Creating one checks and acquires its resources (a port, a watched folder),
so that errors are known before the first one runs.
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
    report: Announce,
) -> list[TriggerThread]:
    """Start every trigger of a role, or none; InvalidInput names the one that cannot work."""
    threads = prepare(
        role,
        fire,
        clock=clock,
        stop=stop,
        environ=environ,
        report=report,
    )
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
    report: Announce,
) -> list[TriggerThread]:
    """Create the triggers of a role, to be started or released."""
    wiring = Wiring(role, fire, clock, stop, environ, report)
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
