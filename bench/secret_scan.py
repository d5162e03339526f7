"""How well the secret scanner tells secrets from what only looks like one.

    python bench/secret_scan.py [--misses]

Recall: the share of secrets of which no stretch of six characters is left. Precision: of all texts
in which something was hidden, the share in which that was a secret and nothing but secrets. The
bar: both at least 0.98.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce

from common import finish
from holdfast.text.secrets import redact
from secret_corpus import Sample, look_alikes, secrets

BESIDE = 12  # quotes, line ends, the dashes of a key that go with it harm nobody
LEFT = 6  # so many characters of a secret in a row help whoever finds them
SEED_PATTERNS = re.compile(
    r"(?:sk|pk|rk|tok|key|secret|token|password)[-_A-Za-z0-9]{12,}"
    r"|[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
)

Redaction = Callable[[str], tuple[str, Sequence[tuple[int, int, str]]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print every text that went wrong")
    options = parser.parse_args()
    if options.misses:
        for title, samples in zip(
            ("missed", "wrongly hidden", "hidden too much"), mistakes(redact), strict=True
        ):
            _show(title, samples)
    finish(measure(redact))


def mistakes(hide: Redaction) -> tuple[list[Sample], list[Sample], list[Sample]]:
    """The secrets that are still there, the harmless texts in which something is hidden, and where
    too much is.
    """
    missed = [sample for sample in secrets() if leaks(sample, hide)]
    wrong = [sample for sample in look_alikes() if hide(sample.text)[1]]
    wide = [sample for sample in secrets() if not leaks(sample, hide) and overreaches(sample, hide)]
    return missed, wrong, wide


def measure(hide: Redaction) -> dict[str, object]:
    """How well `hide` tells secrets from look-alikes."""
    count, formats = sum(1 for _ in secrets()), len({sample.kind for sample in secrets()})
    missed, wrong, wide = mistakes(hide)
    hidden = count - len(missed) + len(wrong)
    recall, precision = 1 - len(missed) / count, 1 - (len(wrong) + len(wide)) / max(hidden, 1)
    return {
        "secrets": count,
        "formats": formats,
        "look_alikes": sum(1 for _ in look_alikes()),
        "recall": round(recall, 4),
        "precision": round(precision, 4),
        "missed": dict(Counter(sample.kind for sample in missed)),
        "wrongly_hidden": dict(Counter(sample.kind for sample in wrong)),
        "hidden_too_much": dict(Counter(sample.kind for sample in wide)),
        "met_recall_98": recall >= 0.98,
        "met_precision_98": precision >= 0.98,
    }


def seed_redact(text: str) -> tuple[str, list[tuple[int, int, str]]]:
    """What the coding-agent memory before Holdfast hid: three patterns, and nothing else."""
    found = [(match.start(), match.end(), "seed") for match in SEED_PATTERNS.finditer(text)]
    return SEED_PATTERNS.sub("[REDACTED:seed]", text), found


def leaks(sample: Sample, hide: Redaction = redact) -> bool:
    """Whether a stretch of a secret is still there, other than what stands beside it anyway."""
    left = re.sub(r"\[REDACTED:[a-z0-9-]+\]", " ", hide(sample.text)[0])
    beside = reduce(lambda text, value: text.replace(value, ""), sample.secrets, sample.text)
    return any(
        part in left and part not in beside
        for value in sample.secrets
        for part in _stretches(value)
    )


def _stretches(value: str) -> set[str]:
    bare = value.replace("\\n", "").replace("\n", "")
    if len(bare) <= LEFT:
        return {bare}
    return {bare[start : start + LEFT] for start in range(len(bare) - LEFT + 1)}


def overreaches(sample: Sample, hide: Redaction = redact) -> bool:
    """Whether more than the secrets was hidden."""
    _, found = hide(sample.text)
    return any(not _covered(sample, start, end) for start, end, _ in found)


def _covered(sample: Sample, start: int, end: int) -> bool:
    """Whether a hidden place holds a secret, or a part of one, and at most a few characters of
    anything else.
    """
    place = sample.text[start:end]
    return any(
        (value in place and len(place) <= len(value) + BESIDE) or place in value
        for value in sample.secrets
    )


def _show(title: str, samples: list[Sample]) -> None:
    for sample in samples:
        print(
            f"{title} ({sample.kind}): {sample.text!r}\n    -> {redact(sample.text)[0]!r}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
