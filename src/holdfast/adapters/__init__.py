"""Protocols of other systems, as surfaces of the same memory.

Belongs here: protocols and file formats of other systems, spoken by the one engine. Does not: ranking, deciding, or a
store of its own.
"""
