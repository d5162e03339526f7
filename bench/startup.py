"""How long starting takes, as ratios in one run.

    python bench/startup.py [--rounds 30]

The bars: `import holdfast` at most 5 times, `holdfast --version` at most 8 times `python -c pass`;
the first screen of `holdfast chat` at most 1.5 times the processor time of importing Textual, which
draws it. Needs the extra `agent`, and bytecode that Python has written before or may write.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from common import finish, median, timed

COMMANDS = {
    "pass": [sys.executable, "-c", "pass"],
    "import": [sys.executable, "-c", "import holdfast"],
    "version": [sys.executable, "-m", "holdfast", "--version"],
    "help": [sys.executable, "-m", "holdfast", "--help"],
}
TEXTUAL = "import textual.app; from textual.widgets import Footer, TextArea; print('ready')"
CHAT = [sys.executable, "-m", "holdfast", "chat", "role.yaml"]
# Each command with the words that end its measurement.
SCREENS = {
    "textual": ([sys.executable, "-c", TEXTUAL], "ready"),
    "chat_first_line": (CHAT, "Starting role.yaml"),
    "chat_first_screen": (CHAT, "Say something"),
}
ROLE = """\
apiVersion: holdfast/v1
kind: Agent
metadata: {name: ann}
spec:
  role: You help.
  model: {provider: offline}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    # Without bytecode every start would compile Textual again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    used: dict[str, list[float]] = {name: [] for name in SCREENS}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "role.yaml").write_text(ROLE)
        for command, words in SCREENS.values():  # Python writes the bytecode
            processor_time(command, words, folder)
        for _ in range(rounds):  # taking turns, so that a busy moment of the machine hits all
            for name, command in COMMANDS.items():
                run = lambda command=command: subprocess.run(  # noqa: E731
                    command, check=True, stdout=subprocess.DEVNULL
                )
                times[name].append(timed(run))
            for name, (command, words) in SCREENS.items():
                used[name].append(processor_time(command, words, folder))
    ratio = {
        name: round(median(values) / median(times["pass"]), 2) for name, values in times.items()
    }
    # The best of all rounds: other work on the machine only ever adds.
    to_textual = {
        name: round(min(values) / min(used["textual"]), 2) for name, values in used.items()
    }
    finish(
        {
            "milliseconds": {
                name: round(median(values) * 1e3, 1) for name, values in times.items()
            },
            "ratio": ratio,
            "processor_milliseconds": {
                name: round(min(values) * 1e3, 1) for name, values in used.items()
            },
            "ratio_to_textual": to_textual,
            "met_import_5": ratio["import"] <= 5,
            "met_version_8": ratio["version"] <= 8,
            "met_chat_1_5": to_textual["chat_first_screen"] <= 1.5,
        }
    )


def processor_time(command: list[str], words: str, folder: str) -> float:
    """Seconds of processor time until a command in a terminal has shown these words."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while words.encode() not in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown):
            shown += os.read(ours, 65_536)
    except OSError:
        raise SystemExit(f"{command} ended without {words!r}: {shown!r}") from None
    finally:
        process.send_signal(signal.SIGKILL)
        # Not `process.wait`, which does not tell what the process has used.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        os.close(ours)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
