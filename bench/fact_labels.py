"""Labelled turns of people, with the talk around them: what a memory should keep of each.

The labels lie in `training/` (`labelling.md` has the rules). The talk itself is not ours to ship
where others wrote it, so it is read from where they publish it; a source whose talk is not there
is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from chats import PERSONA_CHATS, Chat, lufy, person_of, persona_chats
from holdfast.types import Memory, Scope, from_datetime

LABELS = Path(__file__).parent.parent / "training"
# Conversations in six languages that no model was trained on.
HELD_OUT = frozenset(
    (
        *("de-05", "de-06", "es-01", "es-09", "es-11", "fr-10", "fr-11"),
        *("ja-05", "ja-07", "ru-01", "ru-02", "ru-07", "zh-01", "zh-06"),
    )
)
CORRECT = ("useful", "trivial")
"""Labels of statements that are correct and can be understood alone."""
LONGMEMEVAL = "longmemeval_dev150.json"
LOCOMO = "locomo10.json"
LUFY = "LUFY"
READ = 3  # LoCoMo's first conversations; nobody has read the others
ROLES = ("user", "assistant")
UNDATED = 1_767_225_600_000_000  # the first day of 2026

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of a conversation."""

    speaker: str
    text: str
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order, by the ids that the labels use."""

    name: str
    said_at: int
    turns: dict[str, Said]

    def memories(self) -> list[Memory]:
        """The turns as an extractor gets them."""
        return [
            Memory(
                id=f"{self.name}/{name}",
                scope=Scope("user", "bench"),
                kind="turn",
                content=said.text,
                created_at=self.said_at,
                updated_at=self.said_at,
                event_time=self.said_at,
                author=said.speaker,
                role=said.role,
                position=place,
            )
            for place, (name, said) in enumerate(self.turns.items())
        ]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A conversation of a source, and the facts labelled in its turns."""

    source: str
    language: str
    talk: Conversation
    facts: dict[str, list[Row]]
    """By the id of the turn; a turn that was not labelled is not in it."""
    alone: dict[str, bool | None] = field(default_factory=dict)

    @property
    def held_out(self) -> bool:
        """Whether it is in the half that is only for testing."""
        if self.source == "languages":
            return self.talk.name in HELD_OUT
        if self.source == "chats":
            return hashlib.sha256(person_of(self.talk.name).encode()).digest()[0] % 4 == 0
        return hashlib.sha256(self.talk.name.encode()).digest()[0] % 2 == 1


def read(folder: Path, friends: Path | None = None) -> list[Labelled]:
    """All labelled conversations whose talk is in `folder` (or shipped), in a fixed order.

    Says which files it does not find.
    """
    for name in missing(folder):
        print(f"left out: no {name} in {folder}", file=sys.stderr)
    talks = conversations(folder, friends)
    files = {
        "assistant": "facts",
        "people": "facts_people",
        "scenes": "facts_people",
        "languages": "facts_languages",
    }
    return [
        found
        for source, file in files.items()
        for found in _of_source(source, LABELS / f"{file}.jsonl", talks[source].get)
    ]


def read_chats(folder: Path) -> list[Labelled]:
    """The chats of which stored statements were labelled, and no facts."""
    people, personas = path_of(folder, LUFY), path_of(folder, PERSONA_CHATS)
    talks = [
        *_chats(lufy(people) if people else ()),
        *_chats(persona_chats(personas) if personas else ()),
    ]
    labelled = _rows_of("stored.jsonl")
    return [Labelled("chats", "en", talk, {}) for talk in talks if talk.name in labelled]


def _chats(chats: Iterable[Chat]) -> Iterator[Conversation]:
    for name, said_at, turns in chats:
        said = {str(place): Said(who, text) for place, (who, text) in enumerate(turns)}
        yield Conversation(name, said_at, said)


def path_of(folder: Path, name: str) -> Path | None:
    """A file or folder of this name, anywhere in the folder; the one that lies least deep."""
    near = chain(folder.glob(name), sorted(folder.glob(f"*/{name}")))
    return next(near, None) or next(iter(sorted(folder.rglob(name))), None)


def missing(folder: Path) -> list[str]:
    """The files with labelled conversations that are nowhere in the folder."""
    return [name for name in (LONGMEMEVAL, LOCOMO) if path_of(folder, name) is None]


def conversations(folder: Path, friends: Path | None = None) -> dict[str, dict[str, Conversation]]:
    """The conversations of every source by name, as far as their talk is there."""
    return {
        "assistant": _longmemeval(path_of(folder, LONGMEMEVAL)),
        "people": _locomo(path_of(folder, LOCOMO)),
        "scenes": _friends(friends),
        "languages": _own(),
    }


def _of_source(
    source: str, path: Path, talk_of: Callable[[str], Conversation | None]
) -> Iterator[Labelled]:
    grouped: dict[str, list[Row]] = {}
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        grouped.setdefault(conversation_of(row["turn"]), []).append(row)
    for name, rows in grouped.items():
        talk = talk_of(name)
        if talk is not None:
            yield Labelled(
                source,
                rows[0].get("language", "en"),
                talk,
                {turn_of(row["turn"]): _quoted(row, talk) for row in rows},
                {turn_of(row["turn"]): row.get("alone") for row in rows},
            )


def _quoted(row: Row, talk: Conversation) -> list[Row]:
    """The facts of a turn. Where its words are not ours to ship, a label says only where its quote
    stands: `at` has the first and the last place.
    """
    text = talk.turns[turn_of(row["turn"])].text
    return [
        fact | {"quote": text[fact["at"][0] : fact["at"][1]]} if "at" in fact else fact
        for fact in row["facts"]
    ]


def alone_labels(labelled: Labelled) -> list[tuple[str, str, bool]]:
    """The statements of a conversation that were labelled one by one: the turn, the words, and
    whether they can be understood alone.
    """
    found = []
    for row in _rows_of("alone.jsonl").get(labelled.talk.name, ()):
        turn = turn_of(row["turn"])
        text = labelled.talk.turns[turn].text
        words = text[row["at"][0] : row["at"][1]] if "at" in row else row["quote"]
        found.append((turn, words, bool(row["alone"])))
    return found


@dataclass(frozen=True, slots=True)
class StatementLabel:
    """What somebody who read the conversation says of a statement that was stored of it."""

    turn: str
    words: str
    """Those of the turn that it was taken from; empty if they do not stand there in one piece."""
    statement: str
    """The statement itself, as `statement_key` has it."""
    label: str
    """`useful` or `trivial`: both are correct and can be understood alone. `unresolved`: they
    cannot. `wrong`: this was not said. `garbage`: no statement at all."""


def statement_labels(labelled: Labelled) -> list[StatementLabel]:
    """The labels of the statements that were stored of a conversation."""
    found = []
    for row in _rows_of("stored.jsonl").get(labelled.talk.name, ()):
        turn = turn_of(row["turn"])
        words = labelled.talk.turns[turn].text[slice(*row["at"])] if row["at"] else ""
        found.append(StatementLabel(turn, words, row["statement"], row["label"]))
    return found


def statement_key(content: str) -> str:
    """How `stored.jsonl` names a statement, whose words are not always ours to ship."""
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@cache
def _rows_of(name: str) -> dict[str, list[Row]]:
    """The rows of a file in `training/` by conversation."""
    grouped: dict[str, list[Row]] = {}
    for row in map(json.loads, (LABELS / name).read_text("utf-8").splitlines()):
        grouped.setdefault(conversation_of(row["turn"]), []).append(row)
    return grouped


def conversation_of(turn: str) -> str:
    """`conv-26|D1:3` is in session 1 of that conversation, `de-12#0` in all of it."""
    name, mark, rest = turn.partition("|")
    if mark and ":" in rest:
        return f"{name}|{rest.partition(':')[0]}"
    return name.partition("#")[0]


def turn_of(turn: str) -> str:
    return re.split(r"[|#]", turn)[-1]


def _longmemeval(path: Path | None) -> dict[str, Conversation]:
    talks: dict[str, Conversation] = {}
    for question in json.loads(path.read_text("utf-8")) if path else ():
        for name, when, turns in zip(
            question["haystack_session_ids"],
            question["haystack_dates"],
            question["haystack_sessions"],
            strict=True,
        ):
            said = {
                str(place): Said("", turn["content"], turn["role"])
                for place, turn in enumerate(turns)
            }
            at = datetime.strptime(when, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
            talks[name] = Conversation(name, from_datetime(at), said)
    return talks


def _locomo(path: Path | None) -> dict[str, Conversation]:
    talks: dict[str, Conversation] = {}
    for whole in json.loads(path.read_text("utf-8"))[:READ] if path else ():
        talks |= {talk.name: talk for talk in sessions(whole)}
    return talks


def sessions(whole: Row) -> Iterator[Conversation]:
    """The sessions of one of LoCoMo's conversations."""
    for key, turns in whole["conversation"].items():
        if not re.fullmatch(r"session_\d+", key):
            continue
        when = whole["conversation"][f"{key}_date_time"].upper()
        at = datetime.strptime(when, "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
        number = key.removeprefix("session_")
        yield Conversation(
            f"{whole['sample_id']}|D{number}",
            from_datetime(at),
            {turn["dia_id"]: Said(turn["speaker"], turn["text"]) for turn in turns},
        )


def _friends(folder: Path | None) -> dict[str, Conversation]:
    talks: dict[str, Conversation] = {}
    for path in sorted(folder.glob("dat/friendsqa_*.json")) if folder else ():
        for scene in json.loads(path.read_text("utf-8"))["data"]:
            said = {
                str(each["uid"]): Said(each["speakers"][0], _joined(each["utterance"]))
                for each in scene["paragraphs"][0]["utterances:"]
                if each["speakers"]
            }
            talks[scene["title"]] = Conversation(scene["title"], UNDATED, said)
    return talks


def _joined(tokens: str) -> str:
    """FriendsQA writes "You 're gon na kill me !"."""
    text = re.sub(r"\bgon na\b", "gonna", re.sub(r"\bwan na\b", "wanna", tokens))
    text = re.sub(r"\bgot ta\b", "gotta", text)
    return re.sub(r" (?=n't\b|'(?:s|re|ve|m|d|ll)\b|[.,!?;:)])", "", text)


def _own() -> dict[str, Conversation]:
    """Our own conversations in other languages: `Speaker: text` each."""
    talks: dict[str, Conversation] = {}
    for path in sorted((LABELS / "questions").glob("??.jsonl")):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            said = {}
            for place, line in enumerate(row["docs"]):
                speaker, _, text = line.partition(": ")
                spoken_by = "" if speaker in ROLES else speaker
                said[str(place)] = Said(spoken_by, text, speaker if speaker in ROLES else "user")
            talks[row["name"]] = Conversation(row["name"], UNDATED, said)
    return talks
