"""Learn the reader of memory requests, `text/request_model.bin`, from labelled messages.

    python training/train_requests.py --longmemeval FILE --friendsqa FOLDER --ordinary FOLDER

With `--write` it also writes the model.

Learned from are the phrases in `control_phrases/` and the lists of `bench/data` that have been
looked at, and as messages without a request the statements and questions that other programs here
learn from, what users say in LongMemEval's development sessions, what people say in FriendsQA's
scenes, one half of what `ordinary_messages.py` collected, and each topic alone. To measure, each
list is read by a model that has not seen it, alone and after the grammar. Needs scikit-learn and
five minutes for each model.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
from control_phrases import DATA, HALVED, LOOKED_AT, WITH_TOPIC, Phrase, half_of, judged, read
from holdfast.text import request_model
from holdfast.text.memory_requests import own_words
from holdfast.text.request_grammar import KINDS

HERE = Path(__file__).parent
LISTS = tuple(DATA / name for name in (*HALVED, *LOOKED_AT))
WRITTEN = tuple(sorted((HERE / "control_phrases").glob("*.jsonl")))
LABELS = (request_model.NONE, *KINDS)
LONGEST = 600
MOST_OTHERS = 8_000

# How many networks learn, and how: outputs of the hidden layer, messages of a step, the length of
# the first step, what is left out, how sure it may become, and by how much shares are enlarged.
NETWORKS = 2
HIDDEN = 32
BATCH = 128
RATE = 4e-3
FEATURES_LEFT_OUT = 0.15
HIDDEN_LEFT_OUT = 0.3
DOUBT = 0.01
ENLARGED = 6.0


def users_say(path: Path) -> list[str]:
    """What users say in LongMemEval's sessions."""
    return [
        turn["content"]
        for question in json.loads(path.read_text("utf-8"))
        for session in question["haystack_sessions"]
        for turn in session
        if turn["role"] == "user"
    ]


def people_say(folder: Path) -> list[str]:
    """What people say in FriendsQA's scenes."""
    return [
        said["utterance"]
        for path in sorted(folder.rglob("friendsqa_*.json"))
        for scene in json.loads(path.read_text("utf-8"))["data"]
        for part in scene["paragraphs"]
        for said in part["utterances:"]
    ]


def written_elsewhere() -> list[str]:
    """Statements and questions in seven languages that were written to learn other things from."""
    said = [
        row[name]
        for path in sorted(HERE.glob("change_pairs_*.jsonl"))
        for row in map(json.loads, path.open(encoding="utf-8"))
        for name in ("a", "b")
    ]
    asked = [
        question["q"]
        for path in sorted((HERE / "questions").glob("*.jsonl"))
        for row in map(json.loads, path.open(encoding="utf-8"))
        for question in row["qs"]
    ]
    return [*said, *asked]


def ordinary_messages(folder: Path) -> list[str]:
    """The half of the collected messages that may be learned from."""
    every = (
        line
        for path in sorted(folder.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
    )
    return [line for line in every if half_of(line) == "dev"]


def without_request(texts: Iterable[str]) -> list[Phrase]:
    """Texts of real conversations, each once, as messages that ask nothing of a memory."""
    every = sorted({text for text in texts if text.strip() and len(text) < LONGEST})
    random.Random(0).shuffle(every)
    return [{"text": text, "label": request_model.NONE} for text in every]


def topics_alone(phrases: Iterable[Phrase]) -> list[Phrase]:
    """What is to be forgotten or remembered, said alone: it asks for nothing."""
    return without_request(one["topic"] for one in phrases if one.get("topic"))


def of_messages(phrases: Sequence[Phrase]) -> csr_matrix:
    """The features of messages, a row each."""
    rows = [request_model.message_features(own_words(phrase["text"])[0]) for phrase in phrases]
    ends = np.cumsum([0, *map(len, rows)])
    features = [feature for row in rows for feature in row]
    values = [value for row in rows for value in row.values()]
    return csr_matrix((values, features, ends), shape=(len(rows), 1 << request_model.BITS))


def learn_kinds(phrases: Sequence[Phrase], epochs: int) -> Sequence[KindNetwork]:
    """Learn to tell the kinds apart, by networks that began differently: what all of them take for
    a request is seldom none.
    """
    kinds = np.array([LABELS.index(one["label"]) for one in phrases])
    messages = of_messages(phrases)
    return [KindNetwork(number).learn(messages, kinds, epochs) for number in range(NETWORKS)]


class KindNetwork:
    """Vectors of features, summed up, and two layers that tell the kind from the sum.

    A part of the features and of the hidden outputs is left out at random while it learns, so that
    no word alone decides.
    """

    def __init__(self, number: int) -> None:
        self._random = np.random.default_rng(number)
        width = request_model.WIDTH // NETWORKS
        self.vectors = self._drawn((1 << request_model.BITS, width), 0.15)
        self.hidden = self._drawn((width, HIDDEN), (2 / width) ** 0.5)
        self.hidden_bias = np.zeros(HIDDEN, np.float32)
        self.kind = self._drawn((HIDDEN, len(LABELS)), (1 / HIDDEN) ** 0.5)
        self.kind_bias = np.zeros(len(LABELS), np.float32)

    def _drawn(self, shape: tuple[int, int], spread: float) -> np.ndarray:
        return self._random.normal(0, spread, shape).astype(np.float32)

    def _kept(self, shape: tuple[int, ...], left_out: float) -> np.ndarray:
        """Which numbers are not left out, and how much more these count."""
        return (self._random.random(shape, np.float32) > left_out) / np.float32(1 - left_out)

    def learn(self, messages: csr_matrix, kinds: np.ndarray, epochs: int) -> KindNetwork:
        """Learn from messages and their kinds."""
        messages = messages.astype(np.float32) * np.float32(ENLARGED)
        every = (self.vectors, self.hidden, self.hidden_bias, self.kind, self.kind_bias)
        steps = [Steps(each) for each in every]
        rounds = epochs * -(-len(kinds) // BATCH)
        done = 0
        for _ in range(epochs):
            order = self._random.permutation(len(kinds))
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                used, *slopes = self._slopes(messages[rows], kinds[rows])
                done += 1
                rate = RATE * (1 - done / (rounds + 1))
                for step, slope in zip(steps, slopes, strict=True):
                    step.take(slope, rate, done, used if step is steps[0] else slice(None))
        self.vectors *= ENLARGED
        return self

    def _slopes(self, messages: csr_matrix, kinds: np.ndarray) -> tuple[np.ndarray, ...]:
        """The features that some messages have, and the slopes of these features' vectors and of
        the layers.
        """
        messages.data *= self._kept(messages.data.shape, FEATURES_LEFT_OUT)
        sums = messages @ self.vectors
        inputs = np.maximum(sums, 0)
        hidden = inputs @ self.hidden + self.hidden_bias
        kept = self._kept(hidden.shape, HIDDEN_LEFT_OUT)
        outputs = np.maximum(hidden, 0) * kept
        scores = outputs @ self.kind + self.kind_bias
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        wanted = np.full_like(chances, DOUBT / len(LABELS))
        wanted[np.arange(len(kinds)), kinds] += 1 - DOUBT
        off = (chances - wanted) / len(kinds)
        hidden_off = (off @ self.kind.T) * kept * (hidden > 0)
        sums_off = (hidden_off @ self.hidden.T) * (sums > 0)
        used, places = np.unique(messages.indices, return_inverse=True)
        shape = (len(kinds), len(used))
        narrow = csr_matrix((messages.data, places.astype(np.int32), messages.indptr), shape=shape)
        return (
            used,
            narrow.T @ sums_off,
            inputs.T @ hidden_off,
            hidden_off.sum(0),
            outputs.T @ off,
            off.sum(0),
        )


class Steps:
    """Steps down a slope after Adam; of the vectors only those of features that were met."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self._mean = np.zeros_like(values)
        self._square = np.zeros_like(values)

    def take(self, slope: np.ndarray, rate: float, count: int, rows: np.ndarray | slice) -> None:
        """Change the values of some rows."""
        mean = 0.9 * self._mean[rows] + 0.1 * slope
        square = 0.999 * self._square[rows] + 0.001 * slope * slope
        self._mean[rows], self._square[rows] = mean, square
        steepness = np.sqrt(square / (1 - 0.999**count)) + 1e-8
        self._values[rows] -= rate * (mean / (1 - 0.9**count)) / steepness


def learn_topics(phrases: Sequence[Phrase]) -> list[LogisticRegression]:
    """Learn which words are in a topic, begin one and end one."""
    features: list[int] = []
    ends = [0]
    wanted: list[tuple[bool, bool, bool]] = []
    for phrase in phrases:
        places = places_of(phrase)
        if not places:
            continue
        words = request_model.TOKEN.findall(own_words(phrase["text"])[0])
        for found in request_model.word_features(
            [request_model.plain(word) for word in words], phrase["label"]
        ):
            features += sorted(found)
            ends.append(len(features))
        for place, inside in enumerate(places):
            before = place > 0 and places[place - 1]
            after = place + 1 < len(places) and places[place + 1]
            wanted.append((inside, inside and not before, inside and not after))
    shape = (len(ends) - 1, 1 << request_model.BITS)
    rows = csr_matrix((np.ones(len(features)), features, ends), shape=shape)
    return [
        LogisticRegression(C=0.3, max_iter=200, solver="liblinear").fit(rows, column)
        for column in np.array(wanted).T
    ]


def places_of(phrase: Phrase) -> list[bool]:
    """Whether each word of a message is in its labelled topic; nothing if that is not in it."""
    said = own_words(phrase["text"])[0]
    text = request_model.plain(said)
    topic = request_model.plain(phrase.get("topic", ""))
    start = text.find(topic)
    known = phrase["label"] in WITH_TOPIC and topic and start >= 0
    # Folding that changes the length would shift the places.
    if not known or len(text) != len(said):
        return []
    return [
        start <= word.start() and word.end() <= start + len(topic)
        for word in request_model.TOKEN.finditer(said)
    ]


def as_integers(weights: np.ndarray) -> tuple[bytes, float]:
    """Weights by feature as bytes, and what one step is."""
    scale = float(np.quantile(np.abs(weights), 0.9999)) / 127
    return np.clip(np.round(weights / scale), -127, 127).astype(np.int8).tobytes(), scale


def learned_from(phrases: Sequence[Phrase], epochs: int) -> tuple[bytes, Mapping[str, object]]:
    """The model as `request_model.py` reads it: its weights, and what belongs to them."""
    networks = learn_kinds(phrases, epochs)
    places = learn_topics(phrases)
    vector_bytes, vector_scale = as_integers(np.hstack([one.vectors for one in networks]))
    # Side by side the networks are one, whose scores are the means of theirs.
    hidden = layer(
        block_diag(*[one.hidden for one in networks]),
        np.hstack([one.hidden_bias for one in networks]),
    )
    kind = layer(
        np.vstack([one.kind for one in networks]) / NETWORKS,
        np.mean([one.kind_bias for one in networks], axis=0),
    )
    place_bytes, place_scale = as_integers(np.hstack([one.coef_.T for one in places]))
    return vector_bytes + place_bytes, {
        "kinds": LABELS,
        "vector_scale": round(vector_scale, 8),
        "hidden": hidden,
        "kind": kind,
        "place_scale": round(place_scale, 6),
        "place_bias": [round(float(one.intercept_[0]), 4) for one in places],
    }


def layer(weights: np.ndarray, biases: np.ndarray) -> Mapping[str, list[object]]:
    """A layer as it is stored."""
    return {
        "weights": [[round(float(one), 4) for one in row] for row in weights.T],
        "biases": [round(float(one), 4) for one in biases],
    }


def use(weights: bytes, told: Mapping[str, object], folder: Path) -> None:
    """Write a model where the package reads it."""
    (folder / "request_model.bin").write_bytes(weights)
    (folder / "request_model.json").write_text(json.dumps(told) + "\n", "utf-8")
    request_model.model.cache_clear()


def figures(phrases: Sequence[Phrase]) -> str:
    """The share of each kind that is read right, topics included."""
    every = Counter(phrase["label"] for phrase in phrases)
    right = Counter(phrase["label"] for phrase in phrases if judged(phrase)[1])
    return ", ".join(f"{kind} {right[kind]} of {every[kind]}" for kind in LABELS if every[kind])


def main() -> None:
    """Measure each list by a model that has not seen it; write the model of all if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longmemeval", type=Path, required=True)
    parser.add_argument("--friendsqa", type=Path, required=True)
    parser.add_argument("--ordinary", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--measure", type=Path, nargs="*", default=LISTS[-2:])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    folder = Path(request_model.__file__).parent
    real = without_request([*users_say(asked.longmemeval), *people_say(asked.friendsqa)])
    others = [
        *without_request(written_elsewhere())[:MOST_OTHERS],
        *without_request(ordinary_messages(asked.ordinary)),
    ]
    for path in asked.measure:
        tested = read([path])
        unseen = {phrase["text"] for phrase in tested}
        seen = [one for one in read((*WRITTEN, *LISTS)) if one["text"] not in unseen]
        every = [*seen, *topics_alone(seen), *others, *real[::2]]
        use(*learned_from(every, asked.epochs), folder)
        false = [one["text"] for one in real[1::2] if not judged(one)[1]]
        print(f"{path.name}: {figures(tested)}; real messages {len(false)} of {len(real[1::2])}")
        for text in false[:5]:
            print("   ", text[:150].replace("\n", " "))
    if asked.write:
        seen = read((*WRITTEN, *LISTS))
        every = [*seen, *topics_alone(seen), *others, *real]
        use(*learned_from(every, asked.epochs), folder)


if __name__ == "__main__":
    main()
