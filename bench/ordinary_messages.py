"""How many ordinary messages are taken for a request to the memory: forget, pause, remember ….

    python bench/ordinary_messages.py FILE …          text files with a message a line
    python bench/ordinary_messages.py --show FILE …   also prints those of the half `dev`

`training/ordinary_messages.py` collects such files from public conversations in seven languages.
The half `dev` was learned from, the half `kept` was not and is never shown.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from control_phrases import half_of
from holdfast.agents.utterance import heard_as


def main() -> None:
    """Prints a line for each file, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="print those of the half dev")
    given = parser.parse_args()
    every: Counter[str] = Counter()
    taken: Counter[tuple[str, str]] = Counter()
    for file in given.files:
        here: Counter[str] = Counter()
        for message in file.read_text("utf-8").splitlines():
            half = half_of(message)
            every[half] += 1
            kind, topic = heard_as(message)
            if kind != "none":
                here[half] += 1
                taken[half, kind] += 1
                if given.show and half == "dev":
                    print(f"  {kind} | {topic} | {message}")
        print(f"{file.stem:<28} dev {here['dev']:>4}   kept {here['kept']:>4}")
    for half in ("dev", "kept"):
        kinds = {kind: count for (one, kind), count in sorted(taken.items()) if one == half}
        print(f"{half}: {sum(kinds.values())} of {every[half]} messages {kinds}")


if __name__ == "__main__":
    main()
