"""Which held candidates a session supports, and why the others are dropped. Pure: no store or
clock.

Candidates that mean the same count as one. The evidence is

- **support**: the turns a candidate rests on, and other turns of the session that share its object
or two of its words;

- the session's **arc**: how much of the candidate the summary tells, from 0 to 4;

- **prior** sessions: whether their arcs or held candidates tell the same. A session is never prior
to itself.

A fact is kept with a support of two, or of one if the arc tells it (at least 2) or a prior session
does. A candidate that needs repetition is kept with a support of two, or of one and a prior
session; a summary does not count as repetition. A rule is kept with a support of two, and is
certain with three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..text.negation import differ, particulars
from ..text.normal_forms import content_hash
from ..text.tokens import query_terms
from ..types import Kind, Triple
from .similarity.dedup import folded
from .vocabulary import SENTENCES

# Of two candidates' terms: the share, or the number, that makes them one.
SAME_MATTER = 0.5
SHARED_TERMS = 3
# That a turn has in common with a candidate to speak for it.
SUPPORTING_TERMS = 2
# Terms shared with the summary of a session: enough to speak for a candidate, and where more
# count no more.
ENOUGH_ARC = 2
MOST_ARC = 4
# Turns that support a rule before it is promoted without a person.
SURE_SUPPORT = 3
SURE = 0.9
# Quotes kept with a promoted memory; more only repeat it.
MOST_QUOTES = 3
NOT_KEPT = "not kept: "


@dataclass(frozen=True, slots=True)
class Held:
    """A held candidate under its caller's key."""

    key: str
    content: str
    quote: str
    kind: Kind
    triple: Triple | None
    turns: frozenset[str]
    """The ids of the turns that it rests on."""
    repetition: bool = False
    prior: tuple[str, ...] = ()
    """What other sessions told about the same matter."""

    @property
    def terms(self) -> frozenset[str]:
        """Terms of the candidate, in its author's words."""
        return frozenset(query_terms(self.quote or self.content))

    @property
    def anchor(self) -> frozenset[str]:
        """Terms of its object, or all its terms if it has none."""
        if self.triple:
            return frozenset(query_terms(self.triple.object))
        return self.terms


@dataclass(frozen=True, slots=True)
class Promotion:
    """A cluster of candidates, kept as its first one."""

    kept: Held
    others: tuple[Held, ...]
    support: frozenset[str]
    """The turns that speak for it."""
    quotes: tuple[str, ...]
    reason: str

    @property
    def sure(self) -> bool:
        """Whether it was said often enough to be certain."""
        return self.kept.kind == "rule" and len(self.support) >= SURE_SUPPORT


@dataclass(frozen=True, slots=True)
class Refusal:
    """A candidate that is not kept, and why."""

    held: Held
    reason: str


def promote(
    held: Sequence[Held],
    transcript: Mapping[str, str],
    arc: str,
    *,
    guides: Callable[[str], bool] = lambda text: False,
) -> tuple[list[Promotion], list[Refusal]]:
    """Decide which held candidates a session supports.

    `transcript` maps turns to what people said; `arc` is the summary, or empty. `guides` tells
    whether a text says how to answer: such a fact yields to a rule that says the same.
    """
    promotions = list[Promotion]()
    refusals = list[Refusal]()
    for cluster in clusters(held):
        outcome = _weighed(cluster, transcript, arc)
        if isinstance(outcome, Promotion):
            promotions.append(outcome)
        else:
            refusals += [Refusal(one, outcome) for one in cluster]
    rules = [one for one in promotions if one.kept.kind == "rule"]
    kept = list[Promotion]()
    for one in promotions:
        rule = next((rule for rule in rules if _is_guidance(one.kept, rule.kept, guides)), None)
        if rule is None:
            kept.append(one)
        else:
            refusals += [
                Refusal(each, "a rule of this session says it") for each in (one.kept, *one.others)
            ]
    return kept, refusals


def clusters(held: Sequence[Held]) -> list[list[Held]]:
    """Group candidates that mean the same, keeping their order."""
    groups: list[list[Held]] = []
    for one in held:
        group = next((group for group in groups if any(_same(one, other) for other in group)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return groups


def _same(one: Held, other: Held) -> bool:
    if one.kind != other.kind:
        return False
    if content_hash(one.content) == content_hash(other.content):
        return True
    if one.triple and other.triple and folded(one.triple) == folded(other.triple):
        return not differ(particulars(one.quote), particulars(other.quote))
    shared = one.terms & other.terms
    alike = len(shared) >= SHARED_TERMS or len(shared) >= SAME_MATTER * len(one.terms | other.terms)
    return bool(shared and one.anchor & other.anchor and alike) and not differ(
        particulars(one.quote), particulars(other.quote)
    )


def _weighed(
    cluster: Sequence[Held],
    transcript: Mapping[str, str],
    arc: str,
) -> Promotion | str:
    """The promotion of a cluster, or the refusal of its candidates."""
    first = cluster[0]
    said = {turn for one in cluster for turn in one.turns if turn in transcript}
    told_by = {
        turn for turn, text in transcript.items() if any(supports(one, text) for one in cluster)
    }
    support = frozenset(said | told_by)
    told = max(arc_score(one, arc) for one in cluster)
    prior = any(arc_score(one, text) >= ENOUGH_ARC for one in cluster for text in one.prior)
    reason = _enough(first, len(support), told, prior=prior)
    if not reason:
        return _why_not(first, len(support), told)
    quotes = tuple(dict.fromkeys(one.quote for one in cluster))[:MOST_QUOTES]
    return Promotion(
        first,
        tuple(cluster[1:]),
        support,
        quotes,
        reason,
    )


def _enough(
    one: Held,
    support: int,
    told: int,
    *,
    prior: bool,
) -> str:
    """Why the evidence suffices to keep a candidate; empty if it does not."""
    if support >= 2:
        return f"said in {support} turns"
    if one.kind == "rule" or support < 1:
        return ""
    if prior:
        return "said once, and in an earlier session"
    if told >= ENOUGH_ARC and not one.repetition:
        return "said once, and central to the session"
    return ""


def _why_not(
    one: Held,
    support: int,
    told: int,
) -> str:
    if support < 1:
        reason = "nothing that it rests on is left"
    elif one.repetition:
        reason = "said only once"
    elif one.kind == "rule":
        reason = "wished for only once"
    else:
        reason = "said only once, and " + (
            "hardly part of the summary" if told else "no summary tells it"
        )
    return f"{NOT_KEPT}{reason}"


def supports(one: Held, text: str) -> bool:
    """Whether a text shares a candidate's object or two of its terms and does not deny it."""
    terms = frozenset(query_terms(text))
    has_object = one.triple is not None and bool(one.anchor) and one.anchor <= terms
    if not has_object and len(one.terms & terms) < SUPPORTING_TERMS:
        return False
    denied = _denies(one.quote)
    touching = [each for each in SENTENCES.split(text) if one.terms & set(query_terms(each))]
    return any(_denies(each) == denied for each in touching)


def _denies(text: str) -> bool:
    return "negation" in particulars(text).weighty


def arc_score(one: Held, text: str) -> int:
    """How much of a candidate a summary tells: 2 for its object, 1 per other term, at most 4."""
    terms = frozenset(query_terms(text))
    shared = one.terms & terms
    if one.triple is not None and one.anchor and one.anchor <= terms:
        return min(MOST_ARC, 2 + len(shared - one.anchor))
    return min(MOST_ARC, len(shared))


def _is_guidance(
    fact: Held,
    rule: Held,
    guides: Callable[[str], bool],
) -> bool:
    """Whether a fact says how to answer and a rule says the same."""
    if fact.kind != "fact" or not guides(fact.quote):
        return False
    shared = fact.terms & rule.terms
    alike = len(shared) >= SAME_MATTER * len(fact.terms | rule.terms) or len(shared) >= SHARED_TERMS
    return alike or len(shared) >= SUPPORTING_TERMS
