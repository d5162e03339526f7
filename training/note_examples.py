"""Writes the sentences from which `train_note_model.py` learns.

    python training/note_examples.py SESSIONS --out FILE

SESSIONS is the folder that `bench/coding_sessions.py fetch` fills; `FILE` ends in `.jsonl.xz`. One
row for each labelled sentence of `coding_statements.jsonl`: those of real sessions stand there by
their hash, some of our own with their text. And rows without a label, for a small model that learns
from large ones what nobody labelled. A row's `set` is the half that its project is in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).parent
sys.path.insert(0, str(TRAINING.parent / "bench"))

from coding_notes import sessions  # noqa: E402
from coding_sessions import READ  # noqa: E402
from holdfast.extraction.coding.coding_session import read  # noqa: E402
from holdfast.extraction.coding.cue_words import words_of  # noqa: E402

LABELS = TRAINING / "coding_statements.jsonl"
# Words and characters of a sentence that can be a note.
WORDS = range(3, 61)
MOST_CHARACTERS = 500

Row = dict[str, Any]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sentences(folder: Path) -> Iterator[Row]:
    """Every statement that a user typed, with its project and its half."""
    for session in chain.from_iterable(sessions(folder, half) for half in READ):
        for said in read(session.turns).said:
            for sentence in said.sentences if said.by_user else ():
                if not sentence.asks and len(sentence.text) <= MOST_CHARACTERS:
                    yield {"set": session.half, "project": session.project, "text": sentence.text}


def rows(folder: Path) -> Iterator[Row]:
    """Each sentence once, with its labels where somebody read it; English only without."""
    known = {}
    for line in LABELS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "text" in row:
            yield {"set": "own", "project": "own"} | row
        else:
            known[row.pop("sha256")] = row
    seen = set()
    for row in sentences(folder):
        name = digest(row["text"])
        if name in seen or len(row["text"].split()) not in WORDS:
            continue
        seen.add(name)
        if name in known:
            yield row | known[name]
        elif (words := words_of(row["text"])) and words[0].code == "en":
            yield row
    if missing := len(known.keys() - seen):
        print(f"left out: {missing} labelled sentences that no session has", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sessions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found = list(rows(options.sessions))
    with lzma.open(options.out, "wt", encoding="utf-8") as stream:
        for row in found:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(found)} sentences, {sum('labels' in row for row in found)} with labels")


if __name__ == "__main__":
    main()
