"""How long a command in a project with 10,000 records takes, against `holdfast --version` in the
same run.

    python bench/records.py [--records 10000] [--rounds 15]

The bars: `holdfast recall` takes at most 6 times as long as `holdfast --version`; where nothing
changed no record is read, and where one file has, that one alone. What the processor did is told as
well: on a busy machine it is the surer number.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from common import finish, median, questions, timed
from holdfast import config
from holdfast.client import Holdfast
from holdfast.records.roots import RecordRoot, project_place
from hook import fill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "HOME": folder,
            "XDG_DATA_HOME": f"{folder}/data",
            "XDG_CONFIG_HOME": f"{folder}/config",
        }
        os.environ.update(environ, HOLDFAST_EMBEDDING_MODELS="static")
        project = Path(folder) / "shop"
        project.mkdir()
        fill(project, options.records)
        place = project_place(project)
        assert place is not None
        finish(commands(project, place, options.rounds) | following(place, options.rounds))


def opened(place: RecordRoot) -> Holdfast:
    """The project's memory, as a command opens it."""
    return Holdfast.open(
        config.default_store(), scope=place.scope, places=(place,), background=False
    )


def commands(project: Path, place: RecordRoot, rounds: int) -> dict[str, object]:
    """Cold commands, taking turns, so that a busy moment of the machine hits both."""
    with opened(place) as hf:
        hf.admin.reembed()
    times: dict[str, list[tuple[float, float]]] = {"version": [], "recall": []}
    for question in questions(rounds + 1):
        for name, words in (("version", ["--version"]), ("recall", ["recall", question])):
            times[name].append(run([sys.executable, "-m", "holdfast", *words], project))
    # The first ones fill the disk's cache.
    waited, worked = (
        {name: median([one[of] for one in each[1:]]) for name, each in times.items()}
        for of in (0, 1)
    )
    ratio = waited["recall"] / waited["version"]
    return {
        "milliseconds": {name: round(1e3 * value, 1) for name, value in waited.items()},
        "milliseconds of processor": {
            name: round(1e3 * value, 1) for name, value in worked.items()
        },
        "recall / version": round(ratio, 2),
        "recall / version, processor": round(worked["recall"] / worked["version"], 2),
        "met_recall_6": ratio <= 6,
    }


def run(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds that a command took, and those in which a processor worked for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    waited = timed(
        lambda: subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return waited, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def following(place: RecordRoot, rounds: int) -> dict[str, object]:
    """What it costs that files are the truth: nothing has changed, and one file has."""
    file = next(iter(sorted(place.records.rglob("*.md"))))
    with opened(place) as hf:
        hf.records.sync_files()
        unchanged = [timed(hf.records.sync_files) for _ in range(rounds)]
        read_of_none = hf.records.sync_files().read
        file.write_text(file.read_text("utf-8") + "\nAnd a second thought about it.\n", "utf-8")
        one = hf.records.sync_files()
    return {
        "following, ms": round(1e3 * median(unchanged), 1),
        "read when nothing changed": read_of_none,
        "read when one file changed": one.read,
        "met_none_read": read_of_none == 0,
        "met_one_read": (one.read, len(one.changed)) == (1, 1),
    }


if __name__ == "__main__":
    main()
