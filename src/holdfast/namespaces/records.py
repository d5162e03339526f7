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
from ..extraction.coding.note_judge import note_judge_of
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
    """Memories stored as Markdown files that people edit and commit."""

    @property
    def places(self) -> tuple[RecordRoot, ...]:
        """The open record folders."""
        return files_of(self.client).places

    @property
    def sync_report(self) -> Followed:
        """Result of the file sync before the first read or write, with its warnings."""
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
        """Write a record: a file in the folder of its category, and its memory.

        `place` is 'project' or 'assistant'; the default is the project if there is one, else the
        assistant. Secrets are redacted before anything is written. `evidence` lists what the record
        cites, such as 'src/app.py:10-20' or a URL; the current content of cited lines is recorded.
        Raises InvalidInput for invalid fields or without such a place, Refused if its memory is
        disabled.
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
        """Update the given fields of a record and its file; expires='never' removes the expiry.

        Raises Conflict, and writes nothing, if the file was changed meanwhile.
        """
        # An empty list must stay: it removes the evidence, while None leaves it as it is.
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
        """Move a record to another category, and its file to that folder. Id and links stay."""
        wanted = check_category(category)
        return self._change_record(
            "reclassify",
            ref,
            lambda tx, one: records.operations.reclassify(tx, one, wanted, at=self.client.clock()),
        )

    def move(self, ref: Ref, place: str) -> Memory:
        """Move a record and its file between project and assistant. The id stays."""
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
        """Delete records and their files. `undo` restores them; `admin.purge` erases them
        permanently.
        """
        gone = [self._record(ref) for ref in refs]

        def work(tx: Transaction) -> Memories:
            return [records.operations.delete(tx, reload(tx, one), self.places) for one in gone]

        return write(self.client, "delete", work)

    def clear(self, place: str) -> Memories:
        """Delete all records of a place with their files. Other memories of that scope stay."""
        return self.delete(
            *(
                one.id
                # `list` returns active or inactive records, never both.
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
        """List the records of the open places, most recently changed first; with `archived`,
        inactive ones.
        """
        places = self.places if place is None else (self._place(place),)
        if not places:
            return []
        where = Filter(
            tuple(one.scope for one in places),
            categories=tuple(map(check_category, categories)) or tuple(CATEGORIES),
            statuses=tuple(one for one in STATUSES if (one == "active") != archived),
        )
        # Other memories of these scopes may have the same categories.
        found = [one for one in self.client.store.list(where) if is_record(one)]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)

    def sync_files(
        self, *, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> Followed:
        """Sync the store with the record files. Only changed files are read."""
        return files_of(self.client).follow(progress)

    def brief(
        self,
        hits: Sequence[Hit],
        format: str = "prompt",
        *,
        tokens: int | None = None,
    ) -> str:
        """Render recall hits for an agent: 'snippets' (one line each), 'prompt' (a block) or
        'json'.

        A block has at most `tokens`, by default the setting context_tokens. It contains only
        relevant hits, each with its source and whether its evidence still holds. Empty if there are
        none.
        """
        chosen = context.brief.check_format(format)
        # Only the prompt block has a default budget: the other formats are for programs.
        budget = (
            self.client.settings.context_tokens if tokens is None and chosen == "prompt" else tokens
        )
        # Irrelevant hits are dropped first, because verifying reads the cited files.
        found = context.brief.fitting(hits)
        roots = {place.scope: _shown(place.root) for place in self.places}
        marks = self.verify(hit.memory for hit in found)
        return context.brief.brief(found, chosen, tokens=budget, freshness=marks, roots=roots)

    def verify(self, memories: Iterable[Memory]) -> dict[str, tuple[Verdict, ...]]:
        """Check the evidence of records: FRESH, MOVED, STALE or UNVERIFIABLE, by id of the citing
        record.
        """
        citing = [memory for memory in memories if memory.metadata.get("evidence")]
        return records.freshness.freshness(citing, self.places) if citing else {}

    def reanchor(self, ref: Ref) -> Memory:
        """Update the evidence of a record to the current position and content of what it cites.

        For a person who has checked that the record still holds.
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
        """Keep a region of a file, such as AGENTS.md, in sync with the most useful records.

        The rest of the file is not touched. The region has at most `max_bytes` or `tokens`. Raises
        Refused if somebody edited the region, unless `force`. With `plan`, return the result and
        write nothing.
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
        """Remove the region from a file and restore the file as it was before."""
        return records.publish.withdraw(Path(path), force=force, plan=plan)

    def extract(
        self,
        *sessions: str,
        plan: bool = False,
        complete: Complete | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Extracted:
        """Extract records from indexed sessions of the project, each with its source text; all, or
        those named.

        A session is read once, and again when it has new turns: by `complete`, the configured
        model, or rules. A note that repeats a record renews it. With `plan`, nothing is written. If
        a session fails, it is listed in `failures`, nothing of it is written, and it is retried
        next time. Raises NotFound for an unknown session.
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
            judge=note_judge_of(self.client.tiers),
            max_bytes=self.client.settings.max_content_bytes,
        )
        known = [one for one in meant if isinstance(one, Session)]
        return extractor.run(known, plan=plan, progress=progress)

    def _place(self, name: str | None = None) -> RecordRoot:
        """Return the open place of this name; by default the project, else the assistant.

        Raises InvalidInput if it is unknown or not open.
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
        """Return the record with this id or number, in any status; raises NotFound."""
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
        """Folder to which the paths in a record are relative."""
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
    """Render a folder relative to the working directory if it is below it."""
    try:
        here = Path.cwd()
    except OSError:
        # The working directory was deleted.
        return root.as_posix()
    return (root.relative_to(here) if root.is_relative_to(here) else root).as_posix()


def correct_record(
    client: BaseClient,
    record: Memory,
    body: str,
    fields: Mapping[str, Any],
) -> Memory:
    """Correct the text of a record in the same file, under the same id; see `Holdfast.correct`.

    Raises InvalidInput for fields that only `Records.update` changes.
    """
    if unknown := fields.keys() - {"title", "confidence"}:
        raise InvalidInput(
            f"Of a record, {sorted(unknown)[0]} is not corrected here. Use records.update."
        )
    # The text lives in a file that is not open here; changing only the row would be reverted by the
    # next sync.
    if record.scope not in {place.scope for place in files_of(client).places}:
        raise records.write_back.elsewhere(record)
    return Records(client).update(record.id, body=body, **fields)
