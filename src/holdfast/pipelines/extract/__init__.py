"""From dialogue to candidates: what was said that is worth remembering.

Belongs here: what finds candidates in turns, and the words it goes by. Does not: deciding what becomes of a candidate.
"""
