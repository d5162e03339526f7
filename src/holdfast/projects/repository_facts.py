"""What a repository says itself: which commands it defines, and what its guides tell every agent.

A command in memory is checked against the Makefile, package.json and pyproject.toml; what README,
AGENTS.md or CLAUDE.md say plainly need not be remembered.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..extraction.coding.shell_commands import purpose
from ..text.tokens import index_terms

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_GUIDES = ("README.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md", "CONTRIBUTING.md", "README.rst")
# Bytes; a longer guide is a book, and nobody reads all of it.
_MOST = 200_000
_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*)\s*:(?!=)", re.MULTILINE)
_MAKE = re.compile(r"make(?:\s+-C\s+\S+)?\s+(?P<name>[a-z][\w.-]*)\s*$")
_NODE = re.compile(
    r"(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?P<name>[a-z][\w:.-]*)(?:\s|$)", re.IGNORECASE
)
# What these programs do themselves, without a script in package.json.
_NODE_OWN = re.compile(
    r"(?:install|i|ci|add|remove|update|outdated|audit|exec|dlx|init|link|publish|version|pack|why"
    r"|list|ls|info|view|login|create|config|cache|prune|dedupe|rebuild|global|workspaces?)$"
)
_PYTHON = re.compile(r"(?:uv run|poetry run|pdm run|hatch run)\s+(?P<name>[\w.-]+)")
_FILE = re.compile(
    r"(?:(?:bash|sh|python3?|node)\s+)?(?P<path>(?:\./)?[\w-]+(?:/[\w.-]+)*\.(?:sh|py|js|mjs|ts))\b"
)
_SENTENCE = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)|(?<=[.!?])\s+")
# Which program runs the scripts of package.json, by the file that it leaves.
_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
# What an agent looks for first, in this order.
_PURPOSES = ("install", "start", "build", "test", "check", "lint", "types", "format", "migrate")
# Share of a statement's terms that one sentence of a guide has to hold.
_PLAINLY = 0.8
_FEWEST_TERMS = 3


@dataclass(frozen=True)
class RepositoryFacts:
    """A checkout on this machine; where it is not there, nothing is known."""

    folder: Path

    def freshness(self, command: str) -> str:
        """Where a command is defined now, or that it is stale; empty where nothing tells."""
        if not self._manifests:
            return ""
        if found := _MAKE.match(command):
            return _mark(found["name"] in self._targets, "Makefile")
        found = _NODE.match(command)
        if found and not _NODE_OWN.match(found["name"]):
            return _mark(found["name"] in self._scripts, "package.json")
        if _PYTHON.match(command):
            return _mark((self.folder / "pyproject.toml").is_file(), "pyproject.toml")
        if found := _FILE.match(command):
            return _mark(any(self._files(found["path"])), found["path"])
        return ""

    def commands(self) -> list[str]:
        """The commands to build, test and run that the top of the repository defines now, one for
        each purpose.
        """
        node = next((run for file, run in _LOCKS.items() if (self.folder / file).exists()), "npm")
        defined = [
            *(f"make {name}" for name in _targets(self.folder)),
            *(f"{node} run {name}" for name in _scripts(self.folder / "package.json")),
        ]
        first: dict[str, str] = {}
        for command in defined:
            first.setdefault(purpose(command) or "", command)
        return [first[name] for name in _PURPOSES if name in first]

    def says(self, text: str) -> bool:
        """Whether a guide says this plainly: the command itself, or nearly all of its words in one
        sentence.
        """
        command = re.search(r"`([^`]+)`", text)
        if command and text.rstrip(".").endswith(f"`{command[1]}`"):
            return command[1] in self._guides
        terms = set(index_terms(text))
        if len(terms) < _FEWEST_TERMS:
            return False
        return any(len(terms & told) >= _PLAINLY * len(terms) for told in self._told)

    def _files(self, path: str) -> Iterator[Path]:
        for folder in self._folders:
            if (folder / path).is_file():
                yield folder / path

    @cached_property
    def _folders(self) -> list[Path]:
        """The repository and the folders directly in it: packages often have scripts of their
        own.
        """
        with suppress(OSError):
            below = sorted(each for each in self.folder.iterdir() if each.is_dir())
            return [self.folder, *(each for each in below if not each.name.startswith("."))]
        return []

    @cached_property
    def _manifests(self) -> bool:
        names = (*_MAKEFILES, "package.json", "pyproject.toml")
        return any(next(self._files(name), None) for name in names)

    @cached_property
    def _targets(self) -> set[str]:
        return {target for folder in self._folders for target in _targets(folder)}

    @cached_property
    def _scripts(self) -> set[str]:
        found: set[str] = set()
        for file in self._files("package.json"):
            found |= set(_scripts(file))
        for file in self._files("pyproject.toml"):
            with suppress(tomllib.TOMLDecodeError):
                found |= set(tomllib.loads(_text(file)).get("project", {}).get("scripts", {}))
        return found

    @cached_property
    def _guides(self) -> str:
        return "\n\n".join(_text(self.folder / name) for name in _GUIDES)

    @cached_property
    def _told(self) -> list[set[str]]:
        return [set(index_terms(part)) for part in _SENTENCE.split(self._guides) if part.strip()]


def _targets(folder: Path) -> list[str]:
    return [target for name in _MAKEFILES for target in _TARGET.findall(_text(folder / name))]


def _scripts(package: Path) -> list[str]:
    with suppress(ValueError):
        read = json.loads(_text(package) or "{}")
        scripts = read.get("scripts", {}) if isinstance(read, dict) else {}
        return list(scripts) if isinstance(scripts, dict) else []
    return []


def _mark(is_there: bool, where: str) -> str:
    return f"in {where}" if is_there else f"stale: not in {where} any more"


def _text(file: Path) -> str:
    try:
        return file.read_bytes()[:_MOST].decode("utf-8", "replace")
    except OSError:
        return ""
