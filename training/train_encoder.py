"""Tune the sentence encoder for memory: questions on one side, documents on the other.

    python training/train_encoder.py pools.json.xz --base PACK --out DIR [--test NAME=FILE …]

Every question is compared with one document that answers it, with documents next to that one,
with documents that the model itself confuses with it (`--hard`, mined before each epoch but the
first), with random ones of its pool, and with those of the other questions of the batch. The
result is mixed with the base (`--mix`), which keeps what the base knows beyond conversations.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import time
from pathlib import Path

import torch
from encoder import (
    DEVICE,
    PREFIX_TOKENS,
    TOKEN_DIMENSIONS,
    Encoder,
    export,
    load,
    pad,
    read_encoder,
    read_pools,
    write_checksums,
)
from evaluate import recall
from torch.nn import functional

STARTED = time.time()


def log(*what) -> None:
    print(f"[{time.time() - STARTED:6.1f}]", *what, flush=True)


def start_head(encoder: Encoder, pools) -> None:
    """Begin with the directions in which token states differ most (principal components)."""
    encoder.head = torch.nn.Identity()
    texts = [doc for pool in pools for doc in pool["docs"][:20]]
    texts = random.sample(texts, min(len(texts), 4000))
    states = torch.cat(encoder.encode(texts, question=False)[1]).float()
    states = states[torch.randperm(len(states))[:60_000]]
    directions = torch.linalg.svd(states.T @ states / len(states))[0]
    head = torch.nn.Linear(states.shape[1], TOKEN_DIMENSIONS, bias=False).to(DEVICE)
    with torch.no_grad():
        head.weight.copy_(directions[:, :TOKEN_DIMENSIONS].T)
    encoder.head = head


class Batches:
    """Batches of questions, each with its answer and documents that do not answer it."""

    def __init__(self, encoder: Encoder, pools, *, size: int, negatives: int, seed: int) -> None:
        self.encoder = encoder
        self.pools = pools
        self.size = size
        self.negatives = negatives
        self.random = random.Random(seed)
        self.items = []
        for number, pool in enumerate(pools):
            pool["ids"] = encoder.ids(pool["docs"], question=False)
            pool["asked"] = encoder.ids([one["q"] for one in pool["qs"]], question=True)
            pool["hard"] = [[] for _ in pool["qs"]]
            self.items += [(number, asked) for asked in range(len(pool["qs"]))]

    def __len__(self) -> int:
        return len(self.items) // self.size

    def __iter__(self):
        self.random.shuffle(self.items)
        for start in range(0, len(self) * self.size, self.size):
            yield self.items[start : start + self.size]

    def mine(self) -> None:
        """Find the documents that the model ranks high for a question and that do not answer it.

        The very first ones are left out: unlabelled answers are most likely there.
        """
        for pool in self.pools:
            documents = self.encoder.encode(pool["docs"], question=False)[0]
            asked = self.encoder.encode([one["q"] for one in pool["qs"]], question=True)[0]
            depth = min(40, len(pool["docs"]))
            best = (asked @ documents.T).topk(depth, 1).indices.tolist()
            for number, (question, ranked) in enumerate(zip(pool["qs"], best, strict=True)):
                wrong = [one for one in ranked if one not in question["g"]]
                pool["hard"][number] = wrong[2:]

    def wrong_documents(self, pool, asked: int, answer: int) -> list[int]:
        """Document numbers that do not answer a question: neighbours, hard ones, random ones."""
        gold = set(pool["qs"][asked]["g"])
        count = len(pool["docs"])
        beside = range(max(0, answer - 3), min(count, answer + 4))
        beside = [one for one in beside if one not in gold]
        hard = pool["hard"][asked]
        chosen = self.random.sample(beside, min(len(beside), 4))
        chosen += self.random.sample(hard, min(len(hard), self.negatives // 2))
        rest = self.random.sample(range(count), min(count, self.negatives + 12))
        for one in rest:
            if len(chosen) >= self.negatives:
                break
            if one not in gold and one not in chosen:
                chosen.append(one)
        return chosen


class Progress:
    """How far training is, from 0 to 1: by its steps, or by the clock when that is ahead.

    A rented machine ends by the clock, and a rate that has not come down yet leaves a bad model.
    """

    def __init__(self, steps: int, seconds: float | None) -> None:
        self.steps = steps
        self.seconds = seconds
        self.step = 0
        self.started = time.time()

    def share(self) -> float:
        by_steps = self.step / self.steps
        if self.seconds is None:
            return by_steps
        return max(by_steps, (time.time() - self.started) / self.seconds)

    def rate(self) -> float:
        """The share of the full learning rate: up within the first steps, then down to zero."""
        return min(1, (self.step + 1) / 40) * max(0.02, 1 - self.share())


def set_rate(optimizer, rates, share: float) -> None:
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * share


def tune(
    encoder: Encoder,
    batches: Batches,
    *,
    epochs: int,
    rate: float,
    hard: bool,
    seconds: float | None = None,
) -> None:
    """Train whole vectors and token vectors together, each by a softmax over the batch."""
    scales = torch.nn.Parameter(torch.tensor([math.log(20.0), math.log(30.0)], device=DEVICE))
    rates = (rate, 3e-4, 1e-3)
    parts = (encoder.bert.parameters(), encoder.head.parameters(), [scales])
    optimizer = torch.optim.AdamW([{"params": part} for part in parts], weight_decay=0.01)
    progress = Progress(epochs * len(batches), seconds)
    for epoch in range(epochs):
        if hard and epoch:
            batches.mine()
        total = 0.0
        for items in batches:
            if progress.share() >= 1:
                log(f"out of time after {progress.step} of {progress.steps} steps")
                return
            encoder.train()
            set_rate(optimizer, rates, progress.rate())
            loss = batch_loss(encoder, batches, items, scales)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
            optimizer.step()
            progress.step += 1
            total += loss.detach()
        log(f"epoch {epoch + 1} of {epochs}, mean loss {total / len(batches):.3f}")


def batch_loss(encoder: Encoder, batches: Batches, items, scales):
    documents, asked, right = [], [], []
    for number, question in items:
        pool = batches.pools[number]
        answer = batches.random.choice(pool["qs"][question]["g"])
        right.append(len(documents))
        for one in (answer, *batches.wrong_documents(pool, question, answer)):
            documents.append(pool["ids"][one])
        asked.append(pool["asked"][question])
    asked_ids, asked_mask = pad(asked)
    with torch.autocast(DEVICE, torch.bfloat16):
        whole, tokens, mask = in_chunks(encoder, documents)
        question, question_tokens = encoder(asked_ids, asked_mask)
    unfair = same_pool_penalty(items, right, len(documents))
    target = torch.tensor(right, device=DEVICE)
    loss = functional.cross_entropy(question @ whole.T * scales[0].exp() + unfair, target)
    late = late_scores(question_tokens, asked_mask, tokens, mask)
    return loss + functional.cross_entropy(late * scales[1].exp() + unfair, target)


def in_chunks(encoder: Encoder, documents, chunks: int = 2):
    """Encode documents of similar length together: padding all to the longest costs twice the
    work. More chunks would wait for Python.
    """
    order = sorted(range(len(documents)), key=lambda number: len(documents[number]))
    width = len(documents[order[-1]])
    size = math.ceil(len(order) / chunks)
    parts = []
    for start in range(0, len(order), size):
        ids, mask = pad([documents[number] for number in order[start : start + size]])
        whole, tokens = encoder(ids, mask)
        missing = width - ids.shape[1]
        parts.append(
            (
                whole,
                functional.pad(tokens, (0, 0, 0, missing)),
                functional.pad(mask, (0, missing)),
            )
        )
    back = torch.empty(len(order), dtype=torch.long, device=DEVICE)
    back[torch.tensor(order, device=DEVICE)] = torch.arange(len(order), device=DEVICE)
    return [torch.cat(part)[back] for part in zip(*parts, strict=True)]


def same_pool_penalty(items, right, count):
    """Take out documents of other questions of the same pool: they may answer this one, too."""
    penalty = torch.zeros(len(items), count, device=DEVICE)
    ends = [*right, count]
    for row, (pool, _) in enumerate(items):
        for other, (its_pool, _) in enumerate(items):
            if row != other and pool == its_pool:
                penalty[row, ends[other] : ends[other + 1]] = -1e4
    return penalty


def late_scores(question_tokens, asked_mask, tokens, mask):
    inside = mask.clone()
    inside[:, 0] = 0
    inside.scatter_(1, mask.sum(1, keepdim=True) - 1, 0)
    asked = asked_mask.clone()
    asked.scatter_(1, asked_mask.sum(1, keepdim=True) - 1, 0)
    asked[:, :PREFIX_TOKENS] = 0
    alike = torch.einsum("bqd,nld->bnql", question_tokens, tokens)
    best = alike.masked_fill(inside[None, :, None, :] == 0, -1e4).max(-1).values
    return (best * asked[:, None, :]).sum(-1) / asked.sum(-1)[:, None].clamp(min=1)


def mix(encoder: Encoder, base, share: float) -> None:
    """Average the weights with those of the base."""
    before = base.to(DEVICE).state_dict()
    with torch.no_grad():
        for name, value in encoder.bert.state_dict().items():
            if value.dtype.is_floating_point:
                value.copy_(share * value + (1 - share) * before[name])


def average(encoders: list[Encoder]) -> Encoder:
    """One encoder with the mean weights of several that were trained with different seeds."""
    first = encoders[0]
    states = [one.state_dict() for one in encoders]
    with torch.no_grad():
        for name, value in first.state_dict().items():
            if value.dtype.is_floating_point:
                value.copy_(torch.stack([state[name] for state in states]).mean(0))
    return first


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("pools", type=Path)
    options.add_argument("--base", type=Path, required=True, help="pack to start from")
    options.add_argument("--out", type=Path)
    options.add_argument("--mix", type=float, default=0.75, help="share of the tuned weights")
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--seconds", type=float, help="stop each run by then, rate at zero")
    options.add_argument("--rate", type=float, default=2e-5)
    options.add_argument("--batch", type=int, default=32)
    options.add_argument("--negatives", type=int, default=20)
    options.add_argument("--seeds", type=int, default=1, help="runs whose weights are averaged")
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--hard", action="store_true", help="mine hard negatives")
    options.add_argument("--all", action="store_true", help="train on the dev fold as well")
    options.add_argument("--without-half", type=int, choices=(0, 1), help="for train_fusion.py")
    options.add_argument("--test", nargs="*", default=[], metavar="NAME=FILE")
    chosen = options.parse_args()
    pools = read_pools(chosen.pools)
    if chosen.without_half is not None:
        pools = [pool for pool in pools if pool["half"] != chosen.without_half]
    training = [pool for pool in pools if chosen.all or pool["fold"] == "train"]
    held_out = [pool for pool in pools if pool["fold"] == "dev"]
    encoders = []
    for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
        torch.manual_seed(seed)
        random.seed(seed)
        encoder = read_encoder(chosen.base)
        start_head(encoder, training)
        batches = Batches(
            encoder, training, size=chosen.batch, negatives=chosen.negatives, seed=seed
        )
        tune(
            encoder,
            batches,
            epochs=chosen.epochs,
            rate=chosen.rate,
            hard=chosen.hard,
            seconds=chosen.seconds,
        )
        encoders.append(encoder)
    encoder = average(encoders)
    mix(encoder, load(chosen.base), chosen.mix)
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        export(encoder, chosen.out / "model_int8.onnx")
        shutil.copy(chosen.base / "tokenizer.json", chosen.out)
        write_checksums(chosen.out)
        log("written to", chosen.out)
    log("tuned", json.dumps(recall(encoder, held_out)))
    for one in chosen.test:
        name, path = one.split("=", 1)
        log(name, json.dumps(recall(encoder, read_pools(Path(path)))))


if __name__ == "__main__":
    main()
