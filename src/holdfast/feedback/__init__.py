"""How sessions were found to be, apart from memory: a label each, and no word of what was said."""

from __future__ import annotations

from .log import DAYS, LABELS, SOURCES, Feedback, FeedbackLog, Label, Source, open_feedback

__all__ = ["DAYS", "LABELS", "SOURCES", "Feedback", "FeedbackLog", "Label", "Source", "open_feedback"]
