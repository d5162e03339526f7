"""A page of the documentation read as a stranger reads it: every command typed, every output
compared, every file read.

Commands run in this process, which is quick, unless they need a shell. With `processes` each runs
in a shell of its own, by the `holdfast` that is installed.
"""

from __future__ import annotations

import configparser
import contextlib
import io
import json
import re
import shlex
import signal
import socket
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from holdfast import Settings
from holdfast.cli.app import run
from patience import PATIENCE

NOT_RUN = ("pip ", "make ")  # what installs, as `make walk` does, and what runs these very tests
PORT = "8765"  # as pages name it; each walk has one of its own

PIPED: Any = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.STDOUT,
    "text": True,
}

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    line: int
    follows: bool
    """Whether nothing stands between it and the block before."""


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, end = [], 0
    for match in _BLOCK.finditer(page):
        line = page.count("\n", 0, match.start(2)) + 1
        found.append(
            Block(match[1], match[2], line, bool(end) and not page[end : match.start()].strip())
        )
        end = match.end()
    return found


def commands(code: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what is shown below it; a backslash carries a command to
    the next line.
    """
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        length = next(at for at, line in enumerate(lines, 1) if not line.endswith("\\"))
        yield "\n".join(lines[:length]), "\n".join(lines[length:])


def matches(shown: str, printed: str) -> bool:
    """Whether a text is what the page shows; `…` on the page stands for anything."""
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


def _free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@dataclass
class Walk:
    """Somebody who follows one page in an empty folder."""

    processes: bool = False
    _said: dict[str, object] = field(default_factory=lambda: {"__name__": "page"})
    _started: list[subprocess.Popen[str]] = field(default_factory=list)
    _port: str = field(default_factory=_free_port)

    def follow(self, page: str) -> None:
        """Does all that the page says; AssertionError names the line where something else
        happens.
        """
        found = blocks(page)
        try:
            for block, after in zip_longest(found, found[1:]):
                shown = after.code if after and after.language == "text" and after.follows else ""
                self._do(block, shown)
        finally:
            self._end()

    def _do(self, block: Block, shown: str) -> None:
        if block.language == "python":
            self._compare(block, block.code, shown, self._python(block))
        elif block.language == "console":
            for command, below in commands(block.code):
                if not command.startswith(NOT_RUN):
                    typed, shown = (text.replace(PORT, self._port) for text in (command, below))
                    self._compare(block, typed, shown, self._command(typed, shown))
        elif block.language in FILES:
            FILES[block.language](block.code)

    def _compare(self, block: Block, code: str, shown: str, printed: str) -> None:
        assert matches(shown, printed), (
            f"line {block.line}\n{code}\nshown:\n{shown}\nprinted:\n{printed}"
        )

    def _python(self, block: Block) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (block.line - 1) + block.code, "page", "exec"), self._said)
        return out.getvalue()

    def _command(self, command: str, shown: str) -> str:
        if command.endswith(" &"):
            return self._start(command.removesuffix(" &"), shown)
        if self.processes or not _plain(command):
            return _in_shell(command)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run(shlex.split(command)[1:])
        assert code == 0, f"{command}\n{out.getvalue()}"
        return out.getvalue()

    def _start(self, command: str, shown: str) -> str:
        """Starts what goes on, and returns as soon as it has printed what is shown."""
        if command.startswith("holdfast serve") and "--port" not in command:
            command += f" --port {self._port}"
        process = subprocess.Popen(["bash", "-c", f"exec {command}"], **PIPED)
        self._started.append(process)
        printed = ""
        assert process.stdout is not None
        for line in process.stdout:
            printed += line
            if matches(shown, printed):
                break
        return printed

    def _end(self) -> None:
        for process in self._started:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)


def _plain(command: str) -> bool:
    """Whether it is our command alone, without another one and without anything that only a shell
    understands.
    """
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    every = list(words)
    ours = every[0] == "holdfast" and every[1:3] != ["agent", "exec"]
    return ours and not any(set(word) <= set("();<>|&") for word in every)


def _in_shell(command: str) -> str:
    done = subprocess.run(["bash", "-c", command], **PIPED, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def _yaml(code: str) -> None:
    """A role file, a compose file or holdfast.yaml, read as we read it; a part of a role is put
    into one.
    """
    from holdfast.agents.role import load_compose, load_role
    from holdfast.config import PROJECT_KEYS, project_file
    from holdfast.extraction.coding.project_settings import settings_from

    said = YAML(typ="safe").load(textwrap.dedent(code))
    if "apiVersion" in said:
        load_compose(_file("compose.yaml", code))
    elif said.keys() <= set(PROJECT_KEYS):
        told = project_file(_file("holdfast.yaml", code).parent)
        settings_from(told["memories"], "the page")
    else:
        spec = {"role": "Helps.", "model": {"provider": "offline", "name": "offline"}} | said.get(
            "spec", said
        )
        role = {
            "apiVersion": "holdfast/v1",
            "kind": "Agent",
            "metadata": {"name": "part"},
            "spec": spec,
        }
        load_role(_file("role.yaml", json.dumps(role)))


def _toml(code: str) -> None:
    """config.toml, or else a vocabulary, read as we read it."""
    from holdfast import config
    from holdfast.extraction.vocabulary import vocabulary

    if tomllib.loads(code).keys() <= {known.name for known in fields(Settings)}:
        config.load({}, _file("config.toml", code))
    else:
        file = _file("vocabulary.toml", code)
        # The folder that it may name.
        file.with_name("cues").mkdir()
        file.with_name("cues").joinpath("en.toml").write_text("[control]\nthis = 'forget this'\n")
        vocabulary(str(file))


def _record(code: str) -> None:
    """A record, read as we read it."""
    from holdfast.text.frontmatter import read, split

    assert read(split(code))["id"]


def _file(name: str, text: str) -> Path:
    file = Path("read-by-us") / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def _sh(code: str) -> None:
    """Commands that are not run here: at least a shell understands them."""
    done = subprocess.run(["bash", "-n"], input=code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


FILES: dict[str, Callable[[str], object]] = {
    "yaml": _yaml,
    "toml": _toml,
    "json": json.loads,
    "ini": lambda code: configparser.ConfigParser().read_string(code),
    "markdown": _record,
    "sh": _sh,
    "py": lambda code: compile(code, "page", "exec"),
}
