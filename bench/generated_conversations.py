"""Conversations without end in the words of real ones, for stores of any size.

The words are LoCoMo's: whole sentences of its 272 sessions, mixed within a turn, with other names,
numbers, days and months in them. Nothing of that data is kept here: the file is read at each run.
Everything follows from the seed, the owner and the number of the session, so that a run that was
interrupted goes on with the same texts.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.types import DAY

SEED = 24
TURNS = 18
FACTS = 2
EACH = TURNS + FACTS  # memories of one session
BETWEEN = DAY // 8
START = 1_199_145_600_000_000  # 1 January 2008
# Names with a long tail: a few friends are met again and again, most people once or twice.
MOST_PEOPLE = 100_000
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


FIRST = _listed("""
Ada Alma Amir Anouk Arno Asha Bea Bram Bruno Cara Cyril Dalia Dario Edda Elif Emil Enzo Esra
Fadi Femke Fiona Gus Hana Hugo Ida Ilse Imran Ines Ivo Jana Jens Jonas Juno Kai Karim Kira
Lars Leila Levi Lina Lorenz Luca Maja Malik Mara Marek Mina Mirko Nadia Nils Noor Odin Olga
Omar Otis Pavel Petra Pia Priya Quinn Rafa Ravi Rosa Runa Sami Selma Sina Sofia Sven Tariq
Tessa Theo Tomasz Ulla Vera Viktor Wanda Xenia Yara Yusuf Zara Zeno
""")
STARTS = _listed("""
Al Bar Cor Dan Eck Fal Gar Hol Is Jor Kel Lin Mor Nor Os Pal Rin Sol Tor Ul Var Wen
""")
MIDDLES = _listed("""
a e i o u an en in on ar er or al el il
""")
ENDS = _listed("""
berg dale feld gren holt ing kamp lund mark nek quist rup son stad ton vik wald zen
""")


@dataclass(frozen=True, slots=True)
class Session:
    """What was said, by whom, and what is to be remembered of it."""

    turns: list[dict[str, object]]
    facts: list[dict[str, object]]


class Conversations:
    """Sessions for any owner, made of the sentences of LoCoMo."""

    def __init__(self, path: Path, seed: int = SEED) -> None:
        if not path.is_file():
            raise SystemExit(
                f"There is no {path}. The conversations are made of the sentences of LoCoMo: fetch "
                "locomo10.json (snap-research/locomo on GitHub) and name it with --locomo."
            )
        self._seed = seed
        samples = json.loads(path.read_text("utf-8"))
        talks = [sample["conversation"] for sample in samples]
        self._templates = [
            (talk["speaker_a"], [(turn["speaker"], turn["text"]) for turn in turns])
            for talk in talks
            for name, turns in talk.items()
            if isinstance(turns, list) and turns
        ]
        self._sentences = [
            sentence
            for _, turns in self._templates
            for _, text in turns
            for sentence in _sentences(text)
        ]
        speakers = {talk[key] for talk in talks for key in ("speaker_a", "speaker_b")}
        self._speakers = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(speakers)))})\b")
        self._questions = [
            (sample["conversation"]["speaker_a"], one["question"])
            for sample in samples
            for one in sample["qa"]
            if one["category"] != 5
        ]

    def session(self, owner: int, number: int) -> Session:
        """One session of an owner: eighteen turns and two facts."""
        chance = random.Random(f"{self._seed} {owner} {number}")
        speaker, template = chance.choice(self._templates)
        me, other = person(owner), person(_whom(chance))
        first = chance.randrange(len(template))
        at = START + number * BETWEEN
        turns: list[dict[str, object]] = []
        for place in range(TURNS):
            said_by, text = template[(first + place) % len(template)]
            mine = said_by == speaker
            turns.append(
                {
                    "session": f"s{number}",
                    "role": "user",
                    "author": me if mine else other,
                    "text": self._varied(chance, text, me if mine else other),
                    "event_time": at + place * 60_000_000,
                }
            )
        facts: list[dict[str, object]] = [
            {
                "content": f"{other}: {self._vary(chance, chance.choice(self._sentences), other)}",
                "kind": "fact",
                "event_time": at,
            }
            for _ in range(FACTS)
        ]
        return Session(turns, facts)

    def questions(self, owner: int, sessions: int, count: int, seed: int = 1) -> list[str]:
        """Questions about people of an owner who has so many sessions."""
        found = []
        for place in range(count):
            chance = random.Random(f"{self._seed} {seed} {owner} {place}")
            speaker, question = chance.choice(self._questions)
            met = random.Random(f"{self._seed} {owner} {chance.randrange(sessions)}")
            met.choice(self._templates)
            other = person(_whom(met))
            found.append(
                self._speakers.sub(
                    lambda name, speaker=speaker, other=other: (
                        person(owner) if name[0] == speaker else other
                    ),
                    question,
                )
            )
        return found

    def _varied(self, chance: random.Random, text: str, name: str) -> str:
        sentences = _sentences(text)
        if len(sentences) < 2 or chance.random() < 0.5:
            sentences.append(chance.choice(self._sentences))
        else:
            sentences[chance.randrange(len(sentences))] = chance.choice(self._sentences)
        return self._vary(chance, " ".join(sentences), name)

    def _vary(self, chance: random.Random, text: str, name: str) -> str:
        """The same with other names, numbers, days and months."""
        text = self._speakers.sub(
            lambda found: name if chance.random() < 0.5 else person(_whom(chance)), text
        )
        text = re.sub(r"\d+", lambda found: _number(chance, len(found[0])), text)
        text = re.sub(rf"\b(?:{'|'.join(DAYS)})\b", lambda _: chance.choice(DAYS), text)
        return re.sub(rf"\b(?:{'|'.join(MONTHS)})\b", lambda _: chance.choice(MONTHS), text)


def person(number: int) -> str:
    """A name like no other number's."""
    # Stepped through with a number that shares no factor with how many there are.
    rest, start = divmod(number * 1_013, len(STARTS))
    rest, middle = divmod(rest, len(MIDDLES))
    last = f"{STARTS[start]}{MIDDLES[middle]}{ENDS[rest % len(ENDS)]}"
    return f"{FIRST[number % len(FIRST)]} {last}"


def _whom(chance: random.Random) -> int:
    return min(MOST_PEOPLE, int(3 * chance.paretovariate(0.7)))


def _number(chance: random.Random, length: int) -> str:
    return str(chance.randrange(10 ** (length - 1), 10**length))


def _sentences(text: str) -> list[str]:
    return [one for one in re.split(r"(?<=[.!?])\s+", text.strip()) if one]


def texts(source: Conversations, owner: int, memories: int) -> Iterator[str]:
    """The texts of an owner's first memories, as many as that, session by session."""
    left = memories
    for number in range(-(-memories // EACH)):
        session = source.session(owner, number)
        for one in (*session.turns, *session.facts)[:left]:
            yield str(one.get("text") or one["content"])
        left -= EACH
