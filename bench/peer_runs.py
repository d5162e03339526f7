"""Other memories on the same turns, questions and scoring, each in an environment of its own.

Every peer is a process that speaks as `peers/wire.py` says. All of them are open at the same time
and each question is put to one after the other, so that a busy moment of the machine hits all of
them. Vectors come from one endpoint on loopback; no peer can reach anything else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import median
from holdfast.benchmark import DEPTHS, Answer, Asked, Pool, answered, report
from rankings import document, spoken
from vectors import Vectors, served

FOLDER = Path(__file__).parent / "peers"
TIMED = 60  # questions that are asked again to see how long they take
TIMED_LIMIT = 10  # hits that are wanted then, as in use

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Listed:
    """A peer: its file, what is installed for it (nothing: it runs where the report runs), and what
    to know of it.
    """

    name: str
    file: str
    requirements: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    note: str = ""


PEERS = (
    Listed(
        "Holdfast",
        "holdfast_memory.py",
        note="given turns: speaker, session and date beside the text, as it is used",
    ),
    Listed(
        "Holdfast, plain texts",
        "holdfast_memory.py",
        arguments=("--plain",),
        note="given the same strings as the peers, through `remember_many`",
    ),
    Listed(
        "mem0, infer=False",
        "mem0_memory.py",
        ("mem0ai>=2.2,<3", "qdrant-client>=1.12,<2"),
        note="Qdrant in a local folder, in its client's local mode; its keyword arm needs an "
        "extra and a model that it "
        "downloads, so vectors alone rank",
    ),
    Listed(
        "MemPalace",
        "mempalace_drawers.py",
        ("mempalace>=3.11,<4",),
        note="a wing for each conversation, a drawer for each text, with the date of the turn; its "
        "search with its fixed weights for cosine and BM25; its own embedding models are "
        "downloaded at first use, so it was given the shared one, as it allows",
    ),
    Listed(
        "LangGraph InMemoryStore",
        "langgraph_store.py",
        ("langgraph>=1.2,<2", "numpy>=1.26"),
        note="an index over the text; held in memory only, nothing is written to disk",
    ),
    Listed(
        "Chroma",
        "chroma.py",
        ("chromadb>=1.5,<2",),
        note="a persistent client, one collection for each conversation, cosine distance",
    ),
    Listed(
        "Chroma, dates in the texts",
        "chroma.py",
        ("chromadb>=1.5,<2",),
        ("--dates",),
        note="the same, and each text begins with the day on which it was said",
    ),
)


def environment(peer: Listed, folder: Path) -> Path:
    """The Python that has the peer installed; made at the first call."""
    if not peer.requirements:
        return Path(sys.executable)
    home = folder / Path(peer.file).stem
    python, stamp = home / "bin" / "python", home / "installed.txt"
    wanted = "\n".join(peer.requirements)
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        uv = shutil.which("uv")
        make = (
            [uv, "venv", "--quiet", "--python", sys.executable]
            if uv
            else [sys.executable, "-m", "venv"]
        )
        install = (
            [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
        )
        for command in ([*make, home], [*install, "--quiet", *peer.requirements]):
            subprocess.run(
                command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        stamp.write_text(wanted)
    return python


class Failed(Exception):
    """A peer could not do what it was asked; the message is its own."""


@dataclass(slots=True)
class Running:
    """A peer that is open, and what it did so far."""

    listed: Listed
    process: subprocess.Popen[str]
    versions: dict[str, str] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    adding: float = 0.0
    asking: list[float] = field(default_factory=list)
    searching: list[float] = field(default_factory=list)
    """The same without the time that the model took for the question."""
    error: str = ""

    def request(self, do: str, **fields: Any) -> dict[str, Any]:
        """The answer to one request. Raises Failed where there is none."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def close(self) -> None:
        """Ends the process; it goes when its input ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def started(peer: Listed, python: Path, folder: Path) -> Iterator[Running]:
    """A peer in a process of its own, with a home of its own and no way out of this machine."""
    folder.mkdir(parents=True)
    nowhere = "http://127.0.0.1:9"  # the port that nobody listens on
    environ = {
        **os.environ,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "http_proxy": nowhere,
        "https_proxy": nowhere,
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    if peer.requirements:
        environ.pop("PYTHONPATH", None)  # what is there is ours
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [python, FOLDER / peer.file, *peer.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            encoding="utf-8",
            env=environ,
        )
        running = Running(peer, process)
        try:
            yield running
        finally:
            running.close()
            assert process.stdout is not None
            process.stdout.close()


def compare(
    pools: Sequence[Pool],
    vectors: Vectors,
    *,
    dimensions: int,
    model: str,
    envs: Path,
    folder: Path,
    peers: Sequence[Listed] = PEERS,
    told: Told = lambda what: None,
) -> dict[str, Any]:
    """Figures of every peer on these pools; of one that failed, what it said."""
    vectors.expect(asked.text for pool in pools for asked in pool.questions)
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        url = stack.enter_context(served(vectors))
        open_: list[Running] = []
        for number, peer in enumerate(peers):
            told(f"installing and opening {peer.name}")
            try:
                running = stack.enter_context(
                    started(peer, environment(peer, envs), folder / str(number))
                )
                start = {"folder": str(folder / str(number)), "embeddings": url}
                running.versions = running.request(
                    "open", **start, model=model, dimensions=dimensions
                )["versions"]
                open_.append(running)
            except (Failed, subprocess.CalledProcessError) as error:
                failed[peer.name] = _reason(error)
        for number, pool in enumerate(pools):
            told(f"{pool.name}: embedding")
            vectors.of(
                [
                    text
                    for turn in spoken(pool)
                    for text in (document(turn), turn["text"], dated(turn))
                ]
            )
            _fill(open_, number, pool, told)
            _question(open_, number, pool, told)
        _time(open_, pools, vectors, told)
        return {
            "texts": sum(len(spoken(pool)) for pool in pools),
            "peers": {running.listed.name: _figures(running, open_[0]) for running in open_},
            "failed": failed
            | {running.listed.name: running.error for running in open_ if running.error},
        }


def replaced(before: Mapping[str, Any], found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The figures from `before`, with those of one peer from a later run in which it was alone with
    us.
    """
    failed = {peer: reason for peer, reason in before["failed"].items() if peer != name}
    peers = dict(before["peers"])
    if name in found["peers"]:
        own = found["peers"][name]
        peers[name] = {
            **own,
            "note": f"{own['note']}; measured in a later run, beside Holdfast alone",
        }
    return {**before, "peers": peers, "failed": failed | found["failed"]}


def _reason(error: Failed | subprocess.CalledProcessError) -> str:
    """The line of an error that says most: an installer's comes last."""
    text = (
        str(error.stderr or error)
        if isinstance(error, subprocess.CalledProcessError)
        else str(error)
    )
    return text.strip().splitlines()[-1][:300] if text.strip() else type(error).__name__


def _each(open_: Sequence[Running], do: Callable[[Running], None]) -> None:
    """Does something with every peer that still stands; one that fails is asked no more."""
    for running in open_:
        if not running.error:
            try:
                do(running)
            except Failed as error:
                running.error = _reason(error)


def _fill(open_: Sequence[Running], number: int, pool: Pool, told: Told) -> None:
    turns = [
        {**turn, "said": turn["text"], "text": document(turn), "dated": dated(turn)}
        for turn in spoken(pool)
    ]

    def fill(running: Running) -> None:
        told(f"{pool.name}: {running.listed.name} takes in {len(turns)} texts")
        running.adding += running.request("add", owner=_owner(number), turns=turns)["seconds"]

    _each(open_, fill)


def dated(turn: Mapping[str, Any]) -> str:
    """The text of a turn behind the day on which it was said."""
    day = datetime.fromtimestamp(turn["event_time"] / 1e6, UTC)
    return f"{day:%d %B %Y}, {document(turn)}"


def _owner(number: int) -> str:
    return f"conversation-{number}"


def _question(open_: Sequence[Running], number: int, pool: Pool, told: Told) -> None:
    text_of = {turn["key"]: turn["text"] for turn in pool.turns}
    session_of = {turn["key"]: turn["session"] for turn in spoken(pool)}

    def ask(running: Running, asked: Asked) -> None:
        ranked = running.request("ask", **_asked(number, asked, max(DEPTHS)))["ranked"]
        running.answers.append(answered(asked, [(key, text_of[key]) for key in ranked], session_of))

    told(f"{pool.name}: {len(pool.questions)} questions")
    for asked in pool.questions:
        _each(open_, lambda running, asked=asked: ask(running, asked))


def _asked(number: int, asked: Asked, limit: int) -> Mapping[str, Any]:
    return {"owner": _owner(number), "text": asked.text, "limit": limit, "now": asked.now}


def _time(open_: Sequence[Running], pools: Sequence[Pool], vectors: Vectors, told: Told) -> None:
    """Asks some questions of every pool again, one peer after the other; each embeds them anew."""
    told("timing")
    vectors.questions_anew = True
    every = [(number, asked) for number, pool in enumerate(pools) for asked in pool.questions]

    def ask(running: Running, number: int, asked: Asked) -> None:
        before = vectors.seconds
        seconds = running.request("ask", **_asked(number, asked, TIMED_LIMIT))["seconds"]
        running.asking.append(seconds)
        running.searching.append(seconds - (vectors.seconds - before))

    for number, asked in every[:: max(1, len(every) // TIMED)]:
        _each(open_, lambda running, number=number, asked=asked: ask(running, number, asked))
    vectors.questions_anew = False


def _figures(running: Running, ours: Running) -> dict[str, Any]:
    return {
        "versions": running.versions,
        "note": running.listed.note,
        "report": report(running.answers),
        "adding_seconds": round(running.adding, 3),
        "adding_ratio": round(running.adding / ours.adding, 2) if ours.adding else None,
        "asking_ms": round(median(running.asking) * 1e3, 2) if running.asking else None,
        "asking_ratio": _ratio(running.asking, ours.asking),
        "searching_ms": round(median(running.searching) * 1e3, 2) if running.searching else None,
        "searching_ratio": _ratio(running.searching, ours.searching),
    }


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> float | None:
    """The middle of how many times as long as ours each question took."""
    shared = list(zip(theirs, ours, strict=False))
    return round(median([one / other for one, other in shared]), 2) if shared else None
