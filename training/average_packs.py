"""Average the weights of two encoders that were tuned from the same base.

    python training/average_packs.py FIRST SECOND --share 0.7 --out DIR

Tuned on different questions, both know something; their average knows most of it, at the cost of
one. Writes int8 ONNX with the output `last_hidden_state` only.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from encoder import export, load, read_encoder


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("first", type=Path)
    options.add_argument("second", type=Path)
    options.add_argument("--share", type=float, default=0.5, help="share of the first")
    options.add_argument("--out", type=Path, required=True)
    chosen = options.parse_args()
    encoder = read_encoder(chosen.first)
    encoder.head = None
    other = load(chosen.second).state_dict()
    with torch.no_grad():
        for name, value in encoder.bert.state_dict().items():
            if value.dtype.is_floating_point:
                mixed = chosen.share * value + (1 - chosen.share) * other[name].to(value.device)
                value.copy_(mixed)
    chosen.out.mkdir(parents=True, exist_ok=True)
    export(encoder, chosen.out / "model_int8.onnx")
    shutil.copy(chosen.first / "tokenizer.json", chosen.out)


if __name__ == "__main__":
    main()
