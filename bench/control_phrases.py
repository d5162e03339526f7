"""How well requests to the memory itself are understood: forget, pause, resume, list, remember, in
seven languages.

    python bench/control_phrases.py                          the labelled lists of bench/data
    python bench/control_phrases.py FILE …                   any file of the same format
    python bench/control_phrases.py --misses dev             the phrases that were read wrongly

Each line of a file is a JSON object with `text`, `label` (forget_session, forget_last,
forget_topic, pause, resume, list, remember or none), `lang` and, where it is about something,
`topic`. A phrase of the first two lists belongs to the half `dev`, which was looked at while the
grammar was written, or `kept`: the first byte of its hash decides. The other lists were counted
once, then looked at, so that their figures now only show that nothing got worse. A topic is right
when it holds most of the words of the labelled one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.agents.utterance import heard_as

DATA = Path(__file__).parent / "data"
HALVED = ("control_phrases.jsonl", "control_phrases_own.jsonl")
LOOKED_AT = tuple(
    f"control_phrases_{number}.jsonl"
    for number in (
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
    )
)
UNSEEN = ("control_phrases_sixteenth.jsonl", "control_phrases_seventeenth.jsonl")
FILES = tuple(DATA / name for name in (*HALVED, *LOOKED_AT, *UNSEEN))
WITH_TOPIC = ("forget_topic", "remember")
ENOUGH = 0.6  # of the labelled topic's words or characters

Phrase = Mapping[str, str]


def half_of(text: str) -> str:
    """The half that a phrase belongs to."""
    return "kept" if hashlib.sha256(text.encode()).digest()[0] % 2 else "dev"


def read(files: Iterable[Path]) -> list[Phrase]:
    """The phrases of some files."""
    return [
        json.loads(line)
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if line.strip()
    ]


def has_topic(phrase: Phrase, topic: str) -> bool:
    """Whether a topic that was read holds most of the labelled one."""
    wanted = _parts(phrase.get("topic", ""))
    return not wanted or sum(part in _parts(topic) for part in wanted) >= ENOUGH * len(wanted)


def _parts(text: str) -> list[str]:
    """Words; of texts without spaces their characters."""
    plain = "".join(
        c if c.isalnum() else " " for c in unicodedata.normalize("NFKC", text).casefold()
    )
    return [part for word in plain.split() for part in (word if _spaceless(word) else (word,))]


def _spaceless(word: str) -> bool:
    return any("\u3040" <= c <= "\u9fff" for c in word)


def judged(phrase: Phrase) -> tuple[str, bool]:
    """The label that a phrase is read as, and whether that and its topic are right."""
    label, topic = heard_as(phrase["text"])
    right = label == phrase["label"] and (label not in WITH_TOPIC or has_topic(phrase, topic))
    return label, right


def table(phrases: Iterable[Phrase], key: str) -> list[str]:
    """Recall per value of a key, as lines of a table."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for phrase in phrases:
        label, right = judged(phrase)
        sort = "no request" if phrase["label"] == "none" else "requests"
        name = phrase["label"] if key == "label" else phrase[key]
        counts[name][f"{sort} all"] += 1
        counts[name][f"{sort} right"] += right
        counts[name]["kind"] += label == phrase["label"] and label != "none"
    return [_line(name, count) for name, count in sorted(counts.items())]


def _line(name: str, count: Counter[str]) -> str:
    shares = []
    for sort in ("requests", "no request"):
        whole = count[f"{sort} all"]
        shares.append(
            f"{count[f'{sort} right']} of {whole} ({count[f'{sort} right'] / whole:.3f})"
            if whole
            else ""
        )
    return f"{name:<16}{shares[0]:>22}{shares[1]:>22}"


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, default=FILES)
    parser.add_argument("--misses", choices=("dev", "all"), help="also print what was read wrongly")
    given = parser.parse_args()
    for file in given.files:
        phrases = read([file])
        halved = file.name in HALVED
        for half in ("dev", "kept") if halved else ("dev",):
            ours = [one for one in phrases if not halved or half_of(one["text"]) == half]
            print(f"\n{file.name}{f', {half} half' if halved else ''}: {len(ours)} phrases")
            print(f"{'':<16}{'requests, right':>22}{'look-alikes, none':>22}")
            for key in ("label", "lang"):
                print("\n".join(table(ours, key)))
            if unnamed := sum(one["label"] in WITH_TOPIC and not one.get("topic") for one in ours):
                print(f"{unnamed} requests have no labelled topic: only their kind was judged.")
            if file.name not in UNSEEN and given.misses in ("all", half):
                for one in ours:
                    label, right = judged(one)
                    if not right:
                        print(
                            "  ",
                            one["lang"],
                            one["label"],
                            "→",
                            label,
                            "|",
                            one["text"],
                            "|",
                            heard_as(one["text"])[1],
                        )


if __name__ == "__main__":
    main()
