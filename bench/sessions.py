"""Past sessions taken in: how much memory that takes, and what a second time costs.

    python bench/sessions.py [--sessions 1000] [--megabytes 50]

Sessions in the format of Claude Code, in a home of their own, imported by the command twice. The
bar: at most 300 MB of memory, and the second time, when nothing is new, at most 5 % of the first
one's time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from common import finish, texts, timed

PROJECTS = 20
COMMANDS = ("pytest -q", "make lint", "git diff --stat", "cargo build", "npm test", "rg TODO src")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--megabytes", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        written = write_sessions(home, options.sessions, options.megabytes * 1_000_000)
        first = timed(lambda: take_in(home))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        second = timed(lambda: take_in(home))
        stored = sum(file.stat().st_size for file in (home / "data").rglob("*") if file.is_file())
    finish(
        {
            "sessions": options.sessions,
            "megabytes": round(written / 1e6, 1),
            "first_seconds": round(first, 1),
            "megabytes_per_second": round(written / 1e6 / first, 2),
            "second_seconds": round(second, 2),
            "second_share": round(second / first, 4),
            "peak_rss_megabytes": round(peak),
            "store_megabytes": round(stored / 1e6, 1),
            "met_300_megabytes": peak <= 300,
            "met_5_percent": second <= 0.05 * first,
        }
    )


def take_in(home: Path) -> None:
    """The command, in a process of its own."""
    own = {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "HOLDFAST_EMBEDDING_MODELS": "none",
    }
    command = [sys.executable, "-m", "holdfast", "import", "--all", "--yes", "--json"]
    subprocess.run(
        command, env={**os.environ, **own}, check=True, stdout=subprocess.DEVNULL, cwd=home
    )


def write_sessions(home: Path, count: int, size: int) -> int:
    """So many sessions of so many bytes together, of twenty projects; how many bytes there are."""
    chance, said, written = random.Random(5), texts(10**9, seed=5), 0
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    for number in range(count):
        cwd = home / "src" / f"project-{number % PROJECTS}"
        cwd.mkdir(parents=True, exist_ok=True)
        folder = home / ".claude" / "projects" / str(cwd).replace("/", "-").replace(".", "-")
        folder.mkdir(parents=True, exist_ok=True)
        session = f"{number:08x}-0000-4000-8000-{chance.getrandbits(48):012x}"
        lines, length, place = [], 0, 0
        while length < size // count:
            place += 1
            record = _record(
                session,
                cwd,
                place,
                start + timedelta(hours=number, seconds=20 * place),
                said,
                chance,
            )
            lines.append(json.dumps(record))
            length += len(lines[-1]) + 1
        (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n")
        written += length
    return written


def _record(session, cwd, place, at, said, chance) -> dict[str, object]:  # type: ignore[no-untyped-def]
    """One line of a transcript: a person, the agent, a call of a tool, its result."""
    who = ("user", "assistant", "assistant", "user")[place % 4]
    if place % 4 == 2:
        call = {
            "type": "tool_use",
            "id": f"t{place}",
            "name": "Bash",
            "input": {"command": chance.choice(COMMANDS)},
        }
        content: object = [{"type": "text", "text": next(said)}, call]
    elif place % 4 == 3:
        output = "\n".join(next(said) for _ in range(chance.randint(3, 20)))
        content = [{"type": "tool_result", "tool_use_id": f"t{place - 1}", "content": output}]
    else:
        content = " ".join(next(said) for _ in range(chance.randint(1, 6)))
    return {
        "type": who,
        "uuid": f"{session}-{place}",
        "parentUuid": f"{session}-{place - 1}" if place > 1 else None,
        "sessionId": session,
        "cwd": str(cwd),
        "version": "2.1.0",
        "isSidechain": False,
        "gitBranch": "main",
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "message": {"role": who, "content": content},
    }


if __name__ == "__main__":
    main()
