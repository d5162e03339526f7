"""Selection: which memories a target names, in every scope, and which others contain the same text.

`derived.py` finds what was derived from them. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import NotFound
from ..storage.protocol import Store, Transaction, rests_on
from ..storage.store_types import Filter
from ..text.normal_forms import fold_text
from ..text.tokens import query_terms
from ..types import STATUSES, Memories, Memory, Scope
from .derived import ALONE, NAMED, Fallout, Going, Kept, fallout
from .target import Target

# Number of erased memories for which other memories with the same text are searched.
LOOKED_AT = 50
# Candidates per erased memory.
MOST_SIMILAR = 20
SAME_WORDS = "says the same words"
IN_SESSION = "said in the session"


def select(
    tx: Transaction,
    scopes: Sequence[Scope],
    target: Target,
) -> Fallout:
    """Selection of a target: named memories, what was derived from them, records elsewhere."""
    if target.session is not None:
        named = list(_of_session(tx, scopes[0], target.session))
    else:
        named = list(_by_ref(tx, scopes, target))
    found = fallout(tx, named)
    going = [one.memory for one in found.going]
    elsewhere = list(_made_elsewhere(tx, scopes, going, target.session))
    if not elsewhere:
        return found
    return fallout(tx, [*named, *elsewhere])


def left_behind(
    tx: Transaction,
    scopes: Sequence[Scope],
    memory: Memory,
) -> Iterator[Memory]:
    """Journal entries in other scopes about a memory that was moved from there."""
    for scope in scopes:
        if scope == memory.scope or tx.memory(scope, memory.id) is not None:
            continue
        left = tx.erasure.removed(scope, memory.id)
        if left is not None:
            yield left


def same_words(store: Store, found: Fallout) -> Iterator[Kept]:
    """Other memories that contain the text of an erased one, whoever said it. They stay."""
    known = {one.memory.id for one in found.going}
    known |= {one.memory.id for one in found.kept}
    for going in found.going[:LOOKED_AT]:
        content = going.memory.content
        text = fold_text(content)
        scopes = (going.memory.scope,)
        where = Filter(scopes, statuses=STATUSES)
        ranked = store.by_text(where, query_terms(content), MOST_SIMILAR)
        similar = [seq for seq, _ in ranked]
        for memory in store.get(scopes, similar):
            if memory.id not in known and text in fold_text(memory.content):
                known.add(memory.id)
                yield Kept(memory, SAME_WORDS)


def _by_ref(
    tx: Transaction,
    scopes: Sequence[Scope],
    target: Target,
) -> Iterator[Going]:
    seen: set[str] = set()
    for ref in target.refs:
        memory = _found(tx, scopes, ref)
        named = [memory]
        if target.sources:
            named += _all_sources(tx, memory)
        for one in named:
            if one.id not in seen:
                seen.add(one.id)
                yield Going(one, NAMED)


def _found(
    tx: Transaction,
    scopes: Sequence[Scope],
    ref: str | int,
) -> Memory:
    for scope in scopes:
        memory = tx.memory(scope, ref)
        # A deleted memory is named by its id: its number may belong to another one by now.
        if memory is None and isinstance(ref, str):
            memory = tx.erasure.removed(scope, ref)
        if memory is not None:
            return memory
    raise NotFound(
        f"No memory {ref!r} in {', '.join(map(str, scopes))}. Nothing was erased.", id=ref
    )


def _all_sources(tx: Transaction, memory: Memory) -> Iterator[Memory]:
    for id_ in rests_on(tx, memory):
        source = tx.memory(memory.scope, id_)
        if source is not None:
            yield source
            yield from _all_sources(tx, source)


def _of_session(
    tx: Transaction,
    scope: Scope,
    session: str,
) -> Iterator[Going]:
    members = tx.sessions.memories(scope, session, named=True)
    if not members and tx.sessions.get(scope, session) is None:
        raise NotFound(f"No session {session!r} in {scope}. Nothing was erased.", id=session)
    for memory in members:
        if memory.session == session:
            yield Going(memory, IN_SESSION)
        elif not any(edge.source == memory.id for edge in tx.edges(scope, memory.id)):
            # The record names this session and no other source.
            yield Going(memory, ALONE)


def _made_elsewhere(
    tx: Transaction,
    scopes: Sequence[Scope],
    going: Memories,
    session: str | None,
) -> Iterator[Going]:
    """Records in other scopes derived from the erased session. No link leads there, but they name
    the session and quote it.

    Example: a preference learned in a project's session and stored for all projects goes with the
    session.
    """
    said: dict[tuple[Scope, str], str] = {}
    for one in going:
        if one.session:
            before = said.get((one.scope, one.session), "")
            said[one.scope, one.session] = f"{before}\n{fold_text(one.content)}"
    for (home, name), words in said.items():
        for scope in scopes:
            if scope == home:
                continue
            for record in tx.sessions.memories(scope, name, named=True):
                quoted = bool(record.quote) and fold_text(record.quote) in words
                if record.session != name and (quoted or name == session):
                    yield Going(record, ALONE)
