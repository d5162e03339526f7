"""The tools that change memories. Every answer names the run, by which it can be taken back."""

from __future__ import annotations

from typing import Any

from ...client import Holdfast
from ...errors import InvalidInput, NotFound
from ...records.roots import CATEGORIES, RecordRoot
from ...types import Memory, Scope
from .json_schema import Arguments, time_argument
from .read_tools import Answer
from .render import as_data, fenced, line


def remember(hf: Holdfast, given: Arguments) -> Answer:
    """A memory, or in the scope of a place where records are kept, a record: a file that people
    read and edit.
    """
    scope = scope_meant(hf, given.get("scope", ""))
    place = next((one for one in hf.places if one.scope == scope), None)
    stored = _record(hf, place, given) if place else _memory(hf.scoped(scope), hf, given)
    return (
        _proposed(hf, stored)
        if stored.status == "proposed"
        else _changed(hf, "Remembered", [stored])
    )


def _memory(view: Holdfast, hf: Holdfast, given: Arguments) -> Memory:
    view.actor = hf.actor
    stored = view.remember(
        given["content"],
        kind=given.get("kind", "fact"),
        category=given.get("category", "general"),
        title=given.get("title", ""),
        tags=tuple(given.get("tags", ())),
        event_time=time_argument(given, "time"),
        valid_until=time_argument(given, "valid_until", end=True),
        source="mcp",
    )
    hf.last_run = view.last_run
    return stored


def _record(hf: Holdfast, place: RecordRoot, given: Arguments) -> Memory:
    if given.get("category") not in CATEGORIES:
        raise InvalidInput(
            f"In {place.scope} a memory is a record. Give a category: {', '.join(CATEGORIES)}."
        )
    return hf.add_record(
        given["content"],
        category=given["category"],
        title=given.get("title", ""),
        place=place.name,
        keywords=given.get("tags", ()),
        expires=time_argument(given, "valid_until", end=True),
        source={"actor": hf.actor},
    )


def correct(hf: Holdfast, given: Arguments) -> Answer:
    """A memory in other words; the old ones are retired and linked to, not lost."""
    new = hf.correct(given["id"], given["content"], reason=given.get("reason", ""))
    if new.status == "proposed":
        return _proposed(hf, new, instead_of=given["id"])
    return _changed(hf, f"Corrected {given['id']}; it is now", [new])


def confirm(hf: Holdfast, given: Arguments) -> Answer:
    """A memory that is certain from now on and does not fade. For people only: an agent is told how
    they do it.
    """
    return _changed(hf, "Confirmed", [hf.confirm(given["id"])])


def forget(hf: Holdfast, given: Arguments) -> Answer:
    """Memories put away, so that nothing recalls them; or what a run of an agent did, taken
    back.
    """
    if ("ids" in given) == ("undo" in given):
        raise InvalidInput(
            "Give either ids, to forget them, or undo, the run to take back. Nothing was done."
        )
    if "undo" in given:
        return _undone(hf, given["undo"])
    return _changed(hf, "Forgot", hf.forget(*given["ids"]))


def _undone(hf: Holdfast, run: str) -> Answer:
    events = hf.store.events(hf.scopes, run=run)
    if not events:
        raise NotFound(f"There is no run {run!r} here. Nothing was undone.", id=run)
    touched = list(dict.fromkeys(event.target for event in hf.undo(run) if event.noun == "memory"))
    return _changed(hf, f"Took back {run};", hf.store.get(hf.scopes, touched))


def _proposed(hf: Holdfast, memory: Memory, *, instead_of: str = "") -> Answer:
    """What a model is told that has changed nothing yet."""
    new = any(
        event.target == memory.id for event in hf.store.events((memory.scope,), run=hf.last_run)
    )
    waits = f"Nothing was stored: it already waits for review: {memory.id}."
    done = "Not done yet: proposed for review." if new else waits
    stands = f" Until then {instead_of} stands as it is." if instead_of else ""
    told = fenced([line(memory)], "proposed memory", empty="")
    data: dict[str, Any] = {"run": hf.last_run if new else "", "memories": [as_data(memory)]}
    return (
        (
            f"{done} A person decides with `holdfast review`; nothing recalls it "
            f"before.{stands}\n{told}"
        ),
        data,
    )


def _changed(hf: Holdfast, done: str, memories: list[Memory]) -> Answer:
    data: dict[str, Any] = {"run": hf.last_run, "memories": [as_data(one) for one in memories]}
    told = fenced([line(one) for one in memories], "changed memory", empty="nothing is left of it.")
    return f"{done}\n{told}\nTo take this back: memory_forget with undo={hf.last_run}", data


def scope_meant(hf: Holdfast, word: str) -> Scope:
    """The scope of this server that a word names: `project`, `assistant`, `user`, or a whole one;
    none: the first.
    """
    if not word:
        return hf.scopes[0]
    for scope in hf.scopes:
        if word in (str(scope), scope.kind):
            return scope
    known = ", ".join(map(str, hf.scopes))
    raise InvalidInput(
        f"This server has no scope {word!r}. It has: {known}. Nothing was remembered."
    )
