"""A log of safety events, apart from memory: it counts what happened and holds no word of what was said."""

from __future__ import annotations

from .log import DAYS, LEVELS, PATHS, AuditLog, Path, SafetyEvent, open_audit

__all__ = ["DAYS", "LEVELS", "PATHS", "AuditLog", "Path", "SafetyEvent", "open_audit"]
