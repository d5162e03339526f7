"""What an actor may do to a memory: one table for every verb and every interface.

A pure function. An actor is one of five kinds; a memory's state says what people have done to it so
far; a verb is the action. `ruling` returns the outcome: allowed, turned into a proposal, or refused
with a reason that says who can do it. `permission_checks.py` finds the state and raises the
refusals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

Actor = Literal["person", "program", "agent", "importer", "model"]
Verb = Literal[
    "remember",
    "propose",
    "correct",
    "forget",
    "archive",
    "restore",
    "confirm",
    "approve",
    "reject",
    "undo",
    "purge",
]
State = Literal["new", "free", "written", "confirmed", "waiting", "own", "rejected", "forgotten"]
Outcome = Literal["allow", "propose", "refuse"]

ACTORS: Mapping[Actor, str] = {
    "person": "who uses the command line, the web page or a key of the HTTP API",
    "program": "code that opens the library and does not say otherwise",
    "agent": "an agent, or a client that speaks for one: role files, MCP, tools in frameworks",
    "importer": "what takes in other people's files, exports and past sessions",
    "model": (
        "what learns from conversations and looks after memories: workers, rules, language models"
    ),
}
VERBS: tuple[Verb, ...] = get_args(Verb)
STATES: Mapping[State, str] = {
    "new": "nothing here says the same",
    "free": "an agent, a model, an import or a program stored it",
    "written": "a person stored it in so many words, or approved it",
    "confirmed": "a person confirmed it",
    "waiting": "it is held, or proposed and waits for a person",
    "own": "the same, and the actor is the one who proposed it",
    "rejected": "it was put away without a decision in its favour",
    "forgotten": "a person put it away",
}

# By how an actor's name begins. Any other name is a program's: it acts for whoever wrote it.
PREFIXES: Mapping[str, Actor] = {
    "cli:": "person",
    "http:": "person",
    "person:": "person",
    "agent:": "agent",
    "mcp:": "agent",
    "import:": "importer",
    "hook": "importer",
    "worker:": "model",
    "model:": "model",
}
# Work that is of one kind whoever starts it, as the journal names it: a person who imports a file
# did not write it.
BY_VERB: Mapping[str, Actor] = {
    **dict.fromkeys(("import", "import-db", "sync", "follow", "index", "copy"), "importer"),
    **dict.fromkeys(
        (
            "learn",
            "consider",
            "consolidate",
            "resolve",
            "enrich",
            "reflect",
            "extract",
            "decay",
            "expire",
            "evict",
        ),
        "model",
    ),
}

_ALL: tuple[State, ...] = tuple(STATES)
_BUT_OWN: tuple[State, ...] = tuple(state for state in _ALL if state != "own")
_LIVING: tuple[State, ...] = ("new", "free", "written", "confirmed")
_PUT_AWAY: tuple[State, ...] = ("rejected", "forgotten")

_Row = Mapping[Outcome, tuple[State, ...]]
_EVERYTHING: Mapping[Verb, _Row] = {verb: {"allow": _ALL} for verb in VERBS}
# What is not named here is refused.
_RULES: Mapping[Actor, Mapping[Verb, _Row]] = {
    "person": _EVERYTHING,
    # To correct a proposal is to approve it in other words.
    "program": {**_EVERYTHING, "approve": {"allow": _BUT_OWN}, "correct": {"allow": _BUT_OWN}},
    "agent": {
        "remember": {"allow": (*_LIVING, "forgotten"), "propose": ("waiting", "own")},
        "propose": {"allow": _ALL},
        "correct": {"allow": ("new", "free"), "propose": ("written", "confirmed")},
        # Who proposed something may withdraw it.
        "forget": {"allow": ("new", "free", "own", *_PUT_AWAY)},
        "archive": {"allow": ("new", "free", "own", *_PUT_AWAY)},
        "restore": {"allow": _LIVING},
        "undo": {"allow": ("new", "free")},
    },
    "importer": {
        "remember": {"allow": (*_LIVING, "forgotten"), "propose": ("waiting", "own")},
        "propose": {"allow": _ALL},
        "correct": {"allow": ("new", "free")},
        "forget": {"allow": ("new", "free", *_PUT_AWAY)},
        "archive": {"allow": ("new", "free", *_PUT_AWAY)},
    },
    "model": {
        # It tells what a person said, so the person's words may replace what they wrote, and what
        # they are waiting for.
        "remember": {"allow": (*_LIVING, "waiting", "own", "forgotten")},
        "propose": {"allow": _ALL},
        "correct": {"allow": ("new", "free", "written")},
        "forget": {"allow": ("new", "free", "written", "waiting", "own", *_PUT_AWAY)},
        "archive": {"allow": ("new", "free", "written", "waiting", "own", *_PUT_AWAY)},
    },
}
_BECAUSE: Mapping[State, str] = {
    "new": "that is for a person to decide",
    "free": "that is for a person to decide",
    "written": "a person wrote or approved it",
    "confirmed": "a person confirmed it",
    "waiting": "it waits for a person",
    "own": "it waits for a person, and for somebody else than who proposed it",
    "rejected": "it was turned down, or never decided on",
    "forgotten": "a person put it away",
}
_OF_RUNS: Mapping[State, str] = {
    "written": "that run was not an agent's",
    "waiting": "that run decided about a proposal",
    "rejected": "that run decided about a proposal",
}
_DONE: Mapping[Verb, str] = {
    "remember": "remembered again",
    "forget": "forgotten",
    "archive": "archived",
    "restore": "restored",
    "confirm": "confirmed",
    "approve": "approved",
    "reject": "rejected",
    "undo": "undone",
    "purge": "purged",
}
# What a person does instead, at the command line.
_INSTEAD: Mapping[Verb, str] = {
    "remember": "holdfast restore {id}",
    "correct": "holdfast correct {id}",
    "forget": "holdfast forget {id}",
    "archive": "holdfast archive {id}",
    "restore": "holdfast restore {id}",
    "confirm": "holdfast confirm {id}",
    "approve": "holdfast review",
    "reject": "holdfast review",
    "undo": "holdfast undo {id}",
    "purge": "holdfast purge {id}",
    "propose": "holdfast review",
}


class Ruling(NamedTuple):
    """Whether an action is allowed, and if not, or not at once, why."""

    outcome: Outcome
    reason: str = ""

    @property
    def allowed(self) -> bool:
        """Whether it may be done at once."""
        return self.outcome == "allow"


def kind_of(actor: str) -> Actor:
    """The kind of actor a name stands for.

    >>> kind_of("mcp:claude-code"), kind_of("cli:ann"), kind_of("library")
    ('agent', 'person', 'program')
    """
    return next((kind for prefix, kind in PREFIXES.items() if actor.startswith(prefix)), "program")


def hand_of(actor: str, verb: str) -> Actor:
    """The kind of actor behind a change: from the verb if that tells, or else from the actor.

    >>> hand_of("cli:ann", "import"), hand_of("agent:helper", "put")
    ('importer', 'agent')
    """
    return BY_VERB.get(verb) or kind_of(actor)


def answers_to_nobody(actor: str) -> bool:
    """Whether an actor is a person, or a program acting for one, and needs no approval."""
    return kind_of(actor) in ("person", "program")


def ruling(
    actor: Actor,
    verb: Verb,
    state: State,
    *,
    needs_person: bool = False,
) -> Ruling:
    """Rule on a verb; `needs_person` if the settings require approval for new memories."""
    row = _RULES[actor].get(verb, {})
    outcome: Outcome = next((one for one, states in row.items() if state in states), "refuse")
    if (
        outcome == "allow"
        and verb == "remember"
        and state == "new"
        and needs_person
        and actor not in _TRUSTED
    ):
        return Ruling("propose", "a person approves what is remembered here")
    return Ruling(outcome, "" if outcome == "allow" else _BECAUSE[state])


_TRUSTED = ("person", "program")


def refusal(
    verb: Verb,
    state: State,
    id: str,
) -> str:
    """Why an action was refused, and what a person can do instead."""
    waits = state in ("waiting", "own") and verb != "undo"
    way = "holdfast review" if waits else _INSTEAD[verb].format(id=id)
    because = _OF_RUNS[state] if verb == "undo" and state in _OF_RUNS else _BECAUSE[state]
    return f"{id} was not {_DONE.get(verb, 'changed')}: {because}. Only a person may do that: {way}"


def table() -> list[tuple[Verb, State, dict[Actor, Outcome]]]:
    """The whole table, one row per verb and state that can occur together."""
    return [
        (verb, state, {actor: ruling(actor, verb, state).outcome for actor in ACTORS})
        for verb in VERBS
        for state in STATES
        if _can_occur(verb, state)
    ]


def _can_occur(verb: Verb, state: State) -> bool:
    """Whether a verb can meet a state: only remember and propose apply to what is not stored."""
    if verb in ("remember", "propose"):
        return True
    if state == "new":
        return False
    if verb in ("approve", "reject"):
        return state in ("waiting", "own")
    if verb == "undo":
        return state in ("free", "written", "waiting", "rejected")
    return True
