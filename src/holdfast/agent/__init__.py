"""Agents described in a role file: their tools, conversations, triggers and what they remember.

Everything here is a surface: what is remembered, found and forgotten is decided by the engine below.
"""
