"""A log of safety events, apart from memory: it counts what happened and holds no word of what was said.

Belongs here: safety events as levels and counts. Does not: a word of what was said, or a way to memory.
"""

from __future__ import annotations

from .log import PATHS, AuditLog, SafetyEvent, open_audit

__all__ = ["PATHS", "AuditLog", "SafetyEvent", "open_audit"]
