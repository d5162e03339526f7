"""Notes of coding sessions: decisions, procedures, principles, incidents and preferences that outlast them.

Belongs here: finding notes in the turns of a session, by rules or by a model. Does not: what becomes of them.
"""

from .find import find_notes
from .llm import ask_for_notes
from .note import CATEGORIES, Category, Note

__all__ = ["CATEGORIES", "Category", "Note", "ask_for_notes", "find_notes"]
