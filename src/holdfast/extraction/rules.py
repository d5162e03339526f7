"""Rule-based extractor: finds durable statements without a model.

A turn is reduced to its author's own words (`speech`) and each sentence is cut into clauses. A
clause is kept if it opens like one of its language's statements (`patterns`) and no guard applies:
a question, a condition, a joke, a momentary wish, somebody else's opinion. Doubtful clauses are
dropped: a wrong memory costs more than a missed one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..text.secrets import find_secrets
from ..types import Memory, Triple
from .antecedents import said_before
from .candidate import Candidate, Changes, grounded
from .corrections import settled
from .dates import dated
from .judge import Judge
from .judged import Kept, kept_of, merged, understands
from .kinship import listed, named_kin
from .patterns import Language, Statement, languages_of
from .policy import PEOPLE, is_among_people
from .speech import Sentence, own_words, sentences
from .standalone import is_of_everybody, lies_ahead, points_before
from .third_person import NOBODY, retell
from .vocabulary import straight

# Words; a longer one is a story, not the object of a triple.
_LONGEST_OBJECT = 12
# Predicates that say "no" themselves.
_NEGATIVE = frozenset(("DISLIKES", "DOES_NOT", "NO_LONGER", "STOPPED"))
_DOINGS = frozenset(
    ("CHANGED", "DECIDED", "DOES_NOT", "HABIT", "NO_LONGER", "PLANNED_FOR", "PLANS", "STOPPED")
)
# What may be said in passing: where somebody lives and works, whom they are with, what has ended.
_STATES = frozenset(("identity", "relationship", "correction"))
_LISTED = (
    3  # words after a comma that may be one more thing of a list; more are a thought of their own
)
_EDGES = " \t\n,;:–—-"
# The object of a triple ends where the next part of the sentence begins.
_PARTS = re.compile(r"\s*(?:[,;(—–]|\bbecause\b|\bsince\b)")


@dataclass(slots=True)
class _Clause:
    """Characters [start, end) of a sentence; `subject` is inherited from the clause before."""

    start: int
    end: int
    subject: str = ""
    opened_to: int = 0
    """Where its opening ends: that may be some segments on, as in "Tom and I are …"."""
    whole: bool = False
    """Whether it takes all the rest of the sentence."""
    asked_for: bool = False
    joined: bool = False
    """Whether "and" or the like joins it to something before."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch between two boundaries, and how it joins the previous one."""

    start: int
    end: int
    mark: str = ""
    word: str = ""


class RuleExtractor:
    """Finds durable facts and standing instructions in dialogue; offline, deterministic."""

    def __init__(
        self,
        spoken: Callable[[str], list[Language]] = languages_of,
        judge: Judge | None = None,
        changes: Changes = lambda *_: False,
    ) -> None:
        """`spoken` selects the languages whose cues apply to a text. A `judge` decides what is
        worth keeping of people's words; without one only patterns do. `changes` tells whether a
        statement ends something known.
        """
        self._spoken = spoken
        self._judge = judge
        self._changes = changes

    def extract(self, turns: Sequence[Memory]) -> list[Candidate]:
        """Candidates of these turns in order; none if nothing durable was said."""
        between_people = is_among_people(turns)
        places = {turn.id: place for place, turn in enumerate(turns)}

        def read(turn: Memory) -> Iterator[Candidate]:
            # Only a judge reads a clause together with the turn before.
            before = said_before(turns, places[turn.id]) if self._judge is not None else ""
            return self._read(turn, between_people, before)

        found = [candidate for turn in turns for candidate in read(turn)]
        if between_people:
            # "Always lock the door" is said to the other person: there is nobody to instruct.
            found = [candidate for candidate in found if candidate.kind != "rule"]
        return settled(found, {turn.id: turn for turn in turns}, read)

    def _read(
        self,
        turn: Memory,
        between_people: bool,
        before: str,
    ) -> Iterator[Candidate]:
        words = own_words(turn.content, role=turn.role)
        languages = self._spoken(words) if words else []
        found: list[Candidate] = []
        for language in languages:
            found = list(_in_language(language, words, turn))
            if found:
                break
        if self._judge is not None and languages and turn.role in PEOPLE:
            kept = self._kept(self._judge, languages, words, turn, between_people, before)
            if kept is not None:
                found = merged(found, kept, partial(_is_understood, self._judge, languages))
        yield from (each for each in found if _may_stay(each, turn.content))

    def _kept(
        self,
        judge: Judge,
        languages: list[Language],
        words: str,
        turn: Memory,
        between_people: bool,
        before: str,
    ) -> Kept | None:
        """What the judge would keep; None where it is not asked or cannot say."""
        language = _spoken_in(languages)
        plain = straight(words)
        if language.warns("private", plain) or language.warns("joke_turn", plain):
            return None
        own = words[: language.material_from(plain)]
        return kept_of(
            judge,
            language,
            own,
            turn,
            among_people=between_people,
            said_before=before,
            changes=lambda one, in_passing: self._changes(one, turn, in_passing),
        )


def _is_understood(judge: Judge, languages: Sequence[Language], found: Candidate) -> bool:
    return understands(judge, _spoken_in(languages), found.quote)


def _spoken_in(languages: Sequence[Language]) -> Language:
    """The language that the judge reads a text in."""
    return next((each for each in languages if each.code == "en"), languages[0])


def _may_stay(candidate: Candidate, text: str) -> bool:
    return (
        grounded(candidate, text)
        and "[REDACTED:" not in candidate.quote
        and not find_secrets(candidate.quote)
    )


def _in_language(
    language: Language,
    words: str,
    turn: Memory,
) -> Iterator[Candidate]:
    plain = straight(words)
    if language.warns("private", plain) or language.warns("joke_turn", plain):
        return
    every = sentences(words[: language.material_from(plain)])
    for number, sentence in enumerate(every):
        told = _Told(
            language,
            sentence,
            turn,
            following=every[number + 1].text if number + 1 < len(every) else "",
        )
        if told.is_scenario():
            return
        yield from told.candidates()


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _as_main_clause(words: str) -> str:
    """The clause with its verb second: "ich in Villach wohne" becomes "ich wohne in Villach"."""
    subject, _, rest = words.partition(" ")
    middle, _, verb = rest.rpartition(" ")
    return f"{subject} {verb} {middle}".strip()


class _Told:
    """One sentence of a turn, and the durable statements in it."""

    def __init__(
        self,
        language: Language,
        sentence: Sentence,
        turn: Memory,
        following: str,
    ) -> None:
        self.language = language
        self.sentence = sentence
        self.turn = turn
        self.text = sentence.text
        self.plain = straight(sentence.text)
        self.following = following
        self.agent = turn.role not in PEOPLE

    def is_scenario(self) -> bool:
        """Whether the text from here on is hypothetical."""
        return bool(self.language.begins("scenario", self.plain))

    def candidates(self) -> Iterator[Candidate]:
        """Durable statements in this sentence."""
        if self._is_no_statement():
            return
        found = list(self._stated())
        yield from found
        yield from self._in_passing([each.quote for each in found])
        if not self.agent and not self.language.warns("unsure", self.plain):
            yield from self._named_kin([each.quote for each in found])

    def _in_passing(self, quotes: list[str]) -> Iterator[Candidate]:
        """What is so now, said beside the point: "How do I register a car now that I live here?".

        It is read by itself, because the sentence around it may ask or guess.
        """
        language = self.language
        for opened in language.passing.finditer(self.plain):
            end = language.passing_ends.search(self.plain, opened.end() + 1)
            words = self.text[opened.end() : end.start() if end else None].strip(_EDGES)
            if not words or any(words in quote for quote in quotes):
                continue
            said = _as_main_clause(words) if language.verb_last else words
            part = _Told(language, Sentence(said), self.turn, following="")
            for one in part._stated():
                if one.kind == "fact" and one.category in _STATES and said == one.quote:
                    yield replace(one, quote=words, content=_with_capital(one.content))

    def _is_no_statement(self) -> bool:
        language = self.language
        return (
            bool(
                language.begins("memory_command", self.plain)
                or language.begins("reported", self.plain)
            )
            or language.warns("joke", self.plain)
            or (
                language.warns("joke", self.following) and not any(map(str.isalpha, self.following))
            )
        )

    def _stated_until(self) -> int:
        """Position where statement turns into question: "I weigh 82 kg, what should I eat?"."""
        if self.language.begins("asks_instruction", self.plain):
            return len(self.plain)
        begins_asking = bool(self.language.begins("question", self.plain))
        if self._asked_for(self.plain) and (
            begins_asking or not self.sentence.asks
        ):  # "Can you note that …?"
            return len(self.plain)
        if begins_asking:
            return 0
        if not self.sentence.asks:
            return len(self.plain)
        last = [
            each.start for each in self._segments() if self._asks(self.plain[each.start : each.end])
        ]
        tag = not last or self.language.begins("asked", self.plain[last[0] :])
        if tag:
            return 0
        return last[0]

    def _asks(self, words: str) -> bool:
        """Whether a part of a question is what asks."""
        language = self.language
        return bool(language.begins("question", words)) or language.warns("asks", words)

    # -- clauses

    def _stated(self) -> Iterator[Candidate]:
        before = ""
        for clause in self._clauses():
            candidate = (
                self._explicit_candidate(clause) if clause.asked_for else self._candidate(clause)
            )
            if candidate and candidate.kind == "rule" and clause.joined and before != "rule":
                candidate = candidate if self._asks_anew(clause) else None
            if candidate:
                yield candidate
                before = candidate.kind

    def _asks_anew(self, clause: _Clause) -> bool:
        """Whether a clause after "and" is a separate instruction.

        "They love me and always cheer me on" is not.
        """
        return bool(self.language.begins("polite", self.plain[clause.start : clause.end]))

    def _clauses(self) -> list[_Clause]:
        clauses: list[_Clause] = []
        current: _Clause | None = None
        until = self._stated_until()
        for segment in self._segments():
            if segment.end > until:
                break
            if clauses and clauses[-1].whole:
                break
            opened = (
                None
                if current and segment.start <= current.opened_to
                else self._opened(segment, current)
            )
            if opened:
                clauses.append(opened)
                current = opened
            elif current and self._goes_on(current, segment):
                current.end = segment.end
            else:
                current = None
        return clauses

    def _segments(self) -> Iterator[_Segment]:
        start = 0
        mark = ""
        word = ""
        for boundary in self.language.boundary.finditer(self.plain):
            if boundary.start() > start:
                yield _Segment(start, boundary.start(), mark, word)
            start = boundary.end()
            mark = boundary["mark"] or ""
            word = (boundary["after"] or boundary["word"] or "").lower()
        if start < len(self.plain):
            yield _Segment(start, len(self.plain), mark, word)

    def _opened(
        self,
        segment: _Segment,
        current: _Clause | None,
    ) -> _Clause | None:
        """The clause that begins with this segment, if any; a reason belongs to its statement."""
        if current and segment.word in self.language.reason:
            return None
        if self._asked_for(self.plain[segment.start :]):
            return _Clause(segment.start, len(self.plain), whole=True, asked_for=True)
        start = segment.start
        # "ok so actually we use …".
        for _ in range(4):
            opened = self._opening(self.plain[start:])
            if opened:
                length, whole = opened
                end = len(self.plain) if whole else segment.end
                joined = bool(segment.start) and segment.word in self.language.soft
                return _Clause(
                    start,
                    end,
                    opened_to=start + length,
                    whole=whole,
                    joined=joined,
                )
            lead = self.language.lead.match(self.plain, start, segment.end)
            if not lead or not lead[0]:
                break
            start = lead.end()
        return self._continued(segment, current)

    def _asked_for(self, rest: str) -> bool:
        return not self.agent and bool(
            self.language.explicit.match(rest) or self.language.explicit_rule.match(rest)
        )

    def _opening(self, rest: str) -> tuple[int, bool] | None:
        """Length of the longest matching opening, and whether it takes the whole sentence."""
        opened = [
            (match, each)
            for each in self.language.likely(rest)
            if (match := each.opens.match(rest))
        ]
        if not opened:
            return None
        return max(match.end() for match, _ in opened), any(
            each.whole and each.fits(rest) for _, each in opened
        )

    def _continued(
        self,
        segment: _Segment,
        current: _Clause | None,
    ) -> _Clause | None:
        """A second verb with the subject of the first: "I love tea but hate coffee"."""
        subject = f"{self.language.subject} "
        if not current or not segment.word or not self.language.subject:
            return None
        first = current.subject + self.plain[current.start : current.end]
        if not first.lower().startswith(subject.lower()) or self.language.begins_anew(
            first[len(subject) :]
        ):
            return None
        rest = subject + self.plain[segment.start : segment.end]
        verb = rest.split()[1:2]
        if segment.word in self.language.soft and verb == first.split()[1:2]:
            # "I love the self-acceptance and love theme".
            return None
        fits = any(each.fits(rest) for each in self.language.likely(rest))
        if fits:
            return _Clause(segment.start, segment.end, subject=subject)
        return None

    def _goes_on(
        self,
        clause: _Clause,
        segment: _Segment,
    ) -> bool:
        """Whether the segment belongs to the previous clause."""
        if segment.word in self.language.reason or segment.start <= clause.opened_to:
            return True
        if segment.word in self.language.hard or segment.mark not in ("", ",", "，"):
            return False
        words = self.plain[segment.start : segment.end]
        if self.language.begins("breaks", words):
            return False
        if self.language.warns("half", self.plain[clause.start : clause.end]):
            return True
        a_list = bool(segment.word) or len(words.split()) <= _LISTED
        return a_list or bool(self.language.begins("adds", words))

    # -- candidates

    def _candidate(self, clause: _Clause) -> Candidate | None:
        quote = self.text[clause.start : clause.end].strip(_EDGES)
        plain = clause.subject + straight(quote)
        for statement in self.language.likely(plain):
            opening = statement.fits(plain)
            if opening and self._lasts(statement, plain):
                points = self._points_outside(statement, clause)
                return None if points else self._made(statement, opening, plain, quote)
        return None

    def _points_outside(
        self,
        statement: Statement,
        clause: _Clause,
    ) -> bool:
        """Whether a fact means something that its sentence does not name, or people in general.

        What is corrected was said before, and "this" may be the project that is worked on.
        """
        if statement.kind == "rule" or statement.category in ("correction", "project"):
            return False
        words = clause.subject + self.plain[clause.start : clause.end]
        if is_of_everybody(self.language, words):
            return True
        return points_before(self.language, words, self.plain[: clause.start])

    def _lasts(
        self,
        statement: Statement,
        clause: str,
    ) -> bool:
        language = self.language
        if self.agent and not statement.for_agents:
            return False
        rule = statement.kind == "rule"
        if language.warns("hollow", clause):
            return False
        if rule and language.warns("session_only", self.plain):
            return False
        if language.warns("unsure_rule", self.plain) if rule else self._is_unsure(clause):
            return False
        if rule and language.warns("moment", self.plain):
            return language.warns("lasting", clause) and not language.warns("moment", clause)
        return statement.for_a_while or not language.warns("moment", clause)

    def _is_unsure(self, clause: str) -> bool:
        stated = self.plain[: self._stated_until()]
        return self.language.warns("unsure", stated) or self.language.warns("unsure_clause", clause)

    def _made(
        self,
        statement: Statement,
        opening: re.Match[str],
        clause: str,
        quote: str,
    ) -> Candidate:
        return Candidate(
            content=self._content(clause, statement.category),
            quote=quote,
            source=self.turn.id,
            kind=statement.kind,
            category=statement.category,
            confidence=statement.confidence,
            triple=self._triple(statement, opening, clause),
            author=self.turn.author,
        )

    def _explicit_candidate(self, clause: _Clause) -> Candidate | None:
        rest = self.plain[clause.start : clause.end]
        cue = self.language.explicit_rule.match(rest) or self.language.explicit.match(rest)
        start = clause.start + (cue.end() if cue else 0)
        quote = self.text[start : clause.end].strip(_EDGES)
        if len(quote) < (6 if self.language.spaced else 3):
            return None
        plain = straight(quote)
        known = next(
            ((each, fit) for each in self.language.likely(plain) if (fit := each.fits(plain))), None
        )
        if known:
            return replace(self._made(*known, plain, quote), confidence=1.0)
        rule = bool(
            self.language.explicit_rule.match(rest) or self.language.imperative.match(plain)
        )
        return Candidate(
            content=self._content(plain, "general"),
            quote=quote,
            source=self.turn.id,
            kind="rule" if rule else "fact",
            category="instruction" if rule else "general",
            confidence=1.0,
            author=self.turn.author,
        )

    def _content(self, clause: str, category: str) -> str:
        told = retell(clause, self.turn.author) if self.language.retold else clause.strip()
        is_plan = category in ("plan", "decision")
        ahead = True if is_plan else partial(lies_ahead, self.language, clause)
        return dated(told, self.turn.event_time, ahead=ahead)

    def _triple(
        self,
        statement: Statement,
        opening: re.Match[str],
        clause: str,
    ) -> Triple | None:
        """The clause as a triple if it is clear; None if a negation would be lost."""
        predicate = statement.predicate
        stated = ""
        groups = opening.groupdict()
        if not predicate or (predicate not in _NEGATIVE and self.language.negation.search(clause)):
            return None
        if kin := groups.get("kin"):
            predicate = predicate.replace("{kin}", self.language.kin.get(kin.lower(), "RELATION"))
            stated = groups.get("name") or self._name_in(clause)
        else:
            stated = groups.get("name") or self._stated_of(predicate, opening, clause)
        if not stated or len(stated.split()) > _LONGEST_OBJECT:
            return None
        return Triple(self.turn.author or "user", predicate, stated)

    def _name_in(self, clause: str) -> str:
        found = self.language.naming.search(clause)
        if found:
            return next((name for name in found.groups() if name), "")
        return ""

    def _stated_of(
        self,
        predicate: str,
        opening: re.Match[str],
        clause: str,
    ) -> str:
        """The text after the opening, or after the speaker if the verb is part of it."""
        speaker = self.language.spoken_by.match(clause) if predicate in _DOINGS else None
        start = 0 if predicate in _DOINGS else opening.end()
        rest = clause[speaker.end() if speaker else start :].strip(_EDGES)
        return _PARTS.split(rest, maxsplit=1)[0].strip(_EDGES + ".")

    def _named_kin(self, quotes: list[str]) -> Iterator[Candidate]:
        for found in named_kin(self.language, self.plain):
            quote = self.text[found.start : found.end]
            if any(quote in other for other in quotes):
                continue
            who = f"{self.turn.author or NOBODY}'s"
            several = len(found.names) > 1
            are = "are" if several else "is"
            told = f"{who[:1].upper()}{who[1:]} {found.kin} {are} {listed(found.names)}"
            label = self.language.kin.get(found.kin.lower(), "RELATION")
            yield Candidate(
                content=told if self.language.retold else quote,
                quote=quote,
                source=self.turn.id,
                category="relationship",
                triple=None
                if several
                else Triple(self.turn.author or "user", f"HAS_{label}", found.names[0]),
                author=self.turn.author,
            )
