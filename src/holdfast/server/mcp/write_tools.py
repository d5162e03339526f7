"""Tools that change memories. Every answer names the run, which can be undone."""

from __future__ import annotations

from typing import Any

from ...client import Holdfast
from ...errors import InvalidInput, NotFound
from ...records.roots import CATEGORIES, RecordRoot
from ...types import Memory, Scope
from .json_schema import Arguments, time_argument
from .read_tools import Answer
from .render import as_data, fenced, line


def remember(hf: Holdfast, arguments: Arguments) -> Answer:
    """Store a memory, or in a scope with records, a record: a file that people read and edit."""
    scope = scope_meant(hf, arguments.get("scope", ""))
    place = next((one for one in hf.records.places if one.scope == scope), None)
    stored = _record(hf, place, arguments) if place else _memory(hf.scoped(scope), hf, arguments)
    if stored.status == "proposed":
        return _proposed(hf, stored)
    return _changed(hf, "Remembered", [stored])


def _memory(
    view: Holdfast,
    hf: Holdfast,
    arguments: Arguments,
) -> Memory:
    view.actor = hf.actor
    stored = view.remember(
        arguments["content"],
        kind=arguments.get("kind", "fact"),
        category=arguments.get("category", "general"),
        title=arguments.get("title", ""),
        tags=tuple(arguments.get("tags", ())),
        event_time=time_argument(arguments, "time"),
        valid_until=time_argument(arguments, "valid_until", end=True),
        source="mcp",
    )
    hf.last_run = view.last_run
    return stored


def _record(
    hf: Holdfast,
    place: RecordRoot,
    arguments: Arguments,
) -> Memory:
    if arguments.get("category") not in CATEGORIES:
        raise InvalidInput(
            f"In {place.scope} a memory is a record. Give a category: {', '.join(CATEGORIES)}."
        )
    return hf.records.add(
        arguments["content"],
        category=arguments["category"],
        title=arguments.get("title", ""),
        place=place.name,
        keywords=arguments.get("tags", ()),
        expires=time_argument(arguments, "valid_until", end=True),
        source={"actor": hf.actor},
    )


def correct(hf: Holdfast, arguments: Arguments) -> Answer:
    """Correct a memory; the old text is retired and linked, not lost."""
    new = hf.correct(
        arguments["id"],
        arguments["content"],
        reason=arguments.get("reason", ""),
    )
    if new.status == "proposed":
        return _proposed(hf, new, instead_of=arguments["id"])
    return _changed(hf, f"Corrected {arguments['id']}; it is now", [new])


def confirm(hf: Holdfast, arguments: Arguments) -> Answer:
    """Mark a memory as certain. Only a person may; an agent gets the command for them."""
    return _changed(hf, "Confirmed", [hf.confirm(arguments["id"])])


def forget(hf: Holdfast, arguments: Arguments) -> Answer:
    """Forget memories, or undo a run of an agent."""
    if ("ids" in arguments) == ("undo" in arguments):
        raise InvalidInput(
            "Give either ids, to forget them, or undo, the run to take back. Nothing was done."
        )
    if "undo" in arguments:
        return _undone(hf, arguments["undo"])
    return _changed(hf, "Forgot", hf.forget(*arguments["ids"]))


def _undone(hf: Holdfast, run: str) -> Answer:
    events = hf.store.events(hf.scopes, run=run)
    if not events:
        raise NotFound(f"There is no run {run!r} here. Nothing was undone.", id=run)
    touched = list(dict.fromkeys(event.target for event in hf.undo(run) if event.noun == "memory"))
    return _changed(hf, f"Took back {run};", hf.store.get(hf.scopes, touched))


def _proposed(
    hf: Holdfast,
    memory: Memory,
    *,
    instead_of: str = "",
) -> Answer:
    """Answer for a change that needs approval."""
    new = any(
        event.target == memory.id for event in hf.store.events((memory.scope,), run=hf.last_run)
    )
    waits = f"Nothing was stored: it already waits for review: {memory.id}."
    done = "Not done yet: proposed for review." if new else waits
    stands = f" Until then {instead_of} stands as it is." if instead_of else ""
    text = fenced([line(memory)], "proposed memory", empty="")
    data: dict[str, Any] = {"run": hf.last_run if new else "", "memories": [as_data(memory)]}
    advice = "A person decides with `holdfast review`; nothing recalls it before."
    return f"{done} {advice}{stands}\n{text}", data


def _changed(
    hf: Holdfast,
    done: str,
    memories: list[Memory],
) -> Answer:
    data: dict[str, Any] = {"run": hf.last_run, "memories": [as_data(one) for one in memories]}
    text = fenced(
        [line(one) for one in memories],
        "changed memory",
        empty="nothing is left of it.",
    )
    return f"{done}\n{text}\nTo take this back: memory_forget with undo={hf.last_run}", data


def scope_meant(hf: Holdfast, word: str) -> Scope:
    """Scope of this server for `project`, `assistant`, `user` or a full scope; without a word, the
    first one.
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
