"""Safety events as levels and counts, stored apart from memories."""

from __future__ import annotations

from .audit_log import PATHS, AuditLog, SafetyEvent, open_audit

__all__ = ["PATHS", "AuditLog", "SafetyEvent", "open_audit"]
