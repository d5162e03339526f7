"""Session summaries ("arcs"): title, what was told and decided, what is open, and who took part.

A model writes a few sentences. Without one, the summary is made of what the offline extractor found
(`statements`), or of the most central sentences where it found nothing, in the user's language.
Greetings, and fewer than three substantial turns, yield no arc.
A session that continues after its end gets a new arc that replaces the old one, so there is never
more than one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..ingest import commit
from ..ingest.commit import Draft
from ..models.llm.chat import Complete
from ..models.llm.json_output import ask_for_json, line, object_in
from ..storage.protocol import Store, Transaction
from ..text.spoken_commands import command
from ..text.terminal import shorten
from ..text.tokens import query_terms
from ..types import Edge, Memory, Micros, Scope, Session, iso
from .candidate import Candidate
from .patterns import Language, languages_of
from .policy import PEOPLE, is_among_people
from .prompts import prompt
from .shown_turns import conversation_lines
from .titles import is_considered, is_idle, telling, title_of
from .vocabulary import SENTENCES, Cues, Vocabulary, straight

CATEGORY = "session"
OUTCOME = (
    "summary"  # read already: no consolidation of an agent's episodes takes it for one of its own
)
# Of substance, below which there is nothing to sum up.
FEWEST_TURNS = 3
MOST_THEMES = 3
LONGEST_THEME = 60
LONGEST_SUMMARY = 600
LONGEST_MOOD = 40
LONGEST_LOOP = 200
MOST_LOOPS = 5
MOST_SENTENCES = 3
MOST_DECIDED = 3
LONGEST_TITLE = 80
MOST_PEOPLE = 5
# A plan that the judge is this sure of.
_FIRM = 0.8
# Share of its words that a statement has in common with one that says the same.
_SAME = 0.6
MOST_TOLD = 200
LONGEST_APPROACH = 60
MOST_CONTEXT = 12
LEVELS = range(4)

_WORD = re.compile(r"[^\W\d_][\w'’-]+")
# Without spaces there are no words: runs of Han characters or katakana stand for them.
_CJK_RUN = re.compile(r"[\u4e00-\u9fff々]{2,4}|[\u30a0-\u30ff]{2,}")
# Questions are no themes, but may be what was left open.
_ASKS = re.compile(r"[?？]\s*$")


@dataclass(frozen=True, slots=True)
class Arc:
    """What a session was about, each field within its limit."""

    summary: str
    themes: tuple[str, ...] = ()
    opened: str = ""
    closed: str = ""
    open_loops: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    title: str = ""
    decided: tuple[str, ...] = ()
    people: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All fields as one text, for matching."""
        lists = (*self.themes, *self.open_loops, *self.resolved, *self.decided)
        return "\n".join((self.title, self.summary, *lists))


def of_substance(turn: Memory, words: Vocabulary) -> bool:
    """Whether a person said more in this turn than greetings and memory requests."""
    if turn.role not in PEOPLE or words.is_small_talk(turn.content) or words.request(turn.content):
        return False
    return len(query_terms(turn.content)) >= 2 or len(turn.content.split()) >= 3


def _without_requests(turn: Memory, words: Vocabulary) -> Memory:
    """A turn without its requests to memory, such as "what do you know about me?"."""
    if turn.role not in PEOPLE:
        return turn
    whole = command(turn.content)
    asked = words.asked(turn.content)
    if asked is not None and asked.kind != "remember":
        return replace(turn, content=asked.rest)
    if whole and not whole.name.startswith("remember"):
        return replace(turn, content="")
    return turn


def is_worth_a_summary(turns: Sequence[Memory], words: Vocabulary) -> bool:
    """Whether people said enough for a summary."""
    return sum(of_substance(turn, words) for turn in turns) >= FEWEST_TURNS


def summarise_session(
    turns: Sequence[Memory],
    words: Vocabulary,
    complete: Complete | None,
    answered: Mapping[str, Any] | None = None,
    *,
    statements: Sequence[Candidate] = (),
    people: Sequence[str] = (),
) -> Arc | None:
    """Summarise a session's turns, with or without a model; None if there is too little.

    `answered` is what the model said when it read the turns, so that it need not be asked again.
    `statements` are what was found in the turns, `people` who takes part or is spoken of. Model
    errors propagate. Raises ModelFailed if the answer is unusable.
    """
    turns = [one for turn in turns if (one := _without_requests(turn, words)).content]
    said = [turn for turn in turns if of_substance(turn, words)]
    if len(said) < FEWEST_TURNS:
        return None
    if complete:
        made = arc_of(answered) if answered is not None else _by_model(turns, complete)
        return replace(made, people=tuple(people)) if made else None
    return _by_rules(turns, said, words, statements, people)


# By a model


def _by_model(turns: Sequence[Memory], complete: Complete) -> Arc | None:
    told = "\n".join(conversation_lines(turns[-MOST_TOLD:]))
    asked = prompt("summarise_session", fields=prompt("summary_fields"), turns=told)
    return arc_of(ask_for_json(complete, asked, _read_answer, "summary of the session"))


def _read_answer(text: str) -> dict[str, Any] | None:
    """The JSON object of an answer; None if it holds no summary."""
    answer = object_in(text)
    return answer if answer is not None and is_summary(answer) else None


def is_summary(answer: Any) -> bool:
    """Whether an answer tells what the session was about, or that it was about nothing."""
    told = answer.get("arc", answer) if isinstance(answer, Mapping) else answer
    if told is None:
        return isinstance(answer, Mapping)
    return isinstance(told, Mapping) and bool(line(told.get("summary")))


def arc_of(answer: Mapping[str, Any]) -> Arc | None:
    """The summary in a model's answer, each field within its limit; None for small talk."""
    answer = answer.get("arc", answer)
    if answer is None:
        return None
    summary = _line(answer.get("summary"), LONGEST_SUMMARY)
    mood = answer.get("mood_arc")
    opened, closed = (
        _line(mood.get(end), LONGEST_MOOD) if isinstance(mood, Mapping) else ""
        for end in ("opened", "closed")
    )
    return Arc(
        summary,
        _lines(answer.get("primary_themes"), MOST_THEMES, LONGEST_THEME),
        opened,
        closed,
        _lines(answer.get("open_loops"), MOST_LOOPS, LONGEST_LOOP),
        _lines(answer.get("resolved_threads"), MOST_LOOPS, LONGEST_LOOP),
        _line(answer.get("title"), LONGEST_TITLE),
        _lines(answer.get("decided"), MOST_DECIDED, LONGEST_LOOP),
    )


def _line(value: Any, longest: int) -> str:
    return shorten(line(value), longest)


def _lines(
    value: Any,
    most: int,
    longest: int,
) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else []
    return tuple(line for one in listed if (line := _line(one, longest)))[:most]


# Without a model


def _by_rules(
    turns: Sequence[Memory],
    said: Sequence[Memory],
    words: Vocabulary,
    statements: Sequence[Candidate],
    people: Sequence[str],
) -> Arc:
    spoken_in = next(iter(languages_of("\n".join(turn.content for turn in said))), None)
    cues = _cues(spoken_in, words)
    weights = Counter(term for turn in said for term in set(query_terms(turn.content)))
    spoken = [
        one for turn in said for one in SENTENCES.split(turn.content) if not _passing(one, words)
    ]
    facts = [one for one in statements if one.kind == "fact" and not _passing(one.quote, words)]
    decided = tuple(_told(one) for one in facts if _is_decided(one, spoken_in))
    speakers = {turn.author.lower() for turn in said if turn.author}
    themes = _themes(spoken, weights, spoken_in.code if spoken_in else "en", speakers)
    arc = Arc(
        summary="",
        themes=themes,
        opened=_mood(said[:1], cues),
        closed=_mood(said[-1:], cues),
        open_loops=_unanswered(turns, words),
        title=title_of(said, spoken_in, facts, weights, among_people=is_among_people(turns)),
        decided=decided[:MOST_DECIDED],
        people=tuple(people),
    )
    told = [one for one in facts if _told(one) not in arc.decided]
    said_besides = [one for one in spoken if not any(each in one for each in arc.decided)]
    quotes = _best_told(told, weights, cues) if told else _central(said_besides, weights)
    about = "" if told or decided else cues.arc["about"].format(themes=_listed(themes))
    return replace(arc, summary=_worded(arc, cues, about if themes else "", quotes))


def _is_decided(statement: Candidate, spoken_in: Language | None) -> bool:
    """Whether somebody decided or firmly plans something."""
    if statement.category == "plan":
        return statement.confidence >= _FIRM and not is_considered(statement, spoken_in)
    return statement.category == "decision"


def _told(statement: Candidate) -> str:
    """A statement on one line; of a long one the first sentence."""
    text = statement.content
    if len(text) > LONGEST_LOOP:
        text = SENTENCES.split(text)[0]
    return _line(text, LONGEST_LOOP).rstrip(".。")


def _best_told(facts: Sequence[Candidate], weights: Mapping[str, int], cues: Cues) -> list[str]:
    """The most telling statements, in the order in which they were made, each a sentence."""
    best: dict[str, set[str]] = {}
    for one in sorted(facts, key=lambda one: -telling(one, weights)):
        terms = set(query_terms(one.content))
        # What was said twice is told once.
        said = any(len(terms & other) > _SAME * len(terms) for other in best.values())
        if not said and len(best) < MOST_SENTENCES:
            best[_told(one)] = terms
    told = [one for one in dict.fromkeys(map(_told, facts)) if one in best]
    return [f"{one}{_stop(cues)}" for one in told]


def _stop(cues: Cues) -> str:
    return "。" if cues.script in ("han", "kana") else "."


def _worded(arc: Arc, cues: Cues, about: str, quotes: Sequence[str]) -> str:
    """The fields as one text; a part that does not fit is left out, a quote first."""
    decided = "; ".join(arc.decided) + _stop(cues)
    rest = [
        cues.arc["decided"].format(decided=decided) if arc.decided else "",
        cues.arc["asked"].format(questions=" ".join(arc.open_loops)) if arc.open_loops else "",
        cues.arc["people"].format(people=_listed(arc.people)) if arc.people else "",
    ]
    quotes = list(quotes)
    while True:
        said = cues.arc["said"].format(quotes=" ".join(quotes))
        text = " ".join(part for part in (about, said, *rest) if part.strip())
        if len(text) <= LONGEST_SUMMARY or len(quotes) <= 1:
            return _line(text, LONGEST_SUMMARY)
        quotes.pop()


def _cues(spoken_in: Language | None, words: Vocabulary) -> Cues:
    """Cues of the language people used most."""
    code = spoken_in.code if spoken_in else ""
    return next((cues for cues in words.cues if cues.language == code), words.cues[0])


def _passing(sentence: str, words: Vocabulary) -> bool:
    """Whether a sentence is momentary or addressed to nobody's memory, so not part of the topic."""
    return words.says("turn_scoped", sentence) or words.says("safety_conflict", sentence)


def _themes(
    spoken: Sequence[str],
    weights: Mapping[str, int],
    code: str,
    speakers: Collection[str],
) -> tuple[str, ...]:
    """Return topic words that most turns share, as written; names first, then long words.

    Words such as "Thanks" and "Wow" name no topic; the speakers are listed elsewhere.
    """
    written: dict[str, str] = {}
    for sentence in spoken:
        for word in (*_WORD.findall(sentence), *_CJK_RUN.findall(sentence)):
            terms = query_terms(word)
            if is_idle(word, code) or word.lower() in speakers:
                continue
            if terms and len(word) > 2 - bool(_CJK_RUN.match(word)):
                written.setdefault("".join(terms), word.rstrip("-'’"))

    def rank(term: str) -> tuple[float, bool, int]:
        word = written[term]
        named = any(f" {word}" in sentence for sentence in spoken) and word[0].isupper()
        return -_weight(term, weights), not named, -len(word)

    return tuple(written[term] for term in sorted(written, key=rank)[:MOST_THEMES])


def _weight(term: str, weights: Mapping[str, int]) -> float:
    """Number of turns that contain a term; for a run of characters, that of its rarest one."""
    if term in weights:
        return weights[term]
    return min((weights.get(one, 0) for one in term), default=0)


def _central(spoken: Sequence[str], weights: Mapping[str, int]) -> list[str]:
    """The most central sentences, in the order in which they were said."""
    sentences = [" ".join(one.split()) for one in spoken if len(query_terms(one)) >= 2]

    def weight(sentence: str) -> float:
        terms = query_terms(sentence)
        # Not the sum: the longest sentence is not the one that says most.
        return sum(weights[term] for term in terms) / math.sqrt(len(terms))

    best = sorted(
        dict.fromkeys(one for one in sentences if not _ASKS.search(one)), key=weight, reverse=True
    )
    chosen = set(best[:MOST_SENTENCES])
    return [_line(one, LONGEST_LOOP) for one in dict.fromkeys(sentences) if one in chosen]


def _unanswered(turns: Sequence[Memory], words: Vocabulary) -> tuple[str, ...]:
    """Questions after which nobody else said anything of substance."""

    def answers(turn: Memory, asked: Memory) -> bool:
        if turn.role not in PEOPLE:
            return True
        return turn.author != asked.author and not words.is_small_talk(turn.content)

    open_ = [
        turn
        for place, turn in enumerate(turns)
        if turn.role in PEOPLE and not any(answers(later, turn) for later in turns[place + 1 :])
    ]
    asked = (
        one.strip()
        for turn in open_
        for one in SENTENCES.split(turn.content)
        if _ASKS.search(one) and not words.is_small_talk(one)
    )
    return tuple(_line(one, LONGEST_LOOP) for one in asked)[:MOST_LOOPS]


def _mood(turns: Sequence[Memory], cues: Cues) -> str:
    found = next(
        (mood for turn in turns if (mood := cues.words["mood"].search(straight(turn.content)))),
        None,
    )
    if found:
        return found[0].lower()[:LONGEST_MOOD]
    return ""


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)


def people_in(
    store: Store,
    scope: Scope,
    memories: Sequence[Memory],
    types: Sequence[str] = ("person",),
) -> list[str]:
    """Names of those who speak in memories, then of those who are mentioned most."""
    speakers = [one.author for one in memories if one.author and one.role in PEOPLE]
    mentioned = store.entities.mentions_of(scope, [memory.id for memory in memories])
    counts = Counter[str]()
    for entities in mentioned.values():
        counts.update(entities)
    # Ids break ties, so that the same memories give the same names.
    ranked = sorted(counts, key=lambda id_: (-counts[id_], id_))
    found = (store.entities.get(scope, id_) for id_ in ranked)
    names = (entity.name for entity in found if entity is not None and entity.type in types)
    return list(dict.fromkeys((*speakers, *islice(names, MOST_PEOPLE))))[:MOST_PEOPLE]


# Kept


def save_summary(
    tx: Transaction,
    session: Session,
    made: Arc,
    turns: Sequence[Memory],
    *,
    at: Micros,
    max_bytes: int,
) -> Memory:
    """Store a session's arc, linked to its turns, replacing the previous one."""
    began = turns[0].event_time
    ended = turns[-1].event_time
    draft = Draft(
        content=made.summary,
        kind="episode",
        category=CATEGORY,
        title=made.title or ", ".join(made.themes),
        event_time=ended,
        source="session",
        trust="derived",
        metadata={
            "session": session.id,
            "primary_themes": list(made.themes),
            "summary": made.summary,
            "mood_arc": {"opened": made.opened, "closed": made.closed},
            "open_loops": list(made.open_loops),
            "resolved_threads": list(made.resolved),
            "decided": list(made.decided),
            "people": list(made.people),
            "turn_count": len(turns),
            "duration_seconds": max(0, ended - began) // 1_000_000,
            "started_at": iso(began),
            "ended_at": iso(ended),
            **_from_its_leader(session.metadata),
        },
    )
    new = commit.build(draft, session.scope, at=at, max_bytes=max_bytes)
    stored = tx.add(new.with_(consolidated_at=at, outcome=OUTCOME))
    for old in arcs_of(tx, session):
        if old.id != stored.id:
            commit.set_status(
                tx,
                old,
                "superseded",
                at=at,
                reason=f"replaced by {stored.id}: the session went on",
            )
            tx.link(Edge(stored.scope, stored.id, old.id, "supersedes", at))
    for turn in turns:
        tx.link(Edge(stored.scope, stored.id, turn.id, "derived_from", at))
    return stored


def _from_its_leader(noted: Mapping[str, Any]) -> dict[str, Any]:
    """What only the agent that led the session knows: its approach and how grave it became."""
    approach, context, level = (
        noted.get(key) for key in ("approach_used", "approach_context", "crisis_level_max")
    )
    listed = list(context.items())[:MOST_CONTEXT] if isinstance(context, Mapping) else []
    told = {
        "approach_used": _line(approach, LONGEST_APPROACH),
        "approach_context": {
            _line(key, LONGEST_APPROACH): line(value) for key, value in listed if line(value)
        },
        "crisis_level_max": level if type(level) is int and level in LEVELS else None,
    }
    return {key: value for key, value in told.items() if value not in ("", {}, None)}


def arcs_of(tx: Transaction, session: Session) -> list[Memory]:
    """The arc of a session; several only after two stores were merged."""
    found = tx.sessions.memories(session.scope, session.id, named=True)
    return [
        one
        for one in found
        if (one.kind, one.category, one.status) == ("episode", CATEGORY, "active")
    ]
