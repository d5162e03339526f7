"""How long the tests wait for something to happen before they give up."""

PATIENCE = 240
"""Seconds: a machine that runs ten times more than it has cores for takes its time to start a
process. No test waits that long unless something is broken; each waits for an event.
"""
