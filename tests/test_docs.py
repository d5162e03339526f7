"""The docs cannot lie: every snippet of README and docs runs here, and every name is documented."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from opentelemetry import trace
from ruamel.yaml import YAML

import holdfast
from holdfast import errors
from holdfast.config import Settings
from holdfast.extraction.coding.project_settings import ProjectSettings, settings_from
from holdfast.storage.sqlite import encryption
from pages import FILES, Walk, blocks
from patience import PATIENCE

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "reference"),
]
WRITTEN = [ROOT / "CHANGELOG.md", *PAGES]
# Packages that have an environment of their own, in which their pages are followed.
FRAMEWORKS = ("langmem",)
# A tree, and a recorded session.
NOT_OUTPUT = (
    "docs/architecture.md",
    "docs/how-to/role-files.md",
)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder and an empty home, as on a new machine."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("LOGNAME", "ann")
    # As on a terminal: lines come in the order in which they are printed.
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    # A page that sets up tracing would otherwise trace every later test of this process.
    monkeypatch.setattr(
        trace,
        "set_tracer_provider",
        lambda provider: monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider),
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_all_that_a_page_says_can_be_done_and_shows_what_the_page_shows(
    page, elsewhere, pytestconfig
):
    text = page.read_text("utf-8")
    for package in re.findall(rf"^from ({'|'.join(FRAMEWORKS)}) import", text, re.MULTILINE):
        pytest.importorskip(package, reason="`make integrations` installs it")
    if "holdfast store key " in text and not encryption.is_available():
        pytest.skip("test_encryption.py follows this page")
    if "$ curl" in text and not shutil.which("curl"):
        pytest.skip("this page uses curl")
    for name in re.findall(r"^from holdfast\.integrations\.(\w+) import", text, re.MULTILINE):
        _integration(f"holdfast.integrations.{name}")
    Walk(processes=pytestconfig.getoption("walk")).follow(text)


def _integration(name: str) -> Any:
    """A module; skips where its framework is missing, which `make integrations` installs."""
    try:
        return importlib.import_module(name)
    except errors.MissingExtra as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_is_of_a_kind_that_is_checked(page):
    before = ""
    for block in blocks(page.read_text("utf-8")):
        usage = all(
            line.startswith(("holdfast ", "python bench/", "python training/", "make "))
            for line in block.code.splitlines()
        )
        if block.language == "text" and not usage and str(page.relative_to(ROOT)) not in NOT_OUTPUT:
            assert block.follows and before == "python", (
                f"{page.name}:{block.line} is nobody's output"
            )
        assert block.language in {"python", "console", "text", "sql", *FILES}, (
            f"{page.name}:{block.line}"
        )
        before = block.language


@pytest.fixture(scope="module")
def root():
    """The command with all that is below it."""
    from holdfast.cli.app import app, load_commands

    load_commands()
    return typer.main.get_command(app)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists_with_its_options(page, root):
    text = page.read_text("utf-8")
    inline = [" ".join(code.split()) for code in re.findall(r"`(holdfast [^`]+)`", text)]
    lines = [line.removeprefix("$ ") for block in blocks(text) for line in block.code.splitlines()]
    for line in [*inline, *(line for line in lines if line.startswith("holdfast "))]:
        assert _unknown(line.split()[1:], root) == [], f"{page.name}: {line}"


def test_every_target_of_make_that_is_named_exists():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for page in WRITTEN:
        for target in re.findall(r"(?:`|^\$ )make (\w+)", page.read_text("utf-8"), re.MULTILINE):
            assert target in targets, f"{page.name}: make {target}"


def test_every_benchmark_that_is_named_exists_with_its_options():
    named = [
        line
        for page in PAGES
        for line in re.findall(r"python (bench/[^\n`]+)", page.read_text("utf-8"))
    ]
    assert named
    for line in named:
        script = (ROOT / line.split()[0]).read_text("utf-8")
        assert [
            one for one in re.findall(r"--[a-z][a-z-]*", line) if f'"{one}"' not in script
        ] == [], line


def _unknown(words: list[str], command: Any) -> list[str]:
    """What of a command line is neither a command nor an option; `a|b` stands for one of
    several.
    """
    options = {*_options(command)}
    while (
        words
        and not words[0].startswith("-")
        and hasattr(command, "commands")
        and words[0].rstrip("…").islower()
    ):
        names = words.pop(0).rstrip("….,:;").split("|")
        if missing := [name for name in names if name not in command.commands]:
            return missing
        command = command.commands[names[0]]
        options |= _options(command)
    given = words[: words.index("--")] if "--" in words else words
    return [
        word
        for word in re.findall(r"(?<![\w\"'])--[a-z][a-z-]*", " ".join(given))
        if word not in options
    ]


def _options(command: Any) -> set[str]:
    return {"--help"} | {
        one for known in command.params for one in (*known.opts, *known.secondary_opts)
    }


@pytest.mark.skipif(sys.platform == "win32", reason="it needs a Unix terminal")
@pytest.mark.parametrize("script", ["record.py", "tour.py"])
def test_the_recorded_sessions_are_what_happens(script):
    command = [sys.executable, str(ROOT / "docs" / script), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_is_up_to_date():
    checked = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


def test_the_example_of_a_projects_memory_is_what_comes_out():
    command = [sys.executable, str(ROOT / "docs" / "example.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_key_of_holdfast_yaml_is_shown_with_its_default():
    page = (ROOT / "docs" / "how-to" / "project-memory.md").read_text("utf-8")
    keys = YAML(typ="safe").load(blocks(page)[-1].code)["memories"]
    assert len(keys) == len(fields(ProjectSettings))
    assert settings_from(keys, page) == ProjectSettings()


def test_every_page_is_linked_from_the_readme_or_from_the_index_of_its_folder():
    indexes = [ROOT / "README.md", *(ROOT / "docs").rglob("index.md")]
    linked = {
        (index.parent / target).resolve()
        for index in indexes
        for target in re.findall(r"\]\(([\w/.-]+\.md)\)", index.read_text("utf-8"))
    }
    assert set((ROOT / "docs").rglob("*.md")) <= linked


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, *(ROOT / "docs" / "reference").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_links_to_a_heading_find_it():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8")):
            there = (page.parent / target if target else page).read_text("utf-8")
            slugs = [_slug(heading) for heading in re.findall(r"^#+ (.+)$", there, re.MULTILINE)]
            assert anchor in slugs, f"{page.name} links to #{anchor}"


def _slug(heading: str) -> str:
    """How a heading is called in links, as GitHub does it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_public_name_and_setting_is_documented():
    api = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    settings = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    assert [
        name
        for name in holdfast.__all__
        if f"## {name}\n" not in api and f"| `{name}` |" not in api
    ] == []
    assert [known.name for known in fields(Settings) if f"`{known.name}`" not in settings] == []


def test_the_python_page_tells_each_thing_once_and_as_it_is_written():
    api = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    headings = re.findall(r"^###? .+$", api, re.MULTILINE)
    assert [heading for heading, times in Counter(headings).items() if times > 1] == []
    assert "kind: str = 'fact'," in api and "Literal['never']" in api
    assert [one.name for one in fields(holdfast.Memory) if f"| `{one.name}` | `" not in api] == []
    raised = [
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, holdfast.HoldfastError)
    ]
    assert [one.__name__ for one in raised if f"| `{one.__name__}` |" not in api] == []


# The installed package: the walk tries the wheel, far from our source.
SOURCE = Path(holdfast.__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((SOURCE / "holdfast").rglob("*.py"))
]


@pytest.mark.parametrize(
    "name", [name for name in MODULES if "__main__" not in name and "testing" not in name]
)
def test_the_examples_in_docstrings_are_true(name):
    assert doctest.testmod(_integration(name)).failed == 0
