"""How a text becomes a memory: guarded, built, committed.

Belongs here: everything between a caller's words and one journalled transaction. Does not: searching, models.
"""
