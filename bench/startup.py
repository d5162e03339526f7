"""How long starting takes, as ratios in one run.

    python bench/startup.py [--rounds 30]

The bars: `import holdfast` at most 5 times, `holdfast --version` at most 8 times `python -c pass`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from common import finish, median, timed

COMMANDS = {
    "pass": [sys.executable, "-c", "pass"],
    "import": [sys.executable, "-c", "import holdfast"],
    "version": [sys.executable, "-m", "holdfast", "--version"],
    "help": [sys.executable, "-m", "holdfast", "--help"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):  # taking turns, so that a busy moment of the machine hits all of them
        for name, command in COMMANDS.items():
            run = lambda command=command: subprocess.run(  # noqa: E731
                command, check=True, stdout=subprocess.DEVNULL
            )
            times[name].append(timed(run))
    ratio = {
        name: round(median(values) / median(times["pass"]), 2) for name, values in times.items()
    }
    finish(
        {
            "milliseconds": {
                name: round(median(values) * 1e3, 1) for name, values in times.items()
            },
            "ratio": ratio,
            "met_import_5": ratio["import"] <= 5,
            "met_version_8": ratio["version"] <= 8,
        }
    )


if __name__ == "__main__":
    main()
