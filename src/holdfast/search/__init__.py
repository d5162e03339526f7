"""How a question finds memories: analyse, gather by several arms, weigh, order, explain.

Belongs here: every decision about ranking, the same for all backends. Does not: SQL, writing, printing.
"""
