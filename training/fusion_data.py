"""Question sets for the weights of recall, as memories of one scope each.

The sets are of different kinds: turns of people who talk to each other, of a user with an assistant
and with a coding agent, in seven languages; facts, Markdown records and passages of documents. A
question without gold is one that nothing in its scope answers.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.types import DAY, Kind, Memory, Scope, from_datetime

QUESTIONS = Path(__file__).parent / "questions"
SCOPE = Scope("user", "training")
# Pools of one kind that share a scope: a scope of real size, and look-alikes beside the answers.
TOGETHER = {"coding": 5, "facts": 4, "records": 4, "documents": 5}
# Conversations of people that share a scope, and the size of the smaller scope in which each
# question is asked once more (0: its conversation alone). A gate that only knows short
# conversations is open for everything in a long one.
PEOPLE_TOGETHER = ((5, 0), (15, 600))
LANGUAGES = ("de", "es", "fr", "ja", "ru", "zh")
CHATS = ("people", "assistant", "coding")
KINDS: dict[str, Kind] = {"facts": "fact", "records": "fact", "documents": "document"}
# Rows of the smaller scope in which a LongMemEval question is asked once more: about 25 sessions.
LONGMEMEVAL_SMALL = 250
NOON = 43_200_000_000


@dataclass(frozen=True)
class Asked:
    """A question, the rows that answer it, and its conversation: name and rows. The label says
    whether its scope answers it.
    """

    text: str
    now: int
    gold: tuple[int, ...]
    conversation: str
    own: tuple[int, ...]
    label: str = "answered"


@dataclass(frozen=True)
class Corpus:
    """Memories that are searched together, and the questions asked of them."""

    name: str
    kind: str
    memories: Sequence[Memory]
    asked: Sequence[Asked]
    half: int
    small: int = 0
    """Each question is also asked of a smaller scope: its conversation and others up to so many
    rows."""

    @property
    def authors(self) -> list[str]:
        return sorted({memory.author for memory in self.memories if memory.author})


def half_of(corpus: str) -> int:
    """The half that a corpus is in, 0 or 1: weights are learned there with an encoder that was
    trained on the other half only.
    """
    return zlib.crc32(corpus.encode()) % 2


def own_sets(scenes: Path | None = None) -> Iterator[Corpus]:
    """The sets of `questions/`; those about Friends only with the transcripts in `scenes`."""
    for language in LANGUAGES:
        yield corpus_of(language, "languages", _lines(QUESTIONS / f"{language}.jsonl"))
    for kind, together in TOGETHER.items():
        pools = _lines(QUESTIONS / f"{kind}.jsonl")
        for first in range(0, len(pools), together):
            yield corpus_of(f"{kind}-{first}", kind, pools[first : first + together])
    pools = _lines(QUESTIONS / "people.jsonl")
    for pool in pools:
        corpus = corpus_of(pool["name"], pool["kind"], [pool])
        yield _other_person(corpus) if corpus.kind == "people" else corpus
    yield from _people([pool for pool in pools if pool["kind"] == "people"])
    if scenes is not None:
        episodes = _episodes(scenes)
        for pool in _lines(QUESTIONS / "friends.jsonl"):
            yield corpus_of(pool["name"], "friends", [pool | episodes[pool["name"]]])


def _people(pools: Sequence[dict[str, Any]]) -> Iterator[Corpus]:
    """Conversations of different people in one scope, those of one half together."""
    for half in (0, 1):
        mine = [pool for pool in pools if half_of(pool["name"]) == half]
        for together, small in PEOPLE_TOGETHER:
            for first in range(0, len(mine), together):
                name = f"people-{half}-{together}-{first}"
                corpus = corpus_of(name, "people", mine[first : first + together])
                yield replace(corpus, half=half, small=small)


def _episodes(folder: Path) -> dict[str, dict[str, Any]]:
    """The turns of each episode in emorynlp/character-identification (Apache-2.0)."""
    found = {}
    for path in sorted(folder.glob("json/character-identification-*.json")):
        for episode in json.loads(path.read_text("utf-8"))["episodes"]:
            docs, sessions = [], []
            for scene in episode["scenes"]:
                for turn in scene["utterances"]:
                    if turn["transcript"].strip():
                        docs.append(f"{' and '.join(turn['speakers'])}: {turn['transcript']}")
                        sessions.append(scene["scene_id"])
            found[episode["episode_id"]] = {"docs": docs, "sessions": sessions}
    return found


def corpus_of(name: str, kind: str, pools: Sequence[dict[str, Any]]) -> Corpus:
    """One scope of the turns and the questions of some pools."""
    memories: list[Memory] = []
    asked = []
    for pool in pools:
        own = range(len(memories), len(memories) + len(pool["docs"]))
        dates = pool.get("dates") or ["2026-03-01"] * len(own)
        memories += _memories(pool, dates, first=own.start)
        now = max(map(_noon, dates)) + 30 * DAY
        for one in pool["qs"]:
            gold = tuple(own.start + number for number in one["g"])
            label = "answered" if gold else "unanswered"
            asked.append(Asked(one["q"], now, gold, pool["name"], tuple(own), label))
    # Both encoders saw FriendsQA, but not our questions about those scenes.
    half = 0 if kind == "friends" else half_of(name)
    return Corpus(name, kind, memories, asked, half)


def _memories(pool: dict[str, Any], dates: Sequence[str], *, first: int) -> Iterator[Memory]:
    positions: Counter[str] = Counter()
    for number, (doc, date) in enumerate(zip(pool["docs"], dates, strict=True)):
        at = _noon(date)
        memory = Memory(str(first + number), SCOPE, "turn", doc, at, at, at)
        if pool["kind"] not in CHATS:
            title, _, text = doc.partition(": ") if pool["kind"] == "records" else ("", "", doc)
            yield memory.with_(kind=KINDS[pool["kind"]], title=title, content=text)
            continue
        speaker, _, text = doc.partition(": ")
        session = f"{pool['name']}-{pool['sessions'][number] if 'sessions' in pool else date}"
        named = speaker not in ("user", "assistant", "tool")
        yield memory.with_(
            content=text,
            role="user" if named else speaker,
            author=speaker if named else "",
            session=session,
            position=positions[session],
        )
        positions[session] += 1


def _other_person(corpus: Corpus) -> Corpus:
    """The same questions asked about the wrong one of two people: the answer is what the other one
    said.
    """
    one, other = corpus.authors
    swap = {one: other, other: one}
    asked = []
    for question in corpus.asked:
        said = {corpus.memories[row].author for row in question.gold}
        named = [name for name in swap if re.search(rf"\b{name}\b", question.text)]
        if len(said) == 1 and named == [*said]:
            text = re.sub(rf"\b{named[0]}\b", swap[named[0]], question.text)
            asked.append(replace(question, text=text))
    return replace(corpus, kind="other person", asked=asked)


def longmemeval(path: Path) -> Corpus:
    """All sessions of the development questions in one scope."""
    memories: list[Memory] = []
    place: dict[tuple[str, int], int] = {}
    asked = []
    for number, entry in enumerate(json.loads(path.read_text("utf-8"))):
        gold = set()
        own = set()
        sessions = zip(
            entry["haystack_session_ids"],
            entry["haystack_sessions"],
            entry["haystack_dates"],
            strict=True,
        )
        for session, turns, date in sessions:
            for position, turn in enumerate(turns):
                row = place.setdefault((session, position), len(memories))
                if row == len(memories):
                    at = _moment(date)
                    memory = Memory(str(row), SCOPE, "turn", turn["content"], at, at, at)
                    memory = memory.with_(role=turn["role"], session=session, position=position)
                    memories.append(memory)
                own.add(row)
                if turn.get("has_answer"):
                    gold.add(row)
        if gold:
            now = _moment(entry["question_date"])
            name = f"longmemeval-{number}"
            rows = tuple(sorted(own))
            asked.append(Asked(entry["question"], now, tuple(sorted(gold)), name, rows))
    half = half_of("longmemeval")
    return Corpus("longmemeval", "longmemeval", memories, asked, half, LONGMEMEVAL_SMALL)


def _noon(date: str) -> int:
    return from_datetime(datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)) + NOON


def _moment(text: str) -> int:
    """`2023/05/28 (Sun) 06:47` in microseconds."""
    plain = text[:10] + text[-6:]
    return from_datetime(datetime.strptime(plain, "%Y/%m/%d %H:%M").replace(tzinfo=UTC))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
