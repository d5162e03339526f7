"""Train the model that reads what users say in coding sessions: is it worth a note, and about what?

    python training/train_note_model.py examples.jsonl.xz --encoder PACK --judge PACK --out DIR
    python training/train_note_model.py examples.jsonl.xz --encoder PACK --judge PACK \
        --without kept --predictions FILE

`note_examples.py` writes the examples. Teachers of twelve layers begin as the tuned encoder and
learn from the labels. The student begins as the judge of statements and keeps its vectors of words,
so that both need them only once: `--out`, a copy of the judge's pack, gets `note_int8.onnx`. It
learns from the labels and from what the teachers say together, also of sentences that nobody
labelled. With `--without`, the projects of one set are left out, and judged.
"""

from __future__ import annotations

import argparse
import copy
import json
import lzma
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from encoder import DEVICE, load, pad, write_checksums, write_int8
from tokenizers import Tokenizer
from torch.nn import functional
from train_encoder import Progress, log, set_rate
from train_judge_model import batches
from train_reranker import CLS, SEP

TOKENS = 72
LABELS = {
    "note": ("useful", "trivial", "wrong", "garbage"),
    "topic": ("convention", "decision", "location", "pitfall", "preference", "procedure"),
}
"""The outputs, and what each can say."""
WEIGHTS = {"note": 1.0, "topic": 0.3}
# How likely a label is right by how sure its reader was, from 1 to 3.
SURE = {1: 0.7, 2: 0.85, 3: 0.95}


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence as the model reads it, with what its readers say of it."""

    row: dict[str, Any]
    ids: list[int]
    wanted: dict[str, list[float]]

    def __len__(self) -> int:
        return len(self.ids)


class NoteModel(torch.nn.Module):
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
        ids, mask = pad([one.ids for one in batch])
        with torch.autocast(DEVICE, torch.bfloat16):
            outputs = self(ids, mask, torch.zeros_like(ids))
        return dict(zip(LABELS, (output.float() for output in outputs), strict=True))


def read_examples(path: Path, tokenizer: Tokenizer) -> list[Example]:
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    texts = tokenizer.encode_batch([row["text"] for row in rows], add_special_tokens=False)
    return [
        Example(row, [CLS, *text.ids[:TOKENS], SEP], wanted(row))
        for row, text in zip(rows, texts, strict=True)
    ]


def wanted(row: dict[str, Any]) -> dict[str, list[float]]:
    """How likely each label is, as the readers say together; only what somebody labelled."""
    found = {}
    if row.get("labels"):
        each = [likely(LABELS["note"], label, SURE[sure]) for label, sure in row["labels"]]
        found["note"] = np.mean(each, axis=0).tolist()
    if row.get("topic") in LABELS["topic"]:
        found["topic"] = likely(LABELS["topic"], row["topic"], 0.9)
    return found


def likely(names: Sequence[str], label: str, share: float) -> list[float]:
    """The share for a label, and what is left for the others."""
    rest = (1 - share) / (len(names) - 1)
    return [share if name == label else rest for name in names]


def loss_of(outputs: dict[str, torch.Tensor], name: str, batch: Sequence[Example]) -> torch.Tensor:
    """How far an output is from what is known of a batch."""
    known = [place for place, one in enumerate(batch) if name in one.wanted]
    if not known:
        return torch.zeros((), device=DEVICE)
    aim = torch.tensor([batch[place].wanted[name] for place in known], device=DEVICE)
    each = -(aim * outputs[name][known].log_softmax(1)).sum(1)
    return WEIGHTS[name] * each.sum() / len(batch)


def train(
    model: NoteModel,
    examples: Sequence[Example],
    *,
    epochs: int,
    rate: float,
    seed: int,
    said: dict[str, torch.Tensor] | None = None,
    seconds: float | None = None,
) -> NoteModel:
    """Train on labels, and on what teachers `said` of the examples."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    progress = Progress(epochs * -(-len(examples) // 64), seconds)
    learning = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(learning, weight_decay=0.01)
    model.train()
    for _ in range(epochs):
        for numbers in batches(examples, chance):
            if progress.share() >= 1:
                log(f"out of time after {progress.step} of {progress.steps} steps")
                return model.eval()
            set_rate(optimizer, (rate,), progress.rate())
            batch = [examples[number] for number in numbers]
            outputs = model.read(batch)
            loss = sum(loss_of(outputs, name, batch) for name in LABELS)
            if said is not None:
                places = torch.tensor(numbers, device=DEVICE)
                loss = 0.5 * loss + sum(
                    WEIGHTS[name]
                    * functional.kl_div(
                        output.log_softmax(1), said[name][places], reduction="batchmean"
                    )
                    for name, output in outputs.items()
                )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learning, 1.0)
            optimizer.step()
            progress.step += 1
    return model.eval()


@torch.no_grad()
def likelihoods(model: NoteModel, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
    """What a model says of each example."""
    order = sorted(range(len(examples)), key=lambda number: len(examples[number]))
    parts = []
    for start in range(0, len(order), 512):
        outputs = model.read([examples[number] for number in order[start : start + 512]])
        parts.append({name: output.softmax(1) for name, output in outputs.items()})
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return {name: torch.cat([part[name] for part in parts])[back.to(DEVICE)] for name in LABELS}


def mean_of(each: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """What several models say together."""
    return {name: torch.stack([one[name] for one in each]).mean(0) for name in LABELS}


def student_of(judge: Path) -> NoteModel:
    """The judge of statements with new outputs; its embeddings stay as they are."""
    model = NoteModel(load(judge)).to(DEVICE)
    for each in model.bert.embeddings.parameters():
        each.requires_grad = False
    return model


def export(model: NoteModel, judge: Path, path: Path) -> None:
    """Write int8 ONNX that takes its table of words from the file of the judge beside it."""
    whole = copy.deepcopy(model).cpu().float().eval()
    whole.bert.config._attn_implementation = "eager"
    write_int8(whole, path, {name: {0: "texts"} for name in LABELS})
    shared = judge / "model_int8.onnx"
    onnx.save(with_table_of(onnx.load(path), shared), path)


def with_table_of(model: onnx.ModelProto, shared: Path) -> onnx.ModelProto:
    """The model with the vectors of words that stand in another file: they did not learn."""
    table = "embeddings.word_embeddings.weight"
    stored = {tensor.name.removeprefix("bert."): tensor for tensor in initializers(shared)}
    whole = stored[f"{table}_quantized"].raw_data
    for tensor in model.graph.initializer:
        name = tensor.name.removeprefix("bert.")
        if name in (f"{table}_scale", f"{table}_zero_point"):
            own = tensor.name
            tensor.CopyFrom(stored[name])
            tensor.name = own
        elif name == f"{table}_quantized":
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            found = {
                "location": shared.name,
                "offset": shared.read_bytes().index(whole),
                "length": len(whole),
            }
            for key, value in found.items():
                tensor.external_data.add(key=key, value=str(value))
    return model


def initializers(file: Path) -> Sequence[onnx.TensorProto]:
    return onnx.load(file).graph.initializer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("examples", type=Path)
    parser.add_argument("--encoder", type=Path, required=True, help="pack of the tuned encoder")
    parser.add_argument("--judge", type=Path, required=True, help="pack of the judge of statements")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--without", help="the set of projects that is left out")
    parser.add_argument("--predictions", type=Path)
    parser.add_argument("--teachers", type=int, default=4)
    parser.add_argument("--epochs", type=int, nargs=2, default=(4, 4), help="teacher, student")
    parser.add_argument("--rate", type=float, nargs=2, default=(6e-5, 1e-4))
    parser.add_argument("--seconds", type=float, help="the student ends by then")
    chosen = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(chosen.encoder / "tokenizer.json"))
    every = read_examples(chosen.examples, tokenizer)
    seen = [one for one in every if one.row.get("set") != chosen.without or not chosen.without]
    labelled = [one for one in seen if one.wanted]
    log(f"{len(labelled)} labels, {len(seen) - len(labelled)} sentences without any")
    teachers = []
    for seed in range(chosen.teachers):
        teacher = NoteModel(load(chosen.encoder)).to(DEVICE)
        train(teacher, labelled, epochs=chosen.epochs[0], rate=chosen.rate[0], seed=seed)
        teachers.append(teacher)
        log(f"teacher {seed + 1} of {chosen.teachers}")
    said = mean_of([likelihoods(teacher, seen) for teacher in teachers])
    student = train(
        student_of(chosen.judge),
        seen,
        epochs=chosen.epochs[1],
        rate=chosen.rate[1],
        seed=0,
        said=said,
        seconds=chosen.seconds,
    )
    log("student")
    if chosen.predictions:
        tested = [one for one in every if one.wanted and one.row.get("set") == chosen.without]
        both = (
            mean_of([likelihoods(one, tested) for one in teachers]),
            likelihoods(student, tested),
        )
        with chosen.predictions.open("w", encoding="utf-8") as stream:
            for number, one in enumerate(tested):
                told = {
                    f"{who}_{name}": [round(each, 4) for each in values[name][number].tolist()]
                    for who, values in zip(("teachers", "student"), both, strict=True)
                    for name in LABELS
                }
                stream.write(json.dumps(one.row | told, ensure_ascii=False) + "\n")
    if chosen.out:
        export(student, chosen.judge, chosen.out / "note_int8.onnx")
        write_checksums(chosen.out)


if __name__ == "__main__":
    main()
