"""Recall quality on public question sets: the implementation of `holdfast bench`.

Every turn of a data set is captured as in normal use, each question goes through `Holdfast.recall`,
and the hits are compared with the gold turns. No language model is involved.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .client import Holdfast
from .config import Settings
from .errors import InvalidInput
from .models.embeddings.tiers import Tiers
from .text.token_count import count_tokens
from .types import Hit, Micros, from_datetime

# Recall@k is reported at these depths.
DEPTHS = (1, 5, 10, 20, 50)
# Tokens, for recall within a prompt's budget.
BUDGET = 1024
LOCOMO_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the time at which it is asked, and the turns that answer it."""

    id: str
    text: str
    now: Micros
    category: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pool:
    """Turns that are searched together, and the questions about them. `turns` carry the `key` of
    their data set.
    """

    name: str
    turns: Sequence[Mapping[str, Any]]
    questions: Sequence[Asked]


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a question: keys of the retrieved turns, best first, and how many fit the token
    budget.
    """

    asked: Asked
    ranked: tuple[str, ...]
    sessions: tuple[str, ...]
    gold_sessions: frozenset[str]
    fitting: int


def locomo(path: Path) -> Iterator[Pool]:
    """Read a LoCoMo file: one pool per conversation."""
    with _read_as(path):
        for number, sample in enumerate(_load(path, list), start=1):
            turns = list(_locomo_turns(sample["conversation"]))
            now = max(turn["event_time"] for turn in turns)
            known = {turn["key"] for turn in turns}
            questions = []
            for index, question in enumerate(sample["qa"]):
                gold = frozenset(_evidence(question.get("evidence") or [])) & known
                if gold:
                    category = LOCOMO_CATEGORIES[question["category"]]
                    questions.append(
                        Asked(f"{number}-{index}", str(question["question"]), now, category, gold)
                    )
            yield Pool(str(sample.get("sample_id", number)), turns, questions)


def _locomo_turns(conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    numbers = sorted(
        int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key)
    )
    for number in numbers:
        at = _locomo_time(conversation[f"session_{number}_date_time"])
        for turn in conversation[f"session_{number}"]:
            caption = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = (turn.get("text") or "") + caption
            yield {
                "key": turn["dia_id"],
                "session": f"D{number}",
                "role": "user",
                "author": turn["speaker"],
                "text": text,
                "event_time": at,
            }


def _locomo_time(text: str) -> Micros:
    at = datetime.strptime(text, "%I:%M %p on %d %B, %Y")
    return from_datetime(at.replace(tzinfo=UTC))


def _evidence(cells: Iterable[str]) -> Iterator[str]:
    """Parse turn ids from cells such as 'D8:6; D9:17' or 'D:11:26'."""
    for cell in cells:
        for session, turn in re.findall(r"D:?(\d+):(\d+)", cell):
            yield f"D{int(session)}:{int(turn)}"


def longmemeval(path: Path) -> Iterator[Pool]:
    """Read a LongMemEval file: one pool with all sessions. A session shared by several questions
    occurs once.
    """
    with _read_as(path):
        entries = _load(path, list)
        turns: dict[str, dict[str, Any]] = {}
        questions = []
        for entry in entries:
            gold = set()
            sessions = zip(
                entry["haystack_session_ids"],
                entry["haystack_dates"],
                entry["haystack_sessions"],
                strict=True,
            )
            for session, date, dialogue in sessions:
                at = _longmemeval_time(date)
                for position, turn in enumerate(dialogue):
                    key = f"{session}#{position}"
                    turns[key] = {
                        "key": key,
                        "session": session,
                        "role": turn["role"],
                        "text": turn["content"],
                        "event_time": at,
                    }
                    if turn.get("has_answer"):
                        gold.add(key)
            if gold:
                now = _longmemeval_time(entry["question_date"])
                category = entry["question_type"]
                questions.append(
                    Asked(entry["question_id"], entry["question"], now, category, frozenset(gold))
                )
        if turns:
            yield Pool("longmemeval", list(turns.values()), questions)


def _longmemeval_time(text: str) -> Micros:
    # Dates look like '2023/05/20 (Sat) 02:21'; the weekday is redundant.
    without_weekday = re.sub(r"\s*\(.*?\)\s*", " ", text)
    at = datetime.strptime(without_weekday, "%Y/%m/%d %H:%M")
    return from_datetime(at.replace(tzinfo=UTC))


@contextmanager
def _read_as(path: Path) -> Iterator[None]:
    """Translate the errors of reading another kind of file into InvalidInput."""
    try:
        yield
    except InvalidInput:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"{path} is not a file of this data set: {type(error).__name__} {error}."
        ) from error


def _load(path: Path, kind: type) -> Any:
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"Cannot read {path}: {error.strerror}.") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}.") from error
    if not isinstance(data, kind):
        raise InvalidInput(f"{path} does not hold a list of samples.")
    return data


DATASETS: Mapping[str, Callable[[Path], Iterator[Pool]]] = {
    "locomo": locomo,
    "longmemeval": longmemeval,
}


def evaluate(
    pools: Iterable[Pool],
    store: str | Path,
    settings: Settings,
    progress: Progress = lambda what, done: None,
    *,
    tiers: Tiers | None = None,
    deep: bool = False,
    min_score: float | None = 0.0,
) -> list[Answer]:
    """Load each pool into its own scope and ask its questions. `tiers` replaces the configured
    models. Without `min_score`, a question may find nothing.
    """
    answers = []
    clock = _Clock()
    for number, pool in enumerate(pools):
        with Holdfast.open(
            store, scope=f"project:bench-{number}", settings=settings, clock=clock, background=False
        ) as hf:
            hf.tiers = tiers or hf.tiers
            keys = _capture_pool(hf, pool, clock)
            if list(hf.tiers):
                hf.admin.reembed(
                    progress=lambda model, done: progress(f"embedding with {model}", done)
                )
            for asked in pool.questions:
                clock.now = asked.now
                hits = hf.recall(asked.text, limit=max(DEPTHS), min_score=min_score, deep=deep)
                answers.append(_answer(asked, hits, keys))
                progress("asking", 1)
    return answers


class _Clock:
    """Clock that is set by hand to the time of each question."""

    now: Micros = 0

    def __call__(self) -> Micros:
        return self.now


def _capture_pool(
    hf: Holdfast,
    pool: Pool,
    clock: _Clock,
) -> dict[str, tuple[str, str]]:
    """Capture a pool's turns; return key and session by memory id."""
    clock.now = max(turn["event_time"] for turn in pool.turns)
    keys: dict[str, tuple[str, str]] = {}
    wanted = [turn for turn in pool.turns if turn["text"].strip()]
    for turn in wanted:
        fields = {name: value for name, value in turn.items() if name != "key"}
        for memory in hf.capture_many([fields]):
            keys[memory.id] = (turn["key"], turn["session"])
    return keys


def _answer(
    asked: Asked,
    hits: Sequence[Hit],
    keys: Mapping[str, tuple[str, str]],
) -> Answer:
    found = [(keys[hit.memory.id][0], hit.memory.content) for hit in hits if hit.memory.id in keys]
    return answered(asked, found, dict(keys.values()))


def answered(
    asked: Asked,
    found: Sequence[tuple[str, str]],
    session_of: Mapping[str, str],
) -> Answer:
    """Score the turns in `found`, pairs of key and text, best first."""
    used = 0
    fitting = 0
    for _, text in found:
        used += count_tokens(text)
        if used > BUDGET:
            break
        fitting += 1
    ranked = tuple(key for key, _ in found)
    sessions = tuple(dict.fromkeys(session_of[key] for key in ranked))
    gold_sessions = frozenset(session_of[key] for key in asked.gold if key in session_of)
    return Answer(asked, ranked, sessions, gold_sessions, fitting)


def report(answers: Sequence[Answer]) -> dict[str, Any]:
    """Compute recall by depth, overall and per category, for turns and sessions."""
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups["all"].append(answer)
        groups[answer.asked.category].append(answer)
        if "adversarial" in LOCOMO_CATEGORIES.values() and answer.asked.category != "adversarial":
            groups["answerable"].append(answer)
    if len(groups["answerable"]) == len(groups["all"]):
        del groups["answerable"]
    return {
        "questions": len(answers),
        "turns": {name: _turn_figures(group) for name, group in groups.items()},
        "sessions": {name: _session_figures(group) for name, group in groups.items()},
    }


def _turn_figures(answers: Sequence[Answer]) -> dict[str, float]:
    figures: dict[str, float] = {"questions": len(answers)}
    for depth in DEPTHS:
        figures[f"R@{depth}"] = _mean(_share(a.asked.gold, a.ranked[:depth]) for a in answers)
    figures[f"R@{BUDGET} tokens"] = _mean(
        _share(a.asked.gold, a.ranked[: a.fitting]) for a in answers
    )
    return figures


def _session_figures(answers: Sequence[Answer]) -> dict[str, float]:
    figures: dict[str, float] = {"questions": len(answers)}
    # A data set has few sessions per question, so depth 50 would say nothing.
    for depth in (1, 5, 10, 20):
        shares = [_share(answer.gold_sessions, answer.sessions[:depth]) for answer in answers]
        figures[f"R@{depth}"] = _mean(shares)
        figures[f"any@{depth}"] = _mean(float(share > 0) for share in shares)
        figures[f"all@{depth}"] = _mean(float(share == 1) for share in shares)
    return figures


def _share(gold: frozenset[str], found: Sequence[str]) -> float:
    return len(gold & set(found)) / len(gold) if gold else 0.0


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return round(sum(numbers) / len(numbers), 4) if numbers else 0.0


def per_question(answers: Iterable[Answer]) -> Iterator[str]:
    """Format one JSON line per question with its gold turns and its results."""
    for answer in answers:
        asked = answer.asked
        line: dict[str, Any] = {
            "id": asked.id,
            "question": asked.text,
            "category": asked.category,
            "gold": sorted(asked.gold),
            "ranked": list(answer.ranked[:20]),
        }
        for depth in DEPTHS:
            line[f"R@{depth}"] = round(_share(asked.gold, answer.ranked[:depth]), 4)
        yield json.dumps(line, ensure_ascii=False)
