"""After a reply: what was just said is read, judged by the policy, and committed, held, proposed or
dropped.

All of it is one transaction, and the session remembers how far it was considered, so that neither
the next reply nor the end of the session reads the same turns again. When a model does not answer
nothing is written; the session says so, and the next time tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ..errors import Conflict, ModelFailed
from ..ingest import owner_profile
from ..models.llm.chat import Complete
from ..storage.protocol import Author, Filter, Store, Writer
from ..text.reference import BRANCH
from ..text.tokens import query_terms
from ..types import Memories, Memory, Scope, Session
from .apply import IMMEDIATE, DecisionWriter, decided, found_in
from .candidate import Candidate, Extractor
from .llm_extractor import LLMExtractor
from .policy import (
    MODEL,
    JudgedCandidate,
    Policy,
    Verdict,
    asks_to_forget_all,
    private_after,
    withdrawn,
)
from .reconcile import Decision
from .vocabulary import vocabulary

log = logging.getLogger(__name__)

# Turns before those that are read, shown to a model so that it understands them.
HISTORY = 6
# The key under which a session keeps how far it was considered.
NOTES = "policy"
PRIVATE = "said in private"


@dataclass(frozen=True, slots=True)
class ExtractionContext:
    """How conversations are read: by what, and by which policy what is found is judged."""

    policy: Policy
    complete: Complete | None = None
    """A language model; None where rules do."""
    extractor: Extractor | None = None
    """What finds candidates; None stands for the model, or for rules where there is none."""
    max_bytes: int = 100_000

    def extract(self, history: Sequence[Memory]) -> Extractor:
        """What finds candidates in turns that follow these."""
        if self.extractor is not None:
            return self.extractor
        if self.complete is not None:
            return LLMExtractor(self.complete, self.policy.vocabulary, history)
        return _Following(rules(), history)


def reliable(complete: Complete) -> Complete:
    """A model of the caller's own, of which whatever goes wrong is a ModelFailed."""

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
    """An extractor that reads turns together with those before them, and finds what only the later
    ones say.

    "It's Tuesday, not Monday" says something only about what was said before.
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
    """What is to be done about the turns that were read; nothing of it is written yet."""

    session: Session
    turns: Memories
    """Those that were not considered before."""
    gone: Mapping[str, str] = field(default_factory=dict)
    """Turns that are not to be remembered, with the reason; the ones before among them."""
    judged: list[JudgedCandidate] = field(default_factory=list)
    decisions: Mapping[int, Decision] = field(default_factory=dict)
    """By the place of a judgement, what to do with those that are committed."""
    private: bool = False
    """Whether nothing that follows is to be remembered."""
    all_gone: bool = False
    """Whether nothing of the session so far is, what is held among it."""


@dataclass(slots=True)
class Written:
    """What was written: how many memories are new, and by the place of a judgement, what is
    held.
    """

    new: int = 0
    held: dict[int, Memory] = field(default_factory=dict)


def notes(session: Session) -> Mapping[str, Any]:
    """What a session keeps about its own consideration."""
    found = session.metadata.get(NOTES, {})
    return found if isinstance(found, Mapping) else {}


def noted(session: Session, **changes: Any) -> Session:
    """The session with some of that changed; None takes a note away."""
    kept = {key: value for key, value in {**notes(session), **changes}.items() if value is not None}
    return replace(session, metadata={**session.metadata, NOTES: kept})


def remembers(store: Store, scope: Scope) -> bool:
    """Whether anything of an owner is to be remembered."""
    return bool(owner_profile.settings_of(store.profile(scope))["enabled"])


def turns_of(store: Store, session: Session) -> Memories:
    """The turns of a session that may be remembered, in order; those of abandoned branches taught
    nothing.
    """
    found = store.list(
        Filter((session.scope,), kinds=("turn",), sessions=(session.id,)), order="oldest"
    )
    held = [turn for turn in found if not turn.metadata.get(BRANCH)]
    return sorted(held, key=lambda turn: (turn.position or 0, turn.seq))


def look(
    store: Store, session: Session, turns: Memories, reading: ExtractionContext
) -> TurnExtraction:
    """Reads what of a session's turns was not considered yet, and decides what to do with it;
    nothing is written.
    """
    seen = _seen(session, turns)
    fresh = [turn for turn in turns if (turn.position or 0) > seen]
    if not remembers(store, session.scope):
        return TurnExtraction(session, fresh)
    before = [turn for turn in turns if (turn.position or 0) <= seen]
    words = reading.policy.vocabulary
    gone = withdrawn(turns, words, since=seen)
    private = bool(notes(session).get("private"))
    readable: Memories = []
    for turn in fresh:
        was = private
        private = private_after(turn, words, private=was)
        # "you can remember again" itself is nothing to remember.
        if was:
            gone.setdefault(turn.id, PRIVATE)
        if turn.id not in gone:
            readable.append(turn)
    found = found_in(readable, reading.extract(before[-HISTORY:])) if readable else []
    sources = {turn.id: turn for turn in readable}
    judged = [reading.policy.judge(one, sources[one.source]) for one in found]
    places = [place for place, one in enumerate(judged) if one.verdict.action == "commit_now"]
    told = [
        (judged[place].candidate, sources[judged[place].candidate.source].event_time)
        for place in places
    ]
    decisions = decided(store, session.scope, told, reading.complete)
    whole = any(asks_to_forget_all(turn, words) for turn in fresh)
    return TurnExtraction(
        session, fresh, gone, judged, dict(zip(places, decisions, strict=True)), private, whole
    )


def _seen(session: Session, turns: Sequence[Memory]) -> int:
    """The position of the last turn that was considered, or read when an earlier session end
    was.
    """
    before = (
        turn.position or 0 for turn in turns if turn.created_at <= (session.consolidated_at or -1)
    )
    return max(int(notes(session).get("considered", -1)), max(before, default=-1))


def consider(
    store: Store, session: Session, reading: ExtractionContext, author: Author
) -> list[JudgedCandidate]:
    """Considers what was said since the last time and writes down what follows; what was decided
    comes back.

    Nothing when a model does not answer: then the session keeps why, and the next time tries again.
    Nothing either for an owner who wants nothing remembered; nor is it read later.
    """
    turns = turns_of(store, session)
    try:
        found = look(store, session, turns, reading)
    except ModelFailed as error:  # the reply has been given, and the next time tries again
        reason = str(error)
        log.warning("session %s was not considered: %s", session.id, reason)
        store.write(author, lambda writer: _note_failure(writer, session, reason, author))
        return []
    if not found.turns:
        return []
    sources = {turn.id: turn for turn in turns}

    def work(writer: Writer) -> list[JudgedCandidate]:
        fresh = writer.session(session.scope, session.id)
        if fresh is None or notes(fresh) != notes(session):
            raise Conflict("Somebody else has considered this session meanwhile.")
        scribe = DecisionWriter(
            writer, fresh, sources, reading.policy, author.at, author.actor, reading.max_bytes
        )
        write_down(scribe, found, timing=IMMEDIATE)
        writer.put_session(considered(fresh, found))
        return found.judged

    try:
        return store.write(author, work)
    except Conflict as error:
        log.info("session %s: %s", session.id, error)
        return []


def write_down(scribe: DecisionWriter, found: TurnExtraction, *, timing: str) -> Written:
    """Writes what was considered: withdrawn, committed, held, proposed or noted."""
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
    owner_profile.keep_rules_few(scribe.writer, scribe.session.scope, at=scribe.at)
    return written


def _without_its_words(dropped: JudgedCandidate) -> Verdict:
    """The verdict on what was dropped, with a reason that does not tell what that was."""
    verdict = dropped.verdict
    candidate = dropped.candidate
    words = set(query_terms(f"{candidate.quote} {candidate.content}"))
    if verdict.version == MODEL and words & set(query_terms(verdict.reason)):
        return verdict.instead("drop", "llm_policy: not worth keeping")
    return verdict


def failures(sessions: Sequence[Session]) -> dict[str, str]:
    """The sessions that a model did not answer about, with what went wrong."""
    return {
        f"session {one.id}": notes(one)["failed"]["error"]
        for one in sessions
        if "failed" in notes(one)
    }


def considered(session: Session, found: TurnExtraction) -> Session:
    """The session with the note that it was considered so far."""
    last = max(
        (turn.position or 0 for turn in found.turns), default=notes(session).get("considered", -1)
    )
    return noted(session, considered=last, private=found.private or None, failed=None)


def _note_failure(writer: Writer, session: Session, error: str, author: Author) -> None:
    fresh = writer.session(session.scope, session.id)
    if fresh is not None:
        writer.put_session(noted(fresh, failed={"error": error, "at": author.at}))


@cache
def rules() -> Extractor:
    """The extractor that needs no model."""
    # Its word lists load when they are first needed.
    from .rules import RuleExtractor  # noqa: PLC0415

    return RuleExtractor()


@cache
def usual() -> Policy:
    """The policy where nothing else is set."""
    return Policy(vocabulary("general"))
