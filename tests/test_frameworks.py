"""The runner of the agent frameworks' tests: what belongs to a framework, and what it prints."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

import frameworks
from frameworks import ROOT, Result, main, names, requirement, table

# Packages that need no adapter of their own, with their pages: mem0's client talks to the server,
# LangMem to the store for LangGraph.
WITHOUT_ADAPTER = {
    "langmem": "docs/integrations/langmem.md",
    "mem0_client": "docs/how-to/mem0.md",
}
ADAPTERS = [name for name in names() if name not in WITHOUT_ADAPTER]


@pytest.mark.parametrize("name", names())
def test_a_framework_has_a_group_and_a_page(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    dashed = name.replace("_", "-")
    assert dashed in project["dependency-groups"]
    assert (ROOT / WITHOUT_ADAPTER.get(name, f"docs/integrations/{dashed}.md")).exists()


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_is_a_module(name):
    assert (ROOT / "src" / "holdfast" / "integrations" / f"{name}.py").exists()


WITHOUT = """
import sys
from importlib import import_module
from holdfast.errors import MissingExtra
for name in sys.argv[1:]:
    try:
        import_module(f"holdfast.integrations.{name}")
    except MissingExtra as error:
        print(name, error)
"""


def test_without_its_package_an_adapter_says_what_to_install():
    command = [sys.executable, ROOT / "tests" / "only.py", "", "-c", WITHOUT, *ADAPTERS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert list(told) == ADAPTERS
    for name, message in told.items():
        assert message.endswith(f"pip install {requirement(name)}"), message


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of its own; its frameworks are packages that are installed here anyway."""
    (tmp_path / "tests" / "frameworks").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[dependency-groups]\npytest = ["pytest>=9"]\n')
    monkeypatch.setattr(frameworks, "ROOT", tmp_path)
    monkeypatch.setattr(frameworks, "TESTS", tmp_path / "tests" / "frameworks")
    monkeypatch.setattr(frameworks, "PROJECT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(frameworks, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(frameworks, "environment", lambda name: sys.executable)
    return tmp_path


@pytest.mark.parametrize(
    ("code", "counts", "ok"),
    [
        ("def test_a(): pass", (1, 0, 0), True),
        ("def test_a(): pass\ndef test_b(): assert 0", (1, 1, 0), False),
        ("import pytest\npytest.skip(allow_module_level=True)", (0, 0, 1), False),
        ("import does_not_exist", (0, 1, 0), False),
    ],
)
def test_a_run_counts_and_is_fine_only_if_something_passed_and_nothing_failed(
    project, capsys, code, counts, ok
):
    (project / "tests" / "frameworks" / "test_pytest.py").write_text(code)
    result = frameworks.check("pytest")
    assert (result.passed, result.failed, result.skipped, result.ok) == (*counts, ok)
    assert result.version == pytest.__version__
    assert main(["pytest"]) == (0 if ok else 1)
    assert ("FAILED, see above" in capsys.readouterr().out) is not ok


def test_an_unknown_name_is_refused_with_those_that_are_known(project, capsys):
    (project / "tests" / "frameworks" / "test_pytest.py").write_text("def test_a(): pass")
    with pytest.raises(SystemExit):
        main(["petshop"])
    assert "no tests for petshop; known: pytest" in capsys.readouterr().err


def test_the_package_is_the_first_of_the_group(project):
    (project / "pyproject.toml").write_text('[dependency-groups]\na-b = ["a-b[x]>=1", "c"]\n')
    assert requirement("a_b") == "a-b"


def test_the_table_has_a_line_for_each_framework():
    fine = Result("agno", "3.1", 5, 0, 0, 1.5, "")
    assert table([fine]).splitlines() == [
        "framework         version        passed   failed  skipped  seconds",
        "agno              3.1                 5        0        0      1.5",
    ]
