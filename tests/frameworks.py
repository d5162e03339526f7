"""Runs the tests of each agent framework against the real package, in an environment of its own.

python tests/frameworks.py                 every framework of tests/frameworks
python tests/frameworks.py crewai strands  these
python tests/frameworks.py --json          the table as JSON

Frameworks pin packages that contradict each other, so they cannot share an environment. NAME stands
for tests/frameworks/test_NAME.py, the dependency group of that name (with dashes), and its page in
docs/integrations, which is followed too. Environments stay in .frameworks, so that the next run
starts sooner.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests" / "frameworks"
PROJECT = ROOT / "pyproject.toml"
ENVIRONMENTS = ROOT / ".frameworks"
PAGE_TEST = (
    "tests/test_docs.py::test_all_that_a_page_says_can_be_done_and_shows_what_the_page_shows"
)
# Warnings of a framework are its own business.
PYTEST = ("-q", "-p", "no:cacheprovider", "-W", "default", "--disable-warnings")


@dataclass
class Result:
    """What came of one framework."""

    framework: str
    version: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    output: str
    """What was printed by the step that failed; empty if none did."""

    @property
    def ok(self) -> bool:
        return self.passed > 0 and not self.failed and not self.output


class Failed(Exception):
    """A command did, with what it printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    known = names()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(known)}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    wanted = [name.replace("-", "_") for name in given.names] or known
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"there are no tests for {', '.join(unknown)}; known: {', '.join(known)}")
    results = [check(name) for name in wanted]
    if given.json:
        print(json.dumps([asdict(one) | {"ok": one.ok} for one in results], indent=2))
    else:
        for one in results:
            if one.output:
                print(f"== {one.framework}\n{one.output}")
        print(table(results))
    return 0 if all(one.ok for one in results) else 1


def names() -> list[str]:
    """The frameworks that have tests."""
    return sorted(path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py"))


def requirement(name: str) -> str:
    """The package of a framework: the first of its dependency group."""
    groups = tomllib.loads(PROJECT.read_text("utf-8"))["dependency-groups"]
    first: str = groups[name.replace("_", "-")][0]
    return re.split(r"[\[<>=!~; ]", first)[0]


def check(name: str) -> Result:
    """Install one framework and run its tests and its page."""
    began = time.monotonic()
    result = Result(name, "", 0, 0, 0, 0.0, "")
    try:
        python = environment(name)
        ask = f"from importlib.metadata import version; print(version({requirement(name)!r}))"
        result.version = _run([python, "-c", ask]).strip()
        _test(name, python, result)
    except Failed as failure:
        result.output = str(failure)
    result.seconds = round(time.monotonic() - began, 1)
    return result


def environment(name: str) -> Path:
    """The Python of an environment with the project and one framework."""
    folder, groups = ENVIRONMENTS / name, []
    python = folder / "bin" / "python"
    for group in ("walk", name.replace("_", "-")):
        groups += ["--group", f"{PROJECT}:{group}"]
    if uv := shutil.which("uv"):
        if not python.exists():
            _run([uv, "venv", "--quiet", "--python", sys.executable, folder])
        _run([uv, "pip", "install", "--quiet", "--python", python, "-e", ROOT, *groups])
    else:
        if not python.exists():
            _run([sys.executable, "-m", "venv", folder])
            _run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip"])
        _run([python, "-m", "pip", "install", "--quiet", "-e", ROOT, *groups])
    return python


def _test(name: str, python: Path, result: Result) -> None:
    report = ENVIRONMENTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    tests = [f"tests/frameworks/test_{name}.py"]
    page = f"docs/integrations/{name.replace('_', '-')}.md"
    if (ROOT / page).exists():
        tests.append(f"{PAGE_TEST}[{page}]")
    try:
        _run([python, "-m", "pytest", *PYTEST, f"--junitxml={report}", *tests])
    finally:
        if report.exists():
            _count(report, result)
    if not result.passed:
        raise Failed(f"{name}: no test ran, {result.skipped} were skipped")


def _count(report: Path, result: Result) -> None:
    (suite,) = ElementTree.parse(report).getroot()
    result.failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    result.skipped = int(suite.get("skipped", 0))
    result.passed = int(suite.get("tests", 0)) - result.failed - result.skipped


def table(results: Sequence[Result]) -> str:
    """One line per framework."""
    heads = ("framework", "version", "passed", "failed", "skipped", "seconds")
    rows = [
        (one.framework, one.version, one.passed, one.failed, one.skipped, one.seconds)
        for one in results
    ]
    ends = ("", *("" if one.ok else "  FAILED, see above" for one in results))
    return "\n".join(
        f"{name:<18}{version:<12}" + "".join(f"{one:>9}" for one in counts) + end
        for (name, version, *counts), end in zip((heads, *rows), ends, strict=True)
    )


def _run(command: Sequence[str | Path]) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        # The environment of a caller would take precedence over the one that is tested.
        env={key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
