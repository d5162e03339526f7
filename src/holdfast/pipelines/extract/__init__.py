"""From dialogue to candidates: what was said that is worth remembering.

Belongs here: extractors, and the words and patterns they go by. Does not: deciding what becomes of a candidate.
"""
