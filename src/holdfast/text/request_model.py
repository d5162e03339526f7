"""A learned reader of memory requests, for wordings that the grammar does not know.

Two models over hashed words and letters, learned by `training/train_requests.py` from labelled
messages in seven languages. A small network tells the kind of a request: every word and run of
letters has a vector, and two layers read the sum of a message's vectors, so that "would be great
if you could" weighs otherwise beside "remember" than alone. A linear model tells where the topic
begins and ends. Both are small integers, a few megabytes, read without numpy, because every
message is read.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from operator import mul
from typing import Any, NamedTuple
from unicodedata import normalize

NONE = "none"
# The languages of the messages that the models learned from.
LANGUAGES = frozenset(("en", "de", "es", "fr", "ru", "zh", "ja"))
# Characters of a message that are read; the models learned from messages of this length.
READ = 400
BITS = 17
# Numbers in a feature's vector.
WIDTH = 48
MASK = (1 << BITS) - 1
# What the second model says of a word: it is in the topic, begins it, ends it.
PLACES = ("inside", "start", "end")
# How much the words inside count beside both ends, in finding a topic, and what each word adds: a
# topic to forget that says too much is shown before anything is forgotten, one that says too little
# finds something else.
INSIDE = 0.5
ADDED = {"forget_topic": 1.5}

_WORD = re.compile(r"[^\W_]+|[?!]")
TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’.-][^\W_\u3040-\u30ff\u3400-\u9fff]+)*|[^\w\s]"
)


class Layer(NamedTuple):
    """A layer of the network: for each of its outputs a weight of every input, and a bias."""

    weights: tuple[tuple[float, ...], ...]
    biases: tuple[float, ...]

    def of(self, inputs: Sequence[float]) -> list[float]:
        """The outputs for some inputs."""
        return [
            bias + sum(map(mul, row, inputs))
            for row, bias in zip(self.weights, self.biases, strict=True)
        ]


class RequestModel(NamedTuple):
    """Weights as they are stored: small integers by feature, and a scale for them."""

    kinds: tuple[str, ...]
    vectors: memoryview
    vector_scale: float
    hidden: Layer
    kind: Layer
    place_weights: memoryview
    place_scale: float
    place_bias: tuple[float, ...]


@cache
def model() -> RequestModel:
    """The model that ships."""
    folder = files(__package__)
    told = json.loads((folder / "request_model.json").read_text("utf-8"))
    weights = memoryview((folder / "request_model.bin").read_bytes()).cast("b")
    size = WIDTH << BITS
    return RequestModel(
        tuple(told["kinds"]),
        weights[:size],
        told["vector_scale"],
        _layer(told["hidden"]),
        _layer(told["kind"]),
        weights[size:],
        told["place_scale"],
        tuple(told["place_bias"]),
    )


def _layer(told: Mapping[str, Sequence[Any]]) -> Layer:
    return Layer(tuple(map(tuple, told["weights"])), tuple(told["biases"]))


def kinds_of(text: str) -> dict[str, float]:
    """The probability of each kind of request, and of none."""
    learned = model()
    sums = (total * learned.vector_scale for total in _summed(learned, message_features(text)))
    hidden = learned.hidden.of([max(0.0, total) for total in sums])
    scores = learned.kind.of([max(0.0, one) for one in hidden])
    highest = max(scores)
    parts = [math.exp(score - highest) for score in scores]
    return {kind: part / sum(parts) for kind, part in zip(learned.kinds, parts, strict=True)}


def _summed(learned: RequestModel, features: Mapping[int, float]) -> list[float]:
    """The sum of the vectors of features, each times its share."""
    alike: dict[float, list[memoryview]] = {}
    for feature, share in features.items():
        vector = learned.vectors[feature * WIDTH : (feature + 1) * WIDTH]
        alike.setdefault(share, []).append(vector)
    sums = [0.0] * WIDTH
    # Most features have the same share, and integers are summed faster.
    for share, vectors in alike.items():
        for place, column in enumerate(zip(*vectors, strict=True)):
            sums[place] += share * sum(column)
    return sums


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
    start, end = best_span(scores, ADDED.get(kind, 0.0))
    return text[tokens[start].start() : tokens[end].end()] if tokens else ""


def best_span(scores: Sequence[Sequence[float]], added: float = 0.0) -> tuple[int, int]:
    """The first and last word of the likeliest topic, by what is said of each word."""
    inside = [0.0, *accumulate(each[0] + added for each in scores)]
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
    said = plain(text)[:READ]
    found = Counter(zlib.crc32(part.encode()) & MASK for part in _parts(said))
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
