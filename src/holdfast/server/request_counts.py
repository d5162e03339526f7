"""Requests that a server has answered, as counts, and the latest that failed inside it."""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from ..types import Micros

# Failures that are kept.
KEPT = 50
# Status from which the server itself failed.
OWN_FAULT = 500


class AnsweredRequest(NamedTuple):
    """A request with its route and status, and the id under which the log has it."""

    at: Micros
    method: str
    route: str
    status: int
    request_id: str


class RequestCounts:
    """Counts of answers since the server started. Routes are counted, not addresses: an address
    may contain a name or a question.
    """

    def __init__(self, started_at: Micros) -> None:
        self.started_at = started_at
        self.by_status: Counter[int] = Counter()
        self.failures: deque[AnsweredRequest] = deque(maxlen=KEPT)

    def note(self, answered: AnsweredRequest) -> None:
        """Count an answer; keep it if the server itself failed."""
        self.by_status[answered.status] += 1
        if answered.status >= OWN_FAULT:
            self.failures.append(answered)
