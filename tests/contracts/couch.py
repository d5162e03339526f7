"""What the tests of trusted memory share: somebody talks, and a model that was told what to
find.
"""

from __future__ import annotations

import json
import re

from holdfast.errors import ModelFailed

_LINE = re.compile(r"^\[(\d+)\] \w+: (.*)$", re.MULTILINE)


def talk(hf, session, *texts, role="user"):
    """Somebody says these, a second apart; the turns come back."""
    turns = []
    for text in texts:
        hf.clock.forward(seconds=1)
        turns.append(hf.capture(session, role, text))
    return turns


def end(hf, session, model=None):
    """The conversation ends, and what it teaches is learned."""
    hf.clock.forward(seconds=1)
    hf.sessions.end(session)
    return hf.sessions.learn(session, complete=model)


def known(hf, kind="fact", status="active"):
    """What is known of a kind now."""
    return {memory.content for memory in hf.list(kinds=[kind], statuses=[status])}


class Model:
    """A model that finds what the test told it to, by quotes, and says what it was told to say to
    other prompts.
    """

    def __init__(self, *found, arc=None, compared=()):
        self.found, self.arc, self.compared = found, arc, compared
        self.asked = []
        self.away = False

    def __call__(self, prompt):
        self.asked.append(prompt)
        if self.away:
            raise ModelFailed("the model is away")
        if "a conversation that has ended" in prompt:
            return json.dumps(self.arc or {"arc": None})
        if "Below are new statements" in prompt:
            return json.dumps(list(self.compared))
        lines = _LINE.findall(prompt)
        return json.dumps(
            [
                {"turn": int(n), **one}
                for n, text in lines
                for one in self.found
                if one["quote"] in text
            ]
        )


def finds(quote, content=None, **fields):
    """An element of a model's answer."""
    return {"quote": quote, "content": content or quote, **fields}
