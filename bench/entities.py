"""How well names are found: what labelled turns of conversations are linked to, against the labels.

    python bench/entities.py --data data/ [--half dev|test] [--misses]

The labels are `training/entities.jsonl`: 300 turns of LoCoMo 1 to 3, LongMemEval's development
sessions and our own conversations in six languages. `--data` is a folder with
`longmemeval/longmemeval_dev150.json` and `locomo/locomo10.json`. Every conversation is captured
whole and linked as the maintenance does it. What a labelled turn mentions is compared by name,
case, a leading article and a possessive aside; neither its author nor addresses are counted.
Conversations are divided into two halves by their id, and `--misses` shows only the first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common import finish
from fact_labels import LABELS, Conversation, Row, conversation_of, conversations, turn_of
from holdfast import Holdfast, Settings
from holdfast.storage.row_codec import entity_names
from holdfast.text.normal_forms import fold
from holdfast.types import Entity, Memory

PRECISION, RECALL = 0.93, 0.85
ADDRESSES = ("email", "url")
# Types of the labels for which Holdfast has a type of its own.
TYPES = {"person": "person", "place": "location", "organisation": "organization"}
_ARTICLE = re.compile(r"(?:the|an?) (?=\w)")

_ENDING = re.compile(r"(?:['’]s|\.)$")


@dataclass(slots=True)
class Score:
    """Counts of names in labelled turns."""

    right: int = 0
    wrong: int = 0
    labelled: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    typed: int = 0

    def report(self) -> Row:
        named = self.right + self.wrong
        labelled = self.labelled.total()
        return {
            "labelled": labelled,
            "named": named,
            "precision": round(self.right / named, 3) if named else None,
            "recall": round(self.found.total() / labelled, 3) if labelled else None,
            "right_type": round(self.typed / self.found.total(), 3) if self.found else None,
            "found_by_type": {
                type_: f"{self.found[type_]} of {count}" for type_, count in self.labelled.items()
            },
        }


def half_of(conversation: str) -> str:
    """The half in which a conversation is."""
    return "test" if hashlib.sha256(conversation.encode()).digest()[0] % 2 else "dev"


def labels(half: str) -> dict[str, list[Row]]:
    """Labelled turns of a half by their conversation."""
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in map(json.loads, (LABELS / "entities.jsonl").read_text("utf-8").splitlines()):
        if half_of(conversation_of(row["turn"])) == half:
            grouped[conversation_of(row["turn"])].append(row)
    return grouped


def scored(
    talks: Mapping[str, Mapping[str, Conversation]], half: str, *, misses: bool
) -> dict[str, Score]:
    """Scores by source."""
    scores: dict[str, Score] = defaultdict(Score)
    rows = labels(half)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(embedding_models="none")
        for source, parts in _stored_together(talks, rows):
            scope = f"project:{parts[0].name.partition('|')[0].replace('#', '-')}"
            with Holdfast.open(path, scope=scope, settings=settings, background=False) as hf:
                stored = {part.name: _captured(hf, part) for part in parts}
                hf.admin.maintain("enrich")
                for name in stored.keys() & rows.keys():
                    for row in rows[name]:
                        memory = stored[name].get(turn_of(row["turn"]))
                        _count(scores[source], row, memory, _linked(hf, memory), misses)
    return scores


def _stored_together(
    talks: Mapping[str, Mapping[str, Conversation]], rows: Mapping[str, object]
) -> Iterator[tuple[str, list[Conversation]]]:
    """Conversations with labels, those of the same people together, with their source."""
    for source, named in talks.items():
        wanted = {name.partition("|")[0] for name in rows if name in named}
        for whole in sorted(wanted):
            yield source, [talk for name, talk in named.items() if name.partition("|")[0] == whole]


def _captured(hf: Holdfast, talk: Conversation) -> dict[str, Memory]:
    stored = {}
    for name, said in talk.turns.items():
        if said.text.strip():
            stored[name] = hf.capture(talk.name, said.role, said.text, author=said.speaker)
    return stored


def _linked(hf: Holdfast, memory: Memory | None) -> list[Entity]:
    if memory is None:
        return []
    ids = hf.store.entities.mentions_of(memory.scope, [memory.id]).get(memory.id, ())
    found = [hf.store.entities.get(memory.scope, id) for id in ids]
    return [one for one in found if one is not None and one.type not in ADDRESSES]


def _count(
    score: Score, row: Row, memory: Memory | None, linked: list[Entity], misses: bool
) -> None:
    author = fold(memory.author) if memory else ""
    wanted = {_plain(label["name"]): label for label in row["entities"]}
    score.labelled.update(label["type"] for label in row["entities"])
    met = set()
    for entity in linked:
        names = {_plain(name) for name in entity_names(entity)}
        hits = names & wanted.keys()
        if hits:
            score.right += 1
            met |= hits
            expected = TYPES.get(wanted[min(hits)]["type"], entity.type)
            score.typed += len(hits) * (entity.type == expected)
        elif author not in map(fold, entity_names(entity)):
            score.wrong += 1
            if misses:
                print(f"{row['turn']}  wrong: {entity.name} ({entity.type})", file=sys.stderr)
    score.found.update(wanted[name]["type"] for name in met)
    if misses:
        for name in wanted.keys() - met:
            print(
                f"{row['turn']}  missed: {wanted[name]['name']} ({wanted[name]['type']})",
                file=sys.stderr,
            )


def _plain(name: str) -> str:
    return _ENDING.sub("", _ARTICLE.sub("", fold(name), count=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--misses", action="store_true", help="of the half dev only")
    options = parser.parse_args()
    misses = options.misses and options.half == "dev"
    scores = scored(conversations(options.data), options.half, misses=misses)
    whole = Score()
    for score in scores.values():
        whole.right += score.right
        whole.wrong += score.wrong
        whole.typed += score.typed
        whole.labelled.update(score.labelled)
        whole.found.update(score.found)
    report = whole.report()
    finish(
        {
            "half": options.half,
            "all": report,
            **{source: score.report() for source, score in scores.items()},
            "met_precision": (report["precision"] or 0) >= PRECISION,
            "met_recall": (report["recall"] or 0) >= RECALL,
        }
    )


if __name__ == "__main__":
    main()
