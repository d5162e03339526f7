"""Feedback on sessions, stored apart from memories."""

from __future__ import annotations

from .feedback_log import LABELS, Feedback, FeedbackLog, Label, open_feedback

__all__ = ["LABELS", "Feedback", "FeedbackLog", "Label", "open_feedback"]
