"""What the offline extractor learns from conversations that nobody here wrote, judged by labels.

    python bench/learning.py --data data/ [--friends FriendsQA/] [--half dev|test] [--mistakes]

`--data` is a folder with `longmemeval_dev150.json` and `locomo10.json`, anywhere below it; what is
not there is left out, and named. The labels are in `training/` (`labelling.md` has the rules).
Each statement that was stored is judged by its label (`stored.jsonl`): `useful`; `trivial`, which
nobody needs weeks later; `unresolved`, which cannot be understood alone; `wrong`; or `garbage`.
Precision is the share of the first two: they are correct and can be understood alone. A statement
that nobody labelled is counted in `unjudged`. It is useful when it holds at least half of the words
of a labelled quote, names its subject, points to nothing outside and was not cut off; otherwise it
counts as wrong or unresolved.
A labelled fact is found when a statement that is correct and can be understood alone holds half of
the words of its quote. Conversations are divided into two halves by their id: what decides was made
with the first, the test is the second, and `--mistakes` shows only the first. LoCoMo's own
`observation` annotations of conversations 4 to 10 are a second test, by content words; nobody read
those.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import finish
from extraction import share_of
from fact_labels import (
    CORRECT,
    LOCOMO,
    READ,
    Labelled,
    Row,
    alone_labels,
    path_of,
    read,
    sessions,
    statement_key,
    statement_labels,
)
from holdfast.extraction.candidate import Candidate
from holdfast.extraction.judge import judge_of
from holdfast.extraction.policy import JudgedCandidate
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.turn_extraction import usual
from holdfast.models.embeddings.base import Embedder
from holdfast.models.embeddings.tiers import Tiers
from holdfast.text.stopwords import STOP_WORDS
from holdfast.text.tokens import index_terms
from holdfast.types import Memory

# A subject that somebody else has to have named: "She moved there", "It was great".
_OPENS_UNNAMED = re.compile(
    r"(?:it|it's|he|he's|she|she's|they|they're|that|that's|this|those|these|there|here|who|which)\b",
    re.IGNORECASE,
)
# Somebody else who is named: "Ines works as a nurse in Porto".
_NAMES_SUBJECT = re.compile(
    r"(?!\w+(?:ed|ing)\b)[A-Z][a-z]+(?:'s \w+)? (?:is|was|has|had|will|[a-z]+s|[a-z]+ed)\b"
)
_UNNAMED_SUBJECT = re.compile(r"\b(?:he|she|it|he's|she's|it's)\b", re.IGNORECASE)
# What a later "it" or "she" may stand for: a name, or a thing with its article.
_NAMED = re.compile(
    r"\b(?:an?|the|my|their|some|this|that|these|those|\d[\d,.]*|[\w]+'s) (?!user\b)\w+"
    r"|\s[A-Z]\w+|\w+ing\b"
    r"|\b(?:to|of|for|with|on|in|at|about|like|called) [a-z]\w+"
)
_OTHER_OPENINGS = {
    "de": r"(?:er|es|dort|da)\b|(?:sie|das|die|der|dies) (?-i:[a-zäöü])",
    "es": r"(?:él|ella|ellos|eso|esto|ahí|allí)\b",
    "fr": r"(?:il(?! y a\b)|elle|ils|elles|ça|cela|là)\b|c'(?:est|était)",
    "ru": r"(?:он|она|оно|они|это|там|тут)\b",
    "zh": r"(?:他|她|它|那|这)",
    "ja": r"(?:それ|これ|あれ|そこ|彼|彼女)",
}
_LEFT_OPEN = re.compile(
    r"\b(?:a|an|the|to|of|and|or|but|my|their|with|for|if|because|that|what|how|is|are|safe)\W*$",
    re.IGNORECASE,
)
_MAY_FOLLOW = re.compile(
    r"\s*(?:$|[^\w\s'’]|(?:and|but|so|because|since|though|although|while|when|plus|yet|which|who|"
    r"y|e|und|aber|et|mais|pero|и|а|но)\b)",
    re.IGNORECASE,
)
VERDICTS = (*CORRECT, "unresolved", "wrong", "garbage")
_STORED = ("commit_now", "commit_at_session_end")


@dataclass(slots=True)
class Score:
    """Counts over turns."""

    verdicts: Counter[str] = field(default_factory=Counter)
    unjudged: int = 0
    labelled: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def figures(self) -> Row:
        """The counts as shares."""
        per = {
            name: round(self.found[name] / self.labelled[name], 3) for name in sorted(self.labelled)
        }
        stored = self.verdicts.total()
        correct = sum(self.verdicts[name] for name in CORRECT)
        return {
            "stored": stored,
            "precision": _share(correct, stored),
            **{name: _share(self.verdicts[name], stored) for name in VERDICTS},
            "unjudged": self.unjudged,
            "facts": self.labelled["all"],
            "recall": per,
        }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 1.0


def learned(talk: Sequence[Memory]) -> list[Candidate]:
    """What is stored of a conversation: found, then let through by the usual policy."""
    turns = {turn.id: turn for turn in talk}
    judged: Iterable[JudgedCandidate] = (
        usual().judge(found, turns[found.source]) for found in extractor().extract(talk)
    )
    stored = [one.candidate for one in judged if one.verdict.action in _STORED]
    # What is said again is stored once.
    return list({one.content: one for one in reversed(stored)}.values())[::-1]


def extractor() -> RuleExtractor:
    """The offline extractor as a client has it."""
    return _extractors[-1] if _extractors else use(None)


def use(encoder: Embedder | None) -> RuleExtractor:
    """From now on reads with this encoder, which may keep its vectors."""
    tiers = Tiers.of(encoder) if encoder is not None else Tiers(["encoder"], environ={})
    _extractors.append(RuleExtractor(judge=judge_of(tiers)))
    return _extractors[-1]


_extractors: list[RuleExtractor] = []


def stands_alone(found: Candidate, author: str, language: str) -> bool:
    """Whether the text names its subject and points to nothing outside itself."""
    text = found.content
    if language != "en":
        return not re.match(_OTHER_OPENINGS.get(language, "(?!)"), text, re.IGNORECASE)
    if _OPENS_UNNAMED.match(text):
        return False
    who = (author or "the user").lower()
    if found.kind == "fact" and who not in text.lower() and not _NAMES_SUBJECT.match(text):
        return False
    pointing = _UNNAMED_SUBJECT.search(text)
    return not pointing or bool(_NAMED.search(text[len(who) : pointing.start()]))


def cut_off(found: Candidate, turn: str) -> bool:
    """Whether the quote ends where its sentence goes on."""
    own_words = found.category == "relationship" or re.match(r"(?:my|our) ", found.quote, re.I)
    if own_words and not found.content.lower().endswith(found.quote.lower()):
        # "My friend Rachel" and "my Fitbit Charge 3" are told in other words.
        return bool(_LEFT_OPEN.search(found.content))
    if _LEFT_OPEN.search(found.quote):
        return True
    at = turn.find(found.quote)
    return at >= 0 and not _MAY_FOLLOW.match(turn[at + len(found.quote) :])


def score(labelled: Sequence[Labelled], *, show: bool = False) -> dict[str, Score]:
    """The scores by source and by language."""
    scores: dict[str, Score] = defaultdict(Score)
    for each in labelled:
        talk = each.talk.memories()
        found: dict[str, list[Candidate]] = defaultdict(list)
        for one in learned(talk):
            found[one.source.rpartition("/")[2]].append(one)
        names = [each.source] if each.source != "languages" else [each.source, each.language]
        for turn, facts in each.facts.items():
            judged = _judged(each, turn, found[turn])
            for name in names:
                _count(scores[name], judged, facts)
            if show:
                _show(each, turn, judged, facts)
    return scores


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement that was stored, and what is said of it."""

    statement: Candidate
    verdict: str
    labelled: bool
    """Whether somebody labelled it."""

    def holds(self, fact: Row) -> bool:
        """Whether a labelled fact is in it."""
        return share_of(fact["quote"], self.statement.quote) >= 0.5


def _judged(each: Labelled, turn: str, found: list[Candidate]) -> list[Judged]:
    labels = [one for one in statement_labels(each) if one.turn == turn]
    by_statement = {one.statement: one.label for one in labels}
    # Told in other words today, but taken from the same ones.
    by_words = {one.words: one.label for one in labels}
    judged = []
    for one in found:
        label = by_statement.get(statement_key(one.content)) or by_words.get(one.quote)
        verdict = label or _by_rules(each, turn, one)
        judged.append(Judged(one, verdict, labelled=label is not None))
    return judged


def _by_rules(each: Labelled, turn: str, found: Candidate) -> str:
    """What rules say of a statement that nobody labelled."""
    said = each.talk.turns[turn]
    labels = {words: alone for at, words, alone in alone_labels(each) if at == turn}
    alone = labels.get(found.quote, True)
    if not alone or not stands_alone(found, said.speaker, each.language):
        return "unresolved"
    if cut_off(found, said.text):
        return "garbage"
    held = any(share_of(fact["quote"], found.quote) >= 0.5 for fact in each.facts[turn])
    return "useful" if held else "wrong"


def _count(score: Score, judged: list[Judged], facts: list[Row]) -> None:
    score.verdicts.update(one.verdict for one in judged)
    score.unjudged += sum(not one.labelled for one in judged)
    for fact in facts:
        names = ["all", fact["kind"], *(["must"] if fact["weight"] == 2 else [])]
        score.labelled.update(names)
        if _is_found(fact, judged):
            score.found.update(names)


def _is_found(fact: Row, judged: list[Judged]) -> bool:
    return any(one.verdict in CORRECT and one.holds(fact) for one in judged)


def _show(each: Labelled, turn: str, judged: list[Judged], facts: list[Row]) -> None:
    for one in judged:
        told = one.statement
        print(f"{one.verdict:10} {each.talk.name} {turn}: {told.content!r}  <- {told.quote!r}")
    for fact in facts:
        if fact["weight"] == 2 and not _is_found(fact, judged):
            print(f"missed     {each.talk.name} {turn}: {fact['quote']!r} = {fact['text']!r}")


def observations(path: Path) -> Row:
    """How many of LoCoMo's own observations are held by a stored fact of their speaker."""
    held = seen = stored = cited = 0
    for whole in json.loads(path.read_text("utf-8"))[READ:]:
        for talk in sessions(whole):
            number = talk.name.rpartition("|D")[2]
            facts = learned(talk.memories())
            notes = whole["observation"].get(f"session_{number}_observation", {})
            turns = {turn for each in notes.values() for _, ids in each for turn in _ids(ids)}
            stored += len(facts)
            cited += sum(one.source.rpartition("/")[2] in turns for one in facts)
            for speaker, each in notes.items():
                own = [_content(one.content) for one in facts if one.author == speaker]
                for text, _ in each:
                    words = _content(text) - _content(speaker)
                    seen += 1
                    held += any(len(words & other) >= len(words) / 2 for other in own)
    return {
        "observations": seen,
        "recall": _share(held, seen),
        "stored": stored,
        "from_a_cited_turn": _share(cited, stored),
    }


def _ids(ids: Any) -> list[str]:
    return [ids] if isinstance(ids, str) else list(ids)


def _content(text: str) -> set[str]:
    plain = " ".join(
        word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS["en"]
    )
    return set(index_terms(plain))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--friends", type=Path)
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--mistakes", action="store_true", help="of the first half")
    parser.add_argument("--observations", action="store_true")
    options = parser.parse_args()
    if options.observations:
        path = path_of(options.data, LOCOMO)
        if path is None:
            sys.exit(f"no {LOCOMO} in {options.data}")
        finish({"observations": observations(path)})
        return
    test = options.half == "test" and not options.mistakes
    labelled = [each for each in read(options.data, options.friends) if each.held_out == test]
    scores = score(labelled, show=options.mistakes)
    finish({name: each.figures() for name, each in scores.items()})


if __name__ == "__main__":
    main()
