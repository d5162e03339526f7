"""How many gold documents vectors find: whole vectors, late interaction, and both."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch
from encoder import DEVICE


def recall(model, pools, depths=(5, 10)) -> dict[str, dict[str, float]]:
    """Mean share of gold documents among the first k, by the name of the pool."""
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pool in pools:
        for kind, scores in _scores(model, pool).items():
            for depth in depths:
                best = scores.topk(min(depth, scores.shape[1]), 1).indices.tolist()
                for question, first in zip(pool["qs"], best, strict=True):
                    gold = set(question["g"])
                    share = len(gold & set(first)) / len(gold)
                    shares[pool["name"]][f"{kind}@{depth}"].append(share)
    return {
        name: {kind: round(float(np.mean(values)), 4) for kind, values in kinds.items()}
        for name, kinds in shares.items()
    }


def _scores(model, pool):
    documents, tokens = model.encode(pool["docs"], question=False)
    asked, words = model.encode([question["q"] for question in pool["qs"]], question=True)
    scores = {"whole": asked @ documents.T}
    if tokens is not None:
        scores["late"] = late_interaction(words, tokens)
        scores["both"] = _min_max(scores["whole"]) + _min_max(scores["late"])
    return scores


def _min_max(scores):
    low = scores.min(1, keepdim=True).values
    high = scores.max(1, keepdim=True).values
    return (scores - low) / (high - low + 1e-9)


def late_interaction(questions, documents):
    """Mean over a question's tokens of the best match among a document's tokens."""
    width = max(map(len, documents))
    size = (len(documents), width, documents[0].shape[-1])
    stacked = torch.zeros(size, device=DEVICE, dtype=torch.float16)
    closed = torch.full(size[:2], -1e4, device=DEVICE, dtype=torch.float16)
    for row, one in enumerate(documents):
        stacked[row, : len(one)] = one.half()
        closed[row, : len(one)] = 0
    rows = []
    for one in questions:
        alike = torch.einsum("qd,nld->nql", one.half(), stacked) + closed[:, None, :]
        rows.append(alike.max(-1).values.float().mean(-1))
    return torch.stack(rows)
