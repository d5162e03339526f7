"""Train the reranker: a small model that reads two texts together.

    python training/train_reranker.py pools.json.xz --encoder PACK --out DIR
    python training/train_reranker.py pools.json.xz --encoder PACK --go-on-from PACK --out DIR
    python training/train_reranker.py pools.json.xz --encoder PACK --read-changes FILE

Teachers of twelve layers begin as the tuned encoder (from `train_encoder.py`) and learn to tell
the answer among fifteen passages that meaning and words together rank high, as recall does. The
student has every second layer of one and learns from the labels and from what the teachers say
together. It reads the question, the passage with its speaker, and the beginning of the turn before.

The same model has a second output, which says what a later statement of a person does to an
earlier one (`change_pairs*.jsonl`). Learning both costs no bytes. With `--go-on-from`, a reranker
that exists learns from more statements and keeps ranking as it did: it is its own teacher.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import shutil
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from encoder import (
    DEVICE,
    Encoder,
    load,
    pad,
    read_encoder,
    read_pools,
    split,
    write_checksums,
    write_int8,
)
from onnx import load as load_onnx
from onnx import numpy_helper
from torch.nn import functional
from train_encoder import Progress, log, set_rate

# Tokens of the question, the passage and the turn before that are read.
QUESTION = 48
PASSAGE = 96
BEFORE = 32
# The best by meaning and words, from which most of the wrong passages of a list come.
FIRST = 60
WRONG = 15
QUESTIONS_PER_BATCH = 32
# Questions of a pool that are tested: each is a run of the model of its own.
TESTED = 100
CLS, SEP = 101, 102
# Tokens of an earlier and a later statement that are read.
EARLIER = 64
LATER = 96
PAIRS_PER_BATCH = 64
CHANGE_RATE = 1e-4
CHANGE_STEPS = 700
# There are few statements and many questions: one batch of the first for so many of the second.
CHANGE_EVERY = 3
FOLDS = 3
HERE = Path(__file__).parent
CHANGES = (HERE / "change_pairs_written.jsonl", HERE / "change_pairs_plain.jsonl")
TEST_CHANGES = (HERE / "change_pairs.jsonl", HERE / "change_pairs_own.jsonl")
# What a later statement does to an earlier one, in the order of the second output.
LABELS = ("replaces", "adds", "unrelated", "fulfils", "repeats", "refines")


Model = TypeVar("Model", bound=torch.nn.Module)


class Reranker(torch.nn.Module):
    """A score for a question and a passage; and what a statement does to an earlier one."""

    def __init__(self, bert) -> None:
        super().__init__()
        self.bert = bert
        self.score = torch.nn.Linear(bert.config.hidden_size, 1)
        self.change = torch.nn.Linear(bert.config.hidden_size, len(LABELS))

    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        ).last_hidden_state
        return self.score(states[:, 0])[:, 0], self.change(states[:, 0])

    def of_pairs(self, pairs, chunks: int = 2):
        """Scores of (question, passage, before) token ids."""
        return self._read(pairs, 0, chunks)

    def of_statements(self, pairs, chunks: int = 2):
        """One number for each label of (earlier, later, nothing) token ids."""
        return self._read(pairs, 1, chunks)

    def _read(self, pairs, output: int, chunks: int):
        """One output for each pair; those of similar length run together."""
        order = sorted(range(len(pairs)), key=lambda number: sum(map(len, pairs[number])))
        size = -(-len(order) // chunks)
        parts = []
        for start in range(0, len(order), size):
            inputs = padded([pairs[number] for number in order[start : start + size]])
            with torch.autocast(DEVICE, torch.bfloat16):
                parts.append(self(*inputs)[output].float())
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(parts)[back.to(DEVICE)]


def padded(pairs):
    """Token ids, mask and segments: the question is segment 0, the rest segment 1."""
    rows = []
    segments = []
    for question, passage, before in pairs:
        first = [CLS, *question, SEP]
        second = [*passage, SEP, *before, SEP] if before else [*passage, SEP]
        rows.append(first + second)
        segments.append([0] * len(first) + [1] * len(second))
    ids, mask = pad(rows)
    kinds, _ = pad(segments)
    return ids, mask, kinds


def prepare(encoder: Encoder, pools) -> None:
    """Token ids of every text, and the best passages for every question by meaning and words.

    Wrong passages that only the encoder ranks high teach little: recall has left them behind.
    """
    for pool in pools:
        pool["shown_ids"] = token_ids(encoder, pool["shown"], PASSAGE)
        pool["asked_ids"] = token_ids(encoder, [one["asked"] for one in pool["qs"]], QUESTION)
        documents = encoder.encode(pool["docs"], question=False)[0]
        asked = encoder.encode([one["q"] for one in pool["qs"]], question=True)[0]
        words = shared_words(pool, encoder.bert.config.vocab_size)
        scores = standard(asked @ documents.T) + standard(words)
        best = scores.topk(min(FIRST, len(pool["docs"])), 1)
        pool["first"] = best.indices.tolist()
        pool["scores"] = best.values.tolist()


def shared_words(pool, vocabulary: int):
    """BM25 of every question with every passage, by word pieces."""
    passages = counts(pool["shown_ids"], vocabulary)
    lengths = passages.sum(1, keepdim=True)
    rarity = (len(passages) / (1 + (passages > 0).sum(0))).log().clamp(min=0)
    weights = rarity * passages * 2.2 / (passages + 0.3 + 0.9 * lengths / lengths.mean())
    return counts(pool["asked_ids"], vocabulary).clamp(max=1) @ weights.T


def counts(ids, vocabulary: int):
    """How often each token occurs in each text."""
    rows = [torch.tensor(one, dtype=torch.long).bincount(minlength=vocabulary) for one in ids]
    return torch.stack(rows).float().to(DEVICE)


def token_ids(encoder: Encoder, texts, most: int):
    encoder.tokenizer.enable_truncation(most + 2)
    encoder.tokenizer.no_padding()
    return [one.ids[1:-1] for one in encoder.tokenizer.encode_batch(texts)]


def pair(pool, question: int, document: int):
    before = pool["before"][document]
    turn_before = pool["shown_ids"][before][:BEFORE] if before >= 0 else []
    return pool["asked_ids"][question], pool["shown_ids"][document], turn_before


def lists(pools, chance: random.Random):
    """Batches of lists: the first passage of each answers its question, the others do not."""
    items = [(pool, number) for pool in pools for number in range(len(pool["qs"]))]
    chance.shuffle(items)
    for start in range(0, len(items) - QUESTIONS_PER_BATCH + 1, QUESTIONS_PER_BATCH):
        batch = []
        for pool, number in items[start : start + QUESTIONS_PER_BATCH]:
            gold = set(pool["qs"][number]["g"])
            ranked = [one for one in pool["first"][number] if one not in gold]
            wrong = chance.sample(ranked, min(len(ranked), WRONG - 3))
            for one in chance.sample(range(len(pool["docs"])), min(len(pool["docs"]), 3 * WRONG)):
                if len(wrong) < WRONG and one not in gold and one not in wrong:
                    wrong.append(one)
            answer = chance.choice(sorted(gold))
            # A pool smaller than a list: some wrong passages come twice.
            while len(wrong) < WRONG:
                wrong.append(chance.choice(wrong))
            batch += [pair(pool, number, one) for one in (answer, *wrong)]
        yield batch


class Statements:
    """Labelled pairs of an earlier and a later statement, as token ids."""

    def __init__(self, encoder: Encoder, paths: Sequence[Path]) -> None:
        rows = [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]
        earlier = token_ids(encoder, [row["a"] for row in rows], EARLIER)
        later = token_ids(encoder, [row["b"] for row in rows], LATER)
        self.pairs = [(one, other, []) for one, other in zip(earlier, later, strict=True)]
        self.labels = torch.tensor([LABELS.index(row["label"]) for row in rows], device=DEVICE)
        self.weights = np.array([row.get("weight", 1.0) for row in rows])
        # Pairs with the same earlier statement stay together.
        self.folds = np.array([zlib.crc32(row["a"].encode()) % FOLDS for row in rows])

    def loss(self, model: Reranker, teachers: Sequence[Reranker], seen: np.ndarray):
        """How far a model is from the labels and from its teachers, on a batch of those seen; pairs
        of more weight come more often.
        """
        chances = self.weights * seen
        numbers = np.random.choice(len(seen), PAIRS_PER_BATCH, p=chances / chances.sum())
        pairs = [self.pairs[number] for number in numbers]
        found = model.of_statements(pairs, chunks=1)
        loss = functional.cross_entropy(found, self.labels[torch.from_numpy(numbers).to(DEVICE)])
        if not teachers:
            return loss
        with torch.no_grad():
            said = [teacher.of_statements(pairs, chunks=1).softmax(1) for teacher in teachers]
            wanted = torch.stack(said).mean(0)
        close = functional.kl_div(found.log_softmax(1), wanted, reduction="batchmean")
        return 0.5 * (loss + close)

    @torch.no_grad()
    def read(self, model: Reranker):
        """The logarithm of the probability of each label for each pair."""
        model.eval()
        parts = [
            model.of_statements(self.pairs[start : start + 128], chunks=1).log_softmax(1)
            for start in range(0, len(self.pairs), 128)
        ]
        return torch.cat(parts).cpu().numpy()

    def figures(self, model: Reranker) -> dict[str, float]:
        """Accuracy, and of `replaces` the precision and recall at several probabilities."""
        chances = np.exp(self.read(model))
        labels = self.labels.cpu().numpy()
        found = {"accuracy": (chances.argmax(1) == labels).mean()}
        wanted = labels == LABELS.index("replaces")
        right = wanted | (labels == LABELS.index("refines"))
        for least in (0.5, 0.7, 0.8, 0.9):
            said = chances[:, 0] >= least
            found[f"precision {least}"] = (said & right).sum() / max(1, said.sum())
            found[f"recall {least}"] = (said & wanted).sum() / wanted.sum()
        return {name: round(float(value), 3) for name, value in found.items()}


def train_on_statements(
    model: Reranker,
    statements: Statements,
    seen: np.ndarray,
    *,
    steps: int,
    teachers: Sequence[Reranker] = (),
) -> Reranker:
    """Train a model on pairs of statements alone."""
    progress = Progress(steps, None)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    while progress.share() < 1:
        model.train()
        set_rate(optimizer, (CHANGE_RATE,), progress.rate())
        loss = statements.loss(model, teachers, seen)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress.step += 1
    return model.eval()


def read_unseen(encoder: Encoder, statements: Statements, layers: int) -> np.ndarray:
    """What students that did not see a pair read in it, for `train_changes.py`."""
    found = np.zeros((len(statements.pairs), len(LABELS)))
    for fold in range(FOLDS):
        seen = statements.folds != fold
        whole = Reranker(copy.deepcopy(encoder.bert)).to(DEVICE)
        teacher = train_on_statements(whole, statements, seen, steps=CHANGE_STEPS)
        student = student_of(Reranker(copy.deepcopy(encoder.bert)).to(DEVICE), layers)
        train_on_statements(student, statements, seen, steps=2 * CHANGE_STEPS, teachers=[teacher])
        found[~seen] = statements.read(student)[~seen]
        log(f"fold {fold + 1} of {FOLDS}")
    return found


def train(
    model: Reranker,
    pools,
    *,
    epochs: int,
    rate: float,
    teachers: Sequence[Reranker] = (),
    seed: int = 0,
    statements: Statements | None = None,
    change_teachers: Sequence[Reranker] = (),
    change_every: int = CHANGE_EVERY,
    seconds: float | None = None,
) -> None:
    chance = random.Random(seed)
    steps = epochs * (sum(len(pool["qs"]) for pool in pools) // QUESTIONS_PER_BATCH)
    progress = Progress(steps, seconds)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    target = torch.zeros(QUESTIONS_PER_BATCH, dtype=torch.long, device=DEVICE)
    for epoch in range(epochs):
        total = 0.0
        for batch in lists(pools, chance):
            if progress.share() >= 1:
                log(f"out of time after {progress.step} of {steps} steps")
                return
            model.train()
            set_rate(optimizer, (rate,), progress.rate())
            scores = model.of_pairs(batch).view(QUESTIONS_PER_BATCH, -1)
            loss = functional.cross_entropy(scores, target)
            if teachers:
                close = functional.kl_div(
                    scores.log_softmax(1), said_together(teachers, batch), reduction="batchmean"
                )
                loss = 0.3 * loss + close
            if statements is not None and progress.step % change_every == 0:
                every = np.ones(len(statements.pairs))
                loss = loss + statements.loss(model, change_teachers, every)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            progress.step += 1
            total += loss.detach()
        log(f"epoch {epoch + 1} of {epochs}, mean loss {total * epochs / steps:.3f}")


@torch.no_grad()
def said_together(teachers: Sequence[Reranker], batch):
    """The mean of the teachers' probabilities for the passages of each list."""
    lists = [teacher.of_pairs(batch).view(QUESTIONS_PER_BATCH, -1) for teacher in teachers]
    return torch.stack([scores.softmax(1) for scores in lists]).mean(0)


@torch.no_grad()
def recall(model: Reranker, pools, depth: int):
    """R@5 and R@10 by meaning and words, and of the sum with the reranker on the first `depth`."""
    model.eval()
    shares = defaultdict(lambda: defaultdict(list))
    for pool in pools:
        for number, one in enumerate(pool["qs"][:TESTED]):
            first = pool["first"][number][:depth]
            pairs = [pair(pool, number, document) for document in first]
            scores = model.of_pairs(pairs, chunks=1).cpu()
            both = standard(scores) + standard(torch.tensor(pool["scores"][number][:depth]))
            gold = set(one["g"])
            for name, order in (
                ("before", first),
                ("reranked", [first[place] for place in both.argsort(descending=True)]),
            ):
                for k in (5, 10):
                    found = len(gold & set(order[:k])) / len(gold)
                    shares[pool["name"]][f"{name}@{k}"].append(found)
    return {
        name: {key: round(float(np.mean(values)), 3) for key, values in of.items()}
        for name, of in shares.items()
    }


def standard(values):
    """Scores of one question as distances from their mean, in standard deviations."""
    mean = values.mean(-1, keepdim=True)
    return (values - mean) / (values.std(-1, keepdim=True) + 1e-6)


def student_of(teacher: Model, layers: int) -> Model:
    """A copy with every n-th layer, the last one included."""
    student = copy.deepcopy(teacher)
    every = student.bert.encoder.layer
    step = len(every) // layers
    student.bert.encoder.layer = torch.nn.ModuleList(every[step - 1 :: step])
    student.bert.config.num_hidden_layers = layers
    return student


def read_reranker(pack: Path) -> Reranker:
    """The reranker of a pack on the GPU, with what its outputs have learned."""
    model = Reranker(load(pack))
    graph = load_onnx(pack / "model_int8.onnx").graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, head in (("score", model.score), ("change", model.change)):
        zero = stored[f"{name}.weight_zero_point"].astype(np.float32)
        whole = stored[f"{name}.weight_quantized"].astype(np.float32) - zero
        matrix = whole * stored[f"{name}.weight_scale"]
        head.weight.data = torch.tensor(np.ascontiguousarray(matrix.T))
        head.bias.data = torch.tensor(stored[f"{name}.bias"])
    return model.to(DEVICE)


def export(model: Reranker, path: Path) -> None:
    """Write int8 ONNX with the outputs `score` and `change`."""
    whole = copy.deepcopy(model).cpu().float().eval()
    whole.bert.config._attn_implementation = "eager"
    write_int8(whole, path, {"score": {0: "pairs"}, "change": {0: "pairs"}})


def asked() -> argparse.Namespace:
    """What the command line asks for."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("pools", type=Path)
    options.add_argument("--encoder", type=Path, required=True, help="pack of the tuned encoder")
    options.add_argument("--out", type=Path)
    options.add_argument("--layers", type=int, default=6)
    options.add_argument("--epochs", type=int, nargs=2, default=(3, 6), help="teacher, student")
    options.add_argument("--teachers", type=int, default=2)
    options.add_argument("--rate", type=float, nargs=2, default=(4e-5, 1e-4))
    options.add_argument("--seconds", type=float, nargs=2, default=(None, None))
    options.add_argument("--all", action="store_true", help="train on the dev fold as well")
    options.add_argument("--change-steps", type=int, default=CHANGE_STEPS)
    options.add_argument("--change-every", type=int, default=CHANGE_EVERY)
    options.add_argument("--changes", type=Path, nargs="+", default=CHANGES)
    options.add_argument("--test-changes", type=Path, nargs="+", default=TEST_CHANGES)
    options.add_argument("--go-on-from", type=Path, help="pack of a reranker that learns more")
    options.add_argument("--read-changes", type=Path, help="only write what unseen pairs read as")
    options.add_argument("--without-half", type=int, choices=(0, 1), help="test on it")
    return options.parse_args()


def train_teachers(chosen: argparse.Namespace, encoder: Encoder, training, held_out):
    """Teachers of twelve layers, each with another order of the questions."""
    teachers = []
    for seed in range(chosen.teachers):
        teacher = Reranker(copy.deepcopy(encoder.bert)).to(DEVICE)
        train(
            teacher,
            training,
            epochs=chosen.epochs[0],
            rate=chosen.rate[0],
            seed=seed,
            seconds=chosen.seconds[0],
        )
        log("teacher, first 20", json.dumps(recall(teacher, held_out, 20)))
        teachers.append(teacher.eval())
    return teachers


def main() -> None:
    chosen = asked()
    torch.manual_seed(0)
    np.random.seed(0)
    pools = read_pools(chosen.pools)
    encoder = read_encoder(chosen.encoder)
    statements = Statements(encoder, chosen.changes)
    if chosen.read_changes:
        np.save(chosen.read_changes, read_unseen(encoder, statements, chosen.layers))
        return
    prepare(encoder, pools)
    training, held_out = split(pools, everything=chosen.all, without_half=chosen.without_half)
    teachers = (
        [read_reranker(chosen.go_on_from).eval()]
        if chosen.go_on_from
        else train_teachers(chosen, encoder, training, held_out)
    )
    change_teachers = [
        train_on_statements(
            Reranker(copy.deepcopy(encoder.bert)).to(DEVICE),
            statements,
            np.ones(len(statements.pairs)),
            steps=chosen.change_steps,
        )
        for _ in range(chosen.teachers)
    ]
    tested = Statements(encoder, chosen.test_changes)
    for teacher in change_teachers:
        log("change teacher", json.dumps(tested.figures(teacher)))
    student = (
        copy.deepcopy(teachers[0]) if chosen.go_on_from else student_of(teachers[0], chosen.layers)
    )
    train(
        student,
        training,
        epochs=chosen.epochs[1],
        rate=chosen.rate[1],
        teachers=teachers,
        statements=statements,
        change_teachers=change_teachers,
        change_every=chosen.change_every,
        seconds=chosen.seconds[1],
    )
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        export(student, chosen.out / "model_int8.onnx")
        shutil.copy(chosen.encoder / "tokenizer.json", chosen.out)
        write_checksums(chosen.out)
    log("student, changes", json.dumps(tested.figures(student)))
    for depth in (20, 30):
        log(f"student, first {depth}", json.dumps(recall(student, held_out, depth)))


if __name__ == "__main__":
    main()
