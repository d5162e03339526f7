"""Average the weights of encoders that were tuned from the same base.

    python training/average_packs.py all=0.5 first=0.25 second=0.25 --out DIR

Tuned on different questions, each knows something; their average knows most of it, at the cost of
one. Writes int8 ONNX with the output `last_hidden_state` only.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from encoder import export, load, read_encoder, write_checksums


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("packs", nargs="+", metavar="PACK=SHARE")
    options.add_argument("--out", type=Path, required=True)
    chosen = options.parse_args()
    shares = {}
    for one in chosen.packs:
        pack, _, share = one.rpartition("=")
        shares[Path(pack)] = float(share)
    first = next(iter(shares))
    encoder = read_encoder(first)
    encoder.head = None
    states = [(load(pack).state_dict(), share) for pack, share in shares.items()]
    total = sum(shares.values())
    with torch.no_grad():
        for name, value in encoder.bert.state_dict().items():
            if value.dtype.is_floating_point:
                mixed = sum(share / total * state[name] for state, share in states)
                value.copy_(mixed)
    chosen.out.mkdir(parents=True, exist_ok=True)
    export(encoder, chosen.out / "model_int8.onnx")
    shutil.copy(first / "tokenizer.json", chosen.out)
    write_checksums(chosen.out)


if __name__ == "__main__":
    main()
