"""Import of InitRunner databases.

The original is only ever copied, byte by byte; SQLite opens the copy. So nothing is written to it
or beside it, and what its log holds is read all the same.

Undo: memories and conversations are two runs, the memories' one last, because no undo takes
messages back: in one run they would keep the memories from being taken back as well. `holdfast
undo` after an import therefore takes back its memories, all of them; the conversations stay until
they are cleared. What is wrong with the database shows before the first of the two is written, and
an import that broke off in between is completed by importing again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...agents.role_memory import RoleMemory
from .detect import opened
from .read_rows import Database, Progress
from .warnings_text import Remarks
from .write_memories import note_database, take_conversations, take_memories, take_vectors


@dataclass(frozen=True, slots=True)
class ImportedDatabase:
    """What an import did."""

    memories: int
    skipped: int
    """Memories that were not taken in: those without text, and those that were there already."""
    sessions: int
    messages: int
    vectors: int
    kept_ids: bool
    """Whether every memory of the database has the number here that it has there."""
    model: str
    """The model that made the vectors of the database; empty when it does not say."""
    warnings: tuple[str, ...]


def import_database(
    path: Path,
    memory: RoleMemory,
    *,
    progress: Progress = lambda rows: None,
) -> ImportedDatabase:
    """Takes the InitRunner database at `path` into the memory of a role. Importing twice equals
    once.

    InvalidInput when there is no such database; StoreBusy when it does not stop changing. Either
    way nothing was written. Nothing is evicted: memories and sessions over the role's caps go when
    the next one is written. `progress` is told of every memory and every saved history that was
    read.
    """
    remarks = Remarks()
    with opened(path.expanduser(), memory) as connection:
        database = Database(connection, memory, remarks, progress)
        wanted = database.memories()
        conversations = database.conversations()
        new = take_conversations(memory, conversations, remarks)
        added, seqs = take_memories(memory, wanted)
        vectors = take_vectors(
            memory, database, {one.number: seqs[one.number] for one in wanted if one.verbatim}
        )
    note_database(memory, path)
    kept_ids = all(number == seq for number, seq in seqs.items())
    if added and not kept_ids:
        remarks.say(
            "The memories have other ids here: theirs were taken, or the store is a server, "
            "which "
            "gives its own."
        )
    return ImportedDatabase(
        memories=added,
        skipped=database.blank + len(wanted) - added,
        sessions=len(new),
        messages=sum(len(one.messages) for one in new),
        vectors=vectors,
        kept_ids=kept_ids,
        model=database.model,
        warnings=remarks.lines,
    )
