"""Train the model that judges statements: are they worth keeping, correct, understood alone?

    python training/train_judge_model.py examples.jsonl.xz --encoder PACK --out DIR
    python training/train_judge_model.py examples.jsonl.xz --encoder PACK --fold N \
        --predictions FILE

Teachers of twelve layers begin as the tuned encoder and learn from the labels (`judge_examples.py`
writes them). The student has every second layer of one; it learns from the labels and from what the
teachers say together, also of clauses that nobody labelled. It reads a statement and one word for
where it was made. With `--fold`, a fifth of the sessions is left out, and judged.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import lzma
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from encoder import DEVICE, load, pad, write_checksums, write_int8
from tokenizers import Tokenizer
from torch.nn import functional
from train_encoder import Progress, log, set_rate
from train_reranker import CLS, SEP, student_of

TOKENS = 72
BATCH = 64
# Examples that are cut into batches together: those of a batch are about equally long.
SORTED = 40 * BATCH
FOLDS = 5
LABELS = {
    "keep": (False, True),
    "statement": ("useful", "trivial", "unresolved", "wrong", "garbage"),
    "alone": (False, True),
}
"""The outputs, and what each can say. The last one is only for learning: it has more labels."""
WEIGHTS = {"keep": 1.0, "statement": 1.0, "alone": 0.5}
SHIPPED = ("keep", "statement")


@dataclass(frozen=True, slots=True)
class Example:
    """A statement as the model reads it, with what is known of it."""

    row: dict[str, Any]
    first: list[int]
    second: list[int]
    labels: dict[str, int]
    fold: int

    def __len__(self) -> int:
        return len(self.first) + len(self.second)


class Judge(torch.nn.Module):
    """Numbers for what each output can say."""

    def __init__(self, bert) -> None:
        super().__init__()
        self.bert = bert
        self.drop = torch.nn.Dropout(0.1)
        size = bert.config.hidden_size
        self.heads = torch.nn.ModuleDict(
            {name: torch.nn.Linear(size, len(labels)) for name, labels in LABELS.items()}
        )

    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        ).last_hidden_state
        first = self.drop(states[:, 0])
        return tuple(head(first) for head in self.heads.values())

    def read(self, batch: Sequence[Example]) -> dict[str, torch.Tensor]:
        ids, mask = pad([one.first + one.second for one in batch])
        kinds, _ = pad([[0] * len(one.first) + [1] * len(one.second) for one in batch])
        with torch.autocast(DEVICE, torch.bfloat16):
            outputs = self(ids, mask, kinds)
        return dict(zip(LABELS, (output.float() for output in outputs), strict=True))


def read_examples(path: Path, tokenizer: Tokenizer) -> list[Example]:
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    texts = tokenizer.encode_batch([row["text"] for row in rows], add_special_tokens=False)
    found = []
    for row, text in zip(rows, texts, strict=True):
        place = tokenizer.encode(row["place"], add_special_tokens=False).ids
        labels = {
            name: said.index(row[name]) for name, said in LABELS.items() if row.get(name) in said
        }
        fold = hashlib.sha256(row.get("session", "").encode()).digest()[1] % FOLDS
        found.append(Example(row, [CLS, *text.ids[:TOKENS], SEP], [*place, SEP], labels, fold))
    return found


def batches(examples: Sequence[Example], chance: random.Random) -> Iterator[list[int]]:
    """Numbers of examples, each once, batches of similar length."""
    order = list(range(len(examples)))
    chance.shuffle(order)
    found = []
    for start in range(0, len(order), SORTED):
        part = sorted(order[start : start + SORTED], key=lambda number: len(examples[number]))
        found += [part[place : place + BATCH] for place in range(0, len(part), BATCH)]
    chance.shuffle(found)
    yield from found


def from_labels(outputs: dict[str, torch.Tensor], batch: Sequence[Example]) -> torch.Tensor:
    """How far the outputs are from what is known."""
    loss = torch.zeros((), device=DEVICE)
    for name, weight in WEIGHTS.items():
        known = [place for place, one in enumerate(batch) if name in one.labels]
        if known:
            wanted = torch.tensor([batch[place].labels[name] for place in known], device=DEVICE)
            each = functional.cross_entropy(outputs[name][known], wanted, reduction="sum")
            loss = loss + weight * each / len(batch)
    return loss


def from_teachers(
    outputs: dict[str, torch.Tensor], said: dict[str, torch.Tensor], numbers: list[int]
) -> torch.Tensor:
    """How far the outputs are from what the teachers say of the same examples."""
    places = torch.tensor(numbers, device=DEVICE)
    return sum(
        WEIGHTS[name]
        * functional.kl_div(output.log_softmax(1), said[name][places], reduction="batchmean")
        for name, output in outputs.items()
    )


def train(
    model: Judge,
    examples: Sequence[Example],
    *,
    epochs: int,
    rate: float,
    seed: int,
    said: dict[str, torch.Tensor] | None = None,
    seconds: float | None = None,
) -> Judge:
    """Train on labels, and on what teachers `said` of the examples."""
    chance = random.Random(seed)
    progress = Progress(epochs * -(-len(examples) // BATCH), seconds)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    model.train()
    for _ in range(epochs):
        for numbers in batches(examples, chance):
            if progress.share() >= 1:
                log(f"out of time after {progress.step} of {progress.steps} steps")
                return model.eval()
            set_rate(optimizer, (rate,), progress.rate())
            batch = [examples[number] for number in numbers]
            outputs = model.read(batch)
            loss = from_labels(outputs, batch)
            if said is not None:
                loss = 0.3 * loss + from_teachers(outputs, said, numbers)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            progress.step += 1
    return model.eval()


@torch.no_grad()
def likelihoods(model: Judge, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
    """What a model says of each example."""
    order = sorted(range(len(examples)), key=lambda number: len(examples[number]))
    parts = []
    for start in range(0, len(order), 512):
        outputs = model.read([examples[number] for number in order[start : start + 512]])
        parts.append({name: output.softmax(1) for name, output in outputs.items()})
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return {name: torch.cat([part[name] for part in parts])[back.to(DEVICE)] for name in LABELS}


def export(model: Judge, path: Path) -> None:
    """Write int8 ONNX with the outputs that ship."""
    whole = copy.deepcopy(model).cpu().float().eval()
    whole.bert.config._attn_implementation = "eager"
    whole.heads = torch.nn.ModuleDict({name: whole.heads[name] for name in SHIPPED})
    write_int8(whole, path, {name: {0: "texts"} for name in SHIPPED})


def write_predictions(path: Path, rows: Sequence[dict], said: dict[str, torch.Tensor]) -> None:
    """What is said of each row, for the programs that choose thresholds."""
    with path.open("w", encoding="utf-8") as stream:
        for number, row in enumerate(rows):
            told = {
                name: [round(one, 4) for one in said[name][number].tolist()] for name in SHIPPED
            }
            stream.write(json.dumps(row | told, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("examples", type=Path)
    parser.add_argument("--encoder", type=Path, required=True, help="pack of the tuned encoder")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--fold", type=int, choices=range(FOLDS))
    parser.add_argument("--predictions", type=Path)
    parser.add_argument("--teachers", type=int, default=3)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=int, nargs=2, default=(4, 5), help="teacher, student")
    parser.add_argument("--seconds", type=float, help="the student ends by then")
    parser.add_argument("--rate", type=float, nargs=2, default=(5e-5, 1e-4))
    chosen = parser.parse_args()
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(chosen.encoder / "tokenizer.json"))
    every = read_examples(chosen.examples, tokenizer)
    seen = [one for one in every if not one.labels or one.fold != chosen.fold]
    labelled = [one for one in seen if one.labels]
    log(f"{len(labelled)} labels, {len(seen) - len(labelled)} clauses without any")
    teachers = []
    for seed in range(chosen.teachers):
        teacher = Judge(load(chosen.encoder)).to(DEVICE)
        torch.manual_seed(seed)
        train(teacher, labelled, epochs=chosen.epochs[0], rate=chosen.rate[0], seed=seed)
        teachers.append(teacher)
        log(f"teacher {seed + 1} of {chosen.teachers}")
    each = [likelihoods(teacher, seen) for teacher in teachers]
    said = {name: torch.stack([one[name] for one in each]).mean(0) for name in LABELS}
    student = student_of(teachers[0], chosen.layers)
    train(
        student,
        seen,
        epochs=chosen.epochs[1],
        rate=chosen.rate[1],
        seed=0,
        said=said,
        seconds=chosen.seconds,
    )
    log("student")
    if chosen.predictions:
        tested = [one for one in every if one.labels and one.fold == chosen.fold]
        rows = [one.row for one in tested]
        write_predictions(chosen.predictions, rows, likelihoods(student, tested))
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        export(student, chosen.out / "model_int8.onnx")
        shutil.copy(chosen.encoder / "tokenizer.json", chosen.out)
        write_checksums(chosen.out)


if __name__ == "__main__":
    main()
