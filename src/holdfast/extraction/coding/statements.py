"""Stated decisions, principles and preferences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...text.tokens import query_terms
from ...types import Memory
from ..candidate import Candidate
from ..policy import PEOPLE
from ..rules import RuleExtractor
from ..speech import Sentence, own_words, sentences
from ..third_person import retell
from ..vocabulary import straight
from .coding_session import Said, Session
from .cue_words import Words, spoken, words_of
from .note import (
    CATEGORY_OF,
    LONGEST_QUOTE,
    LONGEST_TEXT,
    Home,
    Note,
    sentence,
    title_of,
    within,
)
from .note_judge import THRESHOLDS, Evidence, NoteJudge, Verdict

_EDGES = " \t\n,;:–—-."
# One word alone is decided on only if it looks like a name.
_NAMED = re.compile(r"[A-Z0-9`_]")
# Words of a sentence that says something by itself, and is no story.
_FEWEST_WORDS = 4
_MOST_WORDS = 50
# Words, and the share of a quote's words, that an agent has offered in a row.
_FEWEST_OFFERED = 3
_OFFERED = 0.6
_WORD = re.compile(r"\w+")
# Sentences of a message whose point is that something be remembered.
_MOST_AROUND_REQUEST = 2
# Characters of a request to remember what follows.
_LONGEST_REQUEST = 30
# Words of a step that somebody could take.
_FEWEST_IN_STEP = 6
# How editors mark a file that a message mentions: "@src/main.py".
_MENTIONED = re.compile(r"(?<!\S)@(?=[\w./\\-]+\.\w{1,4}\b)")
# Words of several people: these stay as they are.
_SHARED = re.compile(r"\b(?:we|us|our|let'?s)\b", re.IGNORECASE)
# Words that two people do not choose alike by chance.
_FEWEST_ECHOED = 6
# Somebody else's words that were left out, bold type, a line of a log, a heading.
_NOT_SPOKEN = re.compile(
    r"\ufffc|\*\*|^[^\w`'\"@./]|\d ?m?s\)?$|:$|\.\w{1,5}(?:\?\S*)?:\d|\b\w+(?:Error|Exception)\b"
)
# A numbered line, and as many as make a list of answers to a list.
_NUMBERED = re.compile(r"^\s{0,3}\d{1,2}[.)]\s", re.MULTILINE)
_FEWEST_ANSWERS = 3
# Where a clause of its own may begin.
_PARTED = re.compile(
    r"(?:[,;:.!?–—(…-]\s*(?:(?:and|but|so|then|also|please|just|again)\b[\s,]*)*"
    r"|\b(?:please|then|must|should|to|that|we|I|you|and))$",
    re.IGNORECASE,
)
# The judge itself tells what is about a feature or the look of the product.
_JUDGED_GUARDS = ("doubt", "moment", "points", "unnamed", "report")
_PATTERN_GUARDS = ("points", "unnamed", "report", "feature", "product")
_DECISION_GUARDS = ("points", "report", "feature")

LASTING = (
    "standing",
    "taste",
    "consent",
    "secrets",
    "contrast",
    "custom",
    "universal",
    "spread",
    "habit",
    "place",
    "course",
    "nature",
)
"""The ways of saying that something lasts, in the language files."""

Place = tuple[str, int]
"""A turn's id, and the number of a sentence in it."""


def stated(session: Session, judge: NoteJudge | None = None) -> Iterator[Note]:
    """Notes from what people state: where a pattern fits, and where the judge says that it holds
    beyond the moment. An agent's statements are no decisions.
    """
    said = [
        one
        for one in session.said
        if one.by_user
        and not _is_prompt(one)
        and not one.is_document
        and not _answers_list(session, one)
    ]
    verdicts = _verdicts(said, judge)
    patterned: set[Place] = set()
    by_id = {one.turn.id: one for one in said}
    for found in RuleExtractor(spoken).extract([one.turn for one in said]):
        one = by_id[found.source]
        place = _place(one, found.quote)
        note = _note(found, one.turn)
        if (
            note is not None
            and _is_likely(one, found, place, verdicts)
            and not _is_echo(session, one, found.quote)
        ):
            patterned.add(place)
            yield replace(note, tentative=note.tentative or not _is_plain(session, one, found))
    for place, verdict in verdicts.items():
        if place in patterned:
            continue
        one = by_id[place[0]]
        sentence = one.sentences[place[1]]
        if (
            verdict.worth >= THRESHOLDS["again"]
            and not one.shows_output
            and may_stand(sentence, _JUDGED_GUARDS)
            and _is_english(one, sentence)
            and not _is_echo(session, one, sentence.text)
        ):
            yield _judged_note(one, place[1], verdict)


def _is_plain(
    session: Session,
    said: Said,
    found: Candidate,
) -> bool:
    """Whether a statement that a pattern fits counts by itself. Where no judge knows the language,
    it has to be a decision, to say that it lasts, or to be all that is said and asked for: "please
    note" beside a task is said of that task. Else a second session has to say it. Who prefers what
    the agent has just offered chooses, and only for now.
    """
    if found.category == "preferences" and _is_offered(session, said, found.quote):
        return False
    return (
        bool(said.words and said.words[0].code == "en")
        or found.category == "decisions"
        or (found.confidence == 1.0 and _is_all_that_is_said(said, found.quote))
        or lasts(straight(found.quote))
    )


def _is_all_that_is_said(said: Said, quote: str) -> bool:
    """Whether a message holds nothing but a request to remember, at the most a few words long, and
    what is to be remembered.
    """
    return len(said.sentences) == 1 and 0 <= said.own.find(quote) <= _LONGEST_REQUEST


def _is_offered(
    session: Session,
    said: Said,
    quote: str,
) -> bool:
    """Whether most words of a quote stand in a row in what the agent said directly before."""
    before = session.answered(said)
    words = _WORD.findall(straight(quote).lower())
    need = max(_FEWEST_OFFERED, round(_OFFERED * len(words)))
    if before is None or len(words) < need:
        return False
    text = f" {' '.join(_WORD.findall(straight(before.text).lower()))} "
    runs = (words[start : start + need] for start in range(len(words) - need + 1))
    return any(f" {' '.join(run)} " in text for run in runs)


def _is_english(said: Said, sentence: Sentence) -> bool:
    """Whether the judge knows the language: it learned from English sentences only."""
    spoken_in = (said.words[:1], words_of(sentence.text)[:1])
    return all(words and words[0].code == "en" for words in spoken_in)


def _is_prompt(said: Said) -> bool:
    """Whether a message casts the agent in a part ("You are a senior reviewer"): that is a prompt
    written for one task, and its rules are no rules of the project.
    """
    return any(
        words.begins("guard.cast", sentence.text)
        for words in said.words
        for sentence in said.sentences
    )


def _answers_list(session: Session, said: Said) -> bool:
    """Whether a message answers a list of the agent point by point: "7. Leave a note there" says
    nothing without the seventh point.
    """
    before = session.answered(said)
    return before is not None and all(
        len(_NUMBERED.findall(one.text)) >= _FEWEST_ANSWERS for one in (before, said)
    )


def _is_echo(
    session: Session,
    said: Said,
    quote: str,
) -> bool:
    """Whether the agent or a tool wrote the same words before: then they were pasted back."""
    words = _on_one_line(quote)
    if len(words.split()) < _FEWEST_ECHOED:
        return False
    earlier = (
        *(one.turn.content for one in session.said if one.place < said.place and not one.by_user),
        *(run.turn.content for run in session.runs if run.place < said.place),
    )
    return any(words in _on_one_line(text) for text in earlier)


def _on_one_line(text: str) -> str:
    return " ".join(straight(text).split())


def lasts(text: str) -> bool:
    """Whether a text says itself that it holds beyond the moment."""
    return any(words.says(f"lasting.{name}", text) for words in words_of(text) for name in LASTING)


def _verdicts(said: Sequence[Said], judge: NoteJudge | None) -> dict[Place, Verdict]:
    """The verdict on every sentence; none where there is no judge."""
    places = [(one.turn.id, number) for one in said for number in range(len(one.sentences))]
    texts = [sentence.text for one in said for sentence in one.sentences]
    found = judge.judge(texts) if judge is not None and texts else None
    return dict(zip(places, found, strict=True)) if found is not None else {}


def _place(said: Said, quote: str) -> Place:
    """Which sentence of a turn a quote is from."""
    wanted = straight(quote)
    number = next((number for number, each in enumerate(said.sentences) if wanted in each.text), -1)
    return said.turn.id, number


def _is_likely(
    said: Said,
    found: Candidate,
    place: Place,
    verdicts: Mapping[Place, Verdict],
) -> bool:
    """Whether nothing speaks against a statement that a pattern fits."""
    if straight(found.quote) not in straight(said.own) or "\n" in found.quote.strip():
        return False  # it is handed on, or part of a list
    if not said.words or said.words[0].code != "en" or place[1] < 0:
        # The labelled sentences are English: elsewhere the judge says nothing. "Please note" is
        # said of a task more often than "remember" of a project.
        if found.confidence == 1.0 and len(said.sentences) > _MOST_AROUND_REQUEST:
            return False
        return place[1] < 0 or may_stand(said.sentences[place[1]], _PATTERN_GUARDS)
    verdict = verdicts.get(place)
    evidence: Evidence = "pattern" if lasts(straight(found.quote)) else "plain"
    if found.category == "decisions":
        evidence = "choice"
    likely = verdict is None or verdict.worth >= THRESHOLDS[evidence]
    # The pattern has looked for doubts and for the moment itself.
    if not likely or len(found.quote.split()) < _FEWEST_WORDS:
        return False
    quote = _announced(said.words[0], found)
    if _is_supposed(said, place, quote) or _is_told(said, place, quote):
        return False
    # Who decides between two things means more than how the product looks.
    guards = _DECISION_GUARDS if found.category == "decisions" else _PATTERN_GUARDS
    whole = said.sentences[place[1]]
    if quote != straight(found.quote):
        whole = replace(whole, text=whole.text[whole.text.find(quote) :])
    return may_stand(whole, guards) and may_stand(Sentence(quote), guards)


def _is_supposed(
    said: Said,
    place: Place,
    quote: str,
) -> bool:
    """Whether a statement hangs on a condition before it: "if this is invalid, we use the other"
    says what is to happen then, and decides nothing.
    """
    before, _, _ = said.sentences[place[1]].text.partition(quote)
    return any(words.says("guard.supposed", before) for words in said.words)


def _is_told(
    said: Said,
    place: Place,
    quote: str,
) -> bool:
    """Whether a rule is only the end of what a sentence tells: "the flag is set but never read"."""
    before, _, _ = said.sentences[place[1]].text.partition(quote)
    bare = without_lead(said.words[0], f"{before}use").removesuffix("use").rstrip()
    return bool(bare) and not _PARTED.search(bare)


def _announced(words: Words, found: Candidate) -> str:
    """The quote without what leads to a decision: "I slept on it: we'll keep one database"."""
    quote = straight(found.quote)
    _, colon, rest = quote.partition(": ")
    if found.category == "decisions" and colon and words.begins("decided.opening", rest):
        return rest
    return quote


def may_stand(sentence: Sentence, guards: Sequence[str]) -> bool:
    """Whether a sentence can be a note by its form: a whole statement that names what it is about,
    not a question, a doubt, an order of the moment, a report or what somebody else says.
    """
    text = sentence.text
    known = words_of(text)
    few, many = (_FEWEST_WORDS, _MOST_WORDS) if known and known[0].language.spaced else (1, 60)
    if sentence.asks or not known or not few <= len(text.split()) <= many:
        return False
    if text.count("(") != text.count(")") or _NOT_SPOKEN.search(text):
        return False
    bare = without_lead(known[0], text)
    guarded = any(known[0].says(f"guard.{name}", bare) for name in guards)
    guarded = guarded or known[0].begins("guard.supposed", bare) is not None
    asked_or_told = any(known[0].language.begins(cue, bare) for cue in ("question", "reported"))
    return not guarded and not asked_or_told


def without_lead(words: Words, text: str) -> str:
    """A sentence without what is said before its point: "no, " or "also "."""
    lead = words.begins("guard.lead", text)
    return text[lead.end() :] if lead else text


def _judged_note(
    said: Said,
    number: int,
    verdict: Verdict,
) -> Note:
    statement = said.sentences[number].text
    words = words_of(statement)[0]
    told = sentence(_by_itself(words, statement))
    everywhere = words.says("place.everywhere", statement) or words.says("place.manner", statement)
    note = Note(
        CATEGORY_OF[verdict.topic],
        title_of(told),
        within(told, LONGEST_TEXT),
        said.verbatim(statement)[:LONGEST_QUOTE],
        (said.turn.id,),
        round(verdict.useful, 2),
        "assistant" if everywhere and verdict.topic == "preference" else "project",
        verdict.topic,
        tentative=verdict.worth < THRESHOLDS["lasting" if lasts(statement) else "alone"]
        # "Always verify" names no step that the next agent could take.
        or (
            verdict.topic == "procedure"
            and "`" not in statement
            and len(statement.split()) < _FEWEST_IN_STEP
        ),
    )
    following = said.sentences[number + 1 : number + 2]
    return with_reason(words, note, following[0].text if following else "")


def _by_itself(words: Words, statement: str) -> str:
    """A statement as somebody reads it who was not there: without what leads to it, and of "the
    user" where its author speaks of themselves alone.
    """
    bare = _MENTIONED.sub("", without_lead(words, statement))
    return bare if _SHARED.search(bare) else retell(bare, "")


def _note(found: Candidate, turn: Memory) -> Note | None:
    words = next((each for each in words_of(found.quote)), None)
    said = straight(found.quote)
    if words is None or len(said) > LONGEST_QUOTE or not _is_for_a_project(found, turn):
        return None
    if found.confidence == 1.0 and words.begins("guard.order", said) and not lasts(said):
        # "don't forget to update the list" is an order, and nothing to remember.
        return None
    if found.category == "decisions":
        return _decision_note(words, said, found, turn)
    if found.category == "preferences" or words.says("place.manner", said):
        return _preference(words, said, found, turn)
    if words.says("incident.cause", said):
        # What went wrong is an incident, or nothing.
        return None
    text = sentence(said)
    told = Note(
        "principles",
        title_of(text),
        within(text, LONGEST_TEXT),
        found.quote,
        (turn.id,),
        found.confidence,
    )
    return with_reason(words, told, _next_sentence(found.quote, turn))


def _decision_note(
    words: Words,
    said: str,
    found: Candidate,
    turn: Memory,
) -> Note | None:
    """The note of a decision that names what was decided, and not for another day."""
    opening = words.begins("decided.opening", said)
    what = said[opening.end() :] if opening else said
    if (
        not _says_what(what)
        or words.begins("guard.next", what)
        or words.begins("guard.later", _around(found.quote, turn))
    ):
        return None
    told = decision(words, what, found.quote, (turn.id,), found.confidence)
    reasoned = with_reason(words, told, _next_sentence(found.quote, turn))
    return replace(reasoned, tentative=reasoned.text == told.text and not _weighs(words, said))


def _weighs(words: Words, said: str) -> bool:
    """Whether a decision says why, or against what, or that several people took it. "Let's keep the
    file names" is more often about the task at hand.
    """
    settled = "guard.settled" if "guard.settled" in words.cues else "decided.over"
    return bool(words.says("decided.because", said) or words.says(settled, said))


def _is_for_a_project(found: Candidate, turn: Memory) -> bool:
    """Whether a statement concerns a project; requests to remember do, people do not."""
    asked_for = found.confidence == 1.0 and turn.role in PEOPLE
    return found.category in ("decisions", "principles", "preferences") or (
        asked_for and found.triple is None
    )


def decision(
    words: Words,
    what: str,
    quote: str,
    turns: tuple[str, ...],
    confidence: float,
) -> Note:
    """The note of a decision, with its reason if one was stated."""
    turning = words.says("decided.because", what) if words.told["because"] else None
    chosen, why = (
        (what[: turning.start()], what[turning.end() :])
        if turning and turning.start()
        else (what, "")
    )
    text = words.told["decided"].format(what=chosen.strip(_EDGES))
    if why.strip(_EDGES):
        text += " " + words.told["because"].format(why=why.strip(_EDGES))
    return Note(
        "decisions",
        title_of(chosen),
        within(text, LONGEST_TEXT),
        quote,
        turns,
        confidence,
    )


def with_reason(
    words: Words,
    note: Note,
    following: str,
) -> Note:
    """A note with the reason from the next sentence, if that sentence states one."""
    reason = words.begins("decided.following", following)
    why = following[reason.end() :].strip(_EDGES) if reason else ""
    if not why or not words.told["because"] or words.says("decided.because", note.quote):
        return note
    text = f"{note.text} {words.told['because'].format(why=why)}"
    return replace(note, text=within(text, LONGEST_TEXT))


def _says_what(what: str) -> bool:
    """Whether it names what was decided: "on the tool" does not, "on Postgres" does."""
    return len(query_terms(what)) > 2 or bool(_NAMED.search(what.strip()))


def _preference(
    words: Words,
    said: str,
    found: Candidate,
    turn: Memory,
) -> Note:
    text = sentence(retell(said, turn.author) if words.code == "en" else said)
    # How somebody is talked to is about them, whatever the project is.
    everywhere = words.says("place.everywhere", _around(found.quote, turn)) or words.says(
        "place.manner", said
    )
    place: Home = "assistant" if everywhere else "project"
    return Note(
        "preferences",
        title_of(text),
        within(text, LONGEST_TEXT),
        found.quote,
        (turn.id,),
        found.confidence,
        place,
    )


def _around(quote: str, turn: Memory) -> str:
    """The sentence that contains a quote; it may say where a preference applies."""
    return next((each for each in _said(turn) if straight(quote) in each), quote)


def _next_sentence(quote: str, turn: Memory) -> str:
    """The sentence after the one that contains a quote; empty if there is none."""
    said = _said(turn)
    place = next((place for place, each in enumerate(said) if straight(quote) in each), len(said))
    if place + 1 < len(said):
        return said[place + 1]
    return ""


def _said(turn: Memory) -> list[str]:
    return [straight(each.text) for each in sentences(own_words(turn.content, role=turn.role))]
