"""The statements of a turn that the judge would keep, each told so that it stands alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..types import Memory
from . import standalone_judge
from .antecedents import resolved
from .candidate import PLAINLY_SAID, Candidate
from .clauses import Clause, clauses_of
from .judge import Judge, Judgement, place_of, threshold
from .patterns import Language
from .possessions import possessions
from .speech import Sentence
from .standalone import (
    answers,
    is_mood,
    points_outside,
    question_before,
    question_of,
    statement_of_remark,
    told,
    told_after,
    with_question,
    with_subject,
)
from .vocabulary import straight

# Patterns that are this sure need no judge: names, homes, work, health.
_SURE = 0.9
# Somebody's name, home, work, illness or partner is understood by itself, as short as it may be.
_CERTAIN = 0.95
# A pattern fits only statements, so less has to speak for these than where only the judge says that
# something is worth keeping; in languages in which the judge has read little, less again.
_LIKELY_ALONE = 0.5
_LIKELY_ALONE_ELSEWHERE = 0.35
# So well worth keeping that a figure is looked up in the clause before.
_WELL_WORTH = 0.85
# A statement that is less likely understood alone is told with the question that it answers.
_PLAINLY_ALONE = 0.8
# One that is not understood alone is kept with its question if it is this much worth keeping, and
# the two together are this likely understood. Chosen with 334 answers of conversations, labelled.
_WORTH_ASKING = 0.7
_ANSWERS = 0.8
# With a question that explains it, a statement is this much likelier understood.
_EXPLAINS = 0.1
# Below this, a question needs a question itself: "How so?", "What gave you the idea?"
_CLEAR_QUESTION = 0.1
# People answer in the first two sentences. What is understood anyhow answers only in the first.
_ANSWERED_IN = 2
_DIGITS = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Kept:
    """What the judge keeps of a turn, and what it would rather not."""

    candidates: list[Candidate] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    """Clauses in which even a pattern is not to be trusted."""

    def doubts(self, quote: str) -> bool:
        """Whether the words stand in a clause that the judge would not keep."""
        return any(quote in text or text in quote for text in self.doubted)

    def ends_with(self, clause: str) -> bool:
        """Whether the last statement that is kept stands in a clause."""
        return bool(self.candidates) and self.candidates[-1].quote in clause


def kept_of(
    judge: Judge,
    language: Language,
    words: str,
    turn: Memory,
    *,
    among_people: bool,
    said_before: str = "",
    changes: Callable[[Candidate, bool], bool] = lambda *_: False,
) -> Kept | None:
    """What is worth keeping of somebody's own words; None if the judge cannot say.

    `said_before` are the words of the turn before, in which "she" or "there" may be named.
    `changes` tells whether a statement, perhaps made in passing, ends something known: then it is
    worth keeping, too.
    """
    where = place_of(language.code, among_people=among_people)
    spoken = clauses_of(language, words)
    clauses = list(_with_names(language, spoken, said_before, turn.author))
    judgements = _judged(judge, language, clauses, among_people=among_people)
    if judgements is None:
        return None
    kept = Kept()
    question = question_before(language, said_before)
    if not answers(language, question, words):
        question = ""
    for place, (clause, judgement) in enumerate(zip(clauses, judgements, strict=True)):
        named = clause is not spoken[place]
        if judgement.keep < threshold("pattern"):
            kept.doubted.append(spoken[place].text)
        if clause.asks:
            kept.candidates.extend(_possessed(language, clause, turn))
            continue
        if among_people and is_mood(language, clause.text):
            # What it is about was said by the other one.
            kept.doubted.append(spoken[place].text)
            continue
        before = spoken[place - 1] if place and not named else None
        asked = "" if named else question
        candidate = _candidate(language, words, turn, clause, before, judgement, named=named)
        in_passing = judgement.keep < threshold(where)
        if candidate is not None and changes(candidate, in_passing):
            # What it speaks of is known: "Tom and I broke up" says enough to who knows Tom.
            candidate = replace(candidate, confidence=max(candidate.confidence, PLAINLY_SAID))
        elif in_passing:
            continue
        elif candidate and _understood(judge, language, where, clause, candidate, judgement):
            candidate = _with_question(judge, language, clause, judgement, candidate, asked)
        else:
            known = before if before and kept.ends_with(before.text) else None
            candidate = _mended(
                judge, language, where, words, turn, clause, judgement, known
            ) or _answer(judge, language, words, turn, clause, judgement, asked)
        if candidate is None:
            kept.doubted.append(spoken[place].text)
            continue
        if named:
            candidate = replace(candidate, quote=spoken[place].text)
        _add(kept.candidates, candidate)
    return kept


def _judged(
    judge: Judge,
    language: Language,
    clauses: Sequence[Clause],
    *,
    among_people: bool,
) -> list[Judgement] | None:
    """The judgements of clauses; one without its "I" is judged with it."""
    whole = [replace(one, text=with_subject(language, one.text)) for one in clauses]
    return judge.judge(whole, language, among_people=among_people) if whole else []


def _with_names(
    language: Language,
    clauses: Sequence[Clause],
    said_before: str,
    author: str,
) -> Iterator[Clause]:
    """Yield each clause with names from the turn before in place of its pronouns, or as it is if it
    needs none or its names are in this turn.
    """
    for place, clause in enumerate(clauses):
        plain = straight(clause.text)
        own = " ".join(straight(one.text) for one in clauses[:place])
        named_here = any(language.cue(kind).search(own) for kind in ("somebody", "place"))
        text = None if named_here else resolved(language, plain, said_before, author)
        yield replace(clause, text=text) if text and not points_outside(language, text) else clause


def _understood(
    judge: Judge,
    language: Language,
    where: str,
    clause: Clause,
    candidate: Candidate,
    judgement: Judgement,
) -> bool:
    """Whether a statement can be understood alone. It may be longer than its clause, with the one
    before it, or shorter, without a remark.
    """
    enough = standalone_judge.enough(where)
    if judgement.correct >= enough:
        return True
    if candidate.quote == clause.text:
        return False
    shown = replace(clause, text=candidate.quote)
    told = judge.judge([shown], language, among_people=where == "people")
    return told is not None and told[0].correct >= enough


def _without_remark(
    judge: Judge,
    language: Language,
    where: str,
    words: str,
    turn: Memory,
    clause: Clause,
    judgement: Judgement,
) -> Candidate | None:
    """The statement without what is remarked on it: "I got back from a trip, it was fun"; None if
    it cannot be understood so, either.
    """
    shorter = replace(clause, text=statement_of_remark(language, clause.text))
    if shorter.text == clause.text:
        return None
    found = _candidate(language, words, turn, shorter, None, judgement, named=False)
    if found is None or not _understood(judge, language, where, clause, found, judgement):
        return None
    return found


def _after(
    judge: Judge,
    language: Language,
    where: str,
    words: str,
    turn: Memory,
    before: Clause,
    clause: Clause,
    judgement: Judgement,
) -> Candidate | None:
    """A statement with a figure, and the clause before that says of what; None if the two cannot be
    understood alone, either.
    """
    if judgement.keep < _WELL_WORTH or not _DIGITS.search(clause.text):
        return None
    content = told_after(
        language,
        clause.text,
        before.text,
        turn.author,
        turn.event_time,
    )
    start = words.find(before.text)
    end = words.find(clause.text, start) + len(clause.text)
    both = replace(clause, text=words[start:end])
    if content is None:
        return None
    seen = judge.judge([both], language, among_people=where == "people")
    if seen is None or seen[0].correct < standalone_judge.enough(where):
        return None
    return _judged_candidate(content, both.text, turn, judgement)


def _mended(
    judge: Judge,
    language: Language,
    where: str,
    words: str,
    turn: Memory,
    clause: Clause,
    judgement: Judgement,
    before: Clause | None,
) -> Candidate | None:
    """The statement in a way that can be understood alone: without a remark, or with the clause
    `before` that is kept; None if neither can.
    """
    shorter = _without_remark(
        judge,
        language,
        where,
        words,
        turn,
        clause,
        judgement,
    )
    if shorter is not None or before is None:
        return shorter
    return _after(
        judge,
        language,
        where,
        words,
        turn,
        before,
        clause,
        judgement,
    )


def _answer(
    judge: Judge,
    language: Language,
    words: str,
    turn: Memory,
    clause: Clause,
    judgement: Judgement,
    question: str,
) -> Candidate | None:
    """A statement that only the question before it explains, told with that question: "Ana has four
    (asked: "How many cats do you have?")"; None if both together cannot be understood, either.
    """
    if not question or clause.number >= _ANSWERED_IN or judgement.keep < _WORTH_ASKING:
        return None
    found = _candidate(language, words, turn, clause, None, judgement, named=False)
    if found is None:
        return None
    both = f"{question}? {clause.text}"
    asked, answered = _likely_alone(judge, language, question, both)
    if asked < _CLEAR_QUESTION or answered < _ANSWERS:
        return None
    return replace(found, content=with_question(found.content, question))


def _with_question(
    judge: Judge,
    language: Language,
    clause: Clause,
    judgement: Judgement,
    candidate: Candidate,
    question: str,
) -> Candidate:
    """The statement, with the question that it answers if it may not be understood without."""
    if not question or clause.number or judgement.alone >= _PLAINLY_ALONE:
        return candidate
    both = f"{question}? {clause.text}"
    asked, answered = _likely_alone(judge, language, question, both)
    if asked < _CLEAR_QUESTION or answered < judgement.alone + _EXPLAINS:
        return candidate
    return replace(candidate, content=with_question(candidate.content, question))


def _likely_alone(
    judge: Judge,
    language: Language,
    *texts: str,
) -> list[float]:
    """How likely each text can be understood alone; 0 if the judge cannot say now."""
    clauses = [Clause(text, Sentence(text), 0) for text in texts]
    judgements = judge.judge(clauses, language, among_people=False)
    return [one.alone for one in judgements] if judgements else [0.0] * len(texts)


def understands(
    judge: Judge,
    language: Language,
    words: str,
) -> bool:
    """Whether words that a pattern fits can be understood alone, as far as the judge can say."""
    clause = Clause(words, Sentence(words), 0)
    judgements = judge.judge([clause], language, among_people=False)
    enough = _LIKELY_ALONE if language.code == "en" else _LIKELY_ALONE_ELSEWHERE
    return judgements is None or judgements[0].correct >= enough


def _add(
    candidates: list[Candidate],
    new: Candidate,
) -> None:
    """Adds a statement; one that tells the last one again takes its place."""
    if candidates and candidates[-1].quote in new.quote:
        candidates.pop()
    candidates.append(new)


def _candidate(
    language: Language,
    words: str,
    turn: Memory,
    clause: Clause,
    before: Clause | None,
    judgement: Judgement,
    *,
    named: bool,
) -> Candidate | None:
    said_before = before.text if before is not None and not before.asks else ""
    found = told(language, clause.text, said_before, turn.author, turn.event_time, of_others=named)
    if found is None:
        return None
    content, quote = found
    if not quote:
        start = words.find(said_before)
        end = words.find(clause.text, start) + len(clause.text)
        quote = words[start:end]
    return _judged_candidate(content, quote, turn, judgement)


def _judged_candidate(
    content: str,
    quote: str,
    turn: Memory,
    judgement: Judgement,
) -> Candidate:
    return Candidate(
        content=content,
        quote=quote,
        source=turn.id,
        category=judgement.category,
        confidence=round(judgement.keep, 2),
        author=turn.author,
    )


def _possessed(
    language: Language,
    clause: Clause,
    turn: Memory,
) -> Iterator[Candidate]:
    for content, quote in possessions(language, clause.text, turn.author):
        yield Candidate(content, quote, source=turn.id, author=turn.author)


def merged(
    patterns: Sequence[Candidate],
    kept: Kept,
    understood: Callable[[Candidate], bool],
) -> list[Candidate]:
    """What patterns found and what the judge keeps, each statement once.

    A statement that both found is told as the judge's, whole, and filed as the pattern's. One that
    only a pattern found has to be `understood` alone.
    """
    found = list(kept.candidates)
    extra = []
    for one in patterns:
        place = next((at for at, other in enumerate(found) if one.quote in other.quote), None)
        sure = one.kind == "rule" or one.confidence == 1.0 or one.category == "correction"
        if sure:
            extra.append(one)
            if place is not None:
                found.pop(place)
        elif place is None:
            trusted = one.confidence >= _SURE or not kept.doubts(one.quote)
            if trusted and (one.confidence >= _CERTAIN or understood(one)):
                extra.append(one)
        elif len(one.quote) < len(found[place].quote) / 2 and one.category == "relationship":
            # Somebody named in passing; in other languages only a piece of what is told anyway.
            extra += [one] if one.content != one.quote else []
        elif found[place].triple is None:
            found[place] = _filed(found[place], one)
    return [*found, *extra]


def _filed(judged: Candidate, pattern: Candidate) -> Candidate:
    same_words = pattern.quote == judged.quote and not question_of(judged.content)
    return replace(
        judged,
        content=pattern.content if same_words else judged.content,
        category=pattern.category,
        triple=pattern.triple,
        confidence=max(judged.confidence, pattern.confidence),
    )
