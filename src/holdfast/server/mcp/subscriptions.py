"""What one client asked to be told without a request: changed resources, and log messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
WARNING = "warning"
UPDATED = "notifications/resources/updated"
MESSAGE = "notifications/message"


@dataclass
class Subscriptions:
    """The subscriptions and the log level of one client."""

    uris: set[str] = field(default_factory=set)
    level: str = WARNING

    def note(self, method: str, params: Mapping[str, Any]) -> None:
        """Record a request that was accepted, if it says what the client wants to be told."""
        match method:
            case "resources/subscribe":
                self.uris.add(params["uri"])
            case "resources/unsubscribe":
                self.uris.discard(params["uri"])
            case "logging/setLevel":
                self.level = params["level"]

    def updates(self, uris: Iterable[str]) -> list[dict[str, Any]]:
        """Return the parameters of a notification for each of these that it subscribed to."""
        return [{"uri": uri} for uri in uris if uri in self.uris]

    def messages(self, warnings: Iterable[str]) -> list[dict[str, Any]]:
        """Return the parameters of a log message for each warning, if the level includes it."""
        if LEVELS.index(self.level) > LEVELS.index(WARNING):
            return []
        return [{"level": WARNING, "logger": "holdfast", "data": one} for one in warnings]
