"""The sentence encoder as PyTorch sees it: read from a pack, batched, exported again.

A pack holds int8 ONNX. Its weights are read back to floats, tuned, and quantised again, so no
model hub is needed. Needs torch, transformers, onnx, onnxruntime, tokenizers and a GPU.
"""

from __future__ import annotations

import copy
import hashlib
import json
import lzma
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import BertConfig, BertModel

PREFIX = "Represent this sentence for searching relevant passages: "
# [CLS] and the tokens of the prefix: late interaction compares only the question itself.
PREFIX_TOKENS = 11
DOCUMENT_TOKENS = 192
QUESTION_TOKENS = 64
# Numbers per token for late interaction.
TOKEN_DIMENSIONS = 64
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Encoder(torch.nn.Module):
    """A vector for a text (its first token) and a small one for each of its tokens."""

    def __init__(self, bert: BertModel, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.bert = bert
        self.tokenizer = tokenizer
        self.head = torch.nn.Linear(bert.config.hidden_size, TOKEN_DIMENSIONS, bias=False)

    def forward(self, ids, mask):
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        whole = functional.normalize(states[:, 0].float(), dim=-1)
        tokens = functional.normalize(self.head(states).float(), dim=-1)
        return whole, tokens

    def ids(self, texts, *, question: bool):
        """Token ids of each text; a question gets the prefix that the base was trained with."""
        self.tokenizer.enable_truncation(QUESTION_TOKENS if question else DOCUMENT_TOKENS)
        self.tokenizer.no_padding()
        prefixed = [PREFIX + text if question else text for text in texts]
        return [one.ids for one in self.tokenizer.encode_batch(prefixed)]

    @torch.no_grad()
    def encode(self, texts, *, question: bool):
        """Whole vectors as one matrix, and the token vectors of each text."""
        self.eval()
        ids = self.ids(texts, question=question)
        # Texts of equal length together waste no padding.
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        whole = [None] * len(ids)
        tokens = [None] * len(ids)
        first = PREFIX_TOKENS if question else 1
        for start in range(0, len(order), 256):
            numbers = order[start : start + 256]
            padded, mask = pad([ids[number] for number in numbers])
            with torch.autocast(DEVICE, torch.bfloat16):
                vectors, each = self(padded, mask)
            for row, number in enumerate(numbers):
                whole[number] = vectors[row]
                tokens[number] = each[row, first : len(ids[number]) - 1]
        return torch.stack(whole), tokens


def pad(ids):
    """Token ids as one matrix, and the mask that says which of them are real."""
    lengths = np.array([len(one) for one in ids])
    real = np.arange(lengths.max()) < lengths[:, None]
    padded = np.zeros(real.shape, dtype=np.int64)
    padded[real] = np.concatenate(ids)
    return torch.from_numpy(padded).to(DEVICE), torch.from_numpy(real.astype(np.int64)).to(DEVICE)


def load(pack: Path) -> BertModel:
    """The int8 weights of a pack, as floats."""
    graph = onnx.load(pack / "model_int8.onnx").graph
    # `export` writes the encoder and its head, so there all names begin with "bert.".
    stored = {
        tensor.name.removeprefix("bert."): numpy_helper.to_array(tensor)
        for tensor in graph.initializer
    }
    model = BertModel(_config(stored), add_pooling_layer=False)
    names = set(model.state_dict())
    weights = {name: value for name, value in stored.items() if name in names}
    for kind in ("word", "token_type", "position"):
        name = f"embeddings.{kind}_embeddings.weight"
        zero = float(stored[f"{name}_zero_point"])
        shifted = stored[f"{name}_quantized"].astype(np.float32) - zero
        weights[name] = shifted * float(stored[f"{name}_scale"])
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        key = node.input[1].removesuffix("_quantized")
        zero = stored[f"{key}_zero_point"].astype(np.float32)
        matrix = (stored[f"{key}_quantized"].astype(np.float32) - zero) * stored[f"{key}_scale"]
        path = node.name.strip("/").replace("/", ".").removeprefix("bert.")
        if ".MatMul" not in path:  # an output of the reranker, not a layer
            continue
        weights[path[: path.index(".MatMul")] + ".weight"] = matrix.T
    missing = names - set(weights)
    if missing:
        raise SystemExit(f"{pack} lacks {sorted(missing)[:5]}")
    tensors = {name: torch.tensor(np.ascontiguousarray(weights[name])) for name in names}
    model.load_state_dict(tensors)
    return model


def _config(stored) -> BertConfig:
    """BERT with layers of 384 and 12 heads: arctic-embed-s has 12, the reranker half of them."""
    words = stored["embeddings.word_embeddings.weight_quantized"]
    layers = {name.split(".")[2] for name in stored if name.startswith("encoder.layer.")}
    return BertConfig(
        vocab_size=words.shape[0],
        hidden_size=words.shape[1],
        num_hidden_layers=len(layers),
        num_attention_heads=12,
        intermediate_size=4 * words.shape[1],
    )


def read_encoder(pack: Path) -> Encoder:
    """The encoder of a pack on the GPU, with a head that is not trained yet."""
    tokenizer = Tokenizer.from_file(str(pack / "tokenizer.json"))
    return Encoder(load(pack), tokenizer).to(DEVICE)


def export(encoder: Encoder, path: Path) -> None:
    """Write int8 ONNX with the outputs `last_hidden_state` and, given a head, `token_vectors`."""

    class Both(torch.nn.Module):
        def __init__(self, bert, head):
            super().__init__()
            self.bert = bert
            self.head = head

        def forward(self, input_ids, attention_mask, token_type_ids):
            states = self.bert(
                input_ids=input_ids,
                attention_mask=attention_mask,
                token_type_ids=token_type_ids,
            ).last_hidden_state
            return (states, self.head(states)) if self.head else states

    model = copy.deepcopy(encoder).cpu().float().eval()
    model.bert.config._attn_implementation = "eager"
    outputs = ["last_hidden_state", "token_vectors"][: 2 if model.head else 1]
    axes = {name: {0: "texts", 1: "tokens"} for name in outputs}
    write_int8(Both(model.bert, model.head), path, axes)


def write_int8(model: torch.nn.Module, path: Path, outputs: dict[str, dict[int, str]]) -> None:
    """Write a model on the CPU as int8 ONNX; `outputs` names its outputs and their axes."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    floats = path.with_suffix(".float.onnx")
    torch.onnx.export(
        model,
        (torch.ones(2, 8, dtype=torch.long),) * 3,
        floats,
        input_names=inputs,
        output_names=list(outputs),
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in inputs} | outputs,
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(floats, path, per_channel=True, weight_type=QuantType.QInt8)
    floats.unlink()


def write_checksums(pack: Path) -> None:
    """List the files of a pack with their digests, as Holdfast wants to see them."""
    lines = []
    for file in sorted(pack.iterdir()):
        if file.name != "CHECKSUMS" and file.suffix != ".md":
            lines.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
    (pack / "CHECKSUMS").write_text("".join(lines), "utf-8")


def split(pools, *, everything: bool, without_half: int | None):
    """Pools to train on, and pools to test on: the half that is left out, or the dev fold."""
    if without_half is not None:
        training = [pool for pool in pools if pool["half"] != without_half]
        return training, [pool for pool in pools if pool["half"] == without_half]
    training = [pool for pool in pools if everything or pool["fold"] == "train"]
    return training, [pool for pool in pools if pool["fold"] == "dev"]


def read_pools(path: Path):
    """The pools of `pools.py`."""
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)
