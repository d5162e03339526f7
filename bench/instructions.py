"""Rules: which instructions to an assistant the offline extractor finds, and where it sees one that
is none.

    python bench/instructions.py --data data/ [--beam BEAM/] [--half dev|test] [--mistakes]

Where it must find them: BEAM (github.com/mohammadtavakoli78/BEAM), whose chats hold the messages
that its plans call "User Instruction"; all its other messages hold none. Where it must not: the
labelled conversations of `fact_labels.py`, of which a handful hold a rule, and LoCoMo, where two
people talk and nobody can be instructed. Chats are divided into two halves by name; `--mistakes`
shows only the first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import finish
from extraction import share_of
from fact_labels import READ, UNDATED, Conversation, Row, Said, read, sessions
from holdfast.extraction.policy import JudgedCandidate
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.turn_extraction import usual
from holdfast.types import Memory

_SIZES = ("100K", "500K", "1M")
# The end of a message says which line of the plan it was written for.
_PLACE = re.compile(r"\s*->->.*$", re.DOTALL)
_INSTRUCTION = re.compile(r"User Instruction:?\*\*:?\s*(.+)")
# Characters by which a message is known to be the plan's instruction.
_ALIKE = 60


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages of one user, and which of them instruct the assistant."""

    name: str
    talk: Conversation
    instructions: frozenset[str]

    @property
    def held_out(self) -> bool:
        """Whether it is in the half that is only for testing."""
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 1


@dataclass(slots=True)
class Counts:
    """Messages that instruct, those of them in which a rule was found, and all rules."""

    instructions: int = 0
    hit: int = 0
    found: int = 0
    right: int = 0
    proposed: int = 0

    def figures(self) -> Row:
        return {
            "messages that instruct": self.instructions,
            "recall": round(self.hit / self.instructions, 3) if self.instructions else None,
            "rules": self.found,
            "precision": round(self.right / self.found, 3) if self.found else None,
            "proposed": self.proposed,
        }


def chats(folder: Path) -> Iterator[Chat]:
    """BEAM's chats."""
    for size in _SIZES:
        for path in sorted((folder / "chats" / size).glob("*/user_messages.json")):
            plan = path.with_name("plan_new.txt")
            asked = [_plain(one)[:_ALIKE] for one in _INSTRUCTION.findall(plan.read_text("utf-8"))]
            said = {str(place): Said("", text) for place, text in enumerate(_messages(path))}
            instructing = {
                place
                for place, one in said.items()
                if any(each in _plain(one.text) for each in asked)
            }
            name = f"{size}/{path.parent.name}"
            yield Chat(name, Conversation(name, UNDATED, said), frozenset(instructing))


def _messages(path: Path) -> Iterator[str]:
    for batch in json.loads(path.read_text("utf-8")):
        for message in batch["messages"]:
            for one in message if isinstance(message, list) else [message]:
                yield _PLACE.sub("", one["content"])


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def rules(talk: Sequence[Memory]) -> list[JudgedCandidate]:
    """Rules that are stored or proposed."""
    turns = {turn.id: turn for turn in talk}
    judged = (usual().judge(found, turns[found.source]) for found in RuleExtractor().extract(talk))
    return [one for one in judged if one.candidate.kind == "rule" and one.verdict.action != "drop"]


def beam(folder: Path, *, test: bool, show: bool) -> Row:
    """Precision and recall on BEAM's chats."""
    counts = Counts()
    for chat in chats(folder):
        if chat.held_out != test:
            continue
        found = rules(chat.talk.memories())
        places = [one.candidate.source.rpartition("/")[2] for one in found]
        counts.instructions += len(chat.instructions)
        counts.hit += len(chat.instructions & set(places))
        counts.found += len(found)
        counts.right += sum(place in chat.instructions for place in places)
        counts.proposed += sum(one.verdict.action == "propose" for one in found)
        if show:
            for place in chat.instructions - set(places):
                print(f"missed {chat.talk.turns[place].text[:200]!r}")
            for place, one in zip(places, found, strict=True):
                if place not in chat.instructions:
                    print(f"extra  {one.candidate.quote!r}")
    return counts.figures()


def labelled(data: Path, friends: Path | None, *, test: bool, show: bool) -> Row:
    """Rules in labelled conversations, and how many of them a label calls a rule."""
    found: Counter[str] = Counter()
    for each in read(data, friends):
        if each.held_out != test:
            continue
        kinds = (fact["kind"] for facts in each.facts.values() for fact in facts)
        found[f"{each.source}: labelled"] += sum(kind == "rule" for kind in kinds)
        for one in rules(each.talk.memories()):
            found[f"{each.source}: rules"] += 1
            facts = each.facts.get(one.candidate.source.rpartition("/")[2], [])
            found[f"{each.source}: rules that are labelled"] += any(
                fact["kind"] == "rule" and share_of(fact["quote"], one.candidate.quote) >= 0.5
                for fact in facts
            )
            if show:
                print(f"rule   {each.talk.name}: {one.candidate.quote!r}")
    return dict(found)


def locomo(path: Path) -> Row:
    """Rules found where two people talk; there are none to find."""
    counts = [
        sum(len(rules(talk.memories())) for talk in sessions(whole))
        for whole in json.loads(path.read_text("utf-8"))
    ]
    return {"1-3": sum(counts[:READ]), "4-10": sum(counts[READ:])}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--friends", type=Path)
    parser.add_argument("--beam", type=Path)
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--mistakes", action="store_true", help="of the first half")
    options = parser.parse_args()
    test = options.half == "test" and not options.mistakes
    people = locomo(options.data / "locomo" / "locomo10.json")
    report: Row = {
        "labelled": labelled(options.data, options.friends, test=test, show=options.mistakes),
        "locomo": people,
        "met_no_rules_between_people": not any(people.values()),
    }
    if options.beam:
        report["beam"] = beam(options.beam, test=test, show=options.mistakes)
    finish(report)


if __name__ == "__main__":
    main()
