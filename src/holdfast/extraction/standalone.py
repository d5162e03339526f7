"""A clause as a statement that can be understood alone: who, what, when. Or nothing.

The first person becomes the speaker (`third_person`), times get their date. What points outside
the clause is not guessed at: "It was great" is kept together with the clause before it, if that
one stands alone, and otherwise not at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from .clauses import EDGES
from .dates import dated
from .patterns import Language
from .speech import sentences
from .third_person import retell
from .vocabulary import straight

# Words; a longer clause is a story, a shorter one an answer.
_LONGEST = 60
_SHORTEST = 3
_LONGEST_QUESTION = 25
# A quotation or code that was taken out (`speech`).
_HIDDEN = "\ufffc"
_QUESTION = re.compile(r' \(asked: "([^"]*)\?"\)$')


def told(
    language: Language,
    clause: str,
    before: str,
    author: str,
    said_at: int,
    *,
    of_others: bool = False,
) -> tuple[str, str] | None:
    """The statement and the words it rests on; None if it cannot stand alone.

    `before` is the clause before, which it may need: then it rests on both, and the words are
    empty. A clause that names whom it is about may be `of_others` than the speaker.
    """
    text = _without_remark(language, without_lead(language, clause))
    first = without_lead(language, before)
    retold = _retold(language, text, first, author, of_others=of_others)
    found = retold if language.retold else _as_said(language, text, first)
    if found is None:
        return None
    content, joined = found
    ahead = partial(lies_ahead, language, clause)
    return dated(content, said_at, ahead=ahead), "" if joined else text


def _retold(
    language: Language,
    text: str,
    before: str,
    author: str,
    *,
    of_others: bool,
) -> tuple[str, bool] | None:
    """The clause in the third person, and whether the clause before is in it."""
    plain = _with_speaker(language, straight(text))
    if not points_outside(language, plain):
        fits = _is_statement if of_others else _is_about_speaker
        own = fits(language, plain) or _is_about_somebody(language, plain)
        return (retell(plain, author), False) if own else None
    opening = _with_speaker(language, straight(before))
    both = f"{opening}. {plain[:1].upper()}{plain[1:]}"
    if not _is_about_speaker(language, opening) or not _is_statement(language, plain):
        return None
    if not language.cue("says").search(opening):
        return None
    if points_outside(language, opening) or points_outside(language, both, joined=True):
        return None
    return retell(both, author), True


def told_after(
    language: Language,
    clause: str,
    before: str,
    author: str,
    said_at: int,
) -> str | None:
    """The statement with the clause before, which says what its figures are of: "I'm perfecting my
    Negroni. I've made it five times"; None if the two do not stand alone.
    """
    if not language.retold:
        return None
    opening, plain = (
        _with_speaker(language, straight(without_lead(language, text))) for text in (before, clause)
    )
    both = f"{opening}. {plain[:1].upper()}{plain[1:]}"
    speaks = _is_about_speaker(language, opening) and _is_about_speaker(language, plain)
    if not speaks or points_outside(language, opening):
        return None
    if points_outside(language, both, joined=True):
        return None
    return dated(retell(both, author), said_at, ahead=partial(lies_ahead, language, clause))


def question_before(language: Language, said_before: str) -> str:
    """The question that the turn before ends with, without its mark; empty if there is none, if it
    asks for nothing in particular, or if it means what was named elsewhere ("Do you like it?").
    """
    last = sentences(said_before)[-1:] if language.retold else []
    if not last or not last[0].asks:
        return ""
    question = without_lead(language, " ".join(last[0].text.split()))
    is_short = _SHORTEST <= len(question.split()) <= _LONGEST_QUESTION
    plain = straight(question)
    vague = language.cue("vague_question").search(plain) or points_before(language, plain)
    is_whole = '"' not in question and _HIDDEN not in question
    return question if is_short and is_whole and not vague else ""


def answers(language: Language, question: str, words: str) -> bool:
    """Whether what is said next likely answers a question: one that asks for something, or a yes or
    no. "Tried any new places?" is as often followed by something else.
    """
    asks_for_something = language.cue("open_question").search(straight(question))
    return bool(asks_for_something or language.cue("yes_or_no").match(straight(words)))


def with_question(content: str, question: str) -> str:
    """The statement with the question that it answers."""
    return f'{content} (asked: "{question[:1].upper()}{question[1:]}?")'


def question_of(content: str) -> str:
    """The question that a statement is told with, without its mark; empty if there is none."""
    found = _QUESTION.search(content)
    return found[1] if found else ""


def without_question(content: str) -> str:
    """The statement without the question that it is told with."""
    return _QUESTION.sub("", content)


def _as_said(language: Language, text: str, before: str) -> tuple[str, bool] | None:
    """What is said in a language that is not retold, in the speaker's own words."""
    shortest = _SHORTEST * (4 if language.spaced else 2)
    if len(text) < shortest or _HIDDEN in text:
        return None
    if not language.begins("points", text):
        return text, False
    if len(before) < shortest or language.begins("points", before):
        return None
    return f"{before}. {text}" if language.spaced else f"{before}。{text}", True


def without_lead(
    language: Language,
    clause: str,
) -> str:
    """The clause from where it comes to the point."""
    text = clause.strip(EDGES)
    for _ in range(4):
        lead = (language.cue("lead") if language.retold else language.lead).match(straight(text))
        rest = text[lead.end() :].lstrip(EDGES + ".!") if lead else ""
        if not rest:
            return text
        text = rest
    return text


def _without_remark(
    language: Language,
    text: str,
) -> str:
    """The clause without what is remarked on it, if that is all that points elsewhere: "We went
    camping last weekend - it was a blast".
    """
    return statement_of_remark(language, text) if points_outside(language, straight(text)) else text


def statement_of_remark(
    language: Language,
    text: str,
) -> str:
    """What is remarked on in a clause, if it is about the speaker and stands alone; otherwise the
    clause as it is.
    """
    remark = language.cue("remark").search(straight(text))
    if remark is None:
        return text
    statement = text[: remark.start()].strip(EDGES)
    plain = _with_speaker(language, straight(statement))
    whole = _is_about_speaker(language, plain)
    return statement if whole and not points_outside(language, plain) else text


def lies_ahead(
    language: Language,
    clause: str,
    before: str = "",
) -> bool | None:
    """Whether a clause is about what is to come; None if its words do not tell.

    A time in it belongs to the verb just before it, so the words `before` the time decide first:
    "I'll bring the power bank that I bought on February 13th".
    """
    nearest = _nearest(language, before, ("to_come", "arranged", "gone"))
    plain = straight(clause)
    if nearest is not None:
        return {"to_come": True, "arranged": None, "gone": False}[nearest]
    if language.cue("to_come").search(plain):
        return True
    if language.cue("arranged").search(plain) or not language.cue("gone").search(plain):
        return None
    return False


def _nearest(
    language: Language,
    text: str,
    cues: Sequence[str],
) -> str | None:
    """Which of the cues stands last in a text; of several at one place, the first."""
    nearest, place = None, -1
    for name in cues:
        for found in language.cue(name).finditer(text):
            if found.start() > place:
                nearest = name
                place = found.start()
    return nearest


def with_subject(
    language: Language,
    clause: str,
) -> str:
    """The clause as it is, or with the "I" that was left out."""
    plain = straight(without_lead(language, clause))
    told = _with_speaker(language, plain)
    return told if told != plain else clause


def _with_speaker(
    language: Language,
    plain: str,
) -> str:
    """The clause with the "I" that people leave out."""
    if not language.cue("dropped").match(plain):
        return plain
    opening = "I"
    if language.cue("dropped_have").match(plain):
        opening = "I've"
    elif language.cue("dropped_am").match(plain):
        opening = "I'm"
    return f"{opening} {plain[:1].lower()}{plain[1:]}"


def _is_about_speaker(
    language: Language,
    plain: str,
) -> bool:
    speaks = language.cue("first_person").search(plain) and not is_of_everybody(language, plain)
    return bool(speaks) and _is_statement(language, plain)


def names_subject(
    language: Language,
    plain: str,
) -> bool:
    """Whether a clause tells of somebody by their name: "Ana moved to Madrid"."""
    from ..models.entities.gazetteer import key_of, listed  # noqa: PLC0415 - few clauses ask

    found = language.cue("named").match(plain)
    return found is not None and key_of(found["name"]) in listed("people").sure


def is_mood(
    language: Language,
    clause: str,
) -> bool:
    """Whether a clause says how somebody feels, and not about what: "I'm so excited to help"."""
    return bool(language.cue("mood").match(straight(without_lead(language, clause))))


def _is_about_somebody(
    language: Language,
    plain: str,
) -> bool:
    return names_subject(language, plain) and _is_statement(language, plain)


def is_of_everybody(
    language: Language,
    plain: str,
) -> bool:
    """Whether a clause says "we" and "our" only of people in general."""
    own, general = language.cue("everybody").subn("", plain)
    return general > 0 and not language.cue("first_person").search(own)


def _is_statement(
    language: Language,
    plain: str,
) -> bool:
    return (
        _SHORTEST <= len(plain.split()) <= _LONGEST
        and not language.cue("supposed").search(plain)
        and not language.cue("shown").match(plain)
        and not language.cue("left_open").search(plain.rstrip(EDGES + ".!"))
        and _HIDDEN not in plain
    )


def points_outside(
    language: Language,
    plain: str,
    *,
    joined: bool = False,
) -> bool:
    """Whether something in the clause means what was named elsewhere."""
    if language.cue("addressed").search(plain):
        return True
    if not joined and language.cue("points_back").search(plain):
        return True
    return _needs_name(language, plain)


def points_before(language: Language, clause: str, earlier: str = "") -> bool:
    """Whether a clause means what was named neither in it nor `earlier` in its sentence."""
    if not language.retold:
        return not earlier.strip() and bool(language.begins("points", clause))
    known = bool(language.cue("thing").search(earlier))
    if not known and language.cue("points_back").search(clause):
        return True
    return _needs_name(language, clause, earlier)


def _needs_name(language: Language, plain: str, earlier: str = "") -> bool:
    """Whether a pronoun has nothing before it that it may stand for."""
    rest = language.cue("idle").sub(lambda found: "x" * len(found[0]), plain)
    return any(
        (pointer := language.cue(word).search(rest))
        and not language.cue(meant).search(earlier + rest[: pointer.start()])
        for word, meant in (("there", "place"), ("he", "somebody"), ("pointer", "thing"))
    )
