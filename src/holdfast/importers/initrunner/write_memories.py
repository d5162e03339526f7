"""What was read from a database, stored: conversations, memories, and at last their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import apsw

from ...agents.initrunner import ROOT
from ...agents.message_history import INTERACTIVE
from ...agents.role_memory import RoleMemory
from ...errors import Conflict, HoldfastError
from ...floats import Vector
from ...storage.protocol import Store, Transaction
from ...storage.restore import HIGHEST_SEQ
from ...storage.row_codec import exported, memory_values
from ...storage.schema import MEMORIES
from ...storage.store_types import Author, KnownFile
from ...types import Scope, Session, new_id
from .histories import OldConversation, other_name
from .read_rows import Database, OldMemory
from .warnings_text import Remarks

VERB = "import-db"
END_REASON = "imported"
VECTOR_STEP = 500
REEMBED = "`holdfast memory reembed` makes new ones."


def _author(memory: RoleMemory) -> Author:
    at = memory.clock()
    return Author(memory.hf.actor, new_id("run", at), at, VERB)


def take_conversations(
    memory: RoleMemory,
    conversations: Sequence[OldConversation],
    remarks: Remarks,
) -> list[OldConversation]:
    """Stores the conversations that are not there yet, and says which."""
    if not conversations:
        return []
    scope = memory.scope
    store = memory.hf.store

    def work(tx: Transaction) -> tuple[list[OldConversation], dict[str, int]]:
        new = []
        known = {}
        for one in conversations:
            name = _name(tx, scope, one)
            if tx.sessions.get(scope, name) is None:
                _store_conversation(tx, scope, name, one)
                new.append(one)
            else:
                known[name] = len(one.messages)
        return new, known

    new, known = store.write(_author(memory), work)
    here = store.sessions.message_counts(scope, list(known))
    for name, count in known.items():
        if here.get(name, 0) != count:
            remarks.note("Sessions that are here with other messages were left as they are", name)
    return new


def _name(
    tx: Transaction,
    scope: Scope,
    conversation: OldConversation,
) -> str:
    """Its own id, unless another agent has a session of that id here."""
    there = tx.sessions.get(scope, conversation.session)
    if there is None or there.agent == conversation.agent:
        return conversation.session
    return other_name(conversation.session, conversation.agent)


def _store_conversation(
    tx: Transaction,
    scope: Scope,
    name: str,
    conversation: OldConversation,
) -> None:
    tx.sessions.put(
        Session(
            name,
            scope,
            conversation.started_at,
            conversation.last_activity,
            agent=conversation.agent,
            ended_at=conversation.last_activity,
            end_reason=END_REASON,
            metadata={"mode": INTERACTIVE},
        )
    )
    rows = [
        {"session": name, "position": position, "body": body, "created_at": at}
        for position, (body, at) in enumerate(conversation.messages)
    ]
    tx.restore_many("message", scope, rows)


def take_memories(memory: RoleMemory, wanted: Sequence[OldMemory]) -> tuple[int, dict[int, int]]:
    """Stores the memories that are not there yet, under their own numbers if all of these are free.

    Says how many those are, and which number here belongs to which number there.
    """
    if not wanted:
        return 0, {}
    author = _author(memory)
    store = memory.hf.store

    def take(*, numbers: bool) -> tuple[int, dict[int, int]]:
        return store.write(author, lambda tx: _restored(tx, wanted, numbers=numbers))

    try:
        added, seqs = take(numbers=all(0 < one.number < HIGHEST_SEQ for one in wanted))
    except Conflict:
        # A number is taken.
        added, seqs = take(numbers=False)
    if added:
        memory.hf.last_run = author.run
    return added, seqs


def _restored(
    tx: Transaction,
    wanted: Sequence[OldMemory],
    *,
    numbers: bool,
) -> tuple[int, dict[int, int]]:
    added = 0
    seqs = {}
    for number, one, _ in wanted:
        there = tx.memory(one.scope, one.id)
        if there is None:
            row = {"scope": str(one.scope), **exported(MEMORIES, memory_values(one))}
            tx.restore_row("memory", row, journal=True, seq=number if numbers else None)
            there = tx.memory(one.scope, one.id)
            added += 1
        seqs[number] = there.seq if there is not None else 0
    return added, seqs


def note_database(memory: RoleMemory, path: Path) -> None:
    """Notes that a database was taken in, so that nobody is asked to do it again."""
    noted = KnownFile(ROOT, str(path.expanduser().resolve()), "", 0, 0, "")
    store = memory.hf.store
    if noted not in store.files.list(memory.scope, ROOT):
        store.write(_author(memory), lambda tx: tx.files.put(memory.scope, [noted]))


def take_vectors(
    memory: RoleMemory,
    database: Database,
    seqs: Mapping[int, int],
) -> int:
    """Stores vectors for those of these memories that have none of that model yet; says how many.

    The memories are in by now, so what goes wrong here costs only vectors, and is a remark.
    """
    rows = database.vectors()
    count = 0
    try:
        if not database.model:
            if next(rows, None) is not None:
                database.remarks.say(
                    f"The database does not say which model made its vectors: not taken. {REEMBED}"
                )
            return 0
        while some := list(islice(rows, VECTOR_STEP)):
            ours = {
                seqs[number]: database.vector(number, packed)
                for number, packed in some
                if number in seqs
            }
            count += _store_vectors(memory.hf.store, memory.scope, database.model, ours)
    except (apsw.Error, HoldfastError) as error:
        database.remarks.say(f"Not all vectors could be taken: {error} {REEMBED}")
    return count


def _store_vectors(
    store: Store,
    scope: Scope,
    model: str,
    vectors: Mapping[int, Vector | None],
) -> int:
    there = store.vectors.get([scope], model, list(vectors))
    new = {
        seq: vector for seq, vector in vectors.items() if vector is not None and seq not in there
    }
    store.vectors.add([scope], model, new)
    return len(new)
