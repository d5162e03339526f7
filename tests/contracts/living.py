"""What the tests of the living memory share: somebody talks, and the night passes."""

from __future__ import annotations


def talk(hf, session, *texts):
    """Somebody says these, a second apart; the turns come back."""
    turns = []
    for text in texts:
        hf.clock.forward(seconds=1)
        turns.append(hf.capture(session, "user", text))
    return turns


def facts(hf):
    """What is known as a fact now."""
    return {memory.content for memory in hf.list(kinds=["fact"])}


def done(hf, *tasks):
    """Which jobs of these tasks were done now, as kind and key."""
    return [(job.kind, job.key) for job in hf.admin.maintain(*tasks) if job.status == "done"]
