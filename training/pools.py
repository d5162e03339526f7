"""Build the pools that the retrieval models are trained and tested on.

    python training/pools.py --friendsqa DIR --qmsum DIR --longmemeval longmemeval_dev150.json \\
        --out pools.json.xz

A pool is a set of documents and questions about them:
`{"name", "fold", "docs": ["Speaker: text", …], "qs": [{"q", "g": [document numbers]}]}`.
The fold is `train`, `dev` (to choose a recipe by) or `test`; a conversation is in one fold only.

Sources, each left out when it is not given:

- FriendsQA (Apache-2.0, github.com/emorynlp/FriendsQA, `dat/*.json`)
- QMSum (MIT, github.com/Yale-LILY/QMSum, `data/*/jsonl/*.jsonl`)
- `questions.jsonl` and `facts.jsonl`: written for this project about the sessions of
  LongMemEval's 150 development questions (MIT)
- `questions/*.jsonl`: conversations, records, documents and facts with questions, written for
  this project

LoCoMo is never read here: it is what the result is measured on.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Pool = dict[str, Any]

# Characters of a turn: more than the encoder reads.
LONGEST = 1500
# FriendsQA's scenes have about twenty turns each. Merged, they are as large as a real memory.
SCENES_PER_POOL = 20
# A shorter turn ("Yes, on Friday.") is read together with the one before it.
SHORT_WORDS = 16
# Characters of that turn: enough for a sentence, too few to hide the turn itself.
BEFORE_CHARACTERS = 160


def fold_of(name: str) -> str:
    """`dev` for one conversation in seven, chosen by its name, so that it never changes."""
    return "dev" if zlib.crc32(name.encode()) % 7 == 0 else "train"


def plain(text: str) -> str:
    """Undo the tokenisation of FriendsQA and QMSum: `I 'm fine .` becomes `I'm fine.`"""
    text = text.replace("``", '"').replace("''", '"')
    text = re.sub(r"\s+(n't|'s|'m|'re|'ve|'ll|'d)\b", r"\1", text, flags=re.IGNORECASE)
    text = re.sub(r"\s+([?.!,;:%)\]])", r"\1", text)
    text = re.sub(r"([(\[$])\s+", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def friendsqa(folder: Path) -> Iterator[Pool]:
    """Scenes of a television series, several to a pool, with the questions that people asked."""
    for fold in ("train", "dev"):
        merged: Pool = {"name": "friendsqa", "fold": fold, "docs": [], "qs": []}
        scenes = 0
        for title, part in _friends_scenes(folder):
            if fold_of(title) != fold:
                continue
            _append_scene(merged, part)
            scenes += 1
            if scenes % SCENES_PER_POOL == 0:
                yield merged
                merged = {"name": "friendsqa", "fold": fold, "docs": [], "qs": []}
        yield merged


def _friends_scenes(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.glob("dat/*.json")):
        for scene in json.loads(path.read_text("utf-8"))["data"]:
            for part in scene["paragraphs"]:
                yield scene["title"], part


def _append_scene(pool: Pool, part: dict[str, Any]) -> None:
    first = len(pool["docs"])
    # The published files spell the key with a colon.
    turns = part.get("utterances:") or part["utterances"]
    for turn in turns:
        pool["docs"].append(plain(f"{' and '.join(turn['speakers'])}: {turn['utterance']}"))
    for asked in part["qas"]:
        gold = {answer.get("utterance_id") for answer in asked["answers"]}
        gold = {first + number for number in gold if number is not None and number < len(turns)}
        if gold:
            pool["qs"].append({"q": plain(asked["question"]), "g": sorted(gold)})


def qmsum(folder: Path) -> Iterator[Pool]:
    """Meetings. Only narrow spans: a question about half a meeting says nothing about a turn."""
    for path in sorted(folder.glob("data/[APC]*/jsonl/*.jsonl")):
        if "ALL" in path.parts:
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            meeting = json.loads(line)
            docs = []
            for turn in meeting["meeting_transcripts"]:
                docs.append(plain(f"{turn['speaker']}: {turn['content']}")[:LONGEST])
            questions = []
            for query in meeting.get("specific_query_list", []):
                gold = _narrow_gold(query["relevant_text_span"], docs)
                if gold:
                    questions.append({"q": query["query"], "g": gold})
            fold = fold_of(f"{path.parts[-3]}/{path.stem}/{number}")
            yield {"name": "qmsum", "fold": fold, "docs": docs, "qs": questions}


def _narrow_gold(spans: list[list[str]], docs: list[str]) -> list[int]:
    gold = set()
    for first, last in spans:
        if int(last) - int(first) <= 8:
            gold |= set(range(int(first), int(last) + 1))
    # A turn of a dozen words or fewer ("Yeah, okay.") answers nothing by itself.
    return sorted(one for one in gold if one < len(docs) and len(docs[one].split()) > 12)


def longmemeval(path: Path) -> Iterator[Pool]:
    """Sessions of users with an assistant: written questions, and facts that name their turn."""
    turns = {}
    for entry in json.loads(path.read_text("utf-8")):
        sessions = zip(entry["haystack_session_ids"], entry["haystack_sessions"], strict=True)
        for session, dialogue in sessions:
            for position, turn in enumerate(dialogue):
                key = f"{session}#{position}"
                turns.setdefault(key, f"{turn['role']}: {turn['content'][:LONGEST]}")
    place = {key: number for number, key in enumerate(turns)}
    docs = list(turns.values())
    for name, questions in (("written", _written(place)), ("facts", _facts(place))):
        for fold in ("train", "dev"):
            chosen = [question for key, question in questions if fold_of(key) == fold]
            yield {"name": name, "fold": fold, "docs": docs, "qs": chosen}


def _written(place: dict[str, int]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for one in _lines(HERE / "questions.jsonl"):
        session = one["g"][0].split("#")[0]
        found.append((session, {"q": one["q"], "g": sorted({place[key] for key in one["g"]})}))
    return found


def _facts(place: dict[str, int]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for one in _lines(HERE / "facts.jsonl"):
        session = one["turn"].split("#")[0]
        for fact in one["facts"]:
            found.append((session, {"q": fact["text"], "g": [place[one["turn"]]]}))
    return found


def own_questions() -> Iterator[Pool]:
    """The pools of `questions/`; their test fold is given with them."""
    for path in sorted((HERE / "questions").glob("*.jsonl")):
        for pool in _lines(path):
            # The turns of Friends are not ours to ship; only the weights of recall need them.
            if "docs" not in pool:
                continue
            # A question without an answer is for calibration, not for training a ranking.
            answered = [question for question in pool["qs"] if question["g"]]
            yield {
                "name": pool["kind"] if pool["language"] == "en" else pool["language"],
                "fold": "dev" if pool["fold"] == "test" else "train",
                "docs": [doc[:LONGEST] for doc in pool["docs"]],
                "qs": answered,
            }


def with_turn_before(docs: list[str]) -> list[str]:
    """Documents as they are embedded: a short turn names the turn before it."""
    found = []
    for number, doc in enumerate(docs):
        text = doc.split(": ", 1)[-1]
        if number and len(text.split()) < SHORT_WORDS:
            before = docs[number - 1][:BEFORE_CHARACTERS]
            found.append(f"{doc} (before: {before})")
        else:
            found.append(doc)
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--friendsqa", type=Path, help="checkout of FriendsQA")
    options.add_argument("--qmsum", type=Path, help="checkout of QMSum")
    options.add_argument("--longmemeval", type=Path, help="longmemeval_dev150.json")
    options.add_argument("--before", action="store_true", help="name the turn before short ones")
    options.add_argument("--out", type=Path, required=True)
    chosen = options.parse_args()
    pools: list[Pool] = []
    if chosen.friendsqa:
        pools += friendsqa(chosen.friendsqa)
    if chosen.qmsum:
        pools += qmsum(chosen.qmsum)
    if chosen.longmemeval:
        pools += longmemeval(chosen.longmemeval)
    pools += own_questions()
    pools = [pool for pool in pools if pool["qs"]]
    if chosen.before:
        for pool in pools:
            # Records, facts and documents have no turn before them.
            if pool["name"] not in ("records", "facts", "documents") or "user: " in pool["docs"][0]:
                pool["docs"] = with_turn_before(pool["docs"])
    with lzma.open(chosen.out, "wt", encoding="utf-8") as stream:
        json.dump(pools, stream)
    counts: Counter[tuple[str, str]] = Counter()
    for pool in pools:
        counts[pool["name"], pool["fold"]] += len(pool["qs"])
    for (name, fold), questions in sorted(counts.items()):
        print(f"{name:10} {fold:5} {questions:6} questions")


if __name__ == "__main__":
    main()
