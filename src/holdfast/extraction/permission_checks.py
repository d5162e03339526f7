"""Apply the table in `permissions.py`: find a memory's state, then refuse or propose.

Two things happen here and nowhere else. `remember` stores new memories as the table allows.
`guarded` inspects what a transaction of an agent, an importer or a model has done before it
commits: whichever verb or adapter did it, anything the table forbids is refused and rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import NeedsPerson
from ..ingest import commit, permissions
from ..ingest.permissions import Actor, State, Verb
from ..storage.protocol import Transaction
from ..types import Event, Events, Memories, Memory, Scope
from . import proposals

T = TypeVar("T")
# What somebody states; turns and documents are kept as they were said or found, and are nobody's
# statement.
STATED = ("fact", "rule", "reflection", "skill", "episode")
# Fields that say what a memory means. The others change as it is used, said again or filed
# elsewhere.
MEANING = ("content", "kind", "category", "title", "triple", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True)
class Who:
    """The actor, its journal verb and run, and the kinds of memory that need human approval."""

    actor: str
    verb: str
    run: str = ""
    needs_person: Callable[[str], bool] = lambda kind: False

    @property
    def kind(self) -> Actor:
        """The kind of actor."""
        return permissions.hand_of(self.actor, self.verb)

    @property
    def trusted(self) -> bool:
        """Whether this actor's changes to memories are never held up."""
        return permissions.answers_to_nobody(self.actor)


# In what state a memory is


def state_of(
    memory: Memory,
    events: Events,
    actor: str = "",
) -> State:
    """What people have done to a memory so far, from its journal, as seen by an actor."""
    if memory.status in proposals.WAITING:
        return "own" if actor and proposals.proposer(memory) == actor else "waiting"
    if memory.status != "active":
        if proposals.undecided(memory):
            return "rejected"
        if _by_person(_last(events, _put_away)):
            return "forgotten"
    if memory.protected:
        return "confirmed"
    approved = "approved_by" in memory.metadata
    written = memory.kind in STATED and _by_person(
        _last(events, lambda event: event.before is None)
    )
    if approved or written:
        return "written"
    return "free"


def _last(events: Events, wanted: Callable[[Event], bool]) -> Event | None:
    return next((event for event in reversed(events) if wanted(event)), None)


def _put_away(event: Event) -> bool:
    return event.after is not None and "status" in event.after


def _by_person(event: Event | None) -> bool:
    return event is not None and permissions.hand_of(event.actor, event.verb) == "person"


def state_of_run(events: Events, memories: Iterable[Memory]) -> State:
    """What undoing a run would touch: agents' work only, other work, or an approval decision."""
    known = {memory.id: memory for memory in memories}
    for event in events:
        if event.noun != "memory" or event.before is None or event.after is None:
            continue
        if {image.get("status") for image in (event.before, event.after)} & set(proposals.WAITING):
            return "waiting"
        if (
            "status" in event.before
            and event.target in known
            and proposals.undecided(known[event.target])
        ):
            return "rejected"
    if all(permissions.kind_of(event.actor) == "agent" for event in events):
        return "free"
    return "written"


# Refusing


def check(
    who: Who,
    verb: Verb,
    memory: Memory,
    journal: Callable[[Scope, str], Events],
) -> permissions.Ruling:
    """Rule on a verb applied to a memory. Raises NeedsPerson if it is refused."""
    if who.trusted and memory.status not in proposals.WAITING:
        # Without a look at the journal.
        return permissions.Ruling("allow")
    state = state_of(memory, journal(memory.scope, memory.id), who.actor)
    ruling = permissions.ruling(who.kind, verb, state)
    if ruling.outcome == "refuse":
        raise refused(verb, state, memory.id)
    return ruling


def refused(
    verb: Verb,
    state: State,
    id: str,
) -> NeedsPerson:
    """The error for an action that only a person may take."""
    return NeedsPerson(permissions.refusal(verb, state, id), id=id)


# Storing what is new


def remember(
    tx: Transaction,
    memories: Sequence[Memory],
    who: Who,
) -> Memories:
    """Store memories in order: at once, as a proposal, or not again while one is pending.

    Raises NeedsPerson for words that a person has rejected.
    """
    if who.trusted:
        return commit.remember(tx, memories)
    admitted = admit(tx, memories, who)
    at_once = [one for one in admitted if one.status == "active"]
    stored = dict(zip((one.id for one in at_once), commit.remember(tx, at_once), strict=True))
    return [
        stored[one.id] if one.id in stored else one if one.seq else tx.add(one) for one in admitted
    ]


def admit(
    tx: Transaction,
    memories: Sequence[Memory],
    who: Who,
) -> Memories:
    """New memories as they may be stored: active, as proposals, or the pending duplicates."""
    if who.trusted:
        return list(memories)
    twins = tx.same_words([one for one in memories if one.kind in STATED])
    return [_admitted(one, twins.get(one.id, []), who) for one in memories]


def propose(tx: Transaction, proposed: Memory) -> Memory:
    """Store a proposal unless the same words are already pending.

    Raises NeedsPerson for words that a person has rejected.
    """
    waiting = [
        one for one in tx.same_words([proposed]).get(proposed.id, []) if one.status != "active"
    ]
    state, twin = said_before(waiting)
    if state == "rejected" and twin is not None:
        raise refused("remember", state, twin.id)
    if twin is not None and twin.status == "proposed":
        return twin
    return tx.add(proposed)


def _admitted(
    memory: Memory,
    twins: Memories,
    who: Who,
) -> Memory:
    if memory.kind not in STATED or memory.status != "active":
        return memory
    state, twin = said_before(twins)
    ruling = permissions.ruling(
        who.kind, "remember", state, needs_person=who.needs_person(memory.kind)
    )
    if ruling.allowed:
        return memory
    if ruling.outcome == "refuse":
        raise refused("remember", state, twin.id if twin else memory.id)
    if twin is not None and twin.status == "proposed":
        return twin
    return proposals.proposal(memory, by=who.actor, reason=ruling.reason)


def is_turned_down(
    tx: Transaction,
    memory: Memory,
    actor: Actor,
) -> bool:
    """Whether this kind of actor may not store the memory, because its words were rejected."""
    twins = tx.same_words([memory]).get(memory.id, [])
    state, _ = said_before([one for one in twins if one.id != memory.id])
    return permissions.ruling(actor, "remember", state).outcome == "refuse"


def said_before(twins: Memories) -> tuple[State, Memory | None]:
    """The status of words to be remembered: known, pending, rejected, undecided or new."""
    for one in twins:
        if one.status == "active":
            return "free", one
    for one in twins:
        if one.status == "proposed":
            return "waiting", one
    for one in twins:
        if one.status == "archived" and one.status_reason.startswith(proposals.REJECTED):
            return "rejected", one
    expired = next(
        (one for one in twins if proposals.proposer(one) and proposals.undecided(one)), None
    )
    if expired:
        return ("waiting", expired)
    return ("new", None)


# Looking at what was done


def guarded(work: Callable[[Transaction], T], who: Who) -> Callable[[Transaction], T]:
    """Wrap `work` so that it is refused before commit if its actor exceeded its permissions."""
    # An undo is judged by the run that it takes back.
    if who.trusted or who.verb == "undo":
        return work

    def checked(tx: Transaction) -> T:
        result = work(tx)
        for scope, id_, before in list(tx.touched()):
            _check_change(tx, before, tx.memory(scope, id_), who)
        return result

    return checked


def _check_change(
    tx: Transaction,
    before: Memory | None,
    after: Memory | None,
    who: Who,
) -> None:
    verb = change_of(before, after)
    if verb is None:
        return
    if before is None:
        assert after is not None
        others = [one for one in tx.same_words([after]).get(after.id, []) if one.id != after.id]
        if after.kind in STATED and _admitted(after, others, who) is not after:
            raise NeedsPerson(
                f"{after.content!r:.80} was not stored: it has to be proposed, and a person "
                "approves it."
            )
        return
    # Strict: without a damaged entry, a person's memory could pass for an agent's.
    events = tx.events([before.scope], target=before.id, order="oldest", strict=True)
    earlier = [event for event in events if event.run != who.run]
    state = state_of(before, earlier, who.actor)
    if not permissions.ruling(who.kind, verb, state).allowed:
        raise refused(verb, state, before.id)


def change_of(before: Memory | None, after: Memory | None) -> Verb | None:
    """The verb that describes a change to a memory; None if nothing relevant changed."""
    if before is None:
        return "remember" if after is not None and after.status == "active" else None
    if after is None:
        return "forget"
    if before.status != after.status:
        return _status_change(before.status, after.status)
    if before.protected != after.protected:
        return "confirm"
    if any(getattr(before, name) != getattr(after, name) for name in MEANING):
        return "correct"
    return None


def _status_change(before: str, after: str) -> Verb | None:
    if after == "active":
        if before in proposals.WAITING:
            return "approve"
        return "restore"
    if before in ("active", *proposals.WAITING):
        return "forget"
    return None
