"""Records: memories that are Markdown files as well, which people read, edit and commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from .. import records
from ..base_client import BaseClient
from ..errors import InvalidInput, NotFound, Refused
from ..records.file_sync import VERB, Followed
from ..records.roots import CATEGORIES, check_category, is_record
from ..records.source_lists import INDEX
from ..storage import Filter, Transaction
from ..storage.legacy_progress import MIGRATE
from ..types import STATUSES, Memories, Memory
from ..validation import Moment, Ref, micros, ref_of, reload

FROM_FILES = (VERB, INDEX, MIGRATE)
"""What the journal calls changes that only followed those of files, or an upgrade."""


class Recording(BaseClient):
    """Records: memories that are Markdown files as well, which people read, edit and commit."""

    def add_record(
        self,
        body: str,
        *,
        category: str,
        title: str = "",
        place: str | None = None,
        keywords: Sequence[str] = (),
        aliases: Sequence[str] = (),
        source: Mapping[str, Any] | str | None = None,
        expires: Moment = None,
        confidence: float | None = None,
        evidence: Sequence[Mapping[str, Any] | str] = (),
        quote: str = "",
    ) -> Memory:
        """Writes a record: a file in the folder of its category, and the memory that it is.

        `place` is 'project' or 'assistant'; without one it goes to the project, or where there is
        none to the assistant. A secret in it is taken out before anything is written. `evidence` is
        what it rests on, such as 'src/app.py:10-20' or a URL; lines are noted as they are now.
        """
        where = self._place(place)
        cited = records.evidence.noted(evidence, where.folder) if evidence else ()
        given = records.operations.Given(
            body=body,
            category=check_category(category),
            title=title,
            keywords=keywords,
            aliases=aliases,
            source=source,
            expires=micros(expires),
            confidence=confidence,
            evidence=cited,
            quote=quote,
        )
        self._check_on(where.scope)
        record = records.operations.new(
            given, where, at=self.clock(), max_bytes=self.settings.max_content_bytes
        )
        return self.write("record", lambda tx: records.operations.add(tx, record, at=self.clock()))

    def update_record(
        self,
        ref: Ref,
        *,
        body: str | None = None,
        title: str | None = None,
        keywords: Sequence[str] | None = None,
        aliases: Sequence[str] | None = None,
        expires: Moment | Literal["never"] = None,
        confidence: float | None = None,
        evidence: Sequence[Mapping[str, Any] | str] | None = None,
    ) -> Memory:
        """Changes a record and its file, and nothing but what is given; expires='never' takes that
        back.

        Conflict when somebody has changed the file meanwhile: nothing is written then.
        """
        cited = records.evidence.noted(evidence, self._folder(ref)) if evidence else evidence
        given = records.operations.Given(
            body=body,
            title=title,
            keywords=keywords,
            aliases=aliases,
            confidence=confidence,
            evidence=cited,
            expires="never" if expires == "never" else micros(expires),
        )
        limit = self.settings.max_content_bytes
        return self._change_record(
            "update",
            ref,
            lambda tx, one: records.operations.update(
                tx, one, given, at=self.clock(), max_bytes=limit
            ),
        )

    def reclassify(self, ref: Ref, category: str) -> Memory:
        """Moves a record to another category, and its file to that folder; its id and links
        stay.
        """
        wanted = check_category(category)
        return self._change_record(
            "reclassify",
            ref,
            lambda tx, one: records.operations.reclassify(tx, one, wanted, at=self.clock()),
        )

    def move_record(self, ref: Ref, place: str) -> Memory:
        """Moves a record and its file from the project to the assistant, or the other way round;
        its id stays.
        """
        to = self._place(place)
        at = self.clock()
        self._check_on(to.scope)
        return self._change_record(
            "move",
            ref,
            lambda tx, one: records.operations.move(tx, one, to, self.places, at=at),
        )

    def delete_record(self, *refs: Ref) -> Memories:
        """Deletes records and their files. `undo` brings them back; `purge` erases for good."""
        gone = [self._record(ref) for ref in refs]

        def work(tx: Transaction) -> Memories:
            return [records.operations.delete(tx, reload(tx, one), self.places) for one in gone]

        return self.write("delete", work)

    def clear_records(self, place: str) -> Memories:
        """Deletes all records of a place, and their files; what else is known in that scope
        stays.
        """
        return self.delete_record(
            *(
                one.id
                for archived in (False, True)
                for one in self.records(place=place, archived=archived)
            )
        )

    def records(
        self, *, categories: Sequence[str] = (), place: str | None = None, archived: bool = False
    ) -> Memories:
        """The records of the places that are open here, the one changed last first; or those that
        were `archived`.
        """
        places = self.places if place is None else (self._place(place),)
        if not places:
            return []
        where = Filter(
            tuple(one.scope for one in places),
            categories=tuple(map(check_category, categories)) or tuple(CATEGORIES),
            statuses=tuple(one for one in STATUSES if (one == "active") != archived),
        )
        found = [one for one in self.store.list(where) if is_record(one)]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)

    def follow_files(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Followed:
        """Brings the memories of records to what their files say now; only files that changed are
        read.
        """
        return self._files.follow(progress)

    def _record(self, ref: Ref) -> Memory:
        """The record with this id or number, in any status; NotFound when the places that are open
        have none.
        """
        scopes = tuple(place.scope for place in self.places)
        found = (
            [one for one in self.store.get(scopes, [ref_of(ref)]) if is_record(one)]
            if scopes
            else []
        )
        if not found:
            raise NotFound(
                f"No record {ref!r} in {', '.join(map(str, scopes)) or 'any place that is open'}.",
                id=ref,
            )
        return found[0]

    def _folder(self, ref: Ref) -> Path:
        """What paths in a record are relative to."""
        scope = self._record(ref).scope
        return next(place.folder for place in self.places if place.scope == scope)

    def _corrected(self, record: Memory, body: str, fields: Mapping[str, Any]) -> Memory:
        """A record with another text, as `correct` has it: in the same file, under the same id."""
        if unknown := fields.keys() - {"title", "confidence"}:
            raise InvalidInput(
                f"Of a record, {sorted(unknown)[0]} is not corrected here. Use update_record."
            )
        if record.scope not in {place.scope for place in self.places}:
            raise records.write_back.elsewhere(record)
        return self.update_record(record.id, body=body, **fields)

    def _check_undo(self, run: str) -> None:
        """Refused for what people did to files: undoing it in the store would leave the files as
        they are.
        """
        verbs = {event.verb for event in self.store.events(self.scopes, run=run, limit=1)}
        if VERB in verbs:
            raise Refused(
                f"Run {run} is what was changed in the files of records. Change the files, for "
                "example with git: the "
                "memories follow. `holdfast history` lists other runs to undo."
            )
        if INDEX in verbs:
            raise Refused(
                f"Run {run} is what was indexed of files. Change the files, or take them off the "
                "list in .holdfast/sources, and run `holdfast project index`. `holdfast history` "
                "lists other runs to undo."
            )

    def _change_record(
        self, verb: str, ref: Ref, work: Callable[[Transaction, Memory], Memory]
    ) -> Memory:
        record = self._record(ref)
        self._check_on(record.scope)
        return self.write(verb, lambda tx: work(tx, reload(tx, record)))
