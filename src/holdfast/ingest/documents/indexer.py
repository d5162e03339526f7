"""Index files one by one: each is read only if it changed, and stored in one transaction.

If a run is interrupted, every file is entirely in its old or its new state, and the next run
continues after the last finished file. Concurrent runs have the effect of one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from ... import transcripts
from ...errors import InvalidInput, StoreError, reason
from ...storage.protocol import Store, Transaction
from ...storage.store_types import Author, KnownFile
from ...transcripts.base import Cursor, Reader, Transcript
from ...transcripts.databases import is_database
from ...types import Scope, Session
from . import markdown_documents, session_documents, upsert
from .change_detection import ROOT, changed_at, looked_at, read
from .index_report import Indexed, Source, Warned
from .upsert import Changed, key_of

ELSEWHERE = "elsewhere:"
"""Before a hash: a transcript of another project's sessions, which only who names it wants here."""
FAILED = "failed:"
"""Before a hash: a transcript of which a session could not be stored, or nothing understood. The
next time it is read from its start.
"""
CURRENT = "2:"
"""Before the hash of a transcript: what read it. Version 0.1.0, which lost branches, put nothing
there.
"""
# Read line by line, so this is about time: minutes.
MOST_TRANSCRIPT_BYTES = 500_000_000
# What stands in the place of a hidden secret; a warning of the report names its kind.
_MARKER = re.compile(r"\[REDACTED:([a-z0-9-]{1,40})\]")


class Indexer:
    """One run over a project's files; `done` is its report, or with `plan` what it would do.

    `belongs` says whether a session that nobody named, or of a database, is one of this project's;
    `progress` is called with each session that was read.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        author: Author,
        *,
        max_bytes: int,
        belongs: Callable[[Transcript], bool] = lambda transcript: True,
        plan: bool = False,
        progress: Callable[[int], None] = lambda sessions: None,
    ) -> None:
        self.done = Indexed()
        self.known = {file.path: file for file in store.files.list(scope, ROOT)}
        self._store = store
        self._scope = scope
        self._author = author
        self._max_bytes = max_bytes
        self._belongs = belongs
        self._plan = plan
        self._progress = progress
        # The files that are read from their start.
        self._anew: set[str] = set()
        self._by_path: dict[str, list[Session]] = {}
        for session in store.sessions.list([scope]):
            if path := session.metadata.get("path"):
                self._by_path.setdefault(path, []).append(session)

    def index(self, source: Source) -> None:
        """Index a file if it changed. A file that cannot be indexed is skipped with a warning."""
        try:
            self._index(source)
        except InvalidInput as error:
            self._leave_out(source, str(error))
        except OSError as error:
            self._leave_out(source, f"it cannot be read ({error.strerror or error})")

    def unlearn(self, name: str) -> None:
        """Treat a file as new unless all of its content is stored.

        An undo may have removed its sessions, since it does not know about files; or an earlier
        version read the file and lost its branches.
        """
        known = self.known.get(name)
        if known is not None and (name not in self._by_path or not known.hash.startswith(CURRENT)):
            del self.known[name]
            self._anew.add(name)

    def finish(self, mark: KnownFile) -> None:
        """Record that the run indexed everything."""
        if mark not in self._store.files.list(self._scope, mark.root):
            self._seen(mark)

    def warn(self, name: str, reason: str) -> None:
        """Record that something was skipped, and why."""
        self.done.warnings.append(Warned(name, reason))

    def fail(self, name: str, reason: str) -> None:
        """Record that a session or transcript could not be stored, and why."""
        self.done.failed.append(Warned(name, reason))

    def drop(self, name: str, *, turns: bool) -> None:
        """Remove a deleted file's chunks, and its `turns` unless they are a session's last copy."""

        def work(tx: Transaction) -> Changed:
            tx.files.drop(self._scope, ROOT, [name])
            return self._drop_pieces(tx, name) + (
                self._drop_turns(tx, name) if turns else Changed()
            )

        self.done.note(name, "gone", self._write(work))

    def _leave_out(self, source: Source, why: str) -> None:
        is_transcript = transcripts.reader_for(source.path) is not None
        self.fail(source.name, why) if is_transcript else self.warn(source.name, why)

    def _index(self, source: Source) -> None:
        seen = looked_at(source)
        known = self.known.get(source.name)
        if known is not None and known.hash.startswith(ELSEWHERE) and source.named:
            known = None
        if known is not None and known.hash.startswith(FAILED):
            known = None
            self._anew.add(source.name)
        if known is not None and (known.size, known.mtime) == (seen.size, seen.mtime):
            self.done.unchanged += 1
            return
        reader = transcripts.reader_for(source.path)
        most = markdown_documents.MOST_BYTES if reader is None else MOST_TRANSCRIPT_BYTES
        if seen.size > most:
            raise InvalidInput(f"it is too large ({seen.size:,} bytes; the most is {most:,})")
        seen = read(seen, source.path)
        if known is not None and _bare(known.hash) == seen.hash:  # only touched
            self.done.unchanged += 1
            self._seen(seen._replace(hash=known.hash))
        elif reader is None:
            self._document(source, seen)
        else:
            if known is not None and not known.hash.startswith(CURRENT):
                self._anew.add(source.name)
            self._transcript(source, seen, reader)

    def _document(self, source: Source, seen: KnownFile) -> None:
        at = self._author.at
        key = key_of(source.name)
        found = markdown_documents.memories(
            markdown_documents.pieces(source.path, source.path.read_bytes()),
            source.name,
            self._scope,
            written=changed_at(source),
            at=at,
            max_bytes=self._max_bytes,
        )

        def work(tx: Transaction) -> Changed:
            tx.files.put(self._scope, [seen])
            return self._drop_turns(tx, source.name) + upsert.replace(
                tx, self._scope, key, found, kind="document", at=at
            )

        self._note(source, self._write(work))
        for kind in sorted({kind for one in found for kind in _MARKER.findall(one.content)}):
            self.warn(source.name, f"it holds a secret ({kind}), which was left out")

    def _transcript(
        self,
        source: Source,
        seen: KnownFile,
        reader: Reader,
    ) -> None:
        """Store each session of a file in its own transaction; the last one marks the file as
        indexed.
        """
        if self._plan:
            self._note(source, Changed())
            return
        failed, warned = len(self.done.failed), len(self.done.warnings)
        stored = []
        # Who names a file means its session, but a database holds those of all projects.
        meant = source.named and not is_database(source.path)
        for transcript in reader.read(source.path, self._cursor(source.name)):
            if meant or self._belongs(transcript):
                stored += self._session(source, transcript, reader)
            else:
                # A reader goes on when all of one session is read.
                deque(transcript.entries, maxlen=0)
            self._progress(1)
        changed = sum(stored, Changed())
        known = bool(stored) or source.name in self._by_path
        # Nothing of it was understood: the next import has to say so again.
        lost = len(self.done.warnings) > warned and not (
            changed.sessions or source.name in self._by_path
        )
        again = lost or len(self.done.failed) > failed
        mark = FAILED if again else CURRENT if known else ELSEWHERE
        seen = seen._replace(hash=mark + seen.hash)

        def work(tx: Transaction) -> Changed:
            tx.files.put(self._scope, [seen])
            # Of a note that has become a transcript.
            return self._drop_pieces(tx, source.name)

        changed += self._write(work)
        if known:
            self._note(source, changed)

    def _session(
        self,
        source: Source,
        transcript: Transcript,
        reader: Reader,
    ) -> list[Changed]:
        """Store a session and return the result. A failure is reported and does not affect later
        sessions.
        """
        try:
            changed = self._put(source, transcript)
        except (
            session_documents.Unsure
        ):  # only a file of one session is continued, so this is all that it holds
            return [
                one
                for whole in reader.read(source.path)
                for one in self._session(source, whole, reader)
            ]
        except (
            Exception
        ) as error:  # whatever a file holds, it is no reason to lose the other sessions
            self._check_store(error)
            self.fail(source.name, f"session {transcript.id} could not be stored ({reason(error)})")
            return []
        if transcript.note:
            self.warn(source.name, transcript.note)
        if transcript.skipped:
            self.warn(source.name, f"{transcript.skipped:,} of its lines could not be understood")
        return [changed]

    def _put(self, source: Source, transcript: Transcript) -> Changed:
        at = self._author.at
        told = session_documents.session_document(
            transcript, source.name, self._scope, at=at, max_bytes=self._max_bytes
        )
        return self._write(lambda tx: session_documents.put(tx, told, at=at))

    def _check_store(self, error: Exception) -> None:
        """Re-raise the error if the store failed, rather than the item to be stored."""
        if isinstance(error, StoreError):
            if (
                type(error) is not StoreError
            ):  # it says itself what is wrong with the store as a whole
                raise error
            # Raises where nothing can be read any more.
            self._store.sessions.get(self._scope, "")

    def _drop_pieces(self, tx: Transaction, name: str) -> Changed:
        return upsert.drop(tx, self._scope, key_of(name), kind="document")

    def _drop_turns(self, tx: Transaction, name: str) -> Changed:
        return sum(
            (session_documents.drop(tx, one, name) for one in self._by_path.get(name, ())),
            Changed(),
        )

    def _cursor(self, name: str) -> Cursor | None:
        """How far a file was read, from the last item read of it."""
        if name in self._anew:
            return None
        cursors = filter(None, map(session_documents.cursor_of, self._by_path.get(name, ())))
        return max(cursors, key=lambda cursor: (cursor.position, cursor.lines), default=None)

    def _seen(self, file: KnownFile) -> None:
        if not self._plan:
            self._store.write(self._author, lambda tx: tx.files.put(self._scope, [file]))

    def _write(self, work: Callable[[Transaction], Changed]) -> Changed:
        if self._plan:
            return Changed()
        return self._store.write(self._author, work)

    def _note(self, source: Source, changed: Changed) -> None:
        self.done.note(source.name, "changed" if source.name in self.known else "new", changed)


def _bare(hash_: str) -> str:
    """The hash of a file without the prefix stored before it."""
    return hash_.rsplit(":", 1)[-1]
