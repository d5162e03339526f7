"""The docs cannot lie: every snippet of README and docs runs here, and every name is documented."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import holdfast
from holdfast.cli.app import run
from holdfast.config import Settings
from holdfast.pipelines.project.setup import ProjectSettings, settings_from

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "reference")]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_RUN = ("pip ", "make ")  # installs and whole test runs are tried on a fresh clone, not from inside the tests


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_snippets_of_a_page_run_and_print_what_the_page_shows(page, elsewhere):
    namespace: dict[str, object] = {"__name__": "page"}
    printed = ""
    for language, code in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            printed = _run_python(code, namespace)
        elif language == "text" and page.name == "README.md":
            assert printed.strip() == code.strip()
        elif language == "console":
            _run_console(code)


def _run_python(code: str, namespace: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "page", "exec"), namespace)
    return out.getvalue()


def _run_console(code: str) -> None:
    for session in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, expected = session.partition("\n")
        if command.startswith(NOT_RUN):
            continue
        words = shlex.split(command)
        assert words[0] == "holdfast", command
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert run(words[1:]) == 0, command
        if expected.strip():
            assert _matches(expected.strip(), out.getvalue().strip()), f"{command}\n{out.getvalue()}"


def _matches(shown: str, printed: str) -> bool:
    """Whether a text is what the page shows; `…` on the page stands for anything."""
    pattern = ".*".join(re.escape(part) for part in shown.split("…"))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="it needs a Unix terminal")
def test_the_recorded_session_is_what_happens():
    command = [sys.executable, str(ROOT / "docs" / "record.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_is_up_to_date():
    checked = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_the_example_of_a_projects_memory_is_what_comes_out():
    command = [sys.executable, str(ROOT / "docs" / "example.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_key_of_holdfast_yaml_is_shown_with_its_default():
    page = (ROOT / "docs" / "how-to" / "build-a-projects-memory.md").read_text("utf-8")
    keys = YAML(typ="safe").load(BLOCK.findall(page)[-1][1])["memories"]
    assert len(keys) == len(fields(ProjectSettings))
    assert settings_from(keys, page) == ProjectSettings()


def test_every_page_is_linked_from_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    linked = {(ROOT / target).resolve() for target in re.findall(r"\]\(([\w/.-]+\.md)\)", readme)}
    assert set((ROOT / "docs").rglob("*.md")) <= linked


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, *(ROOT / "docs" / "reference").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_public_name_and_setting_is_documented():
    api = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    settings = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    assert [name for name in holdfast.__all__ if f"## {name}\n" not in api] == []
    assert [known.name for known in fields(Settings) if f"`{known.name}`" not in settings] == []


def test_the_architecture_page_names_every_package_and_module():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    tree = [p for p in (ROOT / "src" / "holdfast").rglob("*.py") if p.name not in ("__init__.py", "__main__.py")]
    assert sorted(p.name for p in tree if f"{p.name}" not in page) == []


MODULES = [module.name for module in pkgutil.walk_packages(holdfast.__path__, "holdfast.")]


@pytest.mark.parametrize("name", [name for name in MODULES if "__main__" not in name and "testing" not in name])
def test_the_examples_in_docstrings_are_true(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
