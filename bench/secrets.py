"""How well the secret scanner tells secrets from what only looks like one.

    python bench/secrets.py [--misses]

Recall: the share of secrets of which no stretch of six characters is left. Precision: of all texts in which something
was hidden, the share in which that was a secret and nothing but secrets. The bar: both at least 0.98.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from functools import reduce

from common import finish
from holdfast.text.secrets import redact
from secret_corpus import Sample, look_alikes, secrets

BESIDE = 12  # quotes, line ends, the dashes of a key that go with it harm nobody
LEFT = 6  # so many characters of a secret in a row help whoever finds them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print every text that went wrong")
    options = parser.parse_args()
    secret, harmless = list(secrets()), list(look_alikes())
    missed = [sample for sample in secret if leaks(sample)]
    wrong = [sample for sample in harmless if redact(sample.text)[1]]
    wide = [sample for sample in secret if not leaks(sample) and overreaches(sample)]
    if options.misses:
        _show("missed", missed)
        _show("wrongly hidden", wrong)
        _show("hidden too much", wide)
    hidden = len(secret) - len(missed) + len(wrong)
    recall, precision = 1 - len(missed) / len(secret), 1 - (len(wrong) + len(wide)) / hidden
    finish(
        {
            "secrets": len(secret),
            "formats": len({sample.kind for sample in secret}),
            "look_alikes": len(harmless),
            "recall": round(recall, 4),
            "precision": round(precision, 4),
            "missed": dict(Counter(sample.kind for sample in missed)),
            "wrongly_hidden": dict(Counter(sample.kind for sample in wrong)),
            "hidden_too_much": dict(Counter(sample.kind for sample in wide)),
            "met_recall_98": recall >= 0.98,
            "met_precision_98": precision >= 0.98,
        }
    )


def leaks(sample: Sample) -> bool:
    """Whether a stretch of a secret is still there, other than what stands beside it anyway."""
    left = re.sub(r"\[REDACTED:[a-z0-9-]+\]", " ", redact(sample.text)[0])
    beside = reduce(lambda text, value: text.replace(value, ""), sample.secrets, sample.text)
    return any(part in left and part not in beside for value in sample.secrets for part in _stretches(value))


def _stretches(value: str) -> set[str]:
    bare = value.replace("\\n", "").replace("\n", "")
    if len(bare) <= LEFT:
        return {bare}
    return {bare[start : start + LEFT] for start in range(len(bare) - LEFT + 1)}


def overreaches(sample: Sample) -> bool:
    """Whether more than the secrets was hidden."""
    _, found = redact(sample.text)
    return any(not _covered(sample, start, end) for start, end, _ in found)


def _covered(sample: Sample, start: int, end: int) -> bool:
    """Whether a hidden place holds a secret, or a part of one, and at most a few characters of anything else."""
    place = sample.text[start:end]
    return any((value in place and len(place) <= len(value) + BESIDE) or place in value for value in sample.secrets)


def _show(title: str, samples: list[Sample]) -> None:
    for sample in samples:
        print(f"{title} ({sample.kind}): {sample.text!r}\n    -> {redact(sample.text)[0]!r}", file=sys.stderr)


if __name__ == "__main__":
    main()
