"""The benchmark of sizes: texts that repeat, phases that go on where they stopped, growth that is
named, and a page that says what the script computes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "bench"
sys.path.append(str(BENCH))  # behind everything else: nothing of ours may hide another's module

import due_jobs  # noqa: E402
import scale  # noqa: E402
import scale_growth  # noqa: E402
import scale_model  # noqa: E402
import scale_phases  # noqa: E402
import scale_store  # noqa: E402
from generated_conversations import EACH, TURNS, Conversations, person, texts  # noqa: E402

SAID = (
    "Hey Bob! I ran 12 miles on Monday. It was great.",
    "Well done, Ann! My sister paints boats.",
    "Which colours does she like? I adore green.",
    "Blue and 3 shades of red. We sail in June.",
)


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo10.json"
    turns = [
        {"speaker": ("Ann", "Bob")[place % 2], "dia_id": f"D1:{place}", "text": text}
        for place, text in enumerate(SAID)
    ]
    sample = {
        "conversation": {"speaker_a": "Ann", "speaker_b": "Bob", "session_1": turns},
        "qa": [{"question": "What does Bob's sister paint?", "category": 4}],
    }
    path.write_text(json.dumps([sample]))
    return path


def test_conversations_repeat_and_differ_by_owner_and_session(locomo: Path) -> None:
    one, again = Conversations(locomo), Conversations(locomo)
    assert one.session(3, 5) == again.session(3, 5)
    assert one.session(3, 5) != one.session(3, 6) != one.session(4, 6)
    every = list(texts(one, 0, 100))
    assert every == list(texts(again, 0, 100)) and len(every) == 100
    # Its people are others than LoCoMo's, and so are its numbers.
    assert not any("Ann!" in text or "Bob!" in text for text in every)
    assert len({person(number) for number in range(20_000)}) == 20_000
    assert {word for text in every for word in text.split()} & {"boats.", "sail", "adore"}
    (question,) = one.questions(0, 5, 1)
    assert question.endswith("'s sister paint?") and "Bob" not in question


def test_without_the_data_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"locomo10\.json \(snap-research/locomo"):
        Conversations(tmp_path / "nothing.json")
    done = subprocess.run(
        [sys.executable, BENCH / "scale.py", "--locomo", tmp_path / "nothing.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and "name its file with --locomo" in done.stderr


@pytest.mark.parametrize("step", ["x100", "10", "0x100", "10xmany"])
def test_a_step_that_is_none_is_refused(step: str) -> None:
    with pytest.raises(SystemExit, match="OWNERSxMEMORIES"):
        scale.steps_of("file", step)


@pytest.mark.parametrize(("kind", "owners"), [("file", 1), ("scopes", 3)])
def test_every_phase_of_a_small_store(tmp_path: Path, locomo: Path, kind: str, owners: int) -> None:
    store = scale_store.Store(kind, owners, 2 * EACH, tmp_path, locomo)
    figures = {name: phase(store) for name, phase in scale_phases.PHASES.items()}
    assert 0 < figures["size"]["stored"] <= store.memories
    assert figures["doctor"]["findings"] == 0
    assert figures["size"]["journal_bytes_per_memory"] > 0
    assert {"home", "totals", "entities", "changes"} <= figures["pages"]["each"].keys()
    assert figures["recall"]["times_floor_processor"] > 0
    assert figures["plans"]["scopes"] == owners
    # Each owner has one vector job and two sessions to read, and these stay to be done.
    assert figures["plans"]["due"] >= 2 * owners
    # Neither the copy, nor what was imported, nor the bundle is left.
    left = {path.name for path in tmp_path.glob(f"{store.name}*")}
    assert not any("copy" in name or "into" in name or "jsonl" in name for name in left)
    row = scale_growth.row(owners, 2 * EACH, figures)
    assert "ingest" in scale_growth.table([row], [])


def test_an_ingest_that_was_interrupted_goes_on(
    tmp_path: Path, locomo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale_phases, "SESSIONS", 1)
    store = scale_store.Store("file", 1, 4 * EACH, tmp_path, locomo)
    session, asked = Conversations.session, []

    def stopping(source: Conversations, owner: int, number: int) -> object:
        if number == 2 and number not in asked:
            asked.append(number)
            raise KeyboardInterrupt
        asked.append(number)
        return session(source, owner, number)

    monkeypatch.setattr(Conversations, "session", stopping)
    with pytest.raises(KeyboardInterrupt):
        scale_phases.ingest(store)
    scale_phases.ingest(store)
    assert asked == [0, 1, 2, 2, 3]
    with store.open() as hf:
        assert len(hf.list(kinds=["turn"], limit=None)) == 4 * TURNS
        assert len(hf.store.sessions.list(hf.scopes)) == 4


def test_a_run_measures_what_is_not_there_and_writes_it(tmp_path: Path, locomo: Path) -> None:
    work, written = tmp_path / "work", tmp_path / "scale.json"
    command = [sys.executable, BENCH / "scale.py", "--locomo", locomo, "--work", work]
    command += ["--steps", "1x20,1x40", "--phases", "ingest,size", "--write", written]
    # The exit code tells of growth, which means nothing at such sizes.
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "0/4 file-1x20 ingest" in first.stderr and "4/4 done" in first.stderr
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "file-1x20" not in again.stderr  # Everything was there.
    (series,) = json.loads(written.read_text())["series"]
    rows = series["rows"]
    assert [row["memories"] for row in rows] == [20, 40]
    assert rows[1]["phases"]["size"]["bytes"] > 0
    subprocess.run([*command, "--remove"], check=True)
    assert {path.name for path in work.iterdir()} == {"file-1x20.json", "file-1x40.json"}


def costing(memories: int, seconds: float, page: float = 0.0) -> scale_growth.Figures:
    phases = {
        "doctor": {"processor_seconds": seconds},
        "pages": {"each": {"home": {"processor_seconds": page}}},
    }
    return scale_growth.row(1, memories, phases)


def test_what_grows_faster_than_n_log_n_is_named() -> None:
    rows = [costing(10_000, 2.0, 0.1), costing(100_000, 24.0, 8.0)]
    grown = {one["what"]: one for one in scale_growth.growth(rows)}
    assert not grown["doctor"]["faster_than_n_log_n"]  # 10 × log 100,000 / log 10,000 is 12.5
    assert grown["page home"]["faster_than_n_log_n"] and grown["page home"]["exponent"] == 1.9
    assert "page home" in scale_growth.table(rows, scale_growth.growth(rows))
    # A thousandth of a second that becomes a hundredth says nothing.
    (short,) = [
        one
        for one in scale_growth.growth([costing(10, 1.0, 1e-5), costing(100, 1.0, 0.01)])
        if one["what"] == "page home"
    ]
    assert not short["faster_than_n_log_n"]


def test_what_is_still_to_wait_follows_from_smaller_steps() -> None:
    small, large = scale.Step("file", 1, 1000), scale.Step("file", 1, 10_000)
    known = {small.name: {"doctor": {"phase_seconds": 3.0}}}

    def figures(step: scale.Step) -> dict[str, scale_growth.Figures]:
        return known.get(step.name, {})

    steps = [small, large]
    assert scale_growth.estimate([(large, "doctor")], figures, steps) == 30.0
    assert scale_growth.estimate([(large, "ingest")], figures, steps) is None


@pytest.fixture(scope="module")
def measured() -> scale_growth.Figures:
    found: scale_growth.Figures = json.loads(scale_model.MEASURED.read_text("utf-8"))
    return found


def test_the_page_says_what_the_script_computes(measured: scale_growth.Figures) -> None:
    page = scale_model.PAGE.read_text("utf-8")
    assert scale_model.page_with(measured, page) == page, "run bench/scale_model.py --write"


def test_the_simulation_follows_from_the_constants(measured: scale_growth.Figures) -> None:
    known = scale_model.constants(measured)
    assumed = scale_model.Assumed()
    found = scale_model.simulate(known, assumed)
    assert found["bytes"] == pytest.approx(
        assumed.memories * (known.bytes_per_memory + known.vector_bytes * 1.5)
    )
    assert found["databases"] * found["owners_per_database"] >= assumed.owners
    bounds = scale_model.limits(known, assumed)
    assert (found["breaks_first"], found["breaks_then"]) == (bounds[0].what, bounds[1].what)
    assert found["databases_without_that"] <= found["databases"]
    assert [one.owners for one in bounds] == sorted(one.owners for one in bounds)
    # Half the disk bears half the owners.
    (disk, half) = (
        next(one.owners for one in scale_model.limits(known, those) if one.what == "disk")
        for those in (assumed, scale_model.Assumed(disk=assumed.disk / 2))
    )
    assert half == pytest.approx(disk / 2)


def test_a_dash_is_what_was_not_run(measured: scale_growth.Figures) -> None:
    rows = [scale_growth.row(1, 20, {"doctor": {"processor_seconds": 1.0}})]
    machine = {"cores": 2, "processor": "x86_64", "memory_gb": 25}
    series = {"store": "file", "machine": machine, "rows": rows, "growth": []}
    told = scale_model.measured_text(measured | {"series": [series]})
    assert "| SQLite, one scope; 2 cores, x86_64 | 1 × 20 |" in told
    assert "| doctor, core s | 1.0 |" in told and "ingest" not in told
    with pytest.raises(SystemExit, match="has no ingest on Postgres"):
        scale_model.constants({"series": [series | {"store": "postgres"}]})


def test_figures_of_another_machine_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, rows = tmp_path / "scale.json", [costing(10, 1.0)]
    here = scale.machine()
    scale.write(written, "file", rows, [])
    monkeypatch.setattr(scale, "machine", lambda: here | {"processor": "another"})
    scale.write(written, "file", rows, [])
    scale.write(written, "file", [*rows, costing(100, 2.0)], [])
    series = json.loads(written.read_text())["series"]
    assert [len(one["rows"]) for one in series] == [1, 2]
    assert [one["machine"]["processor"] for one in series] == [here["processor"], "another"]


def test_several_processes_fill_a_store_together(tmp_path: Path, locomo: Path) -> None:
    store = scale_store.Store("scopes", 3, 2 * EACH, tmp_path, locomo, writers=2)
    assert scale_phases.ingest(store)["writers"] == 2
    assert scale_phases.embed(store)["writers"] == 2
    with store.open() as hf:
        counts = [len(hf.scoped(f"user:{owner}").list(limit=None)) for owner in range(3)]
        assert min(counts) > TURNS
        (model,) = hf.tiers
        assert not hf.store.vectors.missing(model.identity, 10)


def test_owners_are_copied_on_a_server(tmp_path: Path, locomo: Path, postgres_url: str) -> None:
    base = postgres_url.rsplit("/", 1)[0] + "/postgres"
    store = scale_store.Store(
        "postgres", 3, EACH, tmp_path, locomo, url=base, originals=1, writers=1
    )
    scale_phases.ingest(store)
    scale_phases.embed(store)
    assert scale_phases.copies(store)["owners"] == 2
    assert scale_phases.copies(store)["owners"] == 2  # Those that are there are left alone.
    with store.open() as hf:
        first, copied = (hf.scoped(f"user:{owner}") for owner in (0, 2))
        assert [one.content for one in copied.list(limit=None)] == [
            one.content for one in first.list(limit=None)
        ]
        (question,) = store.source.questions(0, 1, 1)
        answers = [[hit.memory.id for hit in each.recall(question)] for each in (first, copied)]
        assert answers[0] == answers[1]
        assert not hf.admin.check()


def test_the_texts_of_an_owner_can_be_cut_anywhere(locomo: Path) -> None:
    source = Conversations(locomo)
    whole = list(texts(source, 1, 60))
    assert list(islice(texts(source, 1, 45), 45)) == whole[:45]


def test_due_jobs_are_measured_in_a_store_that_is_taken_away() -> None:
    with due_jobs.places("sqlite") as place:
        at, meter = place(due_jobs.CLAIMS)
        figures = due_jobs.measure(at, meter, due_jobs.CLAIMS)
        assert at.exists()
    assert not at.exists()
    assert set(figures) == {"first", "idle", "changed", "ten", "claim"}
    assert figures["idle"]["statements"] < figures["ten"]["statements"]
