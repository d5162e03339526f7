"""Notes from coding sessions: decisions, procedures, principles, incidents, preferences."""

from .finder import find_notes
from .llm_notes import ask_for_notes
from .note import CATEGORIES, Category, Note

__all__ = ["CATEGORIES", "Category", "Note", "ask_for_notes", "find_notes"]
