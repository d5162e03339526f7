"""A learned reader of memory requests, for wordings that the grammar does not know.

Two linear models over hashed words and letters, learned by `training/train_requests.py` from
labelled messages in seven languages: one tells the kind of a request, the other where its topic
begins and ends. Both are small integers, less than a megabyte, read without numpy, because
every message is read.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import NamedTuple
from unicodedata import normalize

NONE = "none"
# The languages of the messages that the models learned from.
LANGUAGES = frozenset(("en", "de", "es", "fr", "ru", "zh", "ja"))
# Characters of a message that are read; the models learned from messages of this length.
READ = 400
BITS = 17
MASK = (1 << BITS) - 1
# What the second model says of a word: it is in the topic, begins it, ends it.
PLACES = ("inside", "start", "end")
# How much the words inside count beside both ends, in finding a topic.
INSIDE = 0.3

_WORD = re.compile(r"[^\W_]+|[?!]")
TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’.-][^\W_\u3040-\u30ff\u3400-\u9fff]+)*|[^\w\s]"
)


class RequestModel(NamedTuple):
    """Weights as they are stored: small integers by feature, and a scale for each output."""

    kinds: tuple[str, ...]
    kind_weights: memoryview
    kind_scale: float
    kind_bias: tuple[float, ...]
    place_weights: memoryview
    place_scale: float
    place_bias: tuple[float, ...]


@cache
def model() -> RequestModel:
    """The model that ships."""
    folder = files(__package__)
    told = json.loads((folder / "request_model.json").read_text("utf-8"))
    weights = memoryview(zlib.decompress((folder / "request_model.bin").read_bytes())).cast("b")
    size = len(told["kinds"]) << BITS
    return RequestModel(
        tuple(told["kinds"]),
        weights[:size],
        told["kind_scale"],
        tuple(told["kind_bias"]),
        weights[size:],
        told["place_scale"],
        tuple(told["place_bias"]),
    )


def kinds_of(text: str) -> dict[str, float]:
    """The probability of each kind of request, and of none."""
    learned = model()
    width = len(learned.kinds)
    sums = [0.0] * width
    for feature, value in message_features(text).items():
        row = learned.kind_weights[feature * width : (feature + 1) * width]
        for place, weight in enumerate(row):
            if weight:
                sums[place] += value * weight
    scores = [
        total * learned.kind_scale + bias
        for total, bias in zip(sums, learned.kind_bias, strict=True)
    ]
    highest = max(scores)
    parts = [math.exp(score - highest) for score in scores]
    return {kind: part / sum(parts) for kind, part in zip(learned.kinds, parts, strict=True)}


def topic_of(text: str, kind: str) -> str:
    """The part of a message that names what a request is about."""
    learned = model()
    tokens = list(TOKEN.finditer(text[:READ]))
    width = len(PLACES)
    scores: list[list[float]] = []
    for features in word_features([plain(token[0]) for token in tokens], kind):
        sums = [
            sum(learned.place_weights[feature * width + place] for feature in features)
            for place in range(width)
        ]
        scores.append(
            [
                total * learned.place_scale + bias
                for total, bias in zip(sums, learned.place_bias, strict=True)
            ]
        )
    start, end = best_span(scores)
    return text[tokens[start].start() : tokens[end].end()] if tokens else ""


def best_span(scores: Sequence[Sequence[float]]) -> tuple[int, int]:
    """The first and last word of the likeliest topic, by what is said of each word."""
    inside = [0.0, *accumulate(each[0] for each in scores)]
    spans = (
        (INSIDE * (inside[end + 1] - inside[start]) + scores[start][1] + scores[end][2], start, end)
        for start in range(len(scores))
        for end in range(start, len(scores))
    )
    _, start, end = max(spans, default=(0.0, 0, 0))
    return start, end


def plain(text: str) -> str:
    """A text as features see it."""
    return normalize("NFKC", text).casefold().replace("’", "'")


def message_features(text: str) -> dict[int, float]:
    """Hashed runs of words and of letters of a message, each with its share."""
    found = Counter(zlib.crc32(part.encode()) & MASK for part in _parts(plain(text)[:READ]))
    length = math.sqrt(sum(found.values())) or 1.0
    return {feature: math.sqrt(count) / length for feature, count in found.items()}


def _parts(text: str) -> Iterator[str]:
    words = _WORD.findall(text)
    yield from (f"w{word}" for word in words)
    yield from (f"w{first} {second}" for first, second in pairwise(words))
    yield from (f"w{' '.join(three)}" for three in zip(words, words[1:], words[2:], strict=False))
    for word in words:
        around = f" {word} "
        for length in (2, 3, 4, 5):
            yield from (
                around[start : start + length] for start in range(max(1, len(around) - length + 1))
            )


def word_features(words: Sequence[str], kind: str) -> Iterator[set[int]]:
    """Hashed surroundings of each word of a message, alone and together with the kind."""
    for place in range(len(words)):
        named = list(_surroundings(words, place))
        yield {zlib.crc32(f"{lead}{name}".encode()) & MASK for lead in ("", kind) for name in named}


def _surroundings(words: Sequence[str], place: int) -> Iterator[str]:
    def at(offset: int) -> str:
        index = place + offset
        if index < 0:
            return "<"
        return words[index] if index < len(words) else ">"

    yield from (f"{offset}={at(offset)}" for offset in range(-3, 4))
    for first, second in ((-2, -1), (-1, 0), (0, 1), (1, 2)):
        yield f"{first},{second}={at(first)} {at(second)}"
    yield f"before={at(-3)} {at(-2)} {at(-1)}"
    yield f"from start={min(place, 8)}"
    yield f"from end={min(len(words) - 1 - place, 8)}"
    yield f"begins={at(0)[:4]}"
    yield f"finishes={at(0)[-3:]}"
    yield from (f"left={at(-offset)}" for offset in range(1, 9))
    yield from (f"right={at(offset)}" for offset in range(1, 6))
