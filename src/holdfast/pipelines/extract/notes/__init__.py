"""Notes of coding sessions: decisions, procedures, principles, incidents and preferences that outlast them.

Belongs here: finding the notes of a coding session, by rules or by a model. Does not: what becomes of them, which is
for `files/`.
"""

from .find import find_notes
from .llm import ask_for_notes
from .note import CATEGORIES, Category, Note

__all__ = ["CATEGORIES", "Category", "Note", "ask_for_notes", "find_notes"]
