"""Apply the decisions about candidates: commit, hold, propose or drop each one.

Reading and comparing happen before the transaction, because they are slow. A `DecisionWriter` then
writes everything in one transaction and re-checks whatever may have changed in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import Nothing, TooLarge
from ..ingest import commit, entity_linking
from ..ingest.commit import Draft
from ..models.entities.select import Recognition, standard
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction, rests_on
from ..storage.store_types import Filter
from ..types import Edge, Memories, Memory, Micros, Scope, Session
from . import permission_checks, proposals
from .candidate import Candidate, Extractor, grounded
from .dates import days_meant
from .episodes import SOURCE
from .policy import JudgedCandidate, Policy, Verdict, short
from .reconcile import Add, Bump, Coexist, Decision, Ignore, Supersede, decide, statement_text
from .similarity.change_words import words_of
from .similarity.changes import Reader
from .similarity.dedup import merge_batch
from .similarity.known_memories import sharing_words
from .similarity.llm_compare import Matter, collisions, compared, with_claimed_change
from .vocabulary import FADING_RATES

PAGE = 30  # turns that are read together
# Of its category that are looked through for the same subject and predicate.
OF_A_SORT = 200
# of facts that an agent notes with its own tools: full confidence fades in thirty days without use
DECAY_RATE = FADING_RATES["in_a_month"]
# of a fact that another has taken the place of
DEMOTED_CONFIDENCE = 0.3
DEMOTED_RATE = 0.5
IMMEDIATE = "immediate"
SESSION_END = "session_end"
PROMOTION = "promotion"
WAITING = "held"
"""When a candidate was committed; the last one waits."""


# Reading


def pages(turns: Sequence[Memory]) -> Iterator[Sequence[Memory]]:
    """Yield the turns of a session in pages of `PAGE`."""
    for start in range(0, len(turns), PAGE):
        yield turns[start : start + PAGE]


def found_in(turns: Sequence[Memory], extractor: Extractor) -> list[Candidate]:
    """Extract candidates, keep those whose quote occurs in its turn, and merge duplicates."""
    texts = {turn.id: turn for turn in turns}
    found = [one for page in pages(turns) for one in extractor.extract(page)]
    sound = [
        one for one in found if one.source in texts and grounded(one, texts[one.source].content)
    ]
    return merge_batch(sound)


def near(
    store: Store,
    scope: Scope,
    candidate: Candidate,
) -> Memories:
    """Active memories of the candidate's kind that share the most words with it."""
    return sharing_words(store, Filter((scope,), kinds=(candidate.kind,)), candidate.content)


def decided(
    store: Store,
    scope: Scope,
    candidates: Sequence[tuple[Candidate, Micros]],
    complete: Complete | None,
    read: Reader | None = None,
) -> list[Decision]:
    """Decide what to do with each (candidate, time said) pair, given what is known.

    With `read`, a small model helps to tell what changed. With `complete`, a language model settles
    the cases that rules cannot.
    """
    compares = [(one, _comparable(store, scope, one), said_at) for one, said_at in candidates]
    decisions = [
        with_claimed_change(one, decide(one, known, said_at, read), said_at)
        for one, known, said_at in compares
    ]
    if complete is None:
        return decisions
    matters = [
        Matter(one, decision, collisions(one, [*known, *_of_its_sort(store, scope, one, known)]))
        for (one, known, _), decision in zip(compares, decisions, strict=True)
    ]
    return compared(matters, complete)


def _comparable(
    store: Store,
    scope: Scope,
    candidate: Candidate,
) -> Memories:
    """Memories near a candidate; for one that tells a change also the newest on the same slot,
    because "we moved to Valencia" shares no word with "lives in Madrid".
    """
    known = near(store, scope, candidate)
    told = words_of(statement_text(candidate))
    if candidate.kind != "fact" or not told.tells_change:
        return known
    seen = {one.id for one in known}
    newest = store.list(Filter((scope,), kinds=("fact",)), limit=OF_A_SORT)
    return known + [
        one
        for one in newest
        if one.id not in seen and told.single_slots & words_of(statement_text(one)).slots
    ]


def _of_its_sort(
    store: Store,
    scope: Scope,
    candidate: Candidate,
    but: Memories,
) -> Memories:
    """Newest facts in the candidate's category, without those in `but`; possible collisions."""
    if candidate.triple is None:
        return []
    where = Filter((scope,), kinds=(candidate.kind,), categories=(candidate.category,))
    seen = {one.id for one in but}
    return [one for one in store.list(where, limit=OF_A_SORT) if one.id not in seen]


# Writing


@dataclass(frozen=True, slots=True)
class DecisionWriter:
    """Writes the decisions about one session inside one transaction."""

    tx: Transaction
    session: Session
    sources: Mapping[str, Memory]
    """The turns that candidates rest on, by id."""
    policy: Policy
    at: Micros
    actor: str
    max_bytes: int

    def commit(
        self,
        decision: Decision,
        verdict: Verdict,
        timing: str,
    ) -> bool:
        """Apply a decision; return whether it created a memory."""
        candidate = decision.candidate
        if isinstance(decision, Ignore):
            self.note(candidate.source, verdict.instead("drop", decision.reason), candidate)
            return False
        known = self._known(decision)
        if known is not None:
            self._renew(known, candidate.confidence, [candidate.source])
            return False
        memory = self._built(candidate, verdict, timing)
        if memory is None or self._is_turned_down(memory, verdict, candidate):
            return False
        new = commit.remember(self.tx, [memory])[0]
        self._rests_on(new, [candidate.source])
        self._stands(new, decision)
        return True

    def hold(self, judged: JudgedCandidate) -> Memory | None:
        """Store a candidate until the end of its session; recall ignores it."""
        memory = self._built(judged.candidate, judged.verdict, WAITING)
        if memory is None:
            return None
        held = self.tx.add(
            memory.with_(
                status="held",
                status_at=self.at,
                status_reason=judged.verdict.reason,
            )
        )
        self._rests_on(held, [judged.candidate.source])
        return held

    def propose(self, judged: JudgedCandidate) -> Memory | None:
        """Store a candidate as a proposal that needs human approval; None if it is known or the
        same words wait already.
        """
        memory = self._built(judged.candidate, judged.verdict, WAITING)
        if memory is None or self._is_turned_down(memory, judged.verdict, judged.candidate):
            return None
        sources = [judged.candidate.source]
        for one in self.tx.same_words([memory]).get(memory.id, []):
            if one.status == "active":
                self._renew(one, memory.confidence, sources)
                return None
        proposed = permission_checks.propose(self.tx, proposals.proposal(memory, by=self.actor))
        self._rests_on(proposed, sources)
        return proposed if proposed.id == memory.id else None

    def promote(
        self,
        held: Memory,
        decision: Decision,
        turns: Iterable[str],
        *,
        timing: str,
        reason: str,
        **fields: Any,
    ) -> bool:
        """Activate a held memory that rests on `turns`; return whether it is a new memory."""
        if isinstance(decision, Ignore):
            self.refuse(held, decision.reason)
            return False
        known = self._known(decision)
        if known is not None:
            self._renew(known, held.confidence, turns)
            self.refuse(held, f"{known.id} says the same")
            return False
        if permission_checks.is_turned_down(self.tx, held, "model"):
            self.refuse(held, "a person has turned the same words down")
            return False
        before = held.metadata.get("policy", {})
        told_why = short(f"{reason}; it was held because {before.get('reason', '')}")
        policy = {**before, "timing": timing, "reason": told_why}
        told = held.with_(
            metadata={**held.metadata, **fields.pop("metadata", {}), "policy": policy}, **fields
        )
        if self.policy.needs_person(held.kind):
            told = proposals.proposal(told, by=self.actor)
            self.tx.change(
                held,
                status="proposed",
                status_at=self.at,
                status_reason=reason,
                metadata=told.metadata,
            )
            return False
        active = commit.set_status(
            self.tx,
            held,
            "active",
            at=self.at,
            reason=reason,
        )
        new = self.tx.change(active, metadata=told.metadata, confidence=told.confidence)
        self._rests_on(new, turns)
        self._stands(new, decision)
        return True

    def refuse(
        self,
        held: Memory,
        reason: str,
    ) -> None:
        """Archive a held memory with the reason; it can be restored."""
        commit.set_status(
            self.tx,
            held,
            "archived",
            at=self.at,
            reason=reason,
        )

    def note(
        self,
        turn: str,
        verdict: Verdict,
        candidate: Candidate | None = None,
    ) -> None:
        """Record on a turn that something was dropped and why, but not what it said."""
        fresh = self.tx.memory(self.session.scope, turn)
        if fresh is None:
            return
        told = {
            "action": verdict.action,
            "reason": verdict.reason,
            "version": verdict.version,
        }
        if candidate is not None:
            told |= {"kind": candidate.kind, "category": candidate.category}
        decisions = [*fresh.metadata.get("decisions", ()), told]
        self.tx.change(fresh, metadata={**fresh.metadata, "decisions": decisions})

    def withdraw(
        self,
        turns: Mapping[str, str],
    ) -> int:
        """Archive turns that must not be remembered and memories that rest only on them.

        Returns the number of memories archived, turns not counted.
        """
        for turn, reason in turns.items():
            self.note(turn, Verdict("drop", reason))
            fresh = self.tx.memory(self.session.scope, turn)
            if fresh is not None:
                commit.set_status(
                    self.tx,
                    fresh,
                    "archived",
                    at=self.at,
                    reason=reason,
                )
        gone = 0
        for one in (
            self.tx.sessions.memories(self.session.scope, self.session.id, named=True)
            if turns
            else ()
        ):
            rests = set(rests_on(self.tx, one))
            if (
                one.kind == "turn"
                or one.protected
                or one.status == "archived"
                or not rests
                or not rests <= set(turns)
            ):
                continue
            commit.set_status(
                self.tx, one, "archived", at=self.at, reason="asked not to be remembered"
            )
            gone += 1
        return gone

    def _is_turned_down(
        self,
        memory: Memory,
        verdict: Verdict,
        candidate: Candidate,
    ) -> bool:
        """Whether a person rejected the same words; if so, note it on the turn."""
        if not permission_checks.is_turned_down(self.tx, memory, "model"):
            return False
        self.note(
            candidate.source,
            verdict.instead("drop", "a person has turned the same words down"),
            candidate,
        )
        return True

    def waiting(self) -> Memories:
        """Held memories of this session."""
        return [
            one
            for one in self.tx.sessions.memories(self.session.scope, self.session.id, named=True)
            if one.status == "held"
        ]

    def _known(self, decision: Decision) -> Memory | None:
        """The duplicate as this transaction sees it; None if it is no longer active."""
        if not isinstance(decision, Bump):
            return None
        fresh = self.tx.memory(decision.known.scope, decision.known.id)
        if fresh is not None and fresh.status == "active":
            return fresh
        return None

    def _renew(
        self,
        known: Memory,
        confidence: float,
        turns: Iterable[str],
    ) -> None:
        commit.renew(self.tx, known, confidence=confidence, at=self.at)
        self._link(known, turns)

    def _rests_on(
        self,
        memory: Memory,
        turns: Iterable[str],
    ) -> None:
        self._link(memory, turns)
        if memory.status == "active":
            entity_linking.link(
                self.tx, memory, recognition().recognise(memory.content, "local"), at=self.at
            )

    def _link(
        self,
        memory: Memory,
        turns: Iterable[str],
    ) -> None:
        for turn in turns:
            self.tx.link(
                Edge(
                    memory.scope,
                    memory.id,
                    turn,
                    "derived_from",
                    self.at,
                )
            )

    def _stands(
        self,
        new: Memory,
        decision: Decision,
    ) -> None:
        match decision:
            case Supersede(_, old, reason, fulfils):
                is_over = fulfils or old.kind == "rule" or self.policy.vocabulary.retires
                end = retire if is_over else demote
                for one in (old, *decision.others):
                    end(
                        self.tx,
                        one,
                        new,
                        at=self.at,
                        reason=reason,
                    )
            case Coexist(_, old, reason):
                self.tx.link(
                    Edge(
                        new.scope,
                        new.id,
                        old.id,
                        "conflicts_with",
                        self.at,
                        reason,
                    )
                )
            case Add() | Bump() | Ignore():
                pass

    def _built(
        self,
        candidate: Candidate,
        verdict: Verdict,
        timing: str,
    ) -> Memory | None:
        """Build a candidate's memory; None if it is empty after redaction or too large."""
        source = self.sources[candidate.source]
        fading = self.policy.vocabulary.fading(candidate.category, candidate.triple)
        is_fact = candidate.kind == "fact"
        is_plan = is_fact and fading == "with_its_date"
        draft = Draft(
            content=candidate.content,
            kind=candidate.kind,
            category=candidate.category,
            author=candidate.author,
            event_time=source.event_time,
            confidence=candidate.confidence,
            valid_until=last_day(candidate, source.event_time) if is_plan else None,
            decay_rate=FADING_RATES[fading] if is_fact else 0.0,
            source=SOURCE,
            trust="external" if source.trust == "external" else "derived",
            quote=candidate.quote,
            triple=candidate.triple,
            metadata={
                "session": self.session.id,
                "policy": {
                    "action": verdict.action,
                    "reason": verdict.reason,
                    "version": verdict.version,
                    "timing": timing,
                },
            },
        )
        try:
            return commit.build(draft, self.session.scope, at=self.at, max_bytes=self.max_bytes)
        except (Nothing, TooLarge):
            return None


def last_day(candidate: Candidate, said_at: Micros) -> Micros | None:
    """When the latest date that a plan names is over; None if it names none that is to come."""
    text = f"{candidate.content} {candidate.quote}"
    ends = (last + 1 for _, last in days_meant(text, said_at))
    return max((end for end in ends if end > said_at), default=None)


def demote(
    tx: Transaction,
    old: Memory,
    new: Memory,
    *,
    at: Micros,
    reason: str,
) -> None:
    """Retire a replaced fact; if it is restored, its confidence is low and decays fast."""
    fresh = tx.memory(old.scope, old.id)
    if fresh is not None and fresh.id != new.id:
        fresh = tx.change(
            fresh,
            confidence=min(commit.said(fresh), DEMOTED_CONFIDENCE),
            strength=None,
            decay_rate=max(fresh.decay_rate, DEMOTED_RATE),
            updated_at=at,
        )
        retire(
            tx,
            fresh,
            new,
            at=at,
            reason=reason,
        )


def retire(
    tx: Transaction,
    old: Memory,
    new: Memory,
    *,
    at: Micros,
    reason: str,
) -> None:
    """Retire a replaced memory and link it to the one that replaces it."""
    fresh = tx.memory(old.scope, old.id)
    if fresh is not None and fresh.id != new.id:
        gone = "archived" if fresh.kind == "rule" else "superseded"
        told = f"replaced by {new.id}: {reason}"
        commit.supersede(
            tx,
            fresh,
            new,
            at=at,
            reason=reason,
            told=told,
            status=gone,
        )


@cache
def recognition() -> Recognition:
    """Entity recognisers for extracted memories; local only, no model."""
    return standard()
