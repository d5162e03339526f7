"""Agents described in a role file: their tools, conversations, triggers and what they remember.

Belongs here: role files, and the tools, conversations and triggers of the agents that they describe. Does not: what is
remembered, found and forgotten: the engine decides that.
"""
