"""What changes memories: remembered, captured, corrected, put away, brought back, undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

from .. import extraction, ingest, maintenance, records
from ..errors import NotFound, Nothing
from ..records.roots import is_record
from ..storage import Transaction
from ..types import Entity, Events, Memories, Memory, check_kind
from .approving import Approving
from .given import (
    AllFields,
    Fields,
    Moment,
    Ref,
    as_draft,
    check_limit,
    draft_of,
    ensure_list,
    reload,
    str_tuple,
    turn_of,
)
from .opened import who_of
from .recording import FROM_FILES, Recording

if TYPE_CHECKING:
    from ..ingest.commit import Draft


class Writing(Approving, Recording):
    """What changes memories: remembered, captured, corrected, put away, brought back, undone."""

    def remember(
        self,
        content: str,
        *,
        kind: str = "fact",
        category: str = "general",
        event_time: Moment = None,
        valid_from: Moment = None,
        valid_until: Moment = None,
        **fields: Unpack[Fields],
    ) -> Memory:
        """Stores one memory and returns it. A fact or rule that is already there word for word is
        kept once.

        What an agent stores may have to wait for a person (setting `approval`): then it comes back
        as `proposed`, and so does what waits already in the same words. NeedsPerson for words that
        a person has turned down.

        `fields` may be any of title, author, role, session, confidence, decay_rate, source, quote,
        triple, tags, metadata.
        """
        draft = draft_of(
            content=content,
            kind=kind,
            category=category,
            event_time=event_time,
            valid_from=valid_from,
            valid_until=valid_until,
            **fields,
        )
        return self.remember_many([draft])[0]

    def remember_many(self, drafts: Iterable[str | Mapping[str, Any] | Draft]) -> Memories:
        """Stores many memories in one transaction: all of them or, if one is not acceptable,
        none.
        """
        self._check_on(self.scopes[0])
        at = self.clock()
        limit = self.settings.max_content_bytes
        given = map(as_draft, ensure_list(drafts, "memories", "remember"))
        memories = [
            ingest.commit.build(draft, self.scopes[0], at=at, max_bytes=limit) for draft in given
        ]

        def work(tx: Transaction) -> Memories:
            stored = extraction.permission_checks.remember(tx, memories, who_of(self, "remember"))
            ingest.entity_linking.note(tx, [one for one in stored if one.status == "active"], at=at)
            return stored

        return self.write("remember", work)

    def capture(
        self, session: str, role: str, text: str, *, author: str = "", event_time: Moment = None
    ) -> Memory | None:
        """Stores one turn of a conversation, verbatim and at once; None when there is nothing in
        it.

        No model and no network take part: it is as quick as the disk.
        """
        turn = {
            "session": session,
            "role": role,
            "text": text,
            "author": author,
            "event_time": event_time,
        }
        stored = self.capture_many([turn])
        return stored[0] if stored else None

    def capture_many(
        self, turns: Iterable[Mapping[str, Any]], *, noted: Mapping[str, Any] | None = None
    ) -> Memories:
        """Stores many turns (`session`, `role`, `text`, optional `author`, `event_time`) in one
        transaction.

        The first turn of a session that was not heard of before ends the open ones of this scope; a
        turn of one that has ended opens it again. What is `noted` is added to the metadata of their
        sessions.
        """
        self._check_on(self.scopes[0])
        at = self.clock()
        limit = self.settings.max_content_bytes
        scope = self.scopes[0]
        memories = []
        for turn in ensure_list(turns, "turns", "capture"):
            # A blank turn, or one that only repeats what memory injected.
            with suppress(Nothing):
                memories.append(ingest.commit.build(turn_of(turn), scope, at=at, max_bytes=limit))
        if not memories:
            return []
        return self.write(
            "capture",
            lambda tx: ingest.capture.save_turns(tx, memories, at=at, noted=noted),
        )

    def correct(
        self, ref: Ref, content: str, *, reason: str = "", **fields: Unpack[AllFields]
    ) -> Memory:
        """Replaces what a memory says: the old text is retired and linked to the new one, not lost.

        Of a proposal that means approving it in other words; of a record, writing them into its
        file. Where an agent corrects what a person wrote or confirmed, the new words come back as a
        proposal, and nothing else changes.
        """
        old = self.get(ref)
        at = self.clock()
        if old.status == "proposed":
            return self.approve(ref, content)
        ruling = self._check("correct", old)
        if is_record(old):
            if not ruling.allowed:
                raise extraction.permission_checks.refused("correct", "written", old.id)
            return self._corrected(old, content, fields)
        kept = {
            "kind": old.kind,
            "category": old.category,
            "title": old.title,
            "author": old.author,
            "role": old.role,
            "triple": old.triple,
            "tags": old.tags,
            "source": "correction",
            "metadata": maintenance.entity_jobs.unseen(old.metadata),
        }
        draft = draft_of(content=content, **{**kept, **fields})
        new = ingest.commit.build(
            draft, old.scope, at=at, max_bytes=self.settings.max_content_bytes
        )
        if not ruling.allowed:
            return self._propose_instead(old, new, reason or ruling.reason)

        def work(tx: Transaction) -> Memory:
            corrected = ingest.commit.correct(tx, reload(tx, old), new, reason=reason)
            ingest.entity_linking.note(tx, [corrected], at=at)
            return corrected

        return self.write("correct", work)

    def confirm(self, ref: Ref) -> Memory:
        """Protects a memory: full confidence, no decay, and only a person may replace it.
        NeedsPerson for an agent.
        """
        at = self.clock()
        self._check("confirm", self.get(ref))
        return self._change(
            "confirm", ref, lambda tx, memory: ingest.commit.confirm(tx, memory, at=at)
        )

    def archive(self, ref: Ref, *, reason: str = "archived") -> Memory:
        """Puts a memory away: it is kept and listed, but no longer recalled."""
        self._check("archive", self.get(ref))
        return self._set_status("archive", ref, "archived", reason)

    def restore(self, ref: Ref) -> Memory:
        """Brings back a memory that was archived, forgotten, superseded, faded or evicted.

        A proposal that was rejected or has expired waits for a decision again.
        """
        memory = self.get(ref)
        self._check("restore", memory)
        back = (
            "proposed"
            if extraction.approval.proposer(memory) and extraction.approval.undecided(memory)
            else "active"
        )
        return self._set_status("restore", ref, back, "restored")

    def forget(self, *refs: Ref) -> Memories:
        """Forgets memories. Nothing recalls them any more; `undo` brings them back; `purge` erases
        for good.

        NeedsPerson, and none is forgotten, where an agent would forget what a person wrote or
        confirmed.
        """
        memories = [self.get(ref) for ref in refs]
        at = self.clock()
        for memory in memories:
            self._check("forget", memory)

        def work(tx: Transaction) -> Memories:
            return [
                ingest.commit.set_status(
                    tx, reload(tx, memory), "archived", at=at, reason="forgotten"
                )
                for memory in memories
            ]

        return self.write("forget", work)

    def evict(
        self, *, kinds: Sequence[str], keep: int, spare_unconsolidated: bool = True
    ) -> Memories:
        """Puts away the oldest memories of these kinds so that `keep` stay active; `restore` brings
        one back.

        Never one that is protected, nor, unless told otherwise, one that consolidation has yet to
        read.
        """
        wanted = tuple(map(check_kind, str_tuple(kinds, "kinds")))
        at = self.clock()
        keep = check_limit(keep, "keep")

        def work(tx: Transaction) -> Memories:
            found = tx.surplus(
                self.scopes[0], wanted, keep, spare_unconsolidated=spare_unconsolidated
            )
            why = f"more than {keep} kept"
            return [
                ingest.commit.set_status(tx, memory, "evicted", at=at, reason=why)
                for memory in found
            ]

        return self.write("evict", work)

    def undo(self, run: str | None = None) -> Events:
        """Takes back everything one run did, exactly. Without a run: the latest one in these
        scopes.

        What is only observed is no part of it: how often and when a memory was used, and when a
        session was active. What followed from changed files is passed over: who changed them can
        change them back. NeedsPerson where an agent would take back what was not an agent's doing,
        or a decision about a proposal.
        """
        wanted = run or self._latest_run()
        self._check_undo(wanted)
        self._check_undoer(wanted)
        return self.write("undo", lambda tx: records.operations.undo(tx, self.scopes, wanted))

    def _check_undoer(self, run: str) -> None:
        who = who_of(self, "undo")
        if who.trusted:
            return
        events = self.store.events(self.scopes, run=run)
        changed = self.store.get(
            self.scopes, [event.target for event in events if event.noun == "memory"]
        )
        state = extraction.permission_checks.state_of_run(events, changed)
        if not ingest.permissions.ruling(who.kind, "undo", state).allowed:
            raise extraction.permission_checks.refused("undo", state, run)

    def _latest_run(self) -> str:
        """The latest run that can be undone; where people did nothing but change files, that one,
        to be refused.
        """
        events: Events = []
        # Nearly always the last entry will do.
        for limit in (1, 1_000, None):
            events = self.store.events(self.scopes, limit=limit)
            if latest := next(
                (event.run for event in events if event.verb not in FROM_FILES), None
            ):
                return latest
        if not events:
            raise NotFound("There is nothing to undo.")
        return events[0].run

    def merge_entities(self, keep: str, *others: str) -> Entity:
        """Says that several people, projects… are one: their names and mentions go to `keep`."""
        kept = self._entity(keep)
        gone = [self._entity(other) for other in others]
        return self._entity(
            self.write("merge", lambda tx: ingest.entity_linking.merge(tx, kept, gone)).id
        )

    def split_entity(self, name: str, *names: str) -> Entity:
        """Gives some names of an entity, and the memories with them, to a new one, which comes
        back.
        """
        entity = self._entity(name)
        at = self.clock()
        return self._entity(
            self.write("split", lambda tx: ingest.entity_linking.split(tx, entity, names, at=at)).id
        )

    def rename_entity(self, name: str, new_name: str, *, type: str | None = None) -> Entity:
        """Calls an entity something else; the old name stays as an alias."""
        entity = self._entity(name)
        return self._entity(
            self.write(
                "rename",
                lambda tx: ingest.entity_linking.rename(tx, entity, new_name, type),
            ).id
        )
