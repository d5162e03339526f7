"""The sink for the end of a session: facts of unread turns, held candidates and the summary.

Unread turns are extracted; held candidates are kept or archived by the evidence of the whole
session, its summary and earlier sessions; the session gets its summary. All writes (new facts,
renewals, replacements, links to turns, summary, progress marks, end of the job) are one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import CapReached, ModelFailed
from ..ingest import owner_profile
from ..ingest.session_log import end
from ..storage.protocol import Store, Transaction, rests_on
from ..storage.store_types import Author, Filter
from ..types import IDLE_MINUTES, MINUTE, Memories, Memory, Micros, Scope, Session, new_id
from . import runner
from . import summaries as arc_
from .apply import PROMOTION, SESSION_END, DecisionWriter, decided
from .candidate import Candidate, as_candidate
from .episodes import EXTRACTED, NO_OUTPUT
from .job_types import Due, Kind, Output, Task, Worker, due_looks
from .orphaned_sessions import is_orphaned
from .policy import HELD, PEOPLE
from .progress import FACTS, SUMMARY, Marks, covers
from .promotion import NOT_KEPT, SURE, Held, Promotion, Refusal, promote
from .reconcile import Decision
from .runner import Extraction, Reached
from .similarity.known_memories import sharing_words
from .turn_extraction import (
    ExtractionContext,
    TurnExtraction,
    look,
    reached,
    remembers,
    rules,
    usual,
    write_down,
)

# What a worker looks for to end idle sessions, and how often it goes through all open ones: the end
# of a server is no change to a scope.
ENDING = "end"
ORPHANS_EVERY = 5 * MINUTE
# Arcs, and held candidates, of other sessions that one candidate is compared with.
PRIOR = 20


@dataclass(frozen=True, slots=True)
class PromotedFact:
    """A held candidate that is kept: its key, its evidence and how it joins what is known."""

    key: str
    decision: Decision
    turns: frozenset[str]
    reason: str
    promotion: Promotion | None = None
    """What bore it out; None for one that was sure and only waited."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Result of reading a session: findings, promoted candidates and the arc."""

    every: Memories
    """All turns of the session that may be remembered."""
    found: TurnExtraction
    kept: Sequence[PromotedFact] = ()
    refused: Sequence[Refusal] = ()
    arc: arc_.Arc | None = None
    failure: ModelFailed | None = None
    """Why a model gave no summary: facts are kept, held candidates wait for the next try."""


@dataclass(frozen=True, slots=True)
class SessionExtraction:
    """Counts of an extraction: new memories, refused candidates and arcs."""

    new: int = 0
    refused: int = 0
    arcs: int = 0

    def __add__(self, other: SessionExtraction) -> SessionExtraction:
        return SessionExtraction(
            self.new + other.new, self.refused + other.refused, self.arcs + other.arcs
        )


# Reading


@dataclass(frozen=True, slots=True)
class SummarySink:
    """Extracts an ended session."""

    store: Store
    reading: ExtractionContext
    actor: str = "learn"
    name = SUMMARY
    # What was considered after a reply must not be written twice.
    builds_on = (FACTS,)

    def wants(self, session: Session, marks: Marks) -> bool:
        """Accept sessions that have ended and have activity since they were last read."""
        return session.ended_at is not None and not covers(marks.get(SUMMARY), session)

    def extract(
        self,
        session: Session,
        turns: Memories,
        marks: Marks,
    ) -> Learned:
        """Findings in the unread turns, and decisions about all held candidates."""
        store, reading = self.store, self.reading
        read_to = marks[SUMMARY].position if SUMMARY in marks else -1
        found = look(
            store,
            session,
            turns,
            reading,
            marks,
            summarise=True,
        )
        remain = [turn for turn in turns if turn.id not in found.gone]
        is_new = any(turn.created_at > read_to for turn in turns)
        if not is_new or found.all_gone or not remembers(store, session.scope):
            return Learned(remain, found)
        # Anew, and not what was stored: a fact may have been known before, or wait for a person.
        found_anew = [] if reading.complete else rules(reading.tiers).extract(remain)
        try:
            made = arc_.summarise_session(
                remain,
                reading.policy.vocabulary,
                reading.complete,
                found.summary,
                statements=found_anew,
                people=arc_.people_in(store, session.scope, remain),
            )
        except ModelFailed as error:  # what was found is written all the same
            return Learned(remain, found, failure=error)
        kept, refused = _weighed(
            store,
            reading,
            _pool(store, session, found),
            remain,
            made,
        )
        return Learned(
            remain,
            found,
            kept,
            refused,
            made,
        )

    def is_current(self, read: Session, now: Session) -> bool:
        """Whether the session is still ended and has no new turns."""
        return now.ended_at is not None and now.last_activity == read.last_activity

    def apply(
        self,
        tx: Transaction,
        session: Session,
        extraction: Extraction[Learned],
        *,
        at: Micros,
    ) -> SessionExtraction:
        """Write what was learned."""
        learned, reading = extraction.found, self.reading
        sources = {turn.id: turn for turn in extraction.turns}
        scribe = DecisionWriter(
            tx, session, sources, reading.policy, at, self.actor, reading.max_bytes
        )
        new = _write_learned(scribe, learned)
        if learned.arc is not None:
            arc_.save_summary(
                tx, session, learned.arc, learned.every, at=at, max_bytes=reading.max_bytes
            )
        owner_profile.keep_rules_few(tx, session.scope, at=at)
        return SessionExtraction(new, len(learned.refused), int(learned.arc is not None))

    def reached(self, session: Session, extraction: Extraction[Learned]) -> list[Reached]:
        """The end of the session and of its turns; only that of its turns if the summary failed.

        The position is the time of the last turn, not the reader's clock: two machines' clocks
        differ, and a later turn must never look older than the reading.
        """
        learned = extraction.found
        facts = reached(learned.found, extraction.marks)
        if learned.failure is not None:
            return [facts]
        outcome = EXTRACTED if learned.found.judged or learned.kept else NO_OUTPUT
        return [
            Reached(SUMMARY, session.last_activity, {"outcome": outcome}),
            facts,
        ]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Something held until session end: a stored held memory, or a candidate just found."""

    held: Held
    candidate: Candidate
    scope: Scope
    said_at: Micros
    sure: bool


def _pool(
    store: Store,
    session: Session,
    found: TurnExtraction,
) -> list[_Waiting]:
    """All held items: stored ones by id, and those of the last turns by position."""
    pool = []
    for memory in held_of(store, session):
        action = str(memory.metadata.get("policy", {}).get("action", ""))
        turns = frozenset(rests_on(store, memory)) - set(found.gone)
        # Otherwise it goes with the turns that it rests on.
        if turns:
            candidate = as_candidate(memory)
            held = _held(
                store,
                session,
                memory.id,
                candidate,
                turns,
                action,
            )
            pool.append(
                _Waiting(
                    held,
                    candidate,
                    session.scope,
                    memory.event_time,
                    action not in HELD,
                )
            )
    said = {turn.id: turn.event_time for turn in found.turns}
    for place, one in enumerate(found.judged):
        if one.verdict.action in HELD:
            candidate = one.candidate
            held = _held(
                store,
                session,
                _key(place),
                candidate,
                frozenset((candidate.source,)),
                one.verdict.action,
            )
            pool.append(
                _Waiting(
                    held,
                    candidate,
                    session.scope,
                    said[candidate.source],
                    sure=False,
                )
            )
    return pool


def _key(place: int) -> str:
    """Key of a candidate that has no id yet."""
    return f"judged {place}"


def held_of(store: Store, session: Session) -> Memories:
    """Held memories of a session."""
    waiting = store.list(
        Filter((session.scope,), kinds=("fact", "rule"), statuses=("held",)), order="oldest"
    )
    return [one for one in waiting if one.metadata.get("session") == session.id]


def _held(
    store: Store,
    session: Session,
    key: str,
    candidate: Candidate,
    turns: frozenset[str],
    action: str,
) -> Held:
    return Held(
        key=key,
        content=candidate.content,
        quote=candidate.quote,
        kind=candidate.kind,
        triple=candidate.triple,
        turns=turns,
        repetition=action == "require_repetition",
        prior=_prior(store, session, candidate),
    )


def _prior(
    store: Store,
    session: Session,
    candidate: Candidate,
) -> tuple[str, ...]:
    """What other sessions told on the subject: arcs, and candidates said too rarely to keep."""
    said = f"{candidate.quote} {candidate.content}"
    arcs = Filter((session.scope,), kinds=("episode",), categories=(arc_.CATEGORY,))
    waited = Filter((session.scope,), kinds=(candidate.kind,), statuses=("archived",))
    found = [
        memory
        for where in (arcs, waited)
        for memory in sharing_words(store, where, said, limit=PRIOR)
        if memory.metadata.get("session") not in (None, session.id)
        and (memory.status == "active" or memory.status_reason.startswith(NOT_KEPT))
    ]
    return tuple(f"{one.title} {one.content} {one.quote}" for one in found)


def _weighed(
    store: Store,
    reading: ExtractionContext,
    pool: Sequence[_Waiting],
    turns: Memories,
    made: arc_.Arc | None,
) -> tuple[list[PromotedFact], list[Refusal]]:
    """Decide which held items are kept, how each joins what is known, and which are refused."""
    if not pool:
        return [], []
    promotions, refusals = promote(
        [one.held for one in pool if not one.sure],
        {turn.id: turn.content for turn in turns if turn.role in PEOPLE},
        made.text if made else "",
        guides=lambda text: reading.policy.vocabulary.says("assistant_verb", text),
    )
    chosen = {one.kept.key: one for one in promotions}
    stay = [one for one in pool if one.sure or one.held.key in chosen]
    # What the session bore out is no mere hint any more.
    surely = {key for key, promotion in chosen.items() if promotion.sure}
    said = [
        (
            replace(one.candidate, confidence=SURE) if one.held.key in surely else one.candidate,
            one.said_at,
        )
        for one in stay
    ]
    decisions = decided(store, pool[0].scope, said, reading.complete, reading.reader())
    kept = []
    for one, decision in zip(stay, decisions, strict=True):
        promotion = chosen.get(one.held.key)
        reason = promotion.reason if promotion else "waited for the end of the session"
        rests_on = one.held.turns | promotion.support if promotion else one.held.turns
        kept.append(
            PromotedFact(
                one.held.key,
                decision,
                rests_on,
                reason,
                promotion,
            )
        )
    return kept, refusals


# Writing


def _write_learned(scribe: DecisionWriter, learned: Learned) -> int:
    """Write a session's facts and the outcome of held items; return how many are new."""
    written = write_down(scribe, learned.found, timing=SESSION_END)
    waiting = {one.id: one for one in scribe.waiting()}
    waiting |= {_key(place): one for place, one in written.held.items()}
    new = written.new + sum(_promote(scribe, one, waiting) for one in learned.kept)
    for refusal in learned.refused:
        if refusal.held.key in waiting:
            scribe.refuse(waiting[refusal.held.key], refusal.reason)
    return new


def _promote(
    scribe: DecisionWriter,
    kept: PromotedFact,
    waiting: Mapping[str, Memory],
) -> bool:
    """Activate one held candidate and retire those that mean the same in its favour."""
    held = waiting.get(kept.key)
    # Nothing was left of it, or somebody has put it away meanwhile.
    if held is None:
        return False
    promotion = kept.promotion
    if promotion is None:
        return scribe.promote(
            held, kept.decision, kept.turns, timing=SESSION_END, reason=kept.reason
        )
    confidence = SURE if promotion.sure else held.confidence
    new = scribe.promote(
        held,
        kept.decision,
        kept.turns,
        timing=PROMOTION,
        reason=kept.reason,
        confidence=max(held.confidence, confidence),
        metadata={"quotes": list(promotion.quotes)},
    )
    for other in promotion.others:
        if other.key in waiting:
            scribe.refuse(waiting[other.key], f"{held.id} says the same")
    return new


def learn(
    store: Store,
    session: Session,
    reading: ExtractionContext,
    author: Author,
) -> SessionExtraction:
    """Extract one ended session now. Idempotent.

    Raises ModelFailed if a model fails; facts are kept if only the summary does.
    """
    sink = SummarySink(store, reading, author.actor)
    extraction = runner.read(store, session, sink)
    if extraction is None:
        return SessionExtraction()
    done = store.write(author, lambda tx: runner.save(tx, sink, extraction, at=author.at))
    if extraction.found.failure is not None:
        raise extraction.found.failure
    return done or SessionExtraction()


def learn_all(
    store: Store,
    sessions: Sequence[Session],
    reading: ExtractionContext,
    new_author: Callable[[], Author],
) -> SessionExtraction:
    """Extract these ended sessions now, each in a run of its own.

    Raises ModelFailed for the first that a model failed for, after all others were read; a cap
    that is reached ends it at once.
    """
    total = SessionExtraction()
    failures: list[ModelFailed] = []
    for session in sessions:
        try:
            total += learn(store, session, reading, new_author())
        except CapReached:
            raise
        except ModelFailed as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return total


# Ending


def idle(
    store: Store,
    scopes: Sequence[Scope] | None,
    now: Micros,
    *,
    minutes: float = IDLE_MINUTES,
) -> list[Session]:
    """Open sessions that have been idle for this long, or whose server is gone.

    Sessions led by an agent are left out: the agent ends them.
    """
    silent = now - int(minutes * MINUTE)
    return [
        one
        for one in store.sessions.unled(scopes)
        if one.last_activity <= silent or is_orphaned(one)
    ]


def end_idle(
    store: Store,
    scopes: Sequence[Scope],
    author: Author,
    *,
    minutes: float = IDLE_MINUTES,
) -> list[Session]:
    """End the sessions that have been idle for this long or whose server is gone; return them.

    A session resumes when somebody speaks in it again.
    """
    found = idle(store, scopes, author.at, minutes=minutes)

    def work(tx: Transaction) -> list[Session]:
        ended = []
        for one in found:
            fresh = tx.sessions.get(one.scope, one.id)
            silent = fresh is not None and fresh.last_activity == one.last_activity
            why = "its server is gone" if is_orphaned(one) else "idle"
            if silent and end(
                tx,
                one.scope,
                one.id,
                at=author.at,
                reason=why,
            ):
                ended.append(one)
        return ended

    if found:
        return store.write(author, work)
    return []


# As a job


def end_silent(worker: Worker, actor: str | None = None) -> None:
    """End the idle sessions of a worker's scopes, so that they can be extracted."""
    store, at = worker.store, worker.clock()
    if worker.scopes is None:
        store.looks.watch(ENDING, ("",))
        store.looks.gather()
    if worker.scopes is not None or _orphans_due(worker, at):
        _end_all(worker, idle(store, worker.scopes, at), actor)
    if worker.scopes is not None:
        return
    for looks in due_looks(worker, ENDING, ("",)):
        scopes = [look.scope for look in looks]
        silent_at = dict[Scope, Micros]()
        for one in store.sessions.unled(scopes):
            ends = one.last_activity + IDLE_MINUTES * MINUTE
            if ends > at:
                silent_at[one.scope] = min(ends, silent_at.get(one.scope, ends))
        _end_all(worker, idle(store, scopes, at), actor)
        # A session that ends is a change, and brings the next look at once.
        store.looks.settle([(look, silent_at.get(look.scope)) for look in looks])


def _orphans_due(worker: Worker, at: Micros) -> bool:
    """Whether it is time to look through all open sessions for those whose server is gone."""
    last = worker.rounds.orphans_at
    if last is not None and at - last < ORPHANS_EVERY:
        return False
    worker.rounds.orphans_at = at
    return True


def _end_all(worker: Worker, sessions: Sequence[Session], actor: str | None) -> None:
    # Scope by scope: no owner waits until the sessions of all others have ended.
    for scope in dict.fromkeys(one.scope for one in sessions):
        at = worker.clock()
        author = Author(actor or f"worker:{worker.name}", new_id("run", at), at, "end")
        end_idle(worker.store, [scope], author)


def _reading(task: Task) -> ExtractionContext:
    worker = task.worker
    return ExtractionContext(
        worker.policy or usual(),
        task.complete,
        worker.extractor,
        worker.max_bytes,
        worker.tiers,
    )


def _due(worker: Worker) -> Iterator[Due]:
    for session in worker.store.sessions.unread(worker.scopes):
        yield Due(session.scope, session.id, session.last_activity)


def _run(task: Task) -> Output | None:
    store = task.worker.store
    job = task.job
    worker = task.worker
    session = store.sessions.get(job.scope, job.key)
    sink = SummarySink(store, _reading(task), f"worker:{worker.name}")
    extraction = runner.read(store, session, sink) if session is not None else None
    if extraction is None:
        # Purged, opened again, or read by somebody else meanwhile.
        return None
    at = worker.clock()
    if extraction.found.failure is not None:
        task.write(lambda tx: runner.save(tx, sink, extraction, at=at))
        raise extraction.found.failure
    return lambda tx: runner.save(tx, sink, extraction, at=at)


LEARN = Kind("learn", due=_due, run=_run, looks=lambda worker: ("",))
"""One job for each session that has ended and holds turns that were not read."""
