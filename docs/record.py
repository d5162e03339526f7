"""Runs the terminal session of docs/how-to/role-files.md on a real terminal and puts it
into the page.

python docs/record.py            run it and write what was shown into the page
python docs/record.py --check    run it and fail if the page shows something else
"""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pyte

PAGE = Path(__file__).parent / "how-to" / "role-files.md"
BEGIN, END = "<!-- recorded: begin -->\n", "<!-- recorded: end -->\n"
COLUMNS, LINES = 100, 50
PROMPT = "> "
PATIENCE = 90  # seconds until the next thing must have been shown
HEARD = 10  # seconds until a key that does something has done it
CTRL_D = "\x04"

SESSION: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("holdfast agent init --name assistant --template memory", ()),
    (
        "holdfast agent run role.yaml -i",
        (
            "My sister Ines drives the van to Lisbon in April.",
            "Always answer in one short sentence.",
            "Who drives to Lisbon?",
            "/memory",
            CTRL_D,
        ),
    ),
    ("holdfast agent run role.yaml -i --resume", ("When does Ines drive?", CTRL_D)),
    ("holdfast agent memory list role.yaml", ()),
)


class Terminal:
    """A command on a terminal of its own, and what is on the screen."""

    def __init__(self, command: str, folder: Path, columns: int = COLUMNS) -> None:
        self.screen = pyte.Screen(columns, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            _, *arguments = shlex.split(command)
            os.chdir(folder)
            os.environ.update(_environment(folder))
            os.execv(sys.executable, [sys.executable, "-m", "holdfast", *arguments])
        ioctl(self._fd, TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        # A program that asks where the cursor is gets its answer as a terminal would give it.
        self.screen.write_process_input = lambda data: os.write(self._fd, data.encode())  # type: ignore[method-assign]

    def type(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def watch(self, seen: Callable[[], bool], patience: float = PATIENCE) -> bool:
        """Lets the program run until something is seen; False when it ended before."""
        deadline = time.monotonic() + patience
        while not seen():
            ready, _, _ = select.select([self._fd], [], [], 0.1)
            if ready:
                try:
                    data = os.read(self._fd, 65536)
                except OSError:
                    data = b""
                if not data:
                    return False
                self._stream.feed(data)
            elif time.monotonic() > deadline:
                raise TimeoutError("\n".join(self.screen.display))
        return True

    def asks(self) -> bool:
        """Whether it waits for the next prompt."""
        line = self.screen.display[self.screen.cursor.y]
        return line.rstrip() == PROMPT.rstrip() and self.screen.cursor.x == len(PROMPT)

    def acted(self) -> bool:
        """Waits until it does something about what was typed, or ends; False when it does not for a
        while.
        """
        try:
            self.watch(lambda: not self.asks(), patience=HEARD)
        except TimeoutError:
            return False
        return True

    def shown(self) -> str:
        lines = [line.rstrip() for line in self.screen.display]
        return "\n".join(lines).strip("\n")

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _environment(folder: Path) -> dict[str, str]:
    home = str(folder / "home")
    for name in [
        name for name in os.environ if name.endswith("_API_KEY") or name.startswith("HOLDFAST_")
    ]:
        del os.environ[name]
    # The terminal has a width of its own.
    os.environ.pop("COLUMNS", None)
    return {
        "HOME": home,
        "XDG_DATA_HOME": f"{home}/data",
        "XDG_CONFIG_HOME": f"{home}/config",
        "TERM": "xterm",
    }


def record() -> str:
    """The whole session as it was shown, with what differs from run to run replaced."""
    parts = []
    with tempfile.TemporaryDirectory() as place:
        for command, prompts in SESSION:
            terminal = perform(command, prompts, Path(place))
            parts.append(f"$ {command}\n{terminal.shown()}")
        return settled("\n\n".join(parts), place)


def perform(
    command: str, prompts: tuple[str, ...], folder: Path, columns: int = COLUMNS
) -> Terminal:
    """Runs a command to its end and types the prompts into it; the terminal as it was left."""
    terminal = Terminal(command, folder, columns)
    for prompt in prompts:
        if not terminal.watch(terminal.asks):
            raise RuntimeError(terminal.shown())
        terminal.type(prompt if prompt == CTRL_D else f"{prompt}\r")
        while not terminal.acted() and prompt == CTRL_D:
            # Between two prompts a terminal may swallow it; a person tries again.
            terminal.type(CTRL_D)
    terminal.watch(lambda: False)
    if terminal.end() != 0:
        raise RuntimeError(f"{command} failed:\n{terminal.shown()}")
    return terminal


def settled(text: str, place: str) -> str:
    """A text with what differs from run to run replaced."""
    text = re.sub(rf"\S*{re.escape(place)}/home/data", "~/.local/share", text)
    text = re.sub(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", "2026-03-18T12:00:00+00:00", text
    )
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-03-18 12:00", text)
    return re.sub(r"\b(fact|rule|ep|run)_[0-9a-z]{18}\b", r"\1_01m7gby27v99bdmgkq", text)


def main() -> int:
    page = PAGE.read_text("utf-8")
    before, rest = page.split(BEGIN)
    after = rest.partition(END)[2]
    new = f"{before}{BEGIN}\n```text\n{record()}\n```\n\n{END}{after}"
    if "--check" in sys.argv:
        if new != page:
            print(f"{PAGE} does not show what happens. Run: python docs/record.py", file=sys.stderr)
            print(new.split(BEGIN)[1].partition(END)[0], file=sys.stderr)
        return int(new != page)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
