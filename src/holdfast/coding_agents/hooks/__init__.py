"""Hooks of coding agents: recall before a prompt, index and extract after a session.

A hook answers in the format of its host, in time, whatever happens. `handler.py` is on a clock that
starts with the process, so modules here load what is heavy only where it is used.
"""
