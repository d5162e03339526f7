"""The real command in a real terminal, and editors that do what a test tells them."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from bisect import bisect_left
from contextlib import suppress
from pathlib import Path

from patience import PATIENCE


class Terminal:
    """The real command in a terminal of its own."""

    def __init__(self, *args: str, **more: str) -> None:
        self._ours, theirs = pty.openpty()
        env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", **more}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            # So that Ctrl-C is a signal.
            preexec_fn=lambda: _at_home_in(theirs),  # noqa: PLW1509
        )
        os.close(theirs)
        # A character may come in two reads.
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._unheard = ""  # what came behind the last words that were waited for

    def hear(self, words: str) -> str:
        """Reads until these words have come since the last time, and returns what was read."""
        heard, until = self._unheard, time.monotonic() + PATIENCE
        while words not in bare(heard):
            assert time.monotonic() < until, f"no {words!r} in {bare(heard)!r}"
            if select.select([self._ours], [], [], 0.5)[0]:
                try:
                    heard += self._decoder.decode(os.read(self._ours, 65_536))
                except OSError:
                    raise AssertionError(f"it ended without {words!r}: {bare(heard)!r}") from None
        # A whole screen is long: halving finds the place in a few looks.
        end = bisect_left(range(len(heard)), True, key=lambda n: words in bare(heard[:n]))
        heard, self._unheard = heard[:end], heard[end:]
        return heard

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Its exit code; a process that does not end within that time is ended."""
        try:
            until = time.monotonic() + PATIENCE
            with suppress(OSError):
                while time.monotonic() < until and self._process.poll() is None:
                    if select.select([self._ours], [], [], 0.1)[0]:
                        os.read(self._ours, 65_536)
            return self._process.wait(1)
        finally:
            self.close()

    def close(self) -> None:
        """Leaves nothing behind, whatever went wrong."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        with suppress(OSError):
            os.close(self._ours)


def _at_home_in(terminal: int) -> None:
    """Makes a process one that a person has started there. Whoever runs the tests in the background
    ignores Ctrl-C.
    """
    os.login_tty(terminal)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def bare(text: str) -> str:
    """What a person reads of it: no colours, no line ends of a terminal."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def editor(tmp_path: Path, code: str) -> str:
    """An editor that does this to the lines of the file it is given."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys, pathlib\nf = pathlib.Path(sys.argv[1])\ntext = "
        f"f.read_text()\n{code}\nf.write_text(text)\n"
    )
    return f"{sys.executable} {script}"
