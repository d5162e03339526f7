"""Selection: which memories a target names, in every scope, and which others say the same words.

What was derived from them is for `derived.py` to find. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import NotFound
from ..storage.protocol import Filter, Store, Transaction, rests_on
from ..storage.schema import fold_text
from ..text.tokens import query_terms
from ..types import STATUSES, Memories, Memory, Scope
from .derived import ALONE, NAMED, Fallout, Going, Kept, fallout
from .target import Target

# Of the memories that go, for how many others with the same words are looked for.
LOOKED_AT = 50
# Candidates for each of them.
MOST_SIMILAR = 20
SAME_WORDS = "says the same words"
IN_SESSION = "said in the session"


def select(tx: Transaction, scopes: Sequence[Scope], target: Target) -> Fallout:
    """What goes with a target: named memories, what was derived from them, records elsewhere."""
    if target.session is not None:
        named = list(_of_session(tx, scopes[0], target.session))
    else:
        named = list(_by_ref(tx, scopes, target))
    found = fallout(tx, named)
    going = [one.memory for one in found.going]
    elsewhere = list(_made_elsewhere(tx, scopes, going, target.session))
    return fallout(tx, [*named, *elsewhere]) if elsewhere else found


def left_behind(tx: Transaction, scopes: Sequence[Scope], memory: Memory) -> Iterator[Memory]:
    """What the journals of other scopes hold of a memory that was moved from there."""
    for scope in scopes:
        if scope != memory.scope and tx.memory(scope, memory.id) is None:
            left = tx.erasure.removed(scope, memory.id)
            if left is not None:
                yield left


def same_words(store: Store, found: Fallout) -> Iterator[Kept]:
    """Other memories that contain the text of one that goes, whoever said it. They stay."""
    known = {one.memory.id for one in found.going} | {one.memory.id for one in found.kept}
    for going in found.going[:LOOKED_AT]:
        text = fold_text(going.memory.content)
        where = Filter((going.memory.scope,), statuses=STATUSES)
        ranked = store.by_text(where, query_terms(going.memory.content), MOST_SIMILAR)
        for memory in store.get((going.memory.scope,), [seq for seq, _ in ranked]):
            if memory.id not in known and text in fold_text(memory.content):
                known.add(memory.id)
                yield Kept(memory, SAME_WORDS)


def _by_ref(tx: Transaction, scopes: Sequence[Scope], target: Target) -> Iterator[Going]:
    seen: set[str] = set()
    for ref in target.refs:
        memory = _found(tx, scopes, ref)
        for one in (memory, *(_all_sources(tx, memory) if target.sources else ())):
            if one.id not in seen:
                seen.add(one.id)
                yield Going(one, NAMED)


def _found(tx: Transaction, scopes: Sequence[Scope], ref: str | int) -> Memory:
    for scope in scopes:
        memory = tx.memory(scope, ref) or (
            tx.erasure.removed(scope, ref) if isinstance(ref, str) else None
        )
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


def _of_session(tx: Transaction, scope: Scope, session: str) -> Iterator[Going]:
    members = tx.sessions.memories(scope, session, named=True)
    if not members and tx.sessions.get(scope, session) is None:
        raise NotFound(f"No session {session!r} in {scope}. Nothing was erased.", id=session)
    for memory in members:
        if memory.session == session:
            yield Going(memory, IN_SESSION)
        elif not any(edge.source == memory.id for edge in tx.edges(scope, memory.id)):
            # It names the session and nothing else that it could rest on.
            yield Going(memory, ALONE)


def _made_elsewhere(
    tx: Transaction, scopes: Sequence[Scope], going: Memories, session: str | None
) -> Iterator[Going]:
    """Records in other scopes that were made of what goes: no link leads there, but they name the
    session and quote it.

    So a preference that a project's session taught, and that is kept for all projects, goes with
    the session.
    """
    said: dict[tuple[Scope, str], str] = {}
    for one in going:
        if one.session:
            before = said.get((one.scope, one.session), "")
            said[one.scope, one.session] = f"{before}\n{fold_text(one.content)}"
    for (home, name), words in said.items():
        for scope in scopes:
            for record in tx.sessions.memories(scope, name, named=True) if scope != home else ():
                quoted = bool(record.quote) and fold_text(record.quote) in words
                if record.session != name and (quoted or name == session):
                    yield Going(record, ALONE)
