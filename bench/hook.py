"""How long a host waits for a hook, on a store with 10,000 records, against `holdfast --version` in
the same run.

    python bench/hook.py [--records 10000] [--rounds 20]

The bar: no answer takes longer than 300 ms, and every start and prompt is told something, all of it
in time. On a machine so crowded that `holdfast --version` alone takes longer than 50 ms, the first
is six times that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import finish, median, questions, texts, timed
from holdfast import config
from holdfast.client import Holdfast
from holdfast.records.roots import init_project

TOLD = ("SessionStart", "UserPromptSubmit")
EVENTS = (*TOLD, "Stop", "SessionEnd")
CATEGORIES = ("decisions", "procedures", "principles", "incidents", "preferences")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "HOME": folder,
            "XDG_DATA_HOME": f"{folder}/data",
            "XDG_CONFIG_HOME": f"{folder}/config",
        }
        os.environ.update(environ)
        project = Path(folder) / "shop"
        project.mkdir()
        fill(project, options.records)
        finish(measured(project, options.rounds))


def fill(project: Path, count: int) -> None:
    """Records as files of a project, followed once, as the first command in it does."""
    place = init_project(project)
    for number, text in enumerate(texts(count)):
        folder = place.records / CATEGORIES[number % len(CATEGORIES)]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"rec_{number:018}-x.md").write_text(f"---\nid: rec_{number:018}\n---\n{text}\n")
    with Holdfast.open(
        config.default_store(), scope=place.scope, places=(place,), background=False
    ) as hf:
        hf.records.sync_files()
        hf.recall("What about the garden?")  # embeds them


def measured(project: Path, rounds: int) -> dict[str, object]:
    """Milliseconds by command, taking turns, so that a busy moment of the machine hits all of
    them.
    """
    version = [sys.executable, "-m", "holdfast", "--version"]
    times: dict[str, list[float]] = {"version": [], **{event: [] for event in EVENTS}}
    told = dict.fromkeys(TOLD, 0)
    for question in questions(rounds):
        times["version"].append(
            1e3 * timed(lambda: subprocess.run(version, check=True, stdout=subprocess.DEVNULL))
        )
        for event in EVENTS:
            start = time.perf_counter()
            answer = answered(event, project, question)
            times[event].append(1e3 * (time.perf_counter() - start))
            if event in TOLD:
                told[event] += "late memory" not in answer.decode() and bool(json.loads(answer))
    usual = median(times["version"])
    return {
        "milliseconds": {
            name: {"median": round(median(values), 1), "worst": round(max(values), 1)}
            for name, values in times.items()
        },
        "ratio": {name: round(median(values) / usual, 2) for name, values in times.items()},
        "told": {event: f"{count} of {rounds}" for event, count in told.items()},
        "met_in_time": max(max(times[event]) for event in EVENTS) <= max(300, 6 * usual),
        "met_told": all(count == rounds for count in told.values()),
    }


def answered(event: str, project: Path, prompt: str) -> bytes:
    """What a hook answers."""
    said = {
        "session_id": "s",
        "transcript_path": None,
        "cwd": str(project),
        "prompt": prompt,
        "source": "startup",
    }
    run = [sys.executable, "-m", "holdfast", "hook", "run", event]
    return subprocess.run(
        run, input=json.dumps(said).encode(), check=True, stdout=subprocess.PIPE
    ).stdout


if __name__ == "__main__":
    main()
