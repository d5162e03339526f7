"""The first minutes: what `holdfast` alone says, what a group of commands alone says, and what
doctor misses.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from holdfast.cli import app as app_
from holdfast.cli.environment import EXTRAS, _file_system
from holdfast.cli.overview import WAYS

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
GROUPS = (
    "agent",
    "entity",
    "hook",
    "memory",
    "project",
    "record",
    "session",
    "store",
    "worker",
)


# The map


def test_the_command_alone_is_a_map_of_one_screen(cli):
    done = cli()
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "\x1b" not in done.out
    assert all(way.start in done.out for way in WAYS)


def commands() -> dict[str, object]:
    from typer.main import get_command

    app_.load_commands()
    return get_command(app_.app).commands


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.wish)
def test_the_map_names_commands_that_there_are(way):
    known = commands()
    program, *words = shlex.split(way.start)
    assert program == "holdfast" and words[0] in known
    for command in way.then.split(", "):
        first, *rest = command.split()
        assert first in known
        assert not rest or rest[0] in known[first].commands


def test_the_map_is_made_without_anything_heavy():
    code = (
        "import sys; sys.argv = ['holdfast']\nfrom holdfast.cli import main\ntry: main()\n"
        "except SystemExit: print({'typer', 'apsw', 'numpy', 'rich', 'logging'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_shows_its_commands(cli, group):
    done = cli(group)
    assert done.code == 2
    assert f"Usage: holdfast {group}" in done.out
    assert done.err == ""


def test_a_folder_with_nothing_to_index_is_named(cli, folder):
    """Whoever named it is not told to name one. A session that was held elsewhere is wanted only by
    its own name.
    """
    talk = Path(__file__).parents[1] / "transcripts" / "data" / "claude_code"
    cli("project", "init")
    assert "Name files and folders" in cli("project", "index").out
    assert (
        "no session of this project is there. A session of another goes in by its file"
        in cli("project", "index", talk).out
    )
    assert cli("project", "index", next(talk.glob("*.jsonl"))).out.startswith("Indexed 1 file")


# What the page about mistakes says


@pytest.mark.skipif(
    sys.platform == "win32", reason="a folder that somebody is in cannot be removed there"
)
@pytest.mark.parametrize(
    "words",
    ["project init", "project build --plan", "hook install codex --project --yes", "mcp status"],
)
def test_a_folder_that_was_removed_meanwhile_is_named_and_no_fault_of_ours(
    cli, tmp_path, monkeypatch, words
):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = cli(*words.split())
    assert (done.code, "The folder that you are in was removed" in done.err) == (1, True)


def test_every_message_that_the_page_lists_is_one_of_ours():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "how-to" / "troubleshooting.md").read_text("utf-8")
    source = "".join(file.read_text("utf-8") for file in (root / "src" / "holdfast").rglob("*.py"))
    said = re.sub(r'"\s+f?"', "", source)  # texts that go over several lines
    rows = re.findall(r"^\| (`.+?`.*?) \|", page, re.MULTILINE)
    pieces = [
        piece.strip()
        for row in rows
        for code in re.findall(r"`(.+?)`", row)
        for piece in code.split("…")
    ]
    assert len(rows) > 30
    assert [piece for piece in pieces if piece not in said] == []


# What doctor says about the surroundings


def surroundings(cli, *words, code=0):
    done = cli("doctor", "--json", *words)
    assert done.code == code, done
    return {note["topic"]: note for note in json.loads(done.out)["surroundings"]}


def test_doctor_names_every_extra_and_what_it_gives(cli):
    extras = set(PYPROJECT["project"]["optional-dependencies"]) - {"all"}
    assert set(EXTRAS) == extras
    notes = surroundings(cli)
    assert {f"extra {extra}" for extra in extras} <= set(notes)
    for extra in extras:
        note = notes[f"extra {extra}"]
        assert note["state"] == "fine" or note["do"] == f"pip install 'holdfast-memory[{extra}]'"


def test_doctor_says_on_a_new_machine_what_could_come_next(cli):
    done = cli("doctor")
    assert done.code == 0
    for words in (
        "python: 3.",
        "sqlite: 3.",
        "holdfast project init",
        "holdfast mcp install",
        "HOLDFAST_MODEL",
    ):
        assert words in done.out
    assert done.out.splitlines()[-1].endswith("model packs.")


def test_doctor_sees_a_project_with_its_records(cli):
    assert cli("project", "init").code == 0
    assert surroundings(cli)["project"]["do"].startswith("holdfast record add")
    assert cli("record", "add", "--category", "decisions", "Use tabs").code == 0
    assert surroundings(cli)["project"]["detail"].endswith("has 1 record")


def test_doctor_tells_of_a_broken_file_of_the_project_and_goes_on(cli, folder):
    assert cli("project", "init").code == 0
    (folder / "holdfast.yaml").write_text("memoris: {}")
    assert "'memories'" in surroundings(cli)["project"]["detail"]


def test_doctor_misses_the_key_of_a_model(cli, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MODEL", "openai:gpt-5-mini")
    monkeypatch.setenv("HOLDFAST_MODEL_KEY_ENV", "MY_KEY")
    monkeypatch.delenv("MY_KEY", raising=False)
    assert "MY_KEY, which is not set" in surroundings(cli)["language model"]["detail"]


def test_doctor_tells_of_an_embedding_model_that_cannot_be_used(cli, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none,openai:text-embedding-3-small")
    assert (
        "OPENAI_API_KEY"
        in surroundings(cli)["embedding model openai:text-embedding-3-small"]["detail"]
    )


def test_doctor_sees_which_clients_have_this_memory(cli):
    assert surroundings(cli)["mcp clients"]["state"] == "missing"
    assert cli("mcp", "install", "cursor", "--yes").code == 0
    assert surroundings(cli)["mcp clients"]["detail"] == "installed for cursor (user)"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are others there")
def test_doctor_minds_a_file_that_others_can_read(cli, kept, folder):
    assert "privacy" not in surroundings(cli)
    (folder / "memory.db").chmod(0o644)
    assert surroundings(cli)["privacy"]["do"] == f"chmod 600 '{folder / 'memory.db'}'"


def test_doctor_tells_of_the_surroundings_even_when_the_store_cannot_be_opened(cli, folder):
    (folder / "memory.db").write_text("not a database " * 100)
    done = cli("doctor")
    assert (done.code, "python: 3." in done.out, "not a Holdfast store" in done.err) == (
        1,
        True,
        True,
    ), done


@pytest.mark.skipif(not Path("/proc/mounts").exists(), reason="the system lists no file systems")
def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount():
    assert _file_system(Path("/proc/self")) == "proc"
