"""What becomes of an earlier statement when the same person says a later one.

Six outcomes are told apart: the later one `replaces` the earlier (another home), `adds` to it (a
second pet), `repeats` it, `fulfils` it (a plan that was carried out), `refines` it, or is
`unrelated`. A linear model weighs what the two say of change (`change_words`) and, where there is
one, what a model that reads both together makes of them (`Reader`). Its weights are in
`changes.json`, and `training/train_changes.py` learns them. It prefers to let both stand: an
earlier statement ends only if the model is sure and nothing rules it out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from ..dates import share_days, without_dates
from .change_words import MARKS, SINGLE_SLOTS, Words, named_value, shared, words_of

Label = Literal["replaces", "adds", "unrelated", "fulfils", "repeats", "refines"]
LABELS: tuple[Label, ...] = get_args(Label)
Reader = Callable[[str, str], Sequence[float]]
"""Takes an earlier and a later statement; returns the logarithm of each label's probability."""

# Probabilities from which an earlier statement is replaced (by words alone, with a reader, and if
# each of them is that sure) or carried out, and from which people see both as two states.
SURE = 0.7
SURE_READ = 0.8
SURE_EACH = 0.6
SURE_DONE = 0.7
PERHAPS = 0.5
PERHAPS_READ = 0.4
# Terms that a plan and what carries it out have in common, and how sure a reader is without them.
FULFILLED_TERMS = 2
SURE_UNNAMED = 0.9
# How sure it has to be that a plan was carried out when what happened has the plan's date.
SURE_DATED = 0.6
SURE_NAMED = 0.3
# Terms in common from which two statements are of the same matter.
LINKING_TERMS = 2
# Slots whose value is a person.
OF_PEOPLE = frozenset(("partner", "boss"))
# Logarithm below which a reader's doubts are all the same.
_DOUBT = -6.0
# Share of the words in common, for another value to be the only difference.
SAME_FRAME = 0.4
# A mark in the later statement that is looked for beside words of the earlier one.
_ANCHORED = ("ended", "switched", "still", "also", "now", "shifted")
# A wish and words of others rule a change out; the model does not weigh them.
_OF_LATER = tuple(mark for mark in MARKS if mark not in ("supposed", "quoted"))
_OF_EARLIER = ("planned", "once", "still")


@dataclass(frozen=True, slots=True)
class Change:
    """What a later statement does to an earlier one, and how probable that is."""

    label: Label
    probability: float
    is_possible: bool
    """Whether the two may be an earlier and a later state of one thing."""
    was_read: bool = False
    """Whether a reader had its say."""
    words_are_sure: bool = False
    """Whether words alone say so too, and are sure."""
    words_agree: bool = False
    """Whether words alone say so too, and are nearly sure."""

    @property
    def is_sure(self) -> bool:
        """Whether the earlier statement is over."""
        with_reader = SURE_EACH if self.words_agree else SURE_READ
        sure = with_reader if self.was_read else SURE
        least = {"replaces": sure, "fulfils": SURE_DONE}.get(self.label)
        return least is not None and self.probability >= least

    @property
    def is_certain(self) -> bool:
        """Whether the words and who read both statements are sure of it, each on their own."""
        return self.was_read and self.is_sure and self.words_are_sure


def change(earlier: str, later: str, read: Reader | None = None) -> Change:
    """Return what `later` does to `earlier`, both of one speaker."""
    # The date behind "last week" is when it was changed: it makes no bygone event of "I moved".
    is_its_day = share_days(earlier, later)
    later = without_dates(later)
    old, new = words_of(earlier), words_of(later)
    if rules_out(old, new):
        return Change("unrelated", 0.0, is_possible=False)
    found = features(old, new)
    by_words = _by_words(old, new, probabilities(found))
    if read is None:
        return by_words
    chances = probabilities(found | reading(read(earlier, later)))
    # Either may notice what the other does not, and to show both states does no harm.
    is_possible = by_words.is_possible or chances["replaces"] >= PERHAPS_READ
    if is_its_day and _keeps_plan(old, new, chances["fulfils"]):
        return Change(
            "fulfils",
            1.0,
            is_possible,
            was_read=True,
        )
    best = max(LABELS, key=lambda label: chances[label])
    agree = by_words.label == best
    is_near = agree and by_words.probability >= SURE_EACH and _has_value(old, new)
    # In a conversation a reader compares hundreds of statements that have nothing to do with each
    # other, and likes to see a plan carried out.
    is_of_plan = len(shared(new.terms, old.terms)) >= FULFILLED_TERMS
    is_done = is_of_plan or chances[best] >= SURE_UNNAMED
    is_believed = best != "fulfils" or (is_done and not _is_plan(new))
    if best == "replaces":
        is_believed = not _counts_another(old, new)
    probability = chances[best] if is_believed else 0.0
    is_sure = agree and by_words.is_sure
    return Change(
        best,
        probability,
        is_possible,
        was_read=True,
        words_are_sure=is_sure,
        words_agree=is_near,
    )


def _by_words(old: Words, new: Words, chances: Mapping[Label, float]) -> Change:
    """The change by words alone; sure of it only if they bear it out."""
    best = max(LABELS, key=lambda label: chances[label])
    probability = chances[best] if _is_shown(best, old, new) else 0.0
    return Change(best, probability, chances["replaces"] >= PERHAPS)


def _has_value(old: Words, new: Words) -> bool:
    """Whether a statement is of the same matter, and says what is so now or that it is over: who
    moved to a bigger flat may well live in the same town.
    """
    common = shared(new.terms, old.terms)
    is_over = "ended" in new.marks
    if is_over and (common or new.words & old.names):
        return True
    if len(common) >= LINKING_TERMS and old.figures and new.figures - old.figures:
        return True
    is_changed = is_over or "switched" in new.marks or {"once", "now"} <= new.marks
    has_value = is_over or new.names or new.figures or not old.names
    return bool(is_changed and has_value and new.slots & old.single_slots)


def _keeps_plan(old: Words, new: Words, chance: float) -> bool:
    """Whether what happened on the day of a plan is what was planned."""
    if "planned" not in old.marks or old.happened or _is_plan(new):
        return False
    common = len(shared(new.terms, old.terms))
    is_named = new.happened and common >= FULFILLED_TERMS
    return common > 0 and chance >= (SURE_NAMED if is_named else SURE_DATED)


def _is_plan(new: Words) -> bool:
    """Whether a statement only tells what is to come, and so carries nothing out."""
    return "planned" in new.marks and "done" not in new.marks and not new.happened


def _is_shown(label: Label, old: Words, new: Words) -> bool:
    """Whether words alone bear the label out: a word of change, or something in common."""
    if label == "replaces":
        return shows_change(old, new) and not _counts_another(old, new)
    return bool(shared(new.terms, old.terms))


def names_another(earlier: str, later: str) -> bool:
    """Whether both name the value of one slot outright, and not the same: my boss is Martin, my
    boss is Ingrid.
    """
    old, new = named_value(earlier), named_value(later)
    if old is None or new is None or old.slot != new.slot:
        return False
    # Who is called Liz is called Elizabeth, too.
    if old.value in new.value:
        return False
    if new.value in old.value:
        return False
    return not (set(old.value.split()) & set(new.value.split()))


def rules_out(old: Words, new: Words) -> bool:
    """Whether the later statement cannot end the earlier one, whatever the model says.

    It is a wish, words of others, about somebody else, or says that the earlier one still holds;
    or the earlier one is what happened once, or a favourite, of which people have several.
    """
    kept = shared(new.terms, old.terms)
    return (
        bool(new.marks & {"supposed", "quoted"})
        or _is_of_another_person(old, new)
        or any("still" in part.marks and shared(part.terms, kept) for part in new.clauses)
        or (old.happened and old.is_dated)
        or _is_no_other_favourite(old, new)
        or _leaves_person_alone(old, new)
    )


def _leaves_person_alone(old: Words, new: Words) -> bool:
    """Whether the earlier statement is about another person, and the later names no such one: who
    was promoted has the same colleagues. Partners and bosses come and go with less.
    """
    if not old.opens_with_person or old.slots & OF_PEOPLE:
        return False
    return old.person not in new.text.lower() and not shared(new.terms, old.terms)


def _counts_another(old: Words, new: Words) -> bool:
    """Whether two figures are of things with different names: followers here and there."""
    if not old.figures or not new.figures:
        return False
    if "ended" in new.marks or old.names & new.words or new.names & old.words:
        return False
    if "switched" in new.marks and new.slots & old.single_slots:
        return False
    return bool(old.names and new.names)


def _is_no_other_favourite(old: Words, new: Words) -> bool:
    """Whether the earlier statement names a favourite, and the later neither another nor an end."""
    if "favourite" not in old.slots or old.slots & new.slots:
        return False
    return not new.marks & {"ended", "switched", "once"}


def shows_change(old: Words, new: Words) -> bool:
    """Whether the later statement has a word of change, or differs in a figure alone; the same
    figures again are the same thing again.
    """
    if old.figures and old.figures == new.figures and "ended" not in new.marks:
        return False
    if new.marks & {"ended", "switched", "now", "once", "shifted"}:
        return True
    return has_another_figure(old, new)


def has_another_figure(old: Words, new: Words) -> bool:
    """Whether two statements differ in a figure alone: four restaurants, and five by now."""
    return old.figures != new.figures and _frame(old, new) >= SAME_FRAME


def _frame(old: Words, new: Words) -> float:
    """The share of words in common, numbers left out."""
    ours, theirs = (
        frozenset(term for term in one.terms if not term.isdigit()) for one in (new, old)
    )
    return len(ours & theirs) / max(1, len(ours | theirs))


def _is_of_another_person(old: Words, new: Words) -> bool:
    return new.opens_with_person and new.person not in old.text.lower()


def features(old: Words, new: Words) -> dict[str, float]:
    """The features of a pair by name, each about 0 to 2."""
    common = shared(new.terms, old.terms)
    named = old.names & new.words | new.names & old.words
    found: dict[str, float] = {f"new {name}": name in new.marks for name in _OF_LATER}
    found |= {f"old {name}": name in old.marks for name in _OF_EARLIER}
    found |= {
        f"{name} beside": any(
            name in part.marks and shared(part.terms, common) for part in new.clauses
        )
        for name in _ANCHORED
    }
    found |= {
        "terms": min(len(common), 4) / 2,
        "any term": bool(common),
        "names": min(len(named), 2),
        "same names": bool(old.names) and old.names <= new.words and "ended" not in new.marks,
        "share": len(common) / max(1, min(len(old.terms), len(new.terms))),
        "negation": old.negated != new.negated,
        "old event": old.is_event,
        "new event": new.is_event,
        "old dated event": old.is_event and old.is_dated,
        "new dated event": new.happened and new.is_dated,
        "old supposed": "supposed" in old.marks,
        "other person": bool(new.person) and new.person not in old.text.lower(),
        "opens with other": _is_of_another_person(old, new),
    }
    found |= _of_slots(old, new, found)
    found |= _of_plans(found)
    found |= _of_figures(old, new, found)
    return {name: float(value) for name, value in found.items()}


def reading(logarithms: Sequence[float]) -> dict[str, float]:
    """What a reader makes of the pair, as features."""
    return {
        f"read {label}": max(value, _DOUBT) for label, value in zip(LABELS, logarithms, strict=True)
    }


def _of_slots(old: Words, new: Words, found: Mapping[str, float]) -> dict[str, float]:
    """What the slots of both say, together with the marks of change."""
    both = old.slots & new.slots
    single = bool(both.intersection(SINGLE_SLOTS))
    changes = bool(
        found["new ended"] or found["new switched"] or (found["new now"] and found["new once"])
    )
    return {
        "slots": min(len(both), 3) / 2,
        "any slot": bool(both),
        "single slot": single,
        "changes": changes,
        "changes something known": changes and bool(both or found["any term"]),
        "changes with terms": changes and found["terms"],
        "changes without term": changes and not found["any term"],
        "changes single slot": changes and single,
        "changes name": changes and bool(found["names"]),
        "changes event": changes and bool(found["old event"]),
        "changes and adds": changes and bool(found["new also"]),
        "adds and nothing ends": found["new also"] and not found["new ended"],
        "changes and stays": changes and bool(found["still beside"]),
        "ended and switched": found["new ended"] and found["new switched"],
        "ended and now": found["new ended"] and found["new now"],
        "once and now": found["new once"] and found["new now"],
        "now in slot": bool(found["new now"] and both),
    }


def _of_plans(found: Mapping[str, float]) -> dict[str, float]:
    planned = found["old planned"]
    return {
        "plan done": planned and found["new done"],
        "plan shifted": planned and found["new shifted"],
        "plan ended": planned and found["new ended"],
        "plan done with terms": planned and found["new done"] and found["terms"],
        "plan done with share": planned and found["new done"] and found["share"],
        "plan done unlinked": planned and found["new done"] and not found["any term"],
        "done without plan": not planned and bool(found["new done"]),
    }


def _of_figures(old: Words, new: Words, found: Mapping[str, float]) -> dict[str, float]:
    """Whether both have figures, and how much else they have in common."""
    differ = bool(old.figures and new.figures and old.figures != new.figures)
    frame = _frame(old, new)
    return {
        "figures differ": differ,
        "same figures": bool(old.figures) and old.figures == new.figures,
        "figure in common": bool(old.figures & new.figures),
        "figures of a term": differ and bool(found["any term"]),
        "figures of a slot": differ and bool(found["any slot"]),
        "frame": frame,
        "frame with figures": frame * differ,
        "only figures differ": differ and not old.is_event and frame >= SAME_FRAME,
    }


def probabilities(found: Mapping[str, float]) -> dict[Label, float]:
    """The probability of each label, with or without a reader's features."""
    model = _models()["read" if f"read {LABELS[0]}" in found else "words"]
    scores = {
        label: model.bias[label]
        + sum(
            weight * found[name] for name, weight in zip(model.names, model.of[label], strict=True)
        )
        for label in LABELS
    }
    most = max(scores.values())
    parts = {label: math.exp(score - most) for label, score in scores.items()}
    whole = sum(parts.values())
    return {label: part / whole for label, part in parts.items()}


@dataclass(frozen=True, slots=True)
class _Model:
    names: Sequence[str]
    of: Mapping[Label, Sequence[float]]
    bias: Mapping[Label, float]


@cache
def _models() -> Mapping[str, _Model]:
    """The model for words alone, and the one for words and a reader."""
    learned = json.loads(files(__package__).joinpath("changes.json").read_text("utf-8"))
    return {
        name: _Model(one["features"], one["weights"], one["bias"]) for name, one in learned.items()
    }
