"""Session summaries ("arcs"): topic, course and open questions, one per substantial session.

A model writes a few sentences. Without one, the summary is made of the most central sentences, in
the user's own words and language. Greetings, and fewer than three substantial turns, yield no arc.
A session that continues after its end gets a new arc that replaces the old one, so there is never
more than one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..ingest import commit
from ..ingest.commit import Draft
from ..models.llm.chat import Complete
from ..models.llm.json_output import ask_for_json, line, object_in
from ..storage.protocol import Transaction
from ..text.spoken_commands import command
from ..text.terminal import shorten
from ..text.tokens import query_terms
from ..types import Edge, Memory, Micros, Session, iso
from .patterns import languages_of
from .policy import PEOPLE
from .prompts import prompt
from .shown_turns import conversation_lines
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

    @property
    def text(self) -> str:
        """All fields as one text, for matching."""
        return "\n".join((self.summary, *self.themes, *self.open_loops, *self.resolved))


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
) -> Arc | None:
    """Summarise a session's turns, with or without a model; None if there is too little.

    `answered` is what the model said when it read the turns, so that it need not be asked again.
    Model errors propagate. Raises ModelFailed if the answer is unusable.
    """
    turns = [one for turn in turns if (one := _without_requests(turn, words)).content]
    said = [turn for turn in turns if of_substance(turn, words)]
    if len(said) < FEWEST_TURNS:
        return None
    if complete:
        return arc_of(answered) if answered is not None else _by_model(turns, complete)
    return _by_rules(turns, said, words)


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
) -> Arc:
    cues = _cues(said, words)
    weights = Counter(term for turn in said for term in set(query_terms(turn.content)))
    spoken = [
        one for turn in said for one in SENTENCES.split(turn.content) if not _passing(one, words)
    ]
    themes = _themes(spoken, weights)
    asked = _unanswered(turns)
    parts = [
        cues.arc["about"].format(themes=_listed(themes)) if themes else "",
        cues.arc["said"].format(quotes=" ".join(_central(spoken, weights))),
        cues.arc["asked"].format(questions=" ".join(asked)) if asked else "",
    ]
    summary = _line(" ".join(part for part in parts if part.strip()), LONGEST_SUMMARY)
    return Arc(summary, themes, _mood(said[:1], cues), _mood(said[-1:], cues), asked)


def _cues(said: Sequence[Memory], words: Vocabulary) -> Cues:
    """Cues of the language people used most."""
    spoken = languages_of("\n".join(turn.content for turn in said))
    codes = [one.code for one in spoken]
    return next(
        (cues for code in codes for cues in words.cues if cues.language == code), words.cues[0]
    )


def _passing(sentence: str, words: Vocabulary) -> bool:
    """Whether a sentence is momentary or addressed to nobody's memory, so not part of the topic."""
    return words.says("turn_scoped", sentence) or words.says("safety_conflict", sentence)


def _themes(spoken: Sequence[str], weights: Mapping[str, int]) -> tuple[str, ...]:
    """Words that most turns share, as written; names first, then long words."""
    written: dict[str, str] = {}
    for sentence in spoken:
        for word in (*_WORD.findall(sentence), *_CJK_RUN.findall(sentence)):
            terms = query_terms(word)
            if terms and len(word) > 2 - bool(_CJK_RUN.match(word)):
                written.setdefault("".join(terms), word)

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


def _unanswered(turns: Sequence[Memory]) -> tuple[str, ...]:
    """Questions at the very end that got no answer."""
    last = next(
        (place for place, one in reversed(list(enumerate(turns))) if one.role not in PEOPLE), -1
    )
    asked = (
        one.strip()
        for turn in turns[last + 1 :]
        for one in SENTENCES.split(turn.content)
        if _ASKS.search(one)
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
        title=", ".join(made.themes),
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
