"""Every figure in one page, beside plain rankings and other memories: writes `bench/report.md`.

    python bench/report.py --data DIR [--only PART]… [--fresh] [--peer NAME] [--quick]
                           [--write FILE]

`DIR` holds `locomo10.json` and `longmemeval*.json`, anywhere below it; what is not there is left
out, and the page says so. Each part runs in a process of its own and leaves its figures in
`--work`, so a run that was interrupted goes on where it stopped; `--fresh` measures again what
`--only` names, or everything. `--list` names the parts. `--quick` is a small sample of everything
but the peers, to see that it works; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "bench" / "report.md"
WORK = ROOT / "build" / "report"
DEEP = "deep"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
# What serves, and how it is asked for: `holdfast bench` with --models and --fusion.
VARIANTS = {
    "default": ("static,encoder", "learned"),
    DEEP: ("static,encoder", "learned"),
    "static": ("static", "learned"),
    "none": ("none", "learned"),
    "static-rrf": ("static", "rrf"),
}
MODEL = "memory-embed-s3"
LEARNED_POOLS = 3  # conversations; each is asked twice, and read whole in between

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked for."""

    data: Path | None
    work: Path
    quick: bool = False
    peer: str = ""

    def dataset(self, name: str) -> Path | None:
        """The file of a data set, wherever it is below the data folder."""
        pattern = {"locomo": "locomo10.json", "longmemeval": "longmemeval*.json"}[name]
        return next(iter(sorted(self.data.rglob(pattern))), None) if self.data else None

    def pools(self, name: str) -> list[Any]:
        """The conversations of a data set; one of them where a sample will do."""
        from holdfast.benchmark import DATASETS

        path = self.dataset(name)
        assert path is not None, f"no file of {name}"
        return list(islice(DATASETS[name](path), 1 if self.quick else None))


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is measured on its own. `dataset` is the data it cannot do without."""

    name: str
    measure: Callable[[Options], Figures]
    dataset: str = ""
    sample: bool = True
    """Whether a quick run takes part."""


def recall(name: str, variant: str, options: Options) -> Figures:
    """Holdfast's own figures on a data set; the same as `holdfast bench`, but no text is embedded
    twice.
    """
    from holdfast import Settings
    from holdfast.benchmark import evaluate, report
    from holdfast.models.embeddings.static import StaticEmbedder
    from holdfast.models.embeddings.tiers import Tiers

    models, fusion = VARIANTS[variant]
    tiers = (
        Tiers.of(StaticEmbedder(), _vectors(options, _encoder())) if "encoder" in models else None
    )
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        settings = Settings(embedding_models=models, fusion=fusion)
        answers = evaluate(
            options.pools(name),
            Path(folder) / "bench.db",
            settings,
            Counted(),
            tiers=tiers,
            deep=variant == DEEP,
        )
    return report(answers)


def rankings(name: str, options: Options) -> Figures:
    """The figures of plain rankings on a data set."""
    from holdfast.benchmark import report
    from holdfast.models.embeddings.static import StaticEmbedder
    from rankings import answers

    models = {"the quick model": _vectors(options, StaticEmbedder())}
    if not options.quick:
        models["the better model"] = _vectors(options, _encoder())
    return {
        ranking: report(found) for ranking, found in answers(options.pools(name), models).items()
    }


def peers(name: str, options: Options) -> Figures:
    """The figures of other memories on a data set, and ours beside them."""
    from peer_runs import PEERS, compare, replaced

    chosen = [peer for peer in PEERS if peer is PEERS[0] or options.peer in ("", peer.name)]
    with tempfile.TemporaryDirectory(prefix="holdfast-peers-") as folder:
        found = compare(
            options.pools(name),
            _vectors(options, _encoder()),
            dimensions=_encoder().dimensions,
            model=MODEL,
            envs=options.work / "environments",
            folder=Path(folder),
            peers=chosen,
            told=_say,
        )
    before = kept_figures(options).get(f"peers-{name}")
    return replaced(before["figures"], found, options.peer) if options.peer and before else found


def _encoder() -> Any:
    from holdfast.models.embeddings.onnx import OnnxEmbedder

    return OnnxEmbedder()


def _vectors(options: Options, embedder: Any) -> Any:
    from vectors import Vectors

    return Vectors(options.work / "vectors.db", embedder)


def latency(size: int, options: Options) -> Figures:
    """One recall among `size` memories."""
    from recall import measure

    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        return (
            measure(Path(folder), size // 20, 1, asked=5)
            if options.quick
            else measure(Path(folder), size, 1)
        )


def deep_reading(options: Options) -> Figures:
    """Twenty candidates read by the reranker."""
    from reranker import measure

    path = options.dataset("locomo")
    assert path is not None
    return measure(path, 40)


def relevance(options: Options) -> Figures:
    """Whether recall knows when there is nothing to say."""
    from relevance import EACH, measure

    locomo, longmemeval = options.dataset("locomo"), options.dataset("longmemeval")
    assert locomo is not None
    assert longmemeval is not None, "prompts come from LongMemEval"
    return measure(locomo, longmemeval, "static,encoder", EACH)


def ingest(options: Options) -> Figures:
    """Bulk writing."""
    from ingest import measure

    return measure(2_000 if options.quick else 100_000)


def capture(options: Options) -> Figures:
    """One turn at a time."""
    from capture import measure

    return measure(500, 40) if options.quick else measure(100_000, 2_000)


def extraction(_: Options) -> Figures:
    """Facts found by rules, beside keeping every sentence."""
    import extraction as bench

    rows = [row for row in bench.read() if bench.held_out(row)]
    finders = {
        "the rules": bench.by_rules,
        "every sentence that a person says": bench.every_sentence,
    }
    return {
        name: {"turns": len(rows), **bench.figures(bench.counted(rows, find).values())}
        for name, find in finders.items()
    }


def dedup(_: Options) -> Figures:
    """The same statement recognised, beside the ladders before ours."""
    import dedup as bench

    pairs = [pair for pair in bench.read() if pair.held_out]
    ours = {
        "the ladder, by words": bench.judge(pairs, lambda pair: None),
        "the ladder, with vectors of the quick model": bench.judge(pairs, bench.cosines(pairs)),
    }
    return {name: bench.figures(verdicts) for name, verdicts in (ours | bench.seeds(pairs)).items()}


def secrets(_: Options) -> Figures:
    """Secrets hidden, beside the three patterns that were there before."""
    from holdfast.text.secrets import redact
    from secret_scan import measure, seed_redact

    return {"the scanner": measure(redact), "three patterns": measure(seed_redact)}


def notes(_: Options) -> Figures:
    """What coding sessions teach."""
    from notes import measure, read

    return measure(read())


def learning(options: Options) -> Figures:
    """What is learned from conversations, by labels of the half that is only for testing."""
    import learning as bench
    from fact_labels import read

    assert options.data is not None
    friends = options.data / "FriendsQA"
    labelled = read(options.data, friends if friends.is_dir() else None)
    bench.use(_vectors(options, _encoder()))
    scores = bench.score([one for one in labelled if one.held_out])
    return {name: one.figures() for name, one in scores.items()}


def observations(options: Options) -> Figures:
    """What is learned of LoCoMo's conversations 4 to 10, beside the notes that came with them."""
    import learning as bench

    path = options.dataset("locomo")
    assert path is not None
    bench.use(_vectors(options, _encoder()))
    return bench.observations(path)


def changes(_: Options) -> Figures:
    """What becomes of an earlier statement when a later one is said."""
    from changes import FILES, measured, pairs_of
    from holdfast.models.reranker import Reranker

    pairs = list(pairs_of())
    read = Reranker().changes
    return {
        source: measured([pair for pair in pairs if pair.source == source], read)
        for source in FILES
    }


def learned_recall(options: Options) -> Figures:
    """Recall of LoCoMo's first conversations with and without what was learned."""
    from learned_recall import measure

    path = options.dataset("locomo")
    assert path is not None
    return measure(path, "static,encoder", LEARNED_POOLS)


def titles(options: Options) -> Figures:
    """Titles and themes of sessions that name no topic."""
    from holdfast.extraction.judge import judge_of
    from holdfast.extraction.rules import RuleExtractor
    from holdfast.models.embeddings.tiers import Tiers
    from titles import of_folder

    assert options.data is not None
    tiers = Tiers.of(_vectors(options, _encoder()))
    return of_folder(options.data, RuleExtractor(judge=judge_of(tiers)))


PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        *(
            Part(
                f"recall-{name}-{variant}",
                partial(recall, name, variant),
                name,
                sample="encoder" not in VARIANTS[variant][0],
            )
            for name in ("locomo", "longmemeval")
            for variant in VARIANTS
        ),
        *(
            Part(f"rankings-{name}", partial(rankings, name), name)
            for name in ("locomo", "longmemeval")
        ),
        *(
            Part(f"peers-{name}", partial(peers, name), name, sample=False)
            for name in ("locomo", "longmemeval")
        ),
        Part("relevance", relevance, "longmemeval", sample=False),
        *(Part(f"latency-{size}", partial(latency, size), sample=size <= 10_000) for size in SIZES),
        Part("deep-reading", deep_reading, "locomo", sample=False),
        Part("ingest", ingest),
        Part("capture", capture),
        Part("extraction", extraction),
        Part("dedup", dedup),
        Part("secrets", secrets),
        Part("notes", notes),
        Part("learning", learning, "longmemeval", sample=False),
        Part("observations", observations, "locomo", sample=False),
        Part("changes", changes, sample=False),
        Part("learned-recall", learned_recall, "locomo", sample=False),
        Part("titles", titles, "locomo", sample=False),
    )
}


class Counted:
    """Says now and then how far a part has come."""

    def __init__(self) -> None:
        self._done: dict[str, int] = {}

    def __call__(self, what: str, steps: int) -> None:
        before = self._done.get(what, 0)
        self._done[what] = before + steps
        if before // 500 < self._done[what] // 500:
            _say(f"{what}: {self._done[what]}")


def _say(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


def run_part(name: str, options: Options) -> None:
    """Measures a part in this process and keeps its figures."""
    start, busy = time.perf_counter(), os.getloadavg()[0]
    figures = PARTS[name].measure(options)
    kept = {
        "figures": figures,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - start),
        "load": round((busy + os.getloadavg()[0]) / 2, 1),
        "machine": machine(),
    }
    place = figures_file(name, options)
    place.with_suffix(".part").write_text(json.dumps(kept, indent=1), "utf-8")
    place.with_suffix(".part").replace(place)


def figures_file(name: str, options: Options) -> Path:
    """Where the figures of a part are kept."""
    folder = options.work / ("quick" if options.quick else "parts")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.json"


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    import platform

    import apsw

    return {
        "system": f"{platform.system()} on {platform.machine()}",
        "cores": f"{os.cpu_count()} cores",
        "python": f"Python {platform.python_version()}",
        "sqlite": f"SQLite {apsw.sqlite_lib_version()}",
    }


def run_all(
    names: Sequence[str], options: Options, arguments: Sequence[str], *, fresh: bool
) -> dict[str, str]:
    """Runs what is missing, each part in its own process; returns what could not be measured, and
    why.
    """
    left_out: dict[str, str] = {}
    for number, name in enumerate(names, start=1):
        place = figures_file(name, options)
        dataset = PARTS[name].dataset
        if dataset and options.dataset(dataset) is None:
            left_out[name] = f"no file of {dataset} was given"
            continue
        if place.exists() and not fresh:
            continue
        print(f"[{number}/{len(names)}] {name}", file=sys.stderr, flush=True)
        ended = subprocess.run([sys.executable, __file__, *arguments, "--part", name], check=False)
        if ended.returncode:
            left_out[name] = f"it ended with exit code {ended.returncode}"
    return left_out


def kept_figures(options: Options) -> dict[str, Any]:
    """The figures of every part that was measured."""
    places = {name: figures_file(name, options) for name in PARTS}
    return {
        name: json.loads(place.read_text("utf-8"))
        for name, place in places.items()
        if place.exists()
    }


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder with the data sets")
    parser.add_argument(
        "--work", type=Path, default=WORK, help="where figures, vectors and environments are kept"
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, metavar="PART", help="measure this part only"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="measure again what was measured before"
    )
    parser.add_argument(
        "--peer", default="", metavar="NAME", help="measure this peer again, beside Holdfast alone"
    )
    parser.add_argument("--quick", action="store_true", help="a small sample, without peers")
    parser.add_argument(
        "--write", type=Path, help=f"the page to write (default: {PAGE.relative_to(ROOT)})"
    )
    parser.add_argument("--list", action="store_true", help="name the parts and end")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parsed(arguments)
    options = Options(asked.data, asked.work.absolute(), asked.quick, asked.peer)
    if asked.list:
        print("\n".join(PARTS))
        return 0
    options.work.mkdir(parents=True, exist_ok=True)
    if asked.part:
        run_part(asked.part, options)
        return 0
    names = asked.only or [name for name, part in PARTS.items() if part.sample or not asked.quick]
    given = [] if asked.data is None else ["--data", str(asked.data)]
    given += [
        "--work",
        str(options.work),
        "--peer",
        asked.peer,
        *(["--quick"] if asked.quick else []),
    ]
    left_out = run_all(names, options, given, fresh=asked.fresh)
    from report_page import page

    place = asked.write or (options.work / "quick.md" if asked.quick else PAGE)
    kept = kept_figures(options)
    missing = {name: "it was not run" for name in PARTS if name not in kept} | left_out
    place.write_text(page(kept, missing, quick=asked.quick), "utf-8")
    print(f"Wrote {place}.", file=sys.stderr)
    for name, reason in left_out.items():
        print(f"Not measured: {name}: {reason}.", file=sys.stderr)
    return 1 if any("exit code" in reason for reason in left_out.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
