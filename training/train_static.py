"""Distil the static table: mean token vectors that rank like the tuned encoder.

    python training/train_static.py pools.json.xz --teacher PACK --base PACK --out DIR

For some questions at a time, the table learns the teacher's ranking of a few hundred documents (the
teacher's own best ones, the gold ones, random ones), the gold documents themselves, and how alike
documents are to each other. It is held near its base, which knows words that the pools lack.
"""

from __future__ import annotations

import argparse
import random
import shutil
import time
from pathlib import Path

import torch
from encoder import DEVICE, read_encoder, read_pools, split, write_checksums
from evaluate import recall
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn import functional

# Sharpens rankings: cosines lie close together.
SHARPNESS = 25
QUESTIONS = 128
RANDOM_DOCUMENTS = 1024
# The teacher's best documents per question.
NEAR_DOCUMENTS = 12
# Weights of the losses beside that of the ranking.
GOLD = 0.5
ALIKE = 2.0
NEAR_BASE = 0.05
FILE = "model_f16.safetensors"


class Table(torch.nn.Module):
    """A vector per token; a text is the mean of its tokens, the unknown one left out."""

    def __init__(self, pack: Path) -> None:
        super().__init__()
        rows = load_file(pack / FILE)["embeddings"].float()
        self.bag = torch.nn.EmbeddingBag.from_pretrained(rows, freeze=False, mode="mean")
        self.tokenizer = Tokenizer.from_file(str(pack / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.unknown = self.tokenizer.token_to_id("[UNK]")

    def ids(self, texts):
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [[one for one in text.ids if one != self.unknown] or [0] for text in encoded]

    def forward(self, ids):
        flat = torch.tensor([one for text in ids for one in text], device=DEVICE)
        lengths = torch.tensor([0, *map(len, ids[:-1])], device=DEVICE)
        return functional.normalize(self.bag(flat, lengths.cumsum(0)), dim=-1)

    @torch.no_grad()
    def encode(self, texts, *, question: bool):  # noqa: ARG002
        ids = self.ids(texts)
        steps = range(0, len(ids), 1024)
        return torch.cat([self(ids[first : first + 1024]) for first in steps]), None


class Lessons:
    """Documents and questions of all pools with the teacher's vectors."""

    def __init__(self, table: Table, teacher, pools) -> None:
        self.documents = []
        self.questions = []
        self.gold = []
        for pool in pools:
            first = len(self.documents)
            self.documents += pool["docs"]
            for one in pool["qs"]:
                self.questions.append(one["q"])
                self.gold.append([first + number for number in one["g"]])
        self.known = teacher.encode(self.documents, question=False)[0]
        self.asked = teacher.encode(self.questions, question=True)[0]
        self.document_ids = table.ids(self.documents)
        self.question_ids = table.ids(self.questions)

    def choose(self) -> tuple[list[int], list[int]]:
        """Some questions, and documents to rank for them."""
        some = random.sample(range(len(self.questions)), min(QUESTIONS, len(self.questions)))
        count = min(NEAR_DOCUMENTS, len(self.documents))
        near = (self.asked[some] @ self.known.T).topk(count, 1).indices.flatten().tolist()
        gold = [random.choice(self.gold[one]) for one in some]
        size = min(RANDOM_DOCUMENTS, len(self.documents))
        rest = random.sample(range(len(self.documents)), size)
        return some, list(dict.fromkeys([*near, *gold, *rest]))


def distil(table: Table, lessons: Lessons, *, seconds: float, rate: float) -> None:
    base = table.bag.weight.detach().clone()
    optimizer = torch.optim.Adam(table.parameters(), lr=rate)
    until = time.time() + seconds
    step = 0
    while (left := (until - time.time()) / seconds) > 0:
        for group in optimizer.param_groups:
            group["lr"] = rate * left
        loss = lesson_loss(table, lessons)
        loss = loss + NEAR_BASE * (table.bag.weight - base).pow(2).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step}, loss {loss.item():.3f}", flush=True)


def lesson_loss(table: Table, lessons: Lessons):
    some, chosen = lessons.choose()
    place = {document: row for row, document in enumerate(chosen)}
    asked = table([lessons.question_ids[one] for one in some])
    known = table([lessons.document_ids[one] for one in chosen])
    teacher = lessons.known[chosen]
    target = functional.softmax(lessons.asked[some] @ teacher.T * SHARPNESS, -1)
    ranked = functional.log_softmax(asked @ known.T * SHARPNESS, -1)
    loss = functional.kl_div(ranked, target, reduction="batchmean")
    right = torch.zeros_like(target)
    for row, one in enumerate(some):
        for document in lessons.gold[one]:
            if document in place:
                right[row, place[document]] = 1
    loss = loss - GOLD * ((ranked * right).sum(-1) / right.sum(-1)).mean()
    sample = random.sample(range(len(chosen)), min(256, len(chosen)))
    ours = known[sample] @ known[sample].T
    theirs = teacher[sample] @ teacher[sample].T
    return loss + ALIKE * functional.mse_loss(ours, theirs)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("pools", type=Path)
    options.add_argument("--teacher", type=Path, required=True, help="pack of the encoder")
    options.add_argument("--base", type=Path, required=True, help="pack of the table to start from")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--rate", type=float, default=2e-3)
    options.add_argument("--all", action="store_true", help="train on the dev fold as well")
    options.add_argument("--without-half", type=int, choices=(0, 1), help="test on it")
    chosen = options.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    pools = read_pools(chosen.pools)
    training, held_out = split(pools, everything=chosen.all, without_half=chosen.without_half)
    table = Table(chosen.base).to(DEVICE)
    print("base", recall(table, held_out))
    teacher = read_encoder(chosen.teacher)
    distil(table, Lessons(table, teacher, training), seconds=chosen.seconds, rate=chosen.rate)
    chosen.out.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": table.bag.weight.detach().half().cpu()}, chosen.out / FILE)
    shutil.copy(chosen.base / "tokenizer.json", chosen.out)
    write_checksums(chosen.out)
    print("distilled", recall(table, held_out))


if __name__ == "__main__":
    main()
