"""Train the reranker: a small model that reads two texts together.

    python training/train_reranker.py pools.json.xz --encoder PACK --out DIR
    python training/train_reranker.py pools.json.xz --encoder PACK --read-changes FILE
    python training/train_reranker.py pools.json.xz --encoder PACK --clauses FILE --read-clauses FILE

Teachers of twelve layers begin as the tuned encoder (from `train_encoder.py`) and learn to tell
the answer among fifteen passages that meaning and words together rank high, as recall does. The
student has every second layer of one and learns from the labels and from what the teachers say
together. It reads the question, the passage with its speaker, and the beginning of the turn before.

The same model has two other outputs. One says what a later statement of a person does to an
earlier one (`change_pairs*.jsonl`). The other says whether a clause of a turn is worth keeping, and
whether it can be understood alone (`train_judge.py --write-clauses`, without LoCoMo, on which recall
is measured). Learning all three costs no bytes.
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

import numpy as np
import torch
from encoder import DEVICE, Encoder, pad, read_encoder, read_pools, split, write_checksums
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
# Tokens of a clause, of what its turn says around it, and of the end of the turn before.
CLAUSE = 64
AROUND = 96
SAID_BEFORE = 40
PAIRS_PER_BATCH = 64
# There are about as many clauses as questions.
CLAUSES_PER_BATCH = 128
CLAUSE_RATE = 6e-5
CLAUSE_STEPS = 250
CHANGE_RATE = 1e-4
CHANGE_STEPS = 700
# There are few statements and many questions: one batch of the first for so many of the second, and
# in the next step one of clauses.
CHANGE_EVERY = 3
# What a model is while it trains changes from batch to batch; the mean over about this many is better.
MEAN_OVER = 200
FOLDS = 3
HERE = Path(__file__).parent
CHANGES = (HERE / "change_pairs_written.jsonl", HERE / "change_pairs_plain.jsonl")
TEST_CHANGES = (HERE / "change_pairs.jsonl", HERE / "change_pairs_own.jsonl")
# What a later statement does to an earlier one, in the order of the second output.
LABELS = ("replaces", "adds", "unrelated", "fulfils", "repeats", "refines")
# What a clause is judged by, in the order of the third output.
JUDGED = ("worth", "alone")


class Reranker(torch.nn.Module):
    """A score for a question and a passage; and what a statement does to an earlier one."""

    def __init__(self, bert) -> None:
        super().__init__()
        self.bert = bert
        self.score = torch.nn.Linear(bert.config.hidden_size, 1)
        self.change = torch.nn.Linear(bert.config.hidden_size, len(LABELS))
        self.keep = torch.nn.Linear(bert.config.hidden_size, len(JUDGED))

    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        ).last_hidden_state
        first = states[:, 0]
        return self.score(first)[:, 0], self.change(first), self.keep(first)

    def of_pairs(self, pairs, chunks: int = 2):
        """Scores of (question, passage, before) token ids."""
        return self.read(pairs, 0, chunks)

    def read(self, pairs, output: int, chunks: int = 1):
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


class Labelled:
    """Labelled texts that are read by one of the other outputs, as token ids."""

    output: int
    rate: float
    steps: int
    batch: int

    def __init__(self, pairs, weights, folds) -> None:
        self.pairs = pairs
        self.weights = np.array(weights)
        self.folds = np.array(folds)

    def of_labels(self, found, numbers):
        """How far the output is from the labels of these rows."""
        raise NotImplementedError

    def of_teacher(self, found, wanted):
        """How far the output is from what a teacher says."""
        raise NotImplementedError

    def loss(self, model: Reranker, teacher: Reranker | None, seen: np.ndarray):
        """How far a model is from the labels and from its teacher, on a batch of those seen; rows
        of more weight come more often.
        """
        chances = self.weights * seen
        numbers = np.random.choice(len(seen), self.batch, p=chances / chances.sum())
        pairs = [self.pairs[number] for number in numbers]
        found = model.read(pairs, self.output)
        loss = self.of_labels(found, torch.from_numpy(numbers).to(DEVICE))
        if teacher is None:
            return loss
        with torch.no_grad():
            wanted = teacher.read(pairs, self.output)
        return 0.5 * (loss + self.of_teacher(found, wanted))

    @torch.no_grad()
    def read(self, model: Reranker):
        """What a model reads in each row."""
        model.eval()
        parts = [
            model.read(self.pairs[start : start + 128], self.output)
            for start in range(0, len(self.pairs), 128)
        ]
        return torch.cat(parts)


class Statements(Labelled):
    """Labelled pairs of an earlier and a later statement."""

    output = 1
    rate = CHANGE_RATE
    steps = CHANGE_STEPS
    batch = PAIRS_PER_BATCH

    def __init__(self, encoder: Encoder, paths: Sequence[Path]) -> None:
        rows = [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]
        earlier = token_ids(encoder, [row["a"] for row in rows], EARLIER)
        later = token_ids(encoder, [row["b"] for row in rows], LATER)
        super().__init__(
            [(one, other, []) for one, other in zip(earlier, later, strict=True)],
            [row.get("weight", 1.0) for row in rows],
            # Pairs with the same earlier statement stay together.
            [zlib.crc32(row["a"].encode()) % FOLDS for row in rows],
        )
        self.labels = torch.tensor([LABELS.index(row["label"]) for row in rows], device=DEVICE)

    def of_labels(self, found, numbers):
        return functional.cross_entropy(found, self.labels[numbers])

    def of_teacher(self, found, wanted):
        return functional.kl_div(
            found.log_softmax(1), wanted.log_softmax(1), log_target=True, reduction="batchmean"
        )

    def read(self, model: Reranker):
        """The logarithm of the probability of each label for each pair."""
        return super().read(model).log_softmax(1).cpu().numpy()

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


class Clauses(Labelled):
    """Clauses of turns with the words around them, labelled by what `JUDGED` names."""

    output = 2
    rate = CLAUSE_RATE
    steps = CLAUSE_STEPS
    batch = CLAUSES_PER_BATCH

    def __init__(self, encoder: Encoder, path: Path) -> None:
        rows = [json.loads(line) for line in path.open(encoding="utf-8")]
        clause = token_ids(encoder, [row["clause"] for row in rows], CLAUSE)
        around = token_ids(encoder, [row["around"] for row in rows], AROUND)
        before = token_ids(encoder, [row["before"] for row in rows], SAID_BEFORE)
        super().__init__(
            list(zip(clause, around, before, strict=True)),
            [float(row["learn"]) for row in rows],
            [row["fold"] % FOLDS for row in rows],
        )
        labels = [[row[name] for name in JUDGED] for row in rows]
        known = [[one is not None for one in row] for row in labels]
        self.known = torch.tensor(known, device=DEVICE).float()
        self.labels = torch.tensor([[float(bool(one)) for one in row] for row in labels]).to(DEVICE)

    def of_labels(self, found, numbers):
        lost = functional.binary_cross_entropy_with_logits(
            found, self.labels[numbers], reduction="none"
        )
        return (lost * self.known[numbers]).sum() / len(numbers)

    def of_teacher(self, found, wanted):
        return functional.binary_cross_entropy_with_logits(found, wanted.sigmoid())

    def read(self, model: Reranker):
        """The logit of each judgement for each clause."""
        return super().read(model).cpu().numpy()


def train_on_labels(
    model: Reranker,
    labelled: Labelled,
    seen: np.ndarray,
    *,
    steps: int,
    teacher: Reranker | None = None,
) -> Reranker:
    """Train a model on labelled texts alone."""
    progress = Progress(steps, None)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    while progress.share() < 1:
        model.train()
        set_rate(optimizer, (labelled.rate,), progress.rate())
        loss = labelled.loss(model, teacher, seen)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        progress.step += 1
    return model.eval()


def read_unseen(encoder: Encoder, labelled: Labelled, layers: int) -> np.ndarray:
    """What students that did not see a row read in it, for `train_changes.py` and `train_judge.py`.
    """
    found = None
    for fold in range(FOLDS):
        seen = labelled.folds != fold
        whole = Reranker(copy.deepcopy(encoder.bert)).to(DEVICE)
        teacher = train_on_labels(whole, labelled, seen, steps=labelled.steps)
        student = student_of(Reranker(copy.deepcopy(encoder.bert)).to(DEVICE), layers)
        train_on_labels(student, labelled, seen, steps=2 * labelled.steps, teacher=teacher)
        read = labelled.read(student)
        found = np.zeros_like(read) if found is None else found
        found[~seen] = read[~seen]
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
    also: Sequence[tuple[Labelled, Reranker]] = (),
    seconds: float | None = None,
) -> Reranker:
    """Train a model on lists of passages, and in turns on labelled texts, each with its teacher;
    return the mean of what it was in the last steps.
    """
    chance = random.Random(seed)
    steps = epochs * (sum(len(pool["qs"]) for pool in pools) // QUESTIONS_PER_BATCH)
    progress = Progress(steps, seconds)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    target = torch.zeros(QUESTIONS_PER_BATCH, dtype=torch.long, device=DEVICE)
    mean = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(1 - 1 / MEAN_OVER)
    )
    for epoch in range(epochs):
        total = 0.0
        for batch in lists(pools, chance):
            if progress.share() >= 1:
                log(f"out of time after {progress.step} of {steps} steps")
                return mean.module.eval()
            model.train()
            set_rate(optimizer, (rate,), progress.rate())
            scores = model.of_pairs(batch).view(QUESTIONS_PER_BATCH, -1)
            loss = functional.cross_entropy(scores, target)
            if teachers:
                close = functional.kl_div(
                    scores.log_softmax(1), said_together(teachers, batch), reduction="batchmean"
                )
                loss = 0.3 * loss + close
            turn = progress.step % CHANGE_EVERY
            if turn < len(also):
                labelled, teacher = also[turn]
                loss = loss + labelled.loss(model, teacher, np.ones(len(labelled.pairs)))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            mean.update_parameters(model)
            progress.step += 1
            total += loss.detach()
        log(f"epoch {epoch + 1} of {epochs}, mean loss {total * epochs / steps:.3f}")
    return mean.module.eval()


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


def student_of(teacher: Reranker, layers: int) -> Reranker:
    """A copy with every n-th layer, the last one included."""
    student = copy.deepcopy(teacher)
    every = student.bert.encoder.layer
    step = len(every) // layers
    student.bert.encoder.layer = torch.nn.ModuleList(every[step - 1 :: step])
    student.bert.config.num_hidden_layers = layers
    return student


def export(model: Reranker, path: Path) -> None:
    """Write int8 ONNX with the outputs `score`, `change` and `keep`."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = copy.deepcopy(model).cpu().float().eval()
    whole.bert.config._attn_implementation = "eager"
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    outputs = ["score", "change", "keep"]
    floats = path.with_suffix(".float.onnx")
    torch.onnx.export(
        whole,
        (torch.ones(2, 8, dtype=torch.long),) * 3,
        floats,
        input_names=inputs,
        output_names=outputs,
        dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in inputs}
        | {name: {0: "pairs"} for name in outputs},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(floats, path, per_channel=True, weight_type=QuantType.QInt8)
    floats.unlink()


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
    options.add_argument("--changes", type=Path, nargs="+", default=CHANGES)
    options.add_argument("--test-changes", type=Path, nargs="+", default=TEST_CHANGES)
    options.add_argument("--read-changes", type=Path, help="only write what unseen pairs read as")
    options.add_argument("--clauses", type=Path, help="from `train_judge.py --write-clauses`")
    options.add_argument("--read-clauses", type=Path, help="only write what unseen clauses read as")
    options.add_argument("--without-half", type=int, choices=(0, 1), help="test on it")
    return options.parse_args()


def main() -> None:
    chosen = asked()
    torch.manual_seed(0)
    np.random.seed(0)
    pools = read_pools(chosen.pools)
    encoder = read_encoder(chosen.encoder)
    statements = Statements(encoder, chosen.changes)
    clauses = Clauses(encoder, chosen.clauses) if chosen.clauses else None
    if chosen.read_changes:
        np.save(chosen.read_changes, read_unseen(encoder, statements, chosen.layers))
    if chosen.read_clauses:
        np.save(chosen.read_clauses, read_unseen(encoder, clauses, chosen.layers))
    if chosen.read_changes or chosen.read_clauses:
        return
    prepare(encoder, pools)
    training, held_out = split(pools, everything=chosen.all, without_half=chosen.without_half)
    teachers = []
    for seed in range(chosen.teachers):
        teacher = train(
            Reranker(copy.deepcopy(encoder.bert)).to(DEVICE),
            training,
            epochs=chosen.epochs[0],
            rate=chosen.rate[0],
            seed=seed,
            seconds=chosen.seconds[0],
        )
        log("teacher, first 20", json.dumps(recall(teacher, held_out, 20)))
        teachers.append(teacher)
    tested = Statements(encoder, chosen.test_changes)
    also = []
    for labelled in [statements, *([clauses] if clauses else [])]:
        whole = Reranker(copy.deepcopy(encoder.bert)).to(DEVICE)
        every = np.ones(len(labelled.pairs))
        also.append((labelled, train_on_labels(whole, labelled, every, steps=labelled.steps)))
    log("change teacher", json.dumps(tested.figures(also[0][1])))
    student = train(
        student_of(teachers[0], chosen.layers),
        training,
        epochs=chosen.epochs[1],
        rate=chosen.rate[1],
        teachers=teachers,
        also=also,
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
