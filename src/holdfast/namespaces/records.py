"""Namespace `records`: memories stored as Markdown files that people edit and commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import context, records
from ..base_client import (
    BaseClient,
    Namespace,
    check_enabled,
    files_of,
    write,
)
from ..errors import InvalidInput, NotFound
from ..model_access import reading_of
from ..records.file_sync import Followed
from ..records.roots import CATEGORIES, RecordRoot, check_category, is_record
from ..storage import Filter, Transaction
from ..telemetry import traced
from ..types import STATUSES, Hit, Memories, Memory, Session
from ..validation import Moment, Ref, micros, ref_of, reload

if TYPE_CHECKING:
    from ..context.brief import Verdict
    from ..models.llm.chat import Complete
    from ..records.publish import Published
    from ..records.session_notes import Extracted


class Records(Namespace):
    """Records: memories stored as Markdown files that people edit and commit."""

    @property
    def places(self) -> tuple[RecordRoot, ...]:
        """The folders with records that are open here."""
        return files_of(self.client).places

    @property
    def sync_report(self) -> Followed:
        """What reading the files changed before the first read or write, and its warnings."""
        return files_of(self.client).followed

    @traced("create_memory")
    def add(
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
        check_enabled(self.client, where.scope)
        record = records.operations.new(
            given, where, at=self.client.clock(), max_bytes=self.client.settings.max_content_bytes
        )
        return write(
            self.client,
            "record",
            lambda tx: records.operations.add(tx, record, at=self.client.clock()),
        )

    @traced("update_memory")
    def update(
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
        limit = self.client.settings.max_content_bytes
        return self._change_record(
            "update",
            ref,
            lambda tx, one: records.operations.update(
                tx, one, given, at=self.client.clock(), max_bytes=limit
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
            lambda tx, one: records.operations.reclassify(tx, one, wanted, at=self.client.clock()),
        )

    def move(self, ref: Ref, place: str) -> Memory:
        """Moves a record and its file from the project to the assistant, or the other way round;
        its id stays.
        """
        to = self._place(place)
        at = self.client.clock()
        check_enabled(self.client, to.scope)
        return self._change_record(
            "move",
            ref,
            lambda tx, one: records.operations.move(tx, one, to, self.places, at=at),
        )

    @traced("delete_memory")
    def delete(self, *refs: Ref) -> Memories:
        """Deletes records and their files. `undo` brings them back; `admin.purge` erases
        for good."""
        gone = [self._record(ref) for ref in refs]

        def work(tx: Transaction) -> Memories:
            return [records.operations.delete(tx, reload(tx, one), self.places) for one in gone]

        return write(self.client, "delete", work)

    def clear(self, place: str) -> Memories:
        """Deletes all records of a place, and their files; what else is known in that scope
        stays.
        """
        return self.delete(
            *(
                one.id
                for archived in (False, True)
                for one in self.list(place=place, archived=archived)
            )
        )

    def list(
        self,
        *,
        categories: Sequence[str] = (),
        place: str | None = None,
        archived: bool = False,
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
        found = [one for one in self.client.store.list(where) if is_record(one)]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)

    def sync_files(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Followed:
        """Brings the memories of records to what their files say now; only files that changed are
        read.
        """
        return files_of(self.client).follow(progress)

    def brief(
        self,
        hits: Sequence[Hit],
        format: str = "prompt",
        *,
        tokens: int | None = None,
    ) -> str:
        """What recall found, for an agent: 'snippets', a line each; 'prompt', a block to paste; or
        'json'.

        A block takes at most `tokens`, or what the setting context_tokens says. Only what has to do
        with the question is in it, with where it comes from and whether what it cites still stands;
        empty when there is nothing.
        """
        chosen = context.brief.check_format(format)
        budget = (
            self.client.settings.context_tokens if tokens is None and chosen == "prompt" else tokens
        )
        found = context.brief.fitting(hits)
        roots = {place.scope: _shown(place.root) for place in self.places}
        marks = self.verify(hit.memory for hit in found)
        return context.brief.brief(found, chosen, tokens=budget, freshness=marks, roots=roots)

    def verify(self, memories: Iterable[Memory]) -> dict[str, tuple[Verdict, ...]]:
        """By id, for each of these records that cites something, whether it is FRESH, MOVED, STALE
        or UNVERIFIABLE.
        """
        citing = [memory for memory in memories if memory.metadata.get("evidence")]
        return records.freshness.freshness(citing, self.places) if citing else {}

    def reanchor(self, ref: Ref) -> Memory:
        """Ties a record to what it cites as that is now: where it moved to, or what it says today.

        For a person who has looked, and found that the record still holds.
        """
        record = self._record(ref)
        cited, now = records.freshness.looked_at(record, self.places)
        return record if now == cited else self.update(record.id, evidence=now)

    def publish(
        self,
        path: str | Path,
        *,
        place: str = "project",
        max_bytes: int | None = None,
        tokens: int | None = None,
        force: bool = False,
        plan: bool = False,
    ) -> Published:
        """Keeps a region of a file, such as AGENTS.md, equal to the most useful records; the rest
        is not touched.

        The region takes `max_bytes` or `tokens` at most. Refused when somebody wrote in it, unless
        `force`. With `plan` nothing is written, and what comes back is what would be.
        """
        room = records.publish.Room.of(max_bytes=max_bytes, tokens=tokens)
        where = self._place(place)
        found = self.list(place=where.name)
        return records.publish.publish(
            Path(path), found, where, now=self.client.clock(), room=room, force=force, plan=plan
        )

    def withdraw(
        self,
        path: str | Path,
        *,
        force: bool = False,
        plan: bool = False,
    ) -> Published:
        """Takes the region out of a file again, which is then as it was before."""
        return records.publish.withdraw(Path(path), force=force, plan=plan)

    def extract(
        self,
        *sessions: str,
        plan: bool = False,
        complete: Complete | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Extracted:
        """Turns indexed sessions of the project into records, each with the words it rests on; all,
        or those named.

        A session is read once, and again when it goes on: by `complete`, by the model that is set,
        or by rules. What says the same as a record renews it. With `plan` nothing is written. What
        goes wrong with a session is told in `failures`, nothing of it is written, and it is read
        the next time.
        """
        project = self._project()
        check_enabled(self.client, project.scope)
        meant = list(records.session_notes.sessions_of(self.client.store, project.scope, sessions))
        if unknown := [one for one in meant if not isinstance(one, Session)]:
            raise NotFound(
                (
                    f"No session {unknown[0]!r} in {project.scope}. Index its transcript first: "
                    "holdfast project index PATH"
                ),
                id=unknown[0],
            )
        reading = reading_of(self.client, complete)
        extractor = records.session_notes.Extractor(
            store=self.client.store,
            clock=self.client.clock,
            actor=self.client.actor,
            write=lambda verb, work: write(self.client, verb, work),
            places={place.name: place for place in self.places},
            policy=reading.policy,
            complete=reading.complete,
            max_bytes=self.client.settings.max_content_bytes,
        )
        known = [one for one in meant if isinstance(one, Session)]
        return extractor.run(known, plan=plan, progress=progress)

    def _place(self, name: str | None = None) -> RecordRoot:
        """The open place called 'project' or 'assistant'; without a name the first of them that is
        open.
        """
        for wanted in ("project", "assistant") if name is None else (name,):
            for place in self.places:
                if place.name == wanted:
                    return place
        if name not in (None, "project", "assistant"):
            raise InvalidInput(f"There is no place {name!r} for records. Use project or assistant.")
        raise InvalidInput(
            "This is no project. `holdfast project init` makes it one."
            if name != "assistant"
            else "The place of the assistant is not open here. Pass places= to Holdfast.open."
        )

    def _project(self) -> RecordRoot:
        place = next((place for place in self.places if place.name == "project"), None)
        if place is None:
            raise InvalidInput(
                "Records come from the sessions of a project, and this is none. Run: holdfast "
                "project init"
            )
        return place

    def _record(self, ref: Ref) -> Memory:
        """The record with this id or number, in any status; NotFound when the places that are open
        have none.
        """
        scopes = tuple(place.scope for place in self.places)
        found = (
            [one for one in self.client.store.get(scopes, [ref_of(ref)]) if is_record(one)]
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

    def _change_record(
        self,
        verb: str,
        ref: Ref,
        work: Callable[[Transaction, Memory], Memory],
    ) -> Memory:
        record = self._record(ref)
        check_enabled(self.client, record.scope)
        return write(self.client, verb, lambda tx: work(tx, reload(tx, record)))


def _shown(root: Path) -> str:
    """A folder as one would name it from here."""
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        return root.as_posix()
    return (root.relative_to(here) if root.is_relative_to(here) else root).as_posix()


def correct_record(
    client: BaseClient,
    record: Memory,
    body: str,
    fields: Mapping[str, Any],
) -> Memory:
    """A record with another text, as `correct` has it: in the same file, under the same id."""
    if unknown := fields.keys() - {"title", "confidence"}:
        raise InvalidInput(
            f"Of a record, {sorted(unknown)[0]} is not corrected here. Use records.update."
        )
    if record.scope not in {place.scope for place in files_of(client).places}:
        raise records.write_back.elsewhere(record)
    return Records(client).update(record.id, body=body, **fields)
