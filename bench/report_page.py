"""The page of `bench/report.py`: figures in, Markdown out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Kept = Mapping[str, Any]

SERVES = {
    "default": "**Holdfast**, both local models (the default)",
    "deep": "**Holdfast**, both local models, `deep=True`",
    "static": "**Holdfast**, the quick model only (the first seconds)",
    "none": "**Holdfast**, words only",
    "static-rrf": "Holdfast, the quick model, `fusion = rrf`",
}
RULES = {
    "extraction": ("facts found in turns", "facts"),
    "dedup": ("the same statement recognised", "same"),
    "secrets": ("secrets hidden", "secrets"),
}
CAPTURE_MODES = {
    "as it comes": "SQLite as it comes (rollback journal, waits for the disk)",
    "full": "both with a write-ahead log and `synchronous = FULL`",
    "normal": "both with a write-ahead log and `synchronous = NORMAL`, as Holdfast runs",
}


def page(parts: Kept, left_out: Mapping[str, str], *, quick: bool = False) -> str:
    """The whole report."""
    sections = [
        _head(parts, quick=quick),
        _locomo(parts),
        _longmemeval(parts),
        _relevance(parts),
        _peers(parts),
        _latency(parts),
        _writing(parts),
        _rules(parts),
        _learning(parts),
        _ran(parts, left_out),
    ]
    return "\n\n".join(section.strip() for section in sections if section) + "\n"


def _head(parts: Kept, *, quick: bool) -> str:
    latest = max(parts.values(), key=lambda part: part["date"], default={"machine": {}})
    machine = ", ".join(latest["machine"].values())
    warning = (
        "**A quick sample: it shows that the report works. Its figures mean nothing.**\n\n"
        if quick
        else ""
    )
    return f"""# Report

{warning}Written by one command, from a checkout:

{_command("make report DATA=DIR", "python bench/report.py --data DIR")}

`DIR` holds LoCoMo's `locomo10.json` and a LongMemEval file. No language model takes part
anywhere. The machine: {machine}.

Times depend on the machine and on what else it does, so they are given as ratios to what was
measured in the same run, turn by turn; how busy the machine was stands at the end.
[docs/benchmarks.md](../docs/benchmarks.md) says how the figures are made and what they are
worth."""


def _locomo(parts: Kept) -> str:
    rows = [[name, *_locomo_cells(report)] for name, report in _reports(parts, "locomo")]
    if not rows:
        return ""
    columns = (
        "R@1",
        "R@5",
        "R@10",
        "R@20",
        "R@10, five categories",
        "session any@5",
        "session R@10",
        "in 1,024 tokens",
    )
    commands = _command(
        "holdfast bench locomo DIR/locomo10.json [--deep]",
        "holdfast bench locomo DIR/locomo10.json --models static",
        "holdfast bench locomo DIR/locomo10.json --models none",
        "holdfast bench locomo DIR/locomo10.json --models static --fusion rrf",
        "python bench/report.py --data DIR --only rankings-locomo",
    )
    return f"""## Does recall find the evidence? LoCoMo

The share of the turns that answer a question among the first k hits, over all questions with
known evidence. Each conversation is searched on its own. R@k and the share within 1,024 tokens of
context are for categories 1–4, the session figures for all five. Nothing was trained on LoCoMo.

{_table(["ranking", *columns], rows)}

The rankings below Holdfast are the ones that the memories it grew out of prescribe: FTS5 as it
reads a question when left alone (every word must be there), and reciprocal rank fusion of words
and vectors. So that it is not too easy, FTS5 is there with any word too, and with stems and
without stop words, which is also what it brings to its second fusion. Each turn is one document,
`Speaker: text`; "the quick model" is memory-static-8M2, "the better model" memory-embed-s3 in int8.
Hardly any turn holds all words of a question, so fusing FTS5's default with vectors is nearly
vectors alone.

{commands}
{_categories(parts)}"""


def _categories(parts: Kept) -> str:
    if "recall-locomo-default" not in parts:
        return ""
    turns = parts["recall-locomo-default"]["figures"]["turns"]
    depths = [f"R@{depth}" for depth in (1, 5, 10, 20, 50)]
    rows = [
        [name, own["questions"], *(_share(own[depth]) for depth in depths)]
        for name, own in turns.items()
    ]
    return (
        "\nBy category, with both local "
        f"models:\n\n{_table(['category', 'questions', *depths], rows)}"
    )


def _reports(parts: Kept, dataset: str) -> Iterable[tuple[str, Any]]:
    """The figures of our own variants, then of the plain rankings."""
    for variant, name in SERVES.items():
        if f"recall-{dataset}-{variant}" in parts:
            yield name, parts[f"recall-{dataset}-{variant}"]["figures"]
    yield from parts.get(f"rankings-{dataset}", {"figures": {}})["figures"].items()


def _locomo_cells(report: Any) -> list[str]:
    four = report["turns"].get("answerable", report["turns"]["all"])
    five, sessions = report["turns"]["all"], report["sessions"]["all"]
    values = [four[f"R@{depth}"] for depth in (1, 5, 10, 20)]
    values += [five["R@10"], sessions["any@5"], sessions["R@10"], four["R@1024 tokens"]]
    return [_share(value) for value in values]


def _longmemeval(parts: Kept) -> str:
    rows = [[name, *_longmemeval_cells(report)] for name, report in _reports(parts, "longmemeval")]
    if not rows:
        return ""
    columns = (
        "turn R@5",
        "turn R@10",
        "turn R@20",
        "session any@5",
        "session all@5",
        "in 1,024 tokens",
    )
    commands = _command(
        (
            "holdfast bench longmemeval DIR/longmemeval_dev150.json [--deep] "
            "[--models static|none] [--fusion rrf]"
        ),
        "python bench/report.py --data DIR --only rankings-longmemeval",
    )
    return f"""## Does recall find the evidence? LongMemEval

All sessions of the file in one pool, so each question is put to thousands of turns. "any" is one
session that answers, "all" is every one. Our weights were trained on these questions, so for
Holdfast this is not a held-out figure: figures for other
kinds of memory, with weights that did not see them, are in
[docs/benchmarks.md](../docs/benchmarks.md).

{_table(["ranking", *columns], rows)}

{commands}"""


def _longmemeval_cells(report: Any) -> list[str]:
    turns, sessions = report["turns"]["all"], report["sessions"]["all"]
    values = [turns[f"R@{depth}"] for depth in (5, 10, 20)]
    values += [sessions["any@5"], sessions["all@5"], turns["R@1024 tokens"]]
    return [_share(value) for value in values]


def _relevance(parts: Kept) -> str:
    if "relevance" not in parts:
        return ""
    own = parts["relevance"]["figures"]
    asked, found = own["asked"], own["found something"]
    return f"""## Does recall know when there is nothing to say?

Each conversation of LoCoMo is asked its own questions, and opening messages of LongMemEval's
sessions with an assistant, which have nothing to do with it. Of {asked["answerable"]:,} questions
that have an answer {_share(found["answerable"])} find something (bar: 0.97 or more); of
{asked["prompt"]:,} such messages {_share(found["prompt"])} do (bar: 0.05 or less).
[docs/benchmarks.md](../docs/benchmarks.md) has the AUROC of the gate by kind of question, and what
a score is worth.

{_command("python bench/relevance.py DIR/locomo10.json DIR/longmemeval_dev150.json")}"""


COMPARED = {
    "locomo": (
        "LoCoMo",
        _locomo_cells,
        (
            "R@1",
            "R@5",
            "R@10",
            "R@20",
            "R@10, five",
            "session any@5",
            "session R@10",
            "1,024 tokens",
        ),
    ),
    "longmemeval": (
        "LongMemEval",
        _longmemeval_cells,
        ("turn R@5", "turn R@10", "turn R@20", "session any@5", "session all@5", "1,024 tokens"),
    ),
}


def _peers(parts: Kept) -> str:
    names = [name for name in COMPARED if f"peers-{name}" in parts]
    if not names:
        return ""
    compared = {name: parts[f"peers-{name}"]["figures"] for name in names}
    tables = "\n\n".join(_compared(name, figures) for name, figures in compared.items())
    notes = "\n".join(f"- {line}" for line in _notes(compared))
    return f"""## Beside other memories

Each in an environment and a process of its own, on the same turns and the same questions; the ids
that come back are scored by the same code. All of them were open at the same time and got each
question one after the other. Vectors came from one endpoint on loopback, which serves the same
model, memory-embed-s3, to everybody and knows which texts are questions. Peers were given one
string for each turn, `Speaker: text`, and one user, wing, namespace or collection for each
conversation. Everything else is their default. Proxies that lead nowhere kept them off the
network. Holdfast's weights were trained on LongMemEval's questions and never on LoCoMo's, so
LoCoMo is the comparison that counts.

{tables}

What each was given:

{notes}

"Taking in" is a conversation at a time, searchable when it is done; the vectors of the shared
model were there already. "A question" wants ten hits and includes the model's reading of the
question, which is the same for everybody; "search" is the rest. Both are the middle of what each
of sixty questions took as a multiple of what it took Holdfast.

{_command(*(f"python bench/report.py --data DIR --only peers-{name}" for name in names))}"""


def _compared(name: str, figures: Any) -> str:
    title, cells, columns = COMPARED[name]
    stand = {peer: own for peer, own in figures["peers"].items() if peer not in figures["failed"]}
    ratios = "adding_ratio", "asking_ratio", "searching_ratio"
    rows = [
        [peer, *cells(own["report"]), *(_times(own[key]) for key in ratios)]
        for peer, own in stand.items()
    ]
    lines = [
        f"{peer} could not be measured: {reason}" for peer, reason in figures["failed"].items()
    ]
    ours = next(iter(stand.values()), None)
    if ours:
        each = ours["adding_seconds"] / figures["texts"] * 1e3
        lines.append(
            f"{figures['texts']:,} texts. Holdfast took in 1,000 of them in {each:.1f} s and "
            "answered a question in "
            f"{ours['asking_ms']:.0f} ms, of which search took {ours['searching_ms']:.0f} ms."
        )
    times = "taking in, × ours", "a question, × ours", "search, × ours"
    return "\n\n".join([f"### {title}", _table(["memory", *columns, *times], rows), *lines])


def _notes(compared: Mapping[str, Any]) -> list[str]:
    notes = {}
    for figures in compared.values():
        for peer, own in figures["peers"].items():
            versions = ", ".join(
                f"{package} {version}" for package, version in own["versions"].items()
            )
            notes[peer] = f"{peer} ({versions}): {own['note']}."
    return list(notes.values())


def _latency(parts: Kept) -> str:
    measured = [part["figures"] for name, part in parts.items() if name.startswith("latency-")]
    runs = sorted(measured, key=lambda run: run["memories"])
    if not runs:
        return ""
    rows = [
        [
            f"{run['memories']:,}",
            _times(run["times_floor"]),
            f"{run['p50_ms']:.0f}",
            f"{run['p95_ms']:.0f}",
            f"{run['floor_p50_ms']:.1f}",
            f"{run['cold_ms']:,.0f}",
            f"{run['rss_mb']:,}",
        ]
        for run in runs
    ]
    columns = (
        "memories",
        "× the floor",
        "p50 ms",
        "p95 ms",
        "floor ms",
        "first question ms",
        "RSS MB",
    )
    sizes = ",".join(str(run["memories"]) for run in runs)
    return f"""## How long does recall take?

One scope, conversations of twenty turns, vectors of the quick model, a warm process. The floor is
measured between our recalls: one question embedded, one scan of the same vectors with numpy, one
bare FTS5 query for any word over the same texts. That is the work of reciprocal rank fusion
before anything is fused, fetched, weighed or explained.

{_table(columns, rows)}

{_command(f"python bench/recall.py --sizes {sizes} --scopes 1")}
{_deep_reading(parts)}"""


def _deep_reading(parts: Kept) -> str:
    if "deep-reading" not in parts:
        return ""
    own = parts["deep-reading"]["figures"]
    return f"""
Deep recall reads the {own["candidates"]} best candidates together with the question. That takes
{own["p50_ms"]:.0f} ms here (bar: 250 on two cores), {own["times_embedding"]:.0f} times what it
takes to embed the question.

{_command("python bench/reranker.py DIR/locomo10.json")}"""


def _writing(parts: Kept) -> str:
    texts = [
        write(parts[name]["figures"])
        for name, write in (("ingest", _ingest), ("capture", _capture))
        if name in parts
    ]
    return "\n\n".join(["## How fast is writing?", *texts]) if texts else ""


def _ingest(own: Any) -> str:
    return f"""\
{own["texts"]:,} short texts through `remember_many`, 1,000 a call: {own["ratio"]:.2f} times the
rate of a bare insert of the same rows with FTS5, 100 a transaction
({own["holdfast_per_second"]:,} beside {own["bare_per_second"]:,} a second).

{_command(f"python bench/ingest.py --count {own['texts']}")}"""


def _capture(own: Any) -> str:
    rows = [
        [
            CAPTURE_MODES[mode],
            _times(ratio),
            own["capture_microseconds"][mode],
            own["bare_microseconds"][mode],
        ]
        for mode, ratio in own["ratio"].items()
    ]
    return f"""\
One turn at a time, entities and all, on a store that holds {own["stored"]:,}, beside a bare
insert of the same row with an FTS5 trigger in a transaction of its own. As Holdfast runs, 99 in
100 took less than {own["p99_milliseconds"]:.1f} ms.

{_table(["how both wait", "× a bare insert", "µs", "bare µs"], rows)}

{_command(f"python bench/capture.py --stored {own['stored']} --turns {own['turns']}")}"""


def _rules(parts: Kept) -> str:
    found = [
        (what, method, count, own)
        for name, (what, count) in RULES.items()
        for method, own in parts.get(name, {"figures": {}})["figures"].items()
    ]
    if "notes" in parts:
        held_out = parts["notes"]["figures"]["held_out"]
        found.append(("notes found in coding sessions", "the rules", "notes", held_out))
    rows = [
        [what, method, own[count], _share(own["precision"]), _share(own["recall"])]
        for what, method, count, own in found
    ]
    if not rows:
        return ""
    commands = _command(
        "python bench/extraction.py",
        "python bench/dedup.py --half held-out",
        "python bench/secret_scan.py",
        "python bench/notes.py",
        "python bench/report.py --only extraction --only dedup --only secrets --only notes",
    )
    return f"""## What are the rules worth that need no model?

Held-out halves of labelled sets that we wrote (of the secrets, all), so these figures say that
the rules do what they are meant to do; they were chosen to be hard: many pairs differ in one
number, name or "not". Beside them what the memories before Holdfast did: word sets alike to 0.75
or 0.85 and a cosine of 0.92 for repeated facts, three patterns for secrets. For facts they asked
a language model; what can be had without one is every sentence.

{_table(["what", "method", "to be found", "precision", "recall"], rows)}

{commands}"""


WHERE = {
    "assistant": "people and an assistant (LongMemEval)",
    "people": "between people (LoCoMo 1–3)",
    "scenes": "scenes of a comedy (FriendsQA)",
    "languages": "six other languages",
}
LABELS = ("event", "fact", "plan", "preference", "relation", "must")


def _learning(parts: Kept) -> str:
    texts = [
        write(parts[name]["figures"])
        for name, write in (
            ("learning", _learned),
            ("observations", _observed),
            ("changes", _changed),
            ("learned-recall", _recalled),
            ("titles", _titled),
        )
        if name in parts
    ]
    if not texts:
        return ""
    names = ("learning", "observations", "changes", "learned-recall", "titles")
    commands = _command(
        "python bench/learning.py --data DIR --friends DIR/FriendsQA",
        "python bench/learning.py --data DIR --observations",
        "python bench/changes.py",
        "python bench/learned_recall.py DIR/locomo10.json --pools 3",
        "python bench/titles.py --data DIR",
        "python bench/report.py --data DIR " + " ".join(f"--only {name}" for name in names),
    )
    return "\n\n".join(
        ["## What is learned from conversations that nobody here wrote?", *texts, commands]
    )


def _learned(own: Any) -> str:
    measures = ("stored", "precision", "useful", "trivial", "unresolved", "wrong", "garbage")
    rows = [
        [
            WHERE.get(name, name),
            one["stored"],
            *(_share(one[measure]) for measure in measures[1:]),
            one["facts"],
            _share(one["recall"]["all"]),
            *(_share(one["recall"].get(label)) for label in LABELS),
        ]
        for name, one in own.items()
    ]
    columns = ("", *measures, "to be found", "recall", *LABELS)
    return f"""\
The half of the labelled conversations that was only counted. Each stored statement was labelled by
somebody who read the conversation and knew nothing of the extractor: useful; trivial, so that
nobody needs it weeks later; unresolved, so that it cannot be understood alone; wrong; or garbage.
Precision is the share of the first two, which are correct and can be understood alone. Recall is of
all facts that were labelled in these turns, by kind, and of what certainly matters ("must"); a fact
is found if a correct statement holds it.

{_table(columns, rows)}"""


def _observed(own: Any) -> str:
    return f"""\
LoCoMo's conversations 4 to 10, which nobody here has read, come with {own["observations"]:,} notes
of their own. A stored fact of the same speaker holds half of the content words of
{_share(own["recall"])} of them; of {own["stored"]:,} stored facts,
{_share(own["from_a_cited_turn"])} come from a turn that a note cites."""


PAIRS = {
    "given": "129 pairs that were given",
    "own": "270 of our own, in seven languages",
    "test": "260 of a test set, in seven languages",
}
ENDINGS = {
    "supersede": "replaced, so superseded",
    "fulfilled": "a plan carried out, so fulfilled",
    "repeat": "said again, so renewed",
}


def _changed(own: Any) -> str:
    rows = [
        [PAIRS[source], wording, *(_share(found[ending][key]) for key in ("precision", "recall"))]
        for source, found in own.items()
        for ending, wording in ENDINGS.items()
    ]
    return f"""\
What becomes of an earlier statement when the same person says a later one. Superseding should be
right in 0.95 of the cases and find 0.6 of them. Thresholds were chosen by the first two sets; the
third was only counted.

{_table(("", "the later statement says it is", "precision", "recall"), rows)}"""


def _recalled(own: Any) -> str:
    names = ("turns", "turns, facts and summaries")
    measures = ("R@5", "R@10", "tokens per context", "share of relevant tokens")
    rows = [[name, *(own[name][measure] for measure in measures)] for name in names]
    return f"""\
Recall of the turns that answer {own["turns"]["questions"]:,} questions of LoCoMo, before and after
the sessions were read ({own["memories"].get("fact", 0):,} facts):

{_table(("", *measures), rows)}"""


def _titled(own: Any) -> str:
    rows = [
        [
            WHERE.get(name, name).partition(",")[0],
            one["sessions"],
            one["titles_that_name_nothing"],
            one["themes"],
            one["themes_that_name_nothing"],
        ]
        for name, one in own.items()
    ]
    columns = ("", "sessions", "titles that name nothing", "themes", "themes that name nothing")
    return f"""\
Titles and themes of sessions that consist of greetings, thanks, cheers and praise:

{_table(columns, rows)}"""


def _ran(parts: Kept, left_out: Mapping[str, str]) -> str:
    rows = [
        [name, part["date"], f"{part['seconds']:,}", part["load"]] for name, part in parts.items()
    ]
    missing = "\n".join(f"- Not measured: {name}: {reason}." for name, reason in left_out.items())
    return f"""## How this page was made

{_table(["part", "measured on", "seconds", "load average"], rows)}

{missing}"""


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _command(*lines: str) -> str:
    return "```text\n" + "\n".join(lines) + "\n```"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
