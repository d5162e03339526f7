"""What the secret scanner hides of the keys that other scanners are tested with, as they stand and
within prose.

    python bench/secret_scanners.py --gitleaks CHECKOUT [--trufflehog CHECKOUT] [--half 0|1]
                                    [--misses]

The cases are read from checkouts of gitleaks and trufflehog. A key counts as hidden when no telling
stretch of it is left. The bars: 95 % of gitleaks' positives as lines, 85 % in prose of the keys
that have a format. Half 1 of the rules, told by a hash of their names, was kept aside while the
patterns were written.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from common import finish
from holdfast.text.secrets import redact
from scanner_cases import Case, gitleaks_cases, half_of, trufflehog_cases

PROSE = (
    "my key is {}, please use it",
    "the deploy failed with {} in the log",
    "I pasted {} into the chat by mistake.",
    "They sent me this: {}",
    "We can use {} for the demo on Friday.",
    'it says "{}" on the page',
)
TELLING = 8  # a stretch of so many characters helps whoever finds it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gitleaks", type=Path, help="a checkout of gitleaks")
    parser.add_argument("--trufflehog", type=Path, help="a checkout of trufflehog")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only the rules of one half")
    parser.add_argument("--misses", action="store_true", help="print what was missed, by rule")
    options = parser.parse_args()
    result: dict[str, object] = {}
    for name, path, read in (
        ("gitleaks", options.gitleaks, gitleaks_cases),
        ("trufflehog", options.trufflehog, trufflehog_cases),
    ):
        if path:
            cases = [case for case in read(path) if options.half in (None, half_of(case.rule))]
            result[name] = measure(cases, show=options.misses)
    finish(result)


def measure(cases: list[Case], *, show: bool = False) -> dict[str, object]:
    """How much of the cases is hidden."""
    positives = [case for case in cases if case.positive and case.secrets]
    missed_lines = [case for case in positives if leaks(case.text, case.secrets)]
    told = {(case.rule, secret): case.has_format for case in positives for secret in case.secrets}
    prose = [(rule, secret, form, text) for (rule, secret), form in told.items() for text in PROSE]
    missed_prose = [one for one in prose if leaks(one[3].format(one[1]), (one[1],))]
    known = [one for one in prose if one[2]]
    missed_known = [one for one in missed_prose if one[2]]
    if show:
        _show("line", ((case.rule, case.text) for case in missed_lines))
        _show(
            "prose",
            ((rule, text.format(secret)) for rule, secret, form, text in missed_prose if form),
        )
    negatives = [case for case in cases if not case.positive]
    return {
        "rules": len({case.rule for case in cases}),
        "positives": len(positives),
        "lines_hidden": _share(len(missed_lines), len(positives)),
        "prose_hidden": _share(len(missed_prose), len(prose)),
        "prose_hidden_with_a_format": _share(len(missed_known), len(known)),
        "keys_with_a_format": len(known) // len(PROSE),
        "negatives": len(negatives),
        "negatives_left_alone": _share(
            sum(bool(redact(case.text)[1]) for case in negatives), len(negatives)
        ),
        "rules_missed_as_lines": dict(Counter(case.rule for case in missed_lines).most_common(60)),
        "rules_missed_in_prose": dict(Counter(one[0] for one in missed_known).most_common(60)),
    }


def leaks(text: str, secrets: tuple[str, ...]) -> bool:
    """Whether a telling stretch of a secret is still there, one with a digit and a letter if the
    secret has such.
    """
    left, beside = (
        redact(text)[0],
        reduce(lambda rest, secret: rest.replace(secret, ""), secrets, text),
    )
    return any(
        one in left and one not in beside for secret in secrets for one in _stretches(secret)
    )


def _stretches(secret: str) -> set[str]:
    if len(secret) <= TELLING:
        return {secret}
    all_ = {secret[start : start + TELLING] for start in range(len(secret) - TELLING + 1)}
    mixed = {one for one in all_ if any(map(str.isdecimal, one)) and any(map(str.isalpha, one))}
    return mixed or all_


def _share(missed: int, count: int) -> float:
    return round(1 - missed / max(count, 1), 4)


def _show(title: str, cases: Iterable[tuple[str, str]]) -> None:
    for rule, text in cases:
        print(f"{title} {rule}: {text!r}\n    -> {redact(text)[0]!r}", file=sys.stderr)


if __name__ == "__main__":
    main()
