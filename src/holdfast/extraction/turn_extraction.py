"""The sink for facts after a reply: judge new turns, then commit, hold, propose or drop.

Writes and progress mark are one transaction, so neither the next reply nor the end of the session
reads the same turns again. If a model fails, only the error is written, and the next reply retries.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ..errors import Conflict, ModelFailed
from ..ingest import owner_profile
from ..models.embeddings.tiers import Tiers
from ..models.llm.budget import Estimate
from ..models.llm.chat import Complete
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Spent
from ..text.tokens import query_terms
from ..types import Memories, Memory, Micros, Progress, Scope, Session
from . import runner
from .apply import IMMEDIATE, PAGE, DecisionWriter, decided, found_in
from .candidate import Candidate, Changes, Extractor
from .llm_extractor import LLMExtractor
from .policy import (
    MODEL,
    JudgedCandidate,
    Policy,
    Verdict,
    asks_to_forget_all,
    is_among_people,
    private_after,
    withdrawn,
)
from .progress import FACTS, SUMMARY, Marks
from .reconcile import Decision, changes_known
from .runner import Extraction, Reached
from .similarity.change_reader import reader_of
from .similarity.changes import Reader
from .similarity.known_memories import may_change
from .summaries import is_worth_a_summary
from .vocabulary import vocabulary

log = logging.getLogger(__name__)

# Turns before those that are read, shown to a model so that it understands them.
HISTORY = 6
PRIVATE = "said in private"


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """How sessions are extracted: the extractor, and the policy that judges findings."""

    policy: Policy
    complete: Complete | None = None
    """A language model; None where rules do."""
    extractor: Extractor | None = None
    """What finds candidates; None stands for the model, or for rules where there is none."""
    max_bytes: int = 100_000
    tiers: Tiers | None = None
    """The embedding models; one of them lets the rules judge what is worth keeping, and says that
    there is time to read statements together.
    """

    def extract(
        self,
        history: Sequence[Memory],
        known: Callable[[], Memories] = list,
        *,
        summarise: bool = False,
    ) -> Extractor:
        """The extractor for turns that follow `history`. A model is told what is `known`, and may
        be asked for a summary in the same call.
        """
        if self.extractor is not None:
            return self.extractor
        if self.complete is not None:
            return LLMExtractor(
                self.complete,
                self.policy.vocabulary,
                history,
                known=known(),
                summarise=summarise,
            )
        return _Following(rules(self.tiers, self._changes(known)), history)

    def _changes(self, known: Callable[[], Memories]) -> Changes:
        """What tells whether a statement of a turn ends something known."""
        loaded = cache(known)
        read = self.reader()
        return lambda one, turn, in_passing: changes_known(
            one, loaded(), turn.event_time, read, in_passing=in_passing
        )

    def reader(self) -> Reader | None:
        """What reads an earlier and a later statement together, where the encoder is used."""
        return reader_of(self.tiers) if self.tiers is not None else None


def reliable(complete: Complete) -> Complete:
    """Wrap the caller's model so that every failure is a ModelFailed."""

    def answer(prompt: str) -> str:
        try:
            return complete(prompt)
        except ModelFailed:
            raise
        except Exception as error:  # it is the caller's, and may raise anything
            raise ModelFailed(
                f"The model did not answer: {error or type(error).__name__}"
            ) from error

    return answer


@dataclass(frozen=True, slots=True)
class _Following:
    """An extractor that reads earlier turns as context and reports only the later ones.

    "It's Tuesday, not Monday" means something only with what was said before.
    """

    extractor: Extractor
    history: Sequence[Memory]

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        wanted = {turn.id for turn in turns}
        return [
            one for one in self.extractor.extract([*self.history, *turns]) if one.source in wanted
        ]


@dataclass(frozen=True, slots=True)
class TurnExtraction:
    """What to do about the turns that were read; not yet written."""

    turns: Memories
    """Those that were not read before."""
    gone: Mapping[str, str] = field(default_factory=dict)
    """Turns that are not to be remembered, with the reason; the ones before among them."""
    judged: list[JudgedCandidate] = field(default_factory=list)
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    """By the place of a judgement, what to do with those that are committed."""
    private: bool = False
    """Whether nothing that follows is to be remembered."""
    all_gone: bool = False
    """Whether nothing of the session so far is, what is held among it."""
    summary: Any = None
    """What a model answered about the whole session, if it was asked with the turns."""


@dataclass(slots=True)
class Written:
    """What was written: the number of new memories, and held ones by position of their verdict."""

    new: int = 0
    held: dict[int, Memory] = field(default_factory=dict)


def remembers(store: Store, scope: Scope) -> bool:
    """Whether an owner wants anything remembered."""
    return bool(owner_profile.settings_of(store.profiles.get(scope))["enabled"])


def look(
    store: Store,
    session: Session,
    turns: Memories,
    reading: ExtractionContext,
    marks: Marks,
    *,
    summarise: bool = False,
) -> TurnExtraction:
    """Read a session's unread turns and decide about their content; writes nothing.

    With `summarise`, a model that reads the whole session at once also sums it up.
    """
    seen = _seen(marks, turns)
    fresh = [turn for turn in turns if (turn.position or 0) > seen]
    if not remembers(store, session.scope):
        return TurnExtraction(fresh)
    before = [turn for turn in turns if (turn.position or 0) <= seen]
    words = reading.policy.vocabulary
    gone = withdrawn(turns, words, since=seen)
    private = FACTS in marks and bool(marks[FACTS].detail.get("private"))
    readable: Memories = []
    for turn in fresh:
        was = private
        private = private_after(turn, words, private=was)
        # "you can remember again" itself is nothing to remember.
        if was:
            gone.setdefault(turn.id, PRIVATE)
        if turn.id not in gone:
            readable.append(turn)
    extractor = reading.extract(
        [turn for turn in before if turn.id not in gone][-HISTORY:],
        lambda: may_change(store, session.scope, readable),
        summarise=summarise
        and not before
        and len(readable) <= PAGE
        and is_worth_a_summary(readable, words),
    )
    found = found_in(readable, extractor) if readable else []
    if is_among_people(turns):
        # Whatever a model says: the other person is told, and nobody who could follow a rule.
        found = [one for one in found if one.kind != "rule"]
    sources = {turn.id: turn for turn in readable}
    judged = [reading.policy.judge(one, sources[one.source]) for one in found]
    places = [place for place, one in enumerate(judged) if one.verdict.action == "commit_now"]
    told = [
        (judged[place].candidate, sources[judged[place].candidate.source].event_time)
        for place in places
    ]
    decisions = decided(store, session.scope, told, reading.complete, reading.reader())
    whole = any(asks_to_forget_all(turn, words) for turn in fresh)
    return TurnExtraction(
        fresh,
        gone,
        judged,
        dict(zip(places, decisions, strict=True)),
        private,
        whole,
        extractor.summary if isinstance(extractor, LLMExtractor) else None,
    )


def _seen(marks: Marks, turns: Sequence[Memory]) -> int:
    """Position of the last turn read, after a reply or at an earlier session end."""
    read_to = marks[SUMMARY].position if SUMMARY in marks else -1
    before = (turn.position or 0 for turn in turns if turn.created_at <= read_to)
    considered = marks[FACTS].position if FACTS in marks else -1
    return max(considered, max(before, default=-1))


@dataclass(frozen=True, slots=True)
class FactSink:
    """Extracts facts and rules from the latest turns."""

    store: Store
    reading: ExtractionContext
    actor: str
    name = FACTS
    builds_on = ()

    def wants(self, session: Session, marks: Marks) -> bool:
        """Accept every session: only its turns tell whether any is new."""
        del session, marks
        return True

    def extract(
        self,
        session: Session,
        turns: Memories,
        marks: Marks,
    ) -> TurnExtraction | None:
        """Judged findings of the new turns; None if no turn is new."""
        found = look(
            self.store,
            session,
            turns,
            self.reading,
            marks,
        )
        if found.turns:
            return found
        return None

    def is_current(self, read: Session, now: Session) -> bool:
        """Always true: turns added since are left for the next run."""
        del read, now
        return True

    def apply(
        self,
        tx: Transaction,
        session: Session,
        extraction: Extraction[TurnExtraction],
        *,
        at: Micros,
    ) -> list[JudgedCandidate]:
        """Write the decisions and return what was written."""
        reading = self.reading
        sources = {turn.id: turn for turn in extraction.turns}
        scribe = DecisionWriter(
            tx, session, sources, reading.policy, at, self.actor, reading.max_bytes
        )
        write_down(scribe, extraction.found, timing=IMMEDIATE)
        return extraction.found.judged

    def reached(self, session: Session, extraction: Extraction[TurnExtraction]) -> list[Reached]:
        """Progress up to the last of these turns."""
        del session
        return [reached(extraction.found, extraction.marks)]


def reached(found: TurnExtraction, marks: Marks) -> Reached:
    """How far a session's turns are read, and whether later ones are private."""
    known = marks[FACTS].position if FACTS in marks else -1
    last = max((turn.position or 0 for turn in found.turns), default=known)
    return Reached(FACTS, last, {"private": True} if found.private else {})


def consider(
    store: Store,
    session: Session,
    reading: ExtractionContext,
    author: Author,
) -> list[JudgedCandidate]:
    """Extract a session's new turns and write the result; return the decisions.

    Returns nothing if a model fails: the mark keeps the error, and the next call retries. Returns
    nothing either for an owner who wants nothing remembered; those turns are not read later.
    """
    try:
        done = runner.extract(store, session, FactSink(store, reading, author.actor), author)
    except ModelFailed as error:  # the reply has been given, and the next time tries again
        reason = str(error)
        log.warning("session %s was not considered: %s", session.id, reason)
        store.write(author, lambda tx: _note_failure(tx, session, reason, author.at))
        return []
    except Conflict as error:
        log.info("session %s: %s", session.id, error)
        return []
    return done or []


def planned_cost(
    store: Store,
    session: Session,
    reading: ExtractionContext,
) -> Spent:
    """About what `consider` would ask of the model now; asks nobody and writes nothing."""
    estimate = Estimate()
    if reading.complete is not None:
        rehearsed = replace(reading, complete=estimate)
        runner.read(store, session, FactSink(store, rehearsed, "plan"))
    return estimate.spent


def write_down(
    scribe: DecisionWriter,
    found: TurnExtraction,
    *,
    timing: str,
) -> Written:
    """Write the decisions: withdraw, commit, hold, propose or note."""
    scribe.withdraw(found.gone)
    if found.all_gone:
        for held in scribe.waiting():
            scribe.refuse(held, "asked not to be remembered")
    written = Written()
    for place, one in enumerate(found.judged):
        match one.verdict.action:
            case "commit_now" if not (one.waits and timing == IMMEDIATE):
                written.new += scribe.commit(found.decisions[place], one.verdict, timing)
            case "propose":
                scribe.propose(one)
            case "drop":
                scribe.note(one.candidate.source, _without_its_words(one), one.candidate)
            case _:
                if waiting := scribe.hold(one):
                    written.held[place] = waiting
    owner_profile.keep_rules_few(scribe.tx, scribe.session.scope, at=scribe.at)
    return written


def _without_its_words(dropped: JudgedCandidate) -> Verdict:
    """The verdict on a dropped candidate, with a reason that does not reveal its text."""
    verdict = dropped.verdict
    candidate = dropped.candidate
    words = set(query_terms(f"{candidate.quote} {candidate.content}"))
    if verdict.version == MODEL and words & set(query_terms(verdict.reason)):
        return verdict.instead("drop", "llm_policy: not worth keeping")
    return verdict


def failures(store: Store, scopes: Sequence[Scope]) -> dict[str, str]:
    """Sessions on which the model failed, with the error."""
    marks = [mark for scope in scopes for mark in store.progress.list(scope) if mark.sink == FACTS]
    return {
        f"session {mark.session}": mark.detail["failed"]["error"]
        for mark in marks
        if "failed" in mark.detail
    }


def _note_failure(
    tx: Transaction,
    session: Session,
    error: str,
    at: Micros,
) -> None:
    """Record an error on a session's mark without advancing it."""
    if tx.sessions.get(session.scope, session.id) is None:
        return
    known = tx.progress.get(session.scope, session.id, FACTS)
    detail = {**(known.detail if known else {}), "failed": {"error": error, "at": at}}
    position = known.position if known else -1
    tx.progress.put(
        Progress(
            session.scope,
            session.id,
            FACTS,
            position,
            at,
            detail,
        )
    )


def rules(
    tiers: Tiers | None = None,
    changes: Changes = lambda *_: False,
) -> Extractor:
    """The rule-based extractor, with a judge where these models have the encoder that it needs."""
    # Its word lists load when they are first needed.
    from .judge import judge_of  # noqa: PLC0415
    from .rules import RuleExtractor  # noqa: PLC0415

    return RuleExtractor(judge=judge_of(tiers) if tiers is not None else None, changes=changes)


@cache
def usual() -> Policy:
    """The default policy."""
    return Policy(vocabulary("general"))
