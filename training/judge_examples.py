"""Writes the clauses and statements from which `train_judge_model.py` learns.

    python training/judge_examples.py --data data/ --friends FriendsQA/ --out FILE

`FILE` ends in `.jsonl.xz`: one row for each label of the first half of the conversations
(`bench/fact_labels.py`), and rows without any, for a small model that learns from large ones what
nobody labelled.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).parent
sys.path.insert(0, str(TRAINING.parent / "bench"))

from train_judge import PLACES, chat_examples, examples  # noqa: E402

from fact_labels import (  # noqa: E402
    CORRECT,
    Labelled,
    alone_labels,
    conversations,
    read,
    read_chats,
    statement_labels,
)
from holdfast.extraction.clauses import clauses_of  # noqa: E402
from holdfast.extraction.patterns import language  # noqa: E402
from holdfast.extraction.speech import own_words  # noqa: E402

Row = dict[str, Any]


def kept(labelled: list[Labelled], chats: list[Labelled]) -> Iterator[Row]:
    """Every clause of the labelled turns: is it worth keeping?"""
    for one in (*examples(labelled), *chat_examples(chats)):
        row = {"text": one.clause.text, "place": PLACES[one.source], "session": one.conversation}
        yield row | {"keep": one.worth}


def statements(labelled: list[Labelled]) -> Iterator[Row]:
    """Statements that were stored, with what they are worth."""
    for each in labelled:
        row = {"place": PLACES[each.source], "session": each.talk.name}
        seen = set()
        for one in statement_labels(each):
            if not one.words:
                continue
            seen.add((one.turn, one.words))
            told = row | {"text": one.words, "statement": one.label}
            # What was not said may still be understood.
            yield told if one.label == "wrong" else told | {"alone": one.label in CORRECT}
        for turn, words, alone in alone_labels(each):
            if (turn, words) not in seen:
                yield row | {"text": words, "alone": alone}


def written() -> Iterator[Row]:
    """Written statements, some of which cannot be understood alone."""
    for number, row in enumerate(_lines("alone_written.jsonl")):
        place = "assistant" if row["language"] == "en" else "languages"
        told = {"text": row["text"], "alone": row["alone"]}
        yield told | {"place": place, "session": f"written-{number % 29}"}


def unlabelled(data: Path, friends: Path | None, chats: list[Labelled]) -> Iterator[Row]:
    """Clauses that nobody labelled: of chats and scenes, and written ones."""
    talks = [one for one in chats if not one.held_out]
    scenes = [
        Labelled("scenes", "en", talk, {})
        for talk in conversations(data, friends)["scenes"].values()
    ]
    for each in (*talks, *(one for one in scenes if not one.held_out)):
        for turn in each.talk.turns.values():
            for clause in clauses_of(language("en"), own_words(turn.text, role="user")):
                yield {"text": clause.text, "place": "people"}
    for name in ("change_pairs_written.jsonl", "change_pairs_plain.jsonl"):
        for number, row in enumerate(_lines(name)):
            place = "languages" if row.get("lang", "en") != "en" else "assistant"
            yield {"text": row["b" if number % 2 else "a"], "place": place}


def _lines(name: str) -> Iterator[Row]:
    return map(json.loads, (TRAINING / name).read_text("utf-8").splitlines())


def write(rows: Iterable[Row], path: Path) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--friends", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    talks = [each for each in read(options.data, options.friends) if not each.held_out]
    chats = [each for each in read_chats(options.data) if not each.held_out]
    plain = [each for each in talks if each.source != "scenes"]
    rows = [
        *kept(plain, chats),
        *statements([*plain, *chats]),
        *written(),
    ]
    more = list(unlabelled(options.data, options.friends, read_chats(options.data)))
    write([*rows, *more], options.out)
    print(f"{options.out}: {len(rows)} labels, {len(more)} clauses without any")


if __name__ == "__main__":
    main()
