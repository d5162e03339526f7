"""Worlds in which Ann may or may not have a memory, and what Bob sees of it in each.

Bob does the same in three worlds: in one where Ann has memories, with their ids in his hands; in
the same one with ids that nobody has; and in one where Ann was never heard of. If he gets the same
answers in all three, he can neither read nor count nor infer anything of hers. Whatever he did, her
export must be byte for byte what it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from holdfast.client import Holdfast
from holdfast.errors import HoldfastError
from holdfast.types import Scope

CANARY = "Zanzibar7391"
ANN, BOB = "user:ann", "user:bob"
ID = re.compile(r"\b([a-z]+)_[0-9a-z]{18}\b")
# Over texts with ids in them, and made up by chance.
HASH = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b")
# Numbers belong to the store and not to an owner; surfaces for strangers do not show them.
NUMBERED = (
    "seq",
    "watermark",
    "done_watermark",
)


@dataclass(frozen=True)
class Target:
    """What Bob has come to know of Ann's memory without being allowed to: the names of things in
    it.
    """

    memory: str
    rule: str
    episode: str
    turn: str
    proposal: str
    entity: str
    run: str
    session: str = "anns-session"
    name: str = "zoe"

    def decoy(self) -> Target:
        """Names of the same shape that nobody has."""
        made_up = {
            one.name: re.sub(
                r"(?<=_)[0-9a-z]+$",
                lambda id_, digit=digit: f"{digit}" * len(id_[0]),
                getattr(self, one.name),
            )
            for digit, one in enumerate(fields(self))
        }
        return replace(self, **made_up | {"session": "anns-sessiom", "name": "zof"})


def give_ann_a_memory(hf: Holdfast) -> Target:
    """Everything an owner can have, each with a word that occurs nowhere else."""
    ann = hf.scoped(ANN)
    for role, text in (
        ("user", f"I buried the treasure in {CANARY}."),
        ("assistant", "I will keep that to myself."),
    ):
        turn = ann.capture("anns-session", role, text, author="Ann")
    ann.sessions.append("anns-session", [{"text": CANARY}], agent="")
    ann.sessions.end("anns-session")
    memory = ann.remember(
        f"The treasure of @zoe lies in {CANARY}",
        category="treasure",
        tags=("gold",),
        session="anns-session",
    )
    ann.remember("Keeps bees on the roof")
    rule = ann.remember(f"Never mention {CANARY}", kind="rule")
    episode = ann.remember(f"Dug in {CANARY} all day", kind="episode", session="anns-session")
    proposal = ann.reviews.propose(f"Wants to go back to {CANARY}")
    wrong = ann.remember(f"The treasure weighs five stone in {CANARY}")
    ann.correct(wrong.id, f"The treasure weighs nine stone in {CANARY}")
    ann.sessions.set_profile(proactive_recall=True)
    ann.confirm(memory.id)
    zoe = ann.entities.get("zoe").entity
    assert turn is not None
    return Target(memory.id, rule.id, episode.id, turn.id, proposal.id, zoe.id, ann.last_run)


def give_bob_a_memory(hf: Holdfast) -> None:
    """A little of everything, so that there is something to count."""
    bob = hf.scoped(BOB)
    bob.capture("bobs-session", "user", "I like the treasure hunt with @max.")
    bob.capture("bobs-session", "assistant", "Good to know.")
    bob.remember("Went to a treasure hunt with @max", category="games")
    bob.remember("Be brief", kind="rule")
    bob.reviews.propose("Likes maps")


def told(work: Callable[[], Any]) -> Any:
    """What somebody gets to know by a call: its result, or its refusal."""
    try:
        return plain(work())
    except (HoldfastError, ValueError) as error:
        return [type(error).__name__, str(error)]


def plain(value: Any) -> Any:
    """Anything as JSON has it, without what belongs to the store as a whole."""
    if isinstance(value, Scope):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        shown = {
            one.name: plain(getattr(value, one.name))
            for one in fields(value)
            if one.name not in NUMBERED
        }
        return {"": type(value).__name__, **shown}
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(one) for key, one in value.items() if key not in NUMBERED}
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    return type(value).__name__


def comparable(result: Any, target: Target, place: str) -> str:
    """A result as text in which every name of the target, every made-up id and the place stand for
    themselves.
    """
    text = json.dumps(result, ensure_ascii=False, sort_keys=True).replace(place, "<place>")
    for one in fields(target):
        text = text.replace(getattr(target, one.name), f"<{one.name}>")
    return HASH.sub("<hash>", ID.sub(r"<\1>", text))


@dataclass
class World:
    """One store, and what Bob holds in his hands there."""

    hf: Holdfast
    target: Target
    before: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.anns()

    def anns(self) -> list[str]:
        """All that Ann has, to the last use count."""
        return list(self.hf.scoped(ANN).admin.export())


Recipe = Callable[[Any, Target], Any]


def same_everywhere(name: str, recipe: Recipe, worlds: list[World], doers: list[Any]) -> None:
    """Bob does one thing in every world; it fails when he could tell the worlds apart, or touched
    what is Ann's.
    """
    results = [
        told(lambda: recipe(doer, world.target))  # noqa: B023
        for doer, world in zip(doers, worlds, strict=True)
    ]
    for world, result in zip(worlds, results, strict=True):
        assert CANARY not in json.dumps(result, ensure_ascii=False), f"{name} shows what is Ann's"
        assert world.anns() == world.before, f"{name} changed what is Ann's"
    seen = [
        comparable(one, world.target, world.hf.store.location)
        for one, world in zip(results, worlds, strict=True)
    ]
    assert seen[0] == seen[1], (
        f"{name} tells Ann's ids from ids that nobody has: {_difference(seen[0], seen[1])}"
    )
    assert seen[0] == seen[2], (
        f"{name} tells whether Ann has a memory: {_difference(seen[0], seen[2])}"
    )


def _difference(one: str, other: str) -> str:
    """Where two texts part, with what is around it."""
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    return f"…{one[max(0, at - 80) : at + 80]}… and …{other[max(0, at - 80) : at + 80]}…"
