"""Build the pools that the retrieval models are trained and tested on.

    python training/pools.py --friendsqa DIR --qmsum DIR --longmemeval longmemeval_dev150.json \\
        --out pools.json.xz

A pool is a set of documents and questions about them, in the form in which recall embeds them:

    {"name", "fold", "half",
     "docs": ["text", …], "shown": ["Speaker: text", …], "before": [document number or -1, …],
     "qs": [{"q": "as embedded", "asked": "as asked", "g": [document numbers]}]}

`shown` and `asked` are what a reranker reads, `before` is the turn before. The fold is `train` or
`dev` (to choose a recipe by); a conversation is in one fold only. `half` is 0 or 1 for the sets
that the weights of recall are learned from: that needs an encoder that never saw them, so one is
trained without a half. Other sets are in both halves (-1).

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

from fusion_data import TOGETHER, half_of

from holdfast.retrieval.query import analyse

HERE = Path(__file__).parent
Pool = dict[str, Any]

# Characters of a turn: more than the encoder reads.
LONGEST = 1500
# FriendsQA's scenes have about twenty turns each. Merged, they are as large as a real memory.
SCENES_PER_POOL = 20


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
        merged = _empty(fold)
        scenes = 0
        for title, part in _friends_scenes(folder):
            if fold_of(title) != fold:
                continue
            _append_scene(merged, part)
            scenes += 1
            if scenes % SCENES_PER_POOL == 0:
                yield merged
                merged = _empty(fold)
        yield merged


def _empty(fold: str) -> Pool:
    return {"name": "friendsqa", "fold": fold, "docs": [], "sessions": [], "qs": []}


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
        pool["sessions"].append(first)
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
            yield {
                "name": name,
                "fold": fold,
                "half": half_of("longmemeval"),
                "docs": docs,
                "sessions": [key.split("#")[0] for key in turns],
                "qs": chosen,
            }


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
        together = TOGETHER.get(path.stem, 1)
        for number, pool in enumerate(_lines(path)):
            # The turns of Friends are not ours to ship; only the weights of recall need them.
            if "docs" not in pool:
                continue
            # A question without an answer is for calibration, not for training a ranking.
            answered = [question for question in pool["qs"] if question["g"]]
            one_of_several = f"{path.stem}-{number - number % together}"
            name = pool["kind"] if pool["language"] == "en" else pool["language"]
            corpus = {"people": pool["name"], "assistant": pool["name"]}.get(name, one_of_several)
            yield {
                "name": name,
                "fold": "dev" if pool["fold"] == "test" else "train",
                "half": half_of(corpus if pool["language"] == "en" else name),
                "docs": [doc[:LONGEST] for doc in pool["docs"]],
                "sessions": pool.get("sessions") or pool.get("dates"),
                "qs": answered,
            }


def as_recall_embeds(pool: Pool) -> Pool:
    """A pool of `Speaker: text` with its texts and questions as recall embeds them."""
    spoken = pool["name"] not in ("records", "documents", "facts") or "user: " in pool["docs"][0]
    shown = pool["docs"]
    docs = shown
    authors: list[str] = []
    if spoken:
        parts = [doc.partition(": ") for doc in shown]
        docs = [text for _, _, text in parts]
        authors = sorted({speaker for speaker, _, _ in parts} - {"user", "assistant", "tool"})
    elif pool["name"] == "records":
        docs = [doc.replace(": ", "\n", 1) for doc in shown]
    sessions = pool.get("sessions") or [0] * len(docs)
    before = [-1] * len(docs)
    for number in range(1, len(docs)):
        if spoken and sessions[number] == sessions[number - 1]:
            before[number] = number - 1
    questions = []
    for one in pool["qs"]:
        embedded = analyse(one["q"], 0, authors=authors).embed
        gold = [number for number in one["g"] if docs[number].strip()]
        if gold:
            questions.append({"q": embedded, "asked": one["q"], "g": gold})
    return {
        "name": pool["name"],
        "fold": pool["fold"],
        "half": pool.get("half", -1),
        "docs": docs,
        "shown": shown,
        "before": before,
        "qs": questions,
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--friendsqa", type=Path, help="checkout of FriendsQA")
    options.add_argument("--qmsum", type=Path, help="checkout of QMSum")
    options.add_argument("--longmemeval", type=Path, help="longmemeval_dev150.json")
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
    pools = [as_recall_embeds(pool) for pool in pools if pool["qs"]]
    with lzma.open(chosen.out, "wt", encoding="utf-8") as stream:
        json.dump(pools, stream)
    counts: Counter[tuple[str, str]] = Counter()
    for pool in pools:
        counts[pool["name"], pool["fold"]] += len(pool["qs"])
    for (name, fold), questions in sorted(counts.items()):
        print(f"{name:10} {fold:5} {questions:6} questions")


if __name__ == "__main__":
    main()
