"""Memory for coding agents through their own hooks: recall before, index and extract after.

Belongs here: what coding agents run through their hooks, and our entries in their files. Does not: loading what is
heavy before it is used: a host waits.

A hook answers in the format of its host, in time, whatever happens. `run.py` is on a clock that starts with the
process, so modules here load what is heavy only where it is used.
"""
