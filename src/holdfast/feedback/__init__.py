"""How sessions were found to be, apart from memory: a label each, and no word of what was said.

Belongs here: labels that sessions were given. Does not: a word of what was said, or a way to memory.
"""

from __future__ import annotations

from .log import LABELS, Feedback, FeedbackLog, Label, open_feedback

__all__ = ["LABELS", "Feedback", "FeedbackLog", "Label", "open_feedback"]
