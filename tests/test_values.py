"""Our dataclasses behave as those of the standard library do, which knows them for its own."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast import values
from holdfast.config import Settings
from holdfast.types import Memory, Scope, Triple


def made_by(library):
    """The same two classes, made by one library or the other."""

    @library.dataclass(frozen=True)
    class Cup:
        """Something to drink from."""

        size: int
        drink: str = "tea"
        notes: Mapping[str, Any] = library.field(
            default_factory=dict, metadata={"help": "What is written on it."}
        )

        def __post_init__(self) -> None:
            if self.size < 1:
                raise ValueError(self.size)

        @property
        def full(self) -> bool:
            """Whether there is anything in it."""
            return bool(self.drink)

    @library.dataclass
    class Tray:
        """What cups stand on."""

        cups: list[Cup] = library.field(default_factory=list)
        room: int = 4

    return SimpleNamespace(Cup=Cup, Tray=Tray, library=library)


BOTH = (made_by(values), made_by(dataclasses))
ours, theirs = BOTH


def outcome(work, kind):
    """What comes of something, in words that are the same for both."""
    try:
        return repr(work(kind))
    except Exception as error:
        return type(error).__name__


SAME = {
    "by place": lambda kind: kind.Cup(3, "rum", {"a": 1}),
    "by name": lambda kind: kind.Cup(drink="rum", size=3),
    "by default": lambda kind: vars(kind.Cup(3)),
    "nothing": lambda kind: kind.Cup(),
    "too many": lambda kind: kind.Cup(1, 2, 3, 4),
    "an unknown name": lambda kind: kind.Cup(3, handle=True),
    "twice": lambda kind: kind.Cup(3, size=4),
    "one that is refused": lambda kind: kind.Cup(0),
    "equal": lambda kind: (
        kind.Cup(3) == kind.Cup(3),
        kind.Cup(3) == kind.Cup(4),
        kind.Cup(3) == 3,
    ),
    "hashed": lambda kind: hash(kind.Cup(3, notes=())) == hash(kind.Cup(3, notes=())),
    "hashed with what has no hash": lambda kind: hash(kind.Cup(3)),
    "a changeable one hashed": lambda kind: hash(kind.Tray()),
    "set": lambda kind: setattr(kind.Cup(3), "size", 4),
    "deleted": lambda kind: delattr(kind.Cup(3), "size"),
    "a changeable one set": lambda kind: (tray := kind.Tray(), setattr(tray, "room", 1))[0],
    "lists of their own": lambda kind: kind.Tray().cups is kind.Tray().cups,
    "replaced": lambda kind: kind.library.replace(kind.Cup(3), drink="rum"),
    "replaced by an unknown name": lambda kind: kind.library.replace(kind.Cup(3), handle=True),
    "replaced by what is refused": lambda kind: kind.library.replace(kind.Cup(3), size=0),
    "as a dictionary": lambda kind: kind.library.asdict(
        kind.Tray([kind.Cup(3, notes={"a": (1,)})])
    ),
    "its fields": lambda kind: [
        (one.name, dict(one.metadata)) for one in kind.library.fields(kind.Cup)
    ],
    "a default": lambda kind: (kind.Cup.drink, hasattr(kind.Cup, "notes"), kind.Cup(1).full),
    "its signature": lambda kind: inspect.signature(kind.Tray),
    "copied": lambda kind: (copy.copy(kind.Cup(3)), copy.deepcopy(kind.Tray([kind.Cup(3)]))),
}


@pytest.mark.parametrize("what", SAME)
def test_what_comes_of_it_is_the_same(what):
    assert outcome(SAME[what], ours) == outcome(SAME[what], theirs)


def test_a_match_takes_them_apart():
    match ours.Cup(3, "rum"):
        case ours.Cup(size, drink):
            assert (size, drink) == (3, "rum")


def test_the_library_takes_them_for_its_own():
    cup, tray = ours.Cup(3, notes={"a": 1}), ours.Tray()
    assert dataclasses.is_dataclass(cup) and dataclasses.is_dataclass(ours.Tray)
    assert dataclasses.replace(cup, size=4) == ours.Cup(4, notes={"a": 1})
    assert dataclasses.asdict(cup) == values.asdict(cup) and dataclasses.astuple(tray) == ([], 4)
    assert [one.name for one in dataclasses.fields(cup)] == ["size", "drink", "notes"]
    assert dataclasses.fields(cup)[2].metadata == {"help": "What is written on it."}


def test_a_dataclass_of_the_library_may_be_made_of_one():
    @dataclasses.dataclass(frozen=True)
    class Mug(ours.Cup):
        """A cup with a handle."""

        handle: bool = True

    assert Mug(3, handle=False) == Mug(3, "tea", {}, False)
    assert list(inspect.signature(Mug).parameters) == ["size", "drink", "notes", "handle"]


def test_a_plain_class_may_be_made_of_one():
    class Glass(ours.Cup):
        """One that may break."""

    assert dataclasses.replace(Glass(3), size=4) == Glass(4) != ours.Cup(4)


def test_a_memory_survives_being_pickled():
    memory = Memory(
        "fact_1",
        Scope("user", "ann"),
        "fact",
        "Ann likes tea.",
        1,
        2,
        3,
        triple=Triple("ann", "likes", "tea"),
    )
    assert pickle.loads(pickle.dumps(memory)) == memory
    assert repr(memory).startswith(
        "Memory(id='fact_1', scope=Scope(kind='user', key='ann'), kind='fact', "
    )


def test_what_cannot_be_made_says_what_it_takes():
    with pytest.raises(
        TypeError, match=r"Triple takes \(subject, .* needs \(subject, predicate, object\)"
    ):
        Triple("ann", "likes")
    with pytest.raises(TypeError, match="recal_limit"):
        Settings(recal_limit=3)


def test_what_is_frozen_says_how_to_change_it():
    with pytest.raises(dataclasses.FrozenInstanceError, match="`replace` makes a changed copy"):
        Settings().store = "x"
