"""What is loaded when: importing costs next to nothing, and models load only for what needs
them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast import Holdfast, Settings, maintenance

MODELS = ("onnxruntime", "tokenizers", "pydantic_ai")
HEAVY = ("numpy", "apsw", "sqlite_vec", "Stemmer", "typer", "click", "rich", *MODELS)
REPORT = "; import sys; print(*(name for name in {names!r} if name in sys.modules))"


def loaded(code, names):
    """Which of `names` a fresh interpreter has loaded after `code`."""
    program = code + REPORT.format(names=names)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded("import holdfast", HEAVY) == []


def test_the_version_is_printed_without_loading_anything_heavy():
    code = "import sys; sys.argv = ['holdfast', '--version']; from holdfast.cli import main; main()"
    assert loaded(code, HEAVY) == []


def test_the_chat_screen_loads_neither_agents_nor_stores_nor_models():
    """The agent is opened behind the screen, which is there two seconds of processor time
    earlier.
    """
    heavy = [name for name in HEAVY if name not in ("rich", "typer", "click")]
    assert loaded("import holdfast.agents.tui", (*heavy, "pydantic")) == []


@pytest.mark.parametrize("command", [["chat"], ["agent", "chat"]], ids=" ".join)
def test_a_chat_says_what_it_does_before_it_loads_the_parser_or_the_screen(tmp_path, command):
    """The parser and what it loads took two fifths of the time to the first screen."""
    words = ["holdfast", *command, str(tmp_path / "role.yaml")]
    # The first line is the last thing that happens: from there on the names are read.
    code = (
        f"import sys; sys.argv = {words!r}\n"
        "from holdfast.cli import main\n"
        "sys.stdin.isatty = sys.stdout.isatty = lambda: True\n"
        "import holdfast.cli.fast_chat as fast\n"
        "def first(line):\n"
        "    assert line == 'Starting role.yaml…'\n"
        "    raise SystemExit(0)\n"
        "fast._tell = first\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "else: raise AssertionError\n"
        "pass"
    )
    assert loaded(code, (*HEAVY, "pydantic", "textual", "asyncio")) == []


@pytest.mark.parametrize("models", ["static", Settings().embedding_models])
@pytest.mark.parametrize("options", [[], ["-n", "1"], ["-n1"], ["--limit=1"]], ids=" ".join)
def test_a_recall_on_the_command_line_loads_neither_parser_nor_numbers_nor_what_only_writing_needs(
    tmp_path, models, options
):
    """A command that agents run at every step: what it need not load makes most of how long it
    takes.
    """
    path = str(tmp_path / "memory.db")
    with Holdfast.open(path, scope="user:ann", settings=Settings(embedding_models="static")) as hf:
        hf.remember("Drinks green tea every morning")
        hf.admin.reembed()
    words = ["holdfast", "recall", "green tea", "--store", path, "--scope", "user:ann", *options]
    command = f"sys.argv = {words!r}"
    main = "exec('try: main()\\nexcept SystemExit as end: assert not end.code')"
    quick = f"import os, sys; os.environ['HOLDFAST_EMBEDDING_MODELS'] = {models!r}"
    code = f"{quick}; {command}; from holdfast.cli import main; "
    slow = ("asyncio", "dataclasses", "inspect", "logging", "pydantic")
    ours = (
        "holdfast.ingest.sanitize",
        "holdfast.extraction.job_types",
        "holdfast.storage.transaction",
    )
    heavy = (name for name in HEAVY if name not in ("apsw", "Stemmer"))
    assert loaded(code + main, (*heavy, *slow, *ours)) == []


def test_every_public_name_can_be_had_and_is_listed():
    import holdfast

    assert all(getattr(holdfast, name) is not None for name in holdfast.__all__)
    assert set(holdfast.__all__) <= set(dir(holdfast))
    with pytest.raises(AttributeError, match="Memry"):
        holdfast.Memry  # noqa: B018


OPEN = (
    "from holdfast import Holdfast, Settings; "
    "settings = Settings(embedding_models={models!r}); "
    "hf = Holdfast.open(':memory:', scope='user:ann', settings=settings, background=False); "
)


def test_without_embedding_models_no_model_library_is_loaded():
    code = (
        OPEN.format(models="none") + "hf.remember('green tea'); assert hf.recall('tea'); hf.close()"
    )
    assert loaded(code, (*MODELS, "typer")) == []


def test_the_capture_path_loads_no_model_library():
    code = (
        OPEN.format(models="static,encoder")
        + "hf.capture('s', 'user', 'green tea'); hf.remember('x'); hf.close()"
    )
    assert loaded(code, MODELS) == []


def test_a_recall_with_the_quick_model_does_not_load_the_better_one():
    code = (
        OPEN.format(models="static,encoder")
        + "hf.remember('green tea'); assert hf.recall('tea'); hf.close()"
    )
    assert loaded(code, ("onnxruntime", "pydantic_ai")) == []


def test_a_package_gives_its_modules_when_they_are_asked_for_and_nothing_else():
    code = (
        "from holdfast import maintenance; import sys; before = 'holdfast.maintenance.decay' "
        "in sys.modules; "
    )
    done = loaded(
        code + "assert not before; maintenance.decay.decay", ("holdfast.maintenance.decay",)
    )
    assert done == ["holdfast.maintenance.decay"]
    with pytest.raises(AttributeError, match="no attribute 'decoy'"):
        maintenance.decoy  # noqa: B018
    assert not hasattr(maintenance, "__wrapped__")


def test_a_module_that_cannot_be_loaded_says_why(tmp_path, monkeypatch):
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "__init__.py").write_text(
        "from holdfast._lazy import modules_of\n__getattr__ = modules_of(__name__)\n"
    )
    (tmp_path / "shelf" / "broken.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    import shelf

    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        shelf.broken  # noqa: B018
