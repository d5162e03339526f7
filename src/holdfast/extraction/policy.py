"""The write policy: whether and when a candidate is stored. Pure: no store, model or clock.

1. **Hard guards** come first, with or without a model: they drop what must never be kept.

2. A model's **advice**, if the extractor was a model and gave some; otherwise the vocabulary's
rules.

3. **Clamps** restrict both: momentary statements are dropped, a fact is never written earlier than
its category allows, a negative belief about oneself must be said twice, and a rule needs human
approval unless the vocabulary says otherwise or memory was asked to keep it. It always does if it
comes from text that is not the person's own (pasted into a message, see `text/pasted_text.py`) or
if one member of a shared scope wants it of everybody.

4. A deployment may require human **approval**.

The reason of every verdict is kept with the memory, or with the turn if nothing was kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..config import Settings
from ..text.fences import strip_echoes
from ..text.pasted_text import MEMORY, why_pasted
from ..text.secrets import find_secrets
from ..text.tokens import query_terms
from ..types import Memory, Scope
from .candidate import Advice, Candidate, grounded
from .vocabulary import SENTENCES, Request, Timing, Vocabulary, straight, vocabulary

Action = Literal["commit_now", "commit_at_session_end", "require_repetition", "drop", "propose"]
ACTIONS: tuple[Action, ...] = get_args(Action)
HELD: tuple[Action, ...] = ("commit_at_session_end", "require_repetition")
"""What waits for the end of the session, and for more that speaks for it."""

RULES = "rules_v1"
MODEL = "model_v1"
# Characters, so that one long answer of a model does not fill a table.
LONGEST_REASON = 240
# characters; an end is that of a triple
LONGEST_QUOTE = 280
LONGEST_RULE = 280
LONGEST_END = 200
_OF_SEVERAL = ("shared", "project")
_OF_ONE_PERSON = ("agents", "layers", "mem0", "run:")
# Roles of turns that a person wrote.
PEOPLE = ("user", "human", "")
_REDACTED = "[REDACTED:"
_TIMED: dict[Timing, tuple[Action, str]] = {
    "at_once": ("commit_now", "a lasting statement, said first-hand"),
    "session_end": ("commit_at_session_end", "such things wait for the end of the session"),
    "repetition": ("require_repetition", "such things have to be said twice"),
    "propose": ("propose", "such things are for a person to decide"),
    "never": ("drop", "such things are not kept"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The policy's action for a candidate, its reason, and the policy version."""

    action: Action
    reason: str
    version: str = RULES

    def instead(
        self,
        action: Action,
        reason: str,
    ) -> Verdict:
        """The same policy's verdict with another action and reason."""
        return replace(self, action=action, reason=reason)


@dataclass(frozen=True, slots=True)
class JudgedCandidate:
    """A candidate in the vocabulary's words, and its verdict."""

    candidate: Candidate
    verdict: Verdict
    waits: bool = False
    """Whether it is sure enough to be written, but nothing is before the end of the session."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A deployment's write policy: vocabulary, whether all waits for session end, approvals."""

    vocabulary: Vocabulary
    write_timing: str = "policy"
    approval: str = "none"

    def judge(
        self,
        found: Candidate,
        turn: Memory,
    ) -> JudgedCandidate:
        """The verdict on a candidate that rests on this turn."""
        candidate = self.vocabulary.fitted(found)
        sentence = sentence_of(candidate.quote, turn.content)
        if candidate.kind == "rule" and self._tells_a_fact(candidate, sentence):
            candidate = self.vocabulary.fitted(replace(candidate, kind="fact", category="general"))
        barred = hard_guard(candidate, turn, self.vocabulary)
        if barred:
            return JudgedCandidate(candidate, Verdict("drop", barred))
        verdict = self._clamped(candidate, turn, sentence, self._first(candidate, sentence))
        if verdict.action == "commit_now" and self.needs_person(candidate.kind):
            verdict = verdict.instead(
                "propose", f"a person approves what is remembered; {verdict.reason}"
            )
        waits = verdict.action == "commit_now" and self.write_timing == "session_end"
        candidate = attributed(within_limits(candidate), turn)
        return JudgedCandidate(candidate, replace(verdict, reason=short(verdict.reason)), waits)

    def needs_person(self, kind: str) -> bool:
        """Whether a memory of this kind needs human approval before it is active."""
        return needs_person(self.approval, kind)

    def _tells_a_fact(
        self,
        candidate: Candidate,
        sentence: str,
    ) -> bool:
        """Whether a rule instructs nobody: "remember that my sister is Ines"."""
        words = self.vocabulary
        asked = straight(sentence)
        remembers = any(
            cues.words["remember_that"].match(asked.strip()) for cues in words.read_by(asked)
        )
        return remembers and not words.says("assistant_verb", candidate.quote)

    def _first(
        self,
        candidate: Candidate,
        sentence: str,
    ) -> Verdict:
        """The verdict before clamps: the model's advice if there is any, or the vocabulary's."""
        if candidate.advice is not None and candidate.advice.action in ACTIONS:
            return _advised(candidate.advice)
        if candidate.kind == "rule":
            return self._rule_verdict(candidate, sentence)
        action, reason = _TIMED[self.vocabulary.timing(candidate.category)]
        return Verdict(action, f"{candidate.category}: {reason}")

    def _rule_verdict(
        self,
        rule: Candidate,
        sentence: str,
    ) -> Verdict:
        """When a rule is written: at once if memory was asked to keep it for good, otherwise as the
        vocabulary says.
        """
        words = self.vocabulary
        if not words.says("durable", sentence):
            action, reason = _TIMED[words.implicit_rules]
            return Verdict(action, f"{rule.category}: {reason}")
        asked = words.asked(sentence)
        if asked is not None and asked.kind == "remember":
            return Verdict("commit_now", "an instruction that memory was asked to keep")
        action, reason = _TIMED[words.lasting_rules]
        if action == "commit_now":
            return Verdict(action, "an instruction that is to last")
        return Verdict(action, f"{rule.category}: {reason}")

    def _clamped(
        self,
        candidate: Candidate,
        turn: Memory,
        sentence: str,
        verdict: Verdict,
    ) -> Verdict:
        words = self.vocabulary
        around = sentence if candidate.kind == "rule" else candidate.quote
        if verdict.action == "drop":
            return verdict
        if words.says("turn_scoped", around) and not words.says("durable", around):
            return verdict.instead("drop", "only for this moment")
        if words.believes_ill_of_itself(candidate.quote):
            return verdict.instead(
                "require_repetition", "an ill belief about oneself has to be said more than once"
            )
        if candidate.kind == "rule" and (doubt := _doubt(candidate, turn)):
            return verdict.instead("propose", f"a rule {doubt} is for a person to decide")
        if verdict.action == "commit_now":
            return self._not_earlier(candidate, sentence, verdict)
        return verdict

    def _not_earlier(
        self,
        candidate: Candidate,
        sentence: str,
        verdict: Verdict,
    ) -> Verdict:
        """The verdict, or what the vocabulary says where a model is quicker than that."""
        if candidate.kind == "rule":
            allowed = self._rule_verdict(candidate, sentence)
            proposed = verdict.instead("propose", allowed.reason)
            return proposed if allowed.action == "propose" else verdict
        action, reason = _TIMED[self.vocabulary.timing(candidate.category)]
        if candidate.kind != "fact" or action == "commit_now":
            return verdict
        return verdict.instead(action, f"{candidate.category}: {reason}")


def _doubt(rule: Candidate, turn: Memory) -> str:
    """Why a rule needs human approval, since it goes into every prompt; empty if it does not."""
    if not first_hand(turn):
        return "out of text that is not the user's own"
    if pasted := why_pasted(turn.content, rule.quote):
        return f"out of {pasted} in a message"
    if is_shared(turn.scope):
        return f"for all who share {turn.scope}, asked for by {turn.author or 'somebody unnamed'},"
    if len(rule.content) > LONGEST_RULE:
        return f"of more than {LONGEST_RULE} characters"
    return ""


def needs_person(approval: str, kind: str) -> bool:
    """Whether the setting `approval` requires human approval for this kind of memory."""
    return approval == "all" or (approval == "rules" and kind == "rule")


def policy_of(settings: Settings) -> Policy:
    """The configured policy."""
    return Policy(vocabulary(settings.vocabulary), settings.write_timing, settings.approval)


def hard_guard(
    candidate: Candidate,
    turn: Memory,
    words: Vocabulary,
) -> str:
    """Why a candidate must never be kept, whatever a model says; empty if it may be."""
    if candidate.triple is not None and candidate.triple.predicate in words.never:
        return f"{candidate.triple.predicate} is never stored"
    asked = turn.role in PEOPLE and (
        words.request(turn.content) is not None or _forgets_a_topic(turn, words)
    )
    if asked:
        return "the user asked for it not to be remembered"
    if (
        not grounded(candidate, strip_echoes(turn.content))
        or why_pasted(turn.content, candidate.quote) == MEMORY
    ):
        return "it only repeats what memory had injected"
    if any(
        _REDACTED in text or find_secrets(text) for text in (candidate.quote, candidate.content)
    ):
        return "it holds a secret"
    if any(words.says("safety_conflict", text) for text in (candidate.quote, candidate.content)):
        return "it would keep an agent from looking after somebody's safety"
    is_empty = candidate.kind == "fact" and words.is_small_talk(candidate.quote)
    return "it is small talk" if is_empty else ""


def is_shared(scope: Scope) -> bool:
    """Whether several people write to a scope, so that one of them would speak for all.

    False where only one person's programs meet: the agents of a file, a run, an adapter's default.
    """
    own = scope.kind == "shared" and scope.key.startswith(_OF_ONE_PERSON)
    return scope.kind in _OF_SEVERAL and not own


def attributed(candidate: Candidate, turn: Memory) -> Candidate:
    """Name the requester in a rule if several people share the scope."""
    if candidate.kind != "rule" or not turn.author or not is_shared(turn.scope):
        return candidate
    return replace(
        candidate, content=f"{turn.author} asks: {candidate.content}", author=turn.author
    )


def is_among_people(turns: Sequence[Memory]) -> bool:
    """Whether people talk to each other, and no assistant takes part."""
    authors = {turn.author for turn in turns}
    return len(authors) > 1 and all(turn.role in PEOPLE for turn in turns)


def first_hand(turn: Memory) -> bool:
    """Whether a turn is a person's own words, not an agent's, a tool's or external text."""
    return turn.role in PEOPLE and turn.trust == "user"


def sentence_of(quote: str, text: str) -> str:
    """The sentence in which a quote begins; the quote itself if that cannot be found."""
    at = text.find(quote)
    if at < 0:
        return quote
    start = max((mark.end() for mark in SENTENCES.finditer(text[:at])), default=0)
    end = next(
        (mark.start() for mark in SENTENCES.finditer(text) if mark.start() >= at + len(quote)),
        len(text),
    )
    return text[start:end]


def within_limits(candidate: Candidate) -> Candidate:
    """Cut a candidate's quote to its maximum length; drop a triple with an overlong end."""
    quote = candidate.quote
    triple = candidate.triple
    if len(quote) > LONGEST_QUOTE:
        cut = quote[:LONGEST_QUOTE]
        quote = cut if quote[LONGEST_QUOTE].isspace() else cut.rpartition(" ")[0] or cut
    if triple is not None and max(len(triple.subject), len(triple.object)) > LONGEST_END:
        triple = None
    return replace(candidate, quote=quote, triple=triple)


def short(reason: str) -> str:
    """A reason on one line of at most 240 characters."""
    line = " ".join(reason.split())
    if len(line) <= LONGEST_REASON:
        return line
    return f"{line[: LONGEST_REASON - 3]}..."


def _advised(advice: Advice) -> Verdict:
    action = next(one for one in ACTIONS if one == advice.action)
    return Verdict(action, f"llm_policy: {advice.reason}", MODEL)


def withdrawn(
    turns: Sequence[Memory],
    words: Vocabulary,
    *,
    since: int = -1,
) -> dict[str, str]:
    """Ids of the turns that somebody asked not to be remembered, with what was asked.

    "Don't remember this" covers the turn itself and, unless it says what, the same person's
    previous turn. "Don't save this conversation" covers everything before it. "Forget that I smoke"
    covers itself and earlier turns in the same words. Answers go with what they answer, because
    they may repeat it. Requests up to position `since` were handled before.
    """
    gone: dict[str, str] = {}
    # What a person said, each with the answers to it.
    said: list[list[Memory]] = []
    for turn in turns:
        if turn.role in PEOPLE or not said:
            said.append([])
        said[-1].append(turn)
    for place, (turn, *_) in enumerate(said, start=1):
        request = _new_request(turn, words, since)
        if request is not None:
            announces = turn.content[request.end :].lstrip()[:1] in tuple(":：—–")
            back = 1 if request.reach == "onwards" or announces else 2
            meant = (
                said[:place]
                if request.reach == "conversation"
                else said[max(0, place - back) : place]
            )
            gone |= {
                one.id: f"asked not to be remembered ({request.reach})"
                for each in meant
                for one in each
            }
        elif (
            turn.role in PEOPLE
            and (turn.position or 0) > since
            and (topic := _forgets_a_topic(turn, words))
        ):
            terms = set(query_terms(topic))
            meant = [
                each
                for each in said[: place - 1]
                if terms and terms <= set(query_terms(each[0].content))
            ]
            gone |= {
                one.id: "asked to be forgotten (topic)"
                for each in (*meant, said[place - 1])
                for one in each
            }
    return gone


def _forgets_a_topic(turn: Memory, words: Vocabulary) -> str:
    """The topic a turn asks to forget; empty if it asks for no such thing."""
    asked = words.asked(turn.content)
    if asked and asked.kind == "forget_topic":
        return asked.topic
    return ""


def _new_request(
    turn: Memory,
    words: Vocabulary,
    since: int,
) -> Request | None:
    if turn.role in PEOPLE and (turn.position or 0) > since:
        return words.request(turn.content)
    return None


def asks_to_forget_all(turn: Memory, words: Vocabulary) -> bool:
    """Whether a turn asks to forget the whole session, or goes incognito."""
    request = words.request(turn.content) if turn.role in PEOPLE else None
    return request is not None and request.reach != "this" and not request.paused


def private_after(
    turn: Memory,
    words: Vocabulary,
    *,
    private: bool,
) -> bool:
    """Whether turns after this one are private, given whether that held before it."""
    if turn.role not in PEOPLE or not private:
        return private or goes_private(turn, words)
    asked = words.asked(turn.content)
    return not (asked is not None and asked.kind == "resume")


def goes_private(turn: Memory, words: Vocabulary) -> bool:
    """Whether the session is private from this turn on."""
    request = words.request(turn.content) if turn.role in PEOPLE else None
    return request is not None and request.reach in ("conversation", "onwards")
