"""mem0's methods, each a call or two of `Holdfast`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ...client import Holdfast, check_open
from ...errors import InvalidInput, NotFound, Nothing, Refused
from ...extraction import runner
from ...extraction.session_extraction import SummarySink
from ...ingest import capture, commit, entity_linking, session_log
from ...ingest.commit import Draft
from ...ingest.sanitize import guard_data
from ...model_access import reading_of
from ...records.roots import is_record
from ...storage import Transaction
from ...types import Hit, Hits, Memories, Memory, Scope, new_id
from ..hit_similarity import similarity
from .add import (
    PROCEDURAL,
    Given,
    Item,
    Said,
    noted,
    parse_timestamp,
    procedure,
    result_of,
    said_of,
)
from .ids import OWNERS, normalise_filters
from .mem0_filters import Filters, check, matches, names_owner, users_in
from .mem0_items import (
    KEY,
    KINDS,
    Owner,
    entities_of,
    history_of,
    is_seen,
    item_of,
    messages_in,
    until,
    with_feedback,
    with_metadata,
)

log = logging.getLogger(__name__)

UNSET: Any = object()
# Scopes per query when searching for an id.
TOGETHER = 500
# Candidates ranked before a narrower filter is applied.
MOST = 300
FEEDBACK_VALUES = ("POSITIVE", "NEGATIVE", "VERY_NEGATIVE")


class Mem0:
    """An open memory with mem0's methods. It sees every user, agent and run of its store."""

    def __init__(self, holdfast: Holdfast | None = None, *, only: Scope | None = None) -> None:
        """Wrap an open memory, which stays open, or open the per-user store. `only` restricts the
        owner.
        """
        self._own = holdfast is None
        self._only = only
        self._hf = Holdfast.open(scope="shared:mem0") if holdfast is None else check_open(holdfast)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open the store in `{"store": path or URL}`; warn about other keys of mem0, which are
        ignored.
        """
        if not isinstance(config_dict, Mapping):
            raise InvalidInput(
                f"A configuration is a mapping such as {{'store': 'memory.db'}}, not "
                f"{config_dict!r}."
            )
        if unused := sorted(set(config_dict) - {"store", "version"}):
            log.warning(
                "Holdfast has its own models and store; ignored keys of the config: %s",
                ", ".join(unused),
            )
        opened = cls(Holdfast.open(config_dict.get("store"), scope="shared:mem0"))
        opened._own = True
        return opened

    def add(
        self,
        messages: str | Mapping[str, Any] | list[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[Item]]:
        """Extract memories from messages, with the model that is set or by rules; with
        `infer=False` store each verbatim.
        """
        if memory_type not in (None, PROCEDURAL):
            raise InvalidInput(
                f"Invalid 'memory_type'. Pass {PROCEDURAL} to create procedural memories."
            )
        if prompt is not None:
            log.warning("Holdfast uses its own extraction prompt; custom prompts are ignored.")
        owner = Owner.of(user_id, agent_id, run_id)
        if self._only not in (None, owner.scope):
            raise Refused(f"This memory stores only items of {self._only}. Nothing was stored.")
        given = Given(
            owner,
            _own(metadata),
            parse_timestamp(timestamp),
            until(expiration_date),
            [
                one
                for one in map(said_of, messages_in(messages))
                if one.text and one.role != "system"
            ],
        )
        if memory_type == PROCEDURAL:
            return {"results": self._keep(given.owner, [(procedure(given), None)])}
        if infer:
            return {"results": self._learn(given)}
        return {"results": self._keep(given.owner, [(given.draft(one), one) for one in given.said])}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Filters | None = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **ids: Any,
    ) -> dict[str, list[Item]]:
        """Return the items for a query, best first, with their similarity in [0, 1].

        `user_id=…` is short for a filter. `rerank` reads the best ones together with the query.
        """
        if reference_date is not None:
            raise InvalidInput("reference_date is not supported. Write the date in the query.")
        wanted, top_k = _wanted(filters, ids, top_k)
        if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
            raise InvalidInput(f"Invalid threshold: {threshold}. It must be between 0 and 1.")
        scopes = self._scopes(wanted)
        if not scopes:
            return {"results": []}
        limit = top_k if set(wanted) == {"user_id"} else MOST
        hits = _recalled(
            self._hf.scoped(*scopes),
            query,
            limit=limit,
            show_expired=show_expired,
            deep=rerank,
        )
        passed = [
            hit
            for hit in hits
            if matches(item_of(hit.memory), wanted) and similarity(hit) >= threshold
        ]
        return {"results": [_found(hit, explain=explain) for hit in passed[:top_k]]}

    def get(self, memory_id: str) -> Item | None:
        """Return an item, or None."""
        found = self._active(memory_id)
        return None if found is None else {**item_of(found), "score": None}

    def get_all(
        self,
        *,
        filters: Filters | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **ids: Any,
    ) -> dict[str, list[Item]]:
        """Return items, newest first."""
        wanted, top_k = _wanted(filters, ids, top_k)
        now = self._hf.clock()
        found = [
            one
            for one in self._matching(wanted, KINDS)
            if show_expired or one.valid_until is None or one.valid_until > now
        ]
        return {"results": [item_of(one) for one in found[:top_k]]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = UNSET,
        data: str | None = None,
        timestamp: Any = None,
    ) -> dict[str, str]:
        """Replace the text of an item under the same id, and merge its metadata."""
        text = data if text is None else text
        if (text, metadata, timestamp) == (None, None, None) and expiration_date is UNSET:
            raise InvalidInput(
                "At least one of text, metadata, timestamp, or expiration_date must be provided."
            )
        old = self._there(memory_id)
        ends = old.valid_until if expiration_date is UNSET else until(expiration_date)
        kept = (
            with_metadata(old, _own(metadata))
            if metadata or not is_record(old)
            else dict(old.metadata)
        )
        said_at = parse_timestamp(timestamp) or old.event_time
        self._update(old, text, metadata=kept, valid_until=ends, event_time=said_at)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget an item; `Holdfast.undo` restores it, `Holdfast.purge` erases it permanently."""
        found = self._there(memory_id)
        self._hf.scoped(found.scope).forget(found.id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Filters | None = None,
    ) -> dict[str, str]:
        """Forget all items of a user, an agent or a run, and their source conversations; with
        `filters`, only those that match.
        """
        narrower = normalise_filters(filters or {})
        check(narrower)
        owner = Owner.of(user_id, agent_id, run_id)
        found = self._matching(owner.filters, ())
        self._forget([one for one in found if matches(item_of(one), narrower)])
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Item]:
        """Return the events of an item, oldest first; empty for an unknown one."""
        found = self._find(memory_id)
        return history_of(found, self._hf.scoped(found.scope).history(found.id)) if found else []

    def sources(self, memory_id: str) -> list[Item]:
        """Return the messages that an item was extracted from; none for one stored verbatim."""
        found = self._find(memory_id)
        turns = self._hf.scoped(found.scope).explain(found.id).sources if found else ()
        return [{"role": turn.role or "user", "content": turn.content} for turn in turns]

    def entities(self) -> list[Item]:
        """Return the users, agents and runs that have items, with their number and times."""
        scopes = self._every_scope()
        return entities_of(self._hf.scoped(*scopes).list(kinds=KINDS) if scopes else [])

    def feedback(
        self,
        memory_id: str,
        feedback: str | None = None,
        feedback_reason: str | None = None,
    ) -> None:
        """Record with an item what somebody thinks of it; None withdraws it.

        The item shows it and the journal has it. It changes neither the text nor the ranking.
        """
        if feedback not in (None, *FEEDBACK_VALUES):
            raise InvalidInput(f"feedback must be one of {', '.join(FEEDBACK_VALUES)} or None.")
        found = self._there(memory_id)
        reason = guard_data({"reason": feedback_reason}, name="feedback_reason")["reason"]

        def work(tx: Transaction) -> None:
            fresh = self._fresh(tx, found)
            tx.change(fresh, metadata=with_feedback(fresh, feedback, reason))

        self._hf.scoped(found.scope).admin.write("feedback", work)

    def reset(self) -> None:
        """Forget what was added through this interface, for every owner; `Holdfast.undo` restores
        it.

        Memories of people and other programs in the same store stay. With `only`, forget everything
        of that owner.
        """
        scopes = self._every_scope()
        found = self._hf.scoped(*scopes).list() if scopes else []
        if self._only is None:
            found = [one for one in found if KEY in one.metadata]
        self._forget(found)

    def close(self) -> None:
        """Close the store if it was opened here."""
        if self._own:
            self._hf.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Location of items

    def _every_scope(self) -> list[Scope]:
        return [
            one for one in self._hf.store.scopes() if is_seen(one) and self._only in (None, one)
        ]

    def _scopes(self, filters: Filters) -> list[Scope]:
        """Return the scopes that every match must be in."""
        users = users_in(filters)
        if users is None:
            return self._every_scope()
        return [
            scope for user in sorted(users) if self._only in (None, scope := Scope("user", user))
        ]

    def _matching(self, filters: Filters, kinds: Sequence[str]) -> Memories:
        scopes = self._scopes(filters)
        found = self._hf.scoped(*scopes).list(kinds=kinds) if scopes else []
        return [one for one in found if matches(item_of(one), filters)]

    def _find(self, memory_id: str) -> Memory | None:
        """Find a memory by id alone, in any status: mem0's ids do not name their owner."""
        scopes = self._every_scope()
        # In slices, because a statement takes a limited number of parameters.
        for start in range(0, len(scopes), TOGETHER):
            if found := self._hf.store.get(scopes[start : start + TOGETHER], [memory_id]):
                return found[0]
        return None

    def _active(self, memory_id: str) -> Memory | None:
        found = self._find(memory_id)
        return found if found and found.status == "active" else None

    def _there(self, memory_id: str) -> Memory:
        found = self._active(memory_id)
        if found is None:
            raise InvalidInput(f"Memory with id {memory_id} not found. Nothing was changed.")
        return found

    # Writing

    def _keep(self, owner: Owner, drafts: Sequence[tuple[Draft, Said | None]]) -> list[Item]:
        """Store memories verbatim and atomically, without deduplication."""
        at = self._hf.clock()
        limit = self._hf.settings.max_content_bytes
        built = [commit.build(draft, owner.scope, at=at, max_bytes=limit) for draft, _ in drafts]

        def work(tx: Transaction) -> Memories:
            stored = tx.add_many(built)
            entity_linking.note(tx, stored, at=at)
            return stored

        stored = self._hf.scoped(owner.scope).admin.write("remember", work) if built else []
        return [result_of(one, "ADD", said) for one, (_, said) in zip(stored, drafts, strict=True)]

    def _learn(self, given: Given) -> list[Item]:
        """Store the messages as an ended conversation and extract from it at once."""
        view = self._hf.scoped(given.owner.scope)
        at = self._hf.clock()
        scope = given.owner.scope
        # A run of mem0 is a conversation, so all its additions share one session.
        session = given.owner.run_id or new_id("ses", at)
        turns: Memories = []
        for said in given.said:
            # The text only repeats what memory injected.
            with suppress(Nothing):
                draft = given.turn(said, session)
                turns.append(
                    commit.build(draft, scope, at=at, max_bytes=view.settings.max_content_bytes)
                )
        if not turns:
            return []

        def hear(tx: Transaction) -> None:
            capture.save_turns(tx, turns, at=at)
            session_log.end(tx, scope, session, at=at, reason="added")

        view.admin.write("capture", hear)
        heard = view.store.sessions.get(scope, session)
        assert heard is not None  # it was just written
        sink = SummarySink(view.store, reading_of(view), view.actor)
        learned = runner.read(view.store, heard, sink)

        def work(tx: Transaction) -> list[Item]:
            if learned is not None:
                runner.save(tx, sink, learned, at=at)
            return noted(tx, given)

        return view.admin.write("learn", work)

    def _update(
        self,
        old: Memory,
        text: str | None,
        **fields: Any,
    ) -> None:
        view = self._hf.scoped(old.scope)
        at = self._hf.clock()
        # The text of a record lives in its file, which must change with it.
        if is_record(old):
            view.records.update(old.id, body=text)
            return
        fields["updated_at"] = at
        changed = (
            None
            if text in (None, old.content)
            else commit.build(
                Draft(content=text or "", kind=old.kind),
                old.scope,
                at=at,
                max_bytes=view.settings.max_content_bytes,
            )
        )

        def work(tx: Transaction) -> None:
            fresh = self._fresh(tx, old)
            if changed is None:
                tx.change(fresh, **fields)
                return
            new = commit.rewrite(
                tx,
                fresh,
                fresh.with_(content=changed.content, **fields),
            )
            entity_linking.note(tx, [new], at=at)

        view.admin.write("update", work)

    def _fresh(self, tx: Transaction, old: Memory) -> Memory:
        found = tx.memory(old.scope, old.id)
        if found is None:
            raise NotFound(f"{old.id} was removed in the meantime.", id=old.id)
        return found

    def _forget(self, memories: Memories) -> None:
        if memories:
            scopes = dict.fromkeys(one.scope for one in memories)
            self._hf.scoped(*scopes).forget(*(one.id for one in memories))


def _found(hit: Hit, *, explain: bool) -> Item:
    return {
        **item_of(hit.memory),
        "score": similarity(hit),
        **({"score_details": str(hit.why)} if explain else {}),
    }


def _recalled(
    view: Holdfast,
    query: str,
    *,
    limit: int,
    show_expired: bool,
    deep: bool,
) -> Hits:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("Invalid query: cannot be empty or whitespace-only.")
    return view.recall(
        query, kinds=KINDS, limit=limit, expired=show_expired, min_score=0.0, deep=deep
    )


def _own(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return a caller's metadata as it may be stored."""
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(
            f"metadata must be a mapping such as {{'trip': 1}}, not {metadata!r}. Nothing was "
            "stored."
        )
    return guard_data(metadata or {}, name="metadata")  # type: ignore[no-any-return]


def _wanted(
    filters: Filters | None,
    ids: Mapping[str, Any],
    top_k: int,
) -> tuple[Filters, int]:
    """Return filters and limit, which earlier versions of mem0 accepted as keywords."""
    named = {name: value for name, value in ids.items() if value is not None}
    top_k = named.pop("limit", top_k)
    if unknown := set(named) - set(OWNERS):
        raise InvalidInput(f"Unknown argument {', '.join(sorted(unknown))}.")
    wanted = {**normalise_filters(filters or {}), **normalise_filters(named)}
    check(wanted)
    if not names_owner(wanted):
        raise InvalidInput(
            "filters must contain at least one of: user_id, agent_id, run_id. Example: "
            "filters={'user_id': 'u1'}"
        )
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise InvalidInput(f"Invalid top_k: {top_k}. It must be an integer, 0 or more.")
    return wanted, top_k
