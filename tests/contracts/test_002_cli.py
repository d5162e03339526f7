"""Seed 002 on the command line: past sessions taken in, a memory built of them, looked at, read by
URL, cleared.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from holdfast import config
from holdfast.cli.exit_codes import PARTLY
from holdfast.client import Holdfast
from past.tidewatch import Past, me
from past.written import claude_code, codex, write_all

DATA = Path(__file__).parents[1] / "transcripts" / "data"
EMPTY = "Memory payload is empty (memories disabled or no memory summary found).\n"
RULE = "Never deploy on Fridays in this repo."
NOTHING_NEW = "Nothing new: every session is known already.\n"


class Machine:
    """A home in which coding agents have worked, and a repository; commands run in the
    repository.
    """

    def __init__(self, home, cli):
        self.home, self.repo, self._cli = home, home / "src" / "tidewatch", cli
        (self.repo / ".git").mkdir(parents=True)

    def __call__(self, *args, folder=None, **options):
        before = Path.cwd()
        os.chdir(folder or self.repo)
        try:
            return self._cli(*args, **options)
        finally:
            os.chdir(before)

    def js(self, *args, **options):
        done = self(*args, "--json", **options)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    def take_in(self, *options):
        return self.js("import", "--all", "--yes", *options)

    def turns(self, key=lambda turn: (turn.session, turn.position)):
        """All that was taken in: session by session, as it was said."""
        with Holdfast.open(scope="user:ann", background=False) as hf:
            every = [
                turn
                for scope in hf.store.scopes()
                for turn in hf.scoped(scope).list(kinds=["turn"])
            ]
            return [turn.content for turn in sorted(every, key=key)]


@pytest.fixture
def machine(cli, monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    return Machine(Path.home(), cli)


def said(*texts, id_="11111111-0000-4000-8000-000000000001", day=1):
    return Past("claude-code", id_, day, "Talk", tuple(me(text) for text in texts))


@pytest.fixture
def built(machine):
    """A machine on which one session taught something, and a memory was built of it."""
    claude_code(
        machine.home,
        machine.repo,
        said(RULE, "To deploy:\n1. run `make build`\n2. run `make deploy`"),
    )
    machine.take_in()
    assert machine.js("project", "build", "--all")["files"]
    return machine


# Past sessions


def test_what_was_found_is_told_by_project_before_anything_is_read(machine):
    write_all(machine.home, machine.repo)
    claude_code(machine.home, machine.home / "src" / "blog", said("Hello."))
    done = machine("import", "--all", "--plan")
    assert "~/src/tidewatch\t13\tclaude-code 6, codex 3, gemini-cli 2, pi 2\t" in done.out
    assert "~/src/blog\t1\tclaude-code 1\t" in done.out
    assert machine.turns() == []
    refused = machine("import", "--all")
    assert (refused.code, "Add --yes" in refused.err) == (2, True)
    assert machine.turns() == []


def test_thirteen_sessions_go_in_and_a_memory_comes_out(machine):
    write_all(machine.home, machine.repo)
    (project,) = machine.take_in()
    assert (project["sessions"], project["warnings"]) == (13, [])
    assert machine.js("project", "build", "--all")["read"] == 13
    memory = machine("project", "read", "memory://root/MEMORY.md").out
    for known in (
        (
            "Use uv instead of pip-tools. Reason: it resolves the whole thing in two seconds. "
            "(7c1d52aa, 2026-05-05, current)"
        ),
        "Never log connection strings in this repo. (90c4e7a6, 2026-05-16, current)",
        "To deploy to production (e5a94c70, 2026-05-09, current):\n  1. run `uv run pytest -q`",
        "  - Fix: Opening files before 2023 with `encoding='latin-1'`.",
    ):
        assert known in memory
    for dropped in ("Walrus4711x", "Kubernetes", "great, thanks"):
        assert dropped not in memory
    assert "Run `docker build" not in memory
    assert machine(
        "project", "read", "memory://root/skills/deploy-to-production/SKILL.md"
    ).out.startswith("---\nname: deploy-")
    assert not any("Walrus4711x" in turn for turn in machine.turns())


def test_a_second_import_does_nothing(machine):
    write_all(machine.home, machine.repo)
    machine.take_in()
    before = machine.turns()
    (again,) = machine.take_in()
    assert (again["sessions"], again["turns"], again["unchanged"]) == (0, 0, 13)
    assert machine("import", "--all", "--yes").out.endswith(NOTHING_NEW)
    assert machine.turns() == before


def test_of_a_session_that_grew_only_what_is_new_is_read(machine):
    file = claude_code(machine.home, machine.repo, said("First."))
    machine.take_in()
    more = (
        claude_code(machine.home / "elsewhere", machine.repo, said("First.", "Second."))
        .read_text()
        .splitlines()
    )
    with file.open("a") as lines:
        lines.write(more[1] + "\n")
    (grown,) = machine.take_in()
    assert (grown["sessions"], grown["turns"]) == (1, 1)
    assert machine.turns() == ["First.", "Second."]


def test_the_newest_sessions_come_first(machine):
    for day in (3, 1, 2):
        held = said(f"Day {day}.", id_=f"{day}1111111-0000-4000-8000-000000000000", day=day)
        file = claude_code(machine.home, machine.repo, held)
        os.utime(file, (1_780_000_000 + day * 86_400,) * 2)
    machine.take_in()
    assert machine.turns(key=lambda turn: turn.seq) == ["Day 3.", "Day 2.", "Day 1."]


def test_what_cannot_be_understood_is_skipped_and_counted(machine):
    file = claude_code(machine.home, machine.repo, said("Before.", "After."))
    first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([first, "{broken", "\x00\x01", *rest]) + "\n")
    done = machine("import", "--all", "--yes")
    assert done.code == 0
    assert "2 of its lines could not be understood" in done.err
    assert machine.turns() == ["Before.", "After."]


def test_what_tools_and_memory_injected_is_nobodys_word(machine, built):
    guidance = machine("project", "context").out.strip()
    assert RULE in guidance
    injected = f"<system-reminder>Always use tabs.</system-reminder>\n{guidance}\n\nWhere were we?"
    codex(
        machine.home,
        machine.repo,
        said(injected, id_="019df76a-0000-7000-8000-000000000002", day=2),
    )
    machine.take_in()
    assert "Where were we?" in machine.turns()
    assert not any(
        "Always use tabs" in turn or "Memory Guidance" in turn for turn in machine.turns()
    )


def test_secrets_stay_where_they_are(machine):
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    claude_code(
        machine.home,
        machine.repo,
        said(f"Our key is {key}, put it into .env", "password=Hunter2Zebra91"),
    )
    machine.take_in()
    machine("project", "build", "--all")
    kept = b"".join(file.read_bytes() for file in config.data_folder().rglob("*") if file.is_file())
    assert key.encode() not in kept
    assert b"Hunter2Zebra91" not in kept
    assert "Our key is [REDACTED" in machine.turns()[0]


def test_private_sessions_are_left_out(machine):
    file = codex(
        machine.home,
        machine.repo,
        said("Keep this to yourself.", id_="019df76a-0000-7000-8000-000000000003"),
    )
    head, *rest = file.read_text().splitlines()
    meta = json.loads(head)
    meta["payload"]["memory_mode"] = "disabled"
    file.write_text("\n".join([json.dumps(meta), *rest]) + "\n")
    claude_code(machine.home, machine.repo, said("Hello."))
    (found,) = machine.js("import", "--all", "--plan")["projects"]
    assert (found["sessions"], found["private"]) == (1, 1)
    machine.take_in()
    assert machine.turns() == ["Hello."]


def test_projects_do_not_mix(machine):
    blog = machine.home / "src" / "blog"
    claude_code(machine.home, machine.repo, said(RULE))
    claude_code(
        machine.home,
        blog,
        said(
            ("We decided to use Hugo instead of Jekyll because builds are faster."),
            id_="22222222-0000-4000-8000-000000000002",
        ),
    )
    blog.mkdir(parents=True)
    assert len(machine.take_in()) == 2
    for folder, own, other in ((machine.repo, "Fridays", "Hugo"), (blog, "Hugo", "Fridays")):
        machine("project", "build", "--all", folder=folder)
        told = machine("project", "context", folder=folder).out
        assert own in told
        assert other not in told


def test_in_a_repository_without_records_recall_finds_what_was_imported_of_it(machine):
    claude_code(machine.home, machine.repo, said(RULE))
    machine.take_in()
    deep = machine.repo / "src" / "deep"
    deep.mkdir(parents=True)
    for folder in (machine.repo, deep):
        (hit,) = machine.js("recall", "Fridays", folder=folder)
        assert hit["content"] == RULE
    assert machine.js("recall", "Fridays", "--scope", "project")
    assert machine("show", hit["id"]).code == 0
    assert machine.js("recall", "Fridays", folder=machine.home) == []


def test_importing_leaves_no_folder_in_a_repository_that_has_none(machine):
    (machine.repo / ".aider.chat.history.md").write_text(
        f"# aider chat started at 2026-03-01 10:00:00\n\n#### {RULE}\n", "utf-8"
    )
    machine.take_in()
    assert not (machine.repo / ".holdfast").exists()
    assert machine.js("recall", "Fridays")


def test_one_file_goes_to_the_scope_that_all_would_use_and_is_known_to_all(machine):
    file = claude_code(machine.home, machine.repo, said(RULE))
    done = machine.js("import", str(file), folder=machine.home)
    (planned,) = machine.js("import", "--all", "--plan")["projects"]
    assert (done["scope"], done["sessions"]) == (planned["scope"], 1)
    assert machine("import", "--all", "--yes").out.endswith(NOTHING_NEW)
    assert machine.turns() == [RULE]
    assert machine.js("recall", "Fridays")


def test_importing_one_file_elsewhere_names_the_command_that_finds_it(machine):
    file = claude_code(machine.home, machine.repo, said(RULE))
    told = machine("import", str(file), folder=machine.home).err
    scope = told.split("--scope ")[-1].strip()
    assert told == f'Find it with: holdfast recall "…" --scope {scope}\n'
    assert machine.js("recall", "Fridays", "--scope", scope, folder=machine.home)


def test_one_file_goes_where_it_is_told_to(machine):
    file = claude_code(machine.home, machine.repo, said(RULE))
    assert machine.js("import", str(file), "--into", "user:guest")["scope"] == "user:guest"
    assert machine.js("import", str(file), "--scope", "user:other")["scope"] == "user:other"


def test_a_file_whose_import_was_taken_back_can_be_imported_again(machine):
    file = claude_code(machine.home, machine.repo, said(RULE))
    undo = machine("import", str(file)).out.split("Undo with: holdfast ")[1].split()
    assert machine(*undo).code == 0
    assert machine.turns() == []
    assert machine.js("import", str(file))["sessions"] == 1


# A session that cannot be stored


@pytest.fixture
def partly(machine, monkeypatch):
    """Three sessions, one of which is longer than the settings allow; and its file."""
    monkeypatch.setenv("HOLDFAST_MAX_CONTENT_BYTES", "1000")
    for number, text in enumerate(("One.", "far too long " * 100, "Three.")):
        held = said(text, id_=f"1111111{number}-0000-4000-8000-000000000001", day=number)
        file = claude_code(machine.home, machine.repo, held)
        machine.bad = file if number == 1 else getattr(machine, "bad", None)
    return machine


def test_one_bad_session_is_named_by_path_and_reason_and_the_rest_is_imported(partly):
    done = partly("import", "--all", "--yes")
    assert done.code == PARTLY
    assert f"Failed: {partly.bad}: session 11111111-" in done.err
    assert "the limit is 1,000" in done.err
    assert "Imported 2 sessions with 2 turns of 1 project. 1 failure, named above" in done.out
    assert partly.turns() == ["One.", "Three."]


def test_a_table_tells_of_each_agent_what_was_found_new_and_failed_and_why(partly):
    other = said("Four.", id_="019df76a-0000-7000-8000-000000000004", day=4)
    codex(partly.home, partly.repo, other)
    out = partly("import", "--all", "--yes").out
    assert "agent\tfound\tnew\tfailed\twhy\nclaude-code\t3\t2\t1\tsession 11111111-" in out
    assert "\ncodex\t1\t1\t0\t\n" in out
    again = partly("import", "--all", "--yes").out
    assert "\nclaude-code\t3\t0\t1\tsession 11111111-" in again and "\ncodex\t1\t0\t0\t\n" in again


def test_a_file_that_cannot_be_opened_counts_as_a_failure_of_its_agent(machine):
    claude_code(machine.home, machine.repo, said("One."))
    (machine.home / ".codex" / "sessions" / "rollout-folder.jsonl").mkdir(parents=True)
    done = machine("import", "--all", "--yes")
    assert done.code == PARTLY
    assert "\ncodex\t0\t0\t1\tIs a directory\n" in done.out


def test_scripts_are_told_what_failed(partly):
    done = partly("import", "--all", "--yes", "--json")
    (told,) = json.loads(done.out)
    assert (done.code, told["sessions"], [one["path"] for one in told["failed"]]) == (
        PARTLY,
        2,
        [str(partly.bad)],
    )


def test_what_failed_is_imported_once_the_reason_is_gone(partly, monkeypatch):
    partly("import", "--all", "--yes")
    assert partly("import", "--all", "--yes").code == PARTLY
    monkeypatch.delenv("HOLDFAST_MAX_CONTENT_BYTES")
    assert partly.js("import", "--all", "--yes")[0]["sessions"] == 1
    assert partly("import", "--all", "--yes").out.endswith(NOTHING_NEW)


def test_one_file_that_fails_altogether_is_no_part(partly):
    done = partly("import", str(partly.bad))
    assert (done.code, done.out) == (1, "")
    assert f"Failed: {partly.bad}" in done.err


def test_index_names_a_bad_session_too(partly):
    assert partly("project", "init").code == 0
    done = partly("project", "index", str(partly.bad.parent))
    assert done.code == PARTLY
    assert f"Failed: {partly.bad}: session" in done.err
    assert "Indexed 2 files" in done.out


def test_one_agent_alone_or_one_that_nobody_knows(machine):
    write_all(machine.home, machine.repo)
    (pi,) = machine.take_in("--agent", "pi")
    assert pi["sessions"] == 2
    done = machine("import", "--all", "--agent", "hal")
    assert (done.code, "There is no agent 'hal'. There are: " in done.err) == (2, True)


def test_nothing_found(machine):
    done = machine("import", "--all")
    assert (done.code, done.out) == (0, "No past sessions were found on this machine.\n")
    assert machine("import").code == 2


@pytest.mark.parametrize(
    ("export", "sessions", "told"),
    [
        ("chatgpt", 2, "Take 16 mm for a 12 t boat."),
        ("claude_ai", 1, "At neap tides the range is smallest."),
    ],
)
def test_exports_of_chats_by_path(machine, export, sessions, told):
    file = DATA / export / "conversations.json"
    done = machine.js("import", str(file), "--into", "user:ann")
    assert (done["scope"], done["sessions"]) == ("user:ann", sessions)
    assert told in machine.turns()
    assert machine.js("import", str(file), "--into", "user:ann")["sessions"] == 0


def test_a_file_that_is_not_there(machine):
    done = machine("import", "no.jsonl")
    assert (done.code, "no.jsonl" in done.err, "Nothing was imported." in done.err) == (
        2,
        True,
        True,
    )


# What was built


def test_a_plan_reads_nothing_and_says_why_not(built):
    claude_code(
        built.home,
        built.repo,
        said(
            "We decided to use Vite because it is fast.", id_="33333333-0000-4000-8000-000000000003"
        ),
    )
    built.take_in()
    before = built.js("project", "stats")
    plan = built.js("project", "build", "--plan", "--all")
    assert plan["read"] == ["33333333-0000-4000-8000-000000000003"]
    assert list(plan["passed"].values()) == ["it has been read"]
    assert "older than 30 days" in built("project", "build", "--plan").out
    assert built.js("project", "stats") == before


def test_view_and_context(machine):
    assert machine("project", "view").out == EMPTY
    assert machine("project", "context").out == ""


def test_view_shows_what_an_agent_is_told(built):
    shown = built("project", "view").out
    assert "# Memory Guidance" in shown
    assert RULE in shown
    assert shown == built("project", "context").out == built("project", "view").out
    assert str(config.data_folder()) not in shown


def test_enqueue_has_the_next_build_make_them_again_and_rebuild_does_it_now(built):
    folder = Path(built.js("project", "stats")["folder"])
    (folder / "MEMORY.md").unlink()
    assert built("project", "diagnose").out.splitlines()[-1].startswith("The files are missing.")
    assert built("project", "build", "--all").out.startswith("Nothing to do.")
    assert built("project", "enqueue").out == "Memory consolidation enqueued.\n"
    assert built.js("project", "stats")["waiting"]
    assert built.js("project", "build")["files"]
    assert (folder / "MEMORY.md").is_file()
    (folder / "MEMORY.md").unlink()
    assert built("project", "rebuild").out == f"Read 0 sessions and wrote {folder}.\n"
    assert (folder / "MEMORY.md").is_file()


def test_stats(built):
    stats = built.js("project", "stats")
    assert (stats["sessions"], stats["outputs"], stats["waiting"], stats["failures"]) == (
        1,
        1,
        False,
        {},
    )
    assert {"MEMORY.md", "memory_summary.md", "raw_memories.md", "skills/deploy/SKILL.md"} <= set(
        stats["files"]
    )
    assert "skills/deploy/SKILL.md" in built("project", "stats").out


def test_diagnose_says_why_nothing_was_built(machine):
    told = machine.js("project", "diagnose")
    assert "`memories: {enabled: true}` in holdfast.yaml" in told[0]
    assert told[1].startswith(
        "No session of this project has been imported. `holdfast import --all`"
    )
    claude_code(machine.home, machine.repo, said(RULE))
    machine.take_in()
    told = "\n".join(machine.js("project", "diagnose"))
    assert "it is older than 30 days" in told and "`holdfast project build --all`" in told
    machine("project", "build", "--all")
    (machine.repo / "holdfast.yaml").write_text("memories: {enabled: true}\n")
    assert machine("project", "diagnose").out.startswith("All is well: ")


def test_clear_asks_and_takes_this_project_alone(built):
    blog = built.home / "src" / "blog"
    claude_code(built.home, blog, said(RULE, id_="22222222-0000-4000-8000-000000000002"))
    blog.mkdir(parents=True)
    built.take_in()
    built("project", "build", "--all", folder=blog)
    refused = built("project", "clear")
    assert (refused.code, "Add --yes" in refused.err) == (2, True)
    assert RULE in built("project", "view").out
    assert built("project", "clear", "--yes").code == 0
    assert built("project", "view").out == EMPTY
    assert built.js("project", "stats")["files"] == []
    assert RULE in built("project", "view", folder=blog).out
    left = [
        file for file in config.data_folder().glob("projects/tidewatch-*/**/*") if file.is_file()
    ]
    assert not any(RULE.encode() in file.read_bytes() for file in left)


def test_a_mistake_in_holdfast_yaml_is_named(machine):
    (machine.repo / "holdfast.yaml").write_text("memories: {enabeld: true}\n")
    done = machine("project", "build")
    assert (done.code, "Did you mean 'enabled'?" in done.err) == (2, True)
    (machine.repo / "holdfast.yaml").write_text("memory: {}\n")
    assert "Did you mean 'memories'?" in machine("project", "view").err


# memory:// URLs


def test_op_20_files_by_their_urls(built):
    assert (
        built("project", "read", "memory://root").out
        == built("project", "read", "memory://root/memory_summary.md").out
    )
    whole = built.js("project", "read", "memory://root/MEMORY.md")
    assert whole["text"].startswith("# Memory\n")
    assert (whole["type"], whole["size"]) == ("text/markdown", len(whole["text"].encode()))
    assert (
        built.js("project", "read", "memory://root/skills/deploy/SKILL.md")["type"]
        == "text/markdown"
    )
    assert (
        built.js("project", "read", "memory://root/skills/deploy/scripts/run.sh")["type"]
        == "text/plain"
    )


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("memory://", "memory:// URL requires a namespace: memory://root"),
        ("memory://other/MEMORY.md", "Unknown memory namespace: other. Supported: root"),
        ("memory://root/../x", "Path traversal (..) is not allowed in memory:// URLs"),
        ("memory://root/%2E%2E/x", "Path traversal (..) is not allowed in memory:// URLs"),
        ("memory://root//etc/passwd", "Absolute paths are not allowed in memory:// URLs"),
        ("memory://root/%zz", "Invalid URL encoding in memory:// path: %zz"),
        ("memory://root/skills", "memory:// URL must resolve to a file: memory://root/skills"),
        ("memory://root/no.md", "Memory file not found: memory://root/no.md"),
        ("memory://root/out.md", "memory:// URL escapes memory root"),
    ],
)
def test_op_21_urls_that_lead_nowhere(built, url, told):
    folder = Path(built.js("project", "stats")["folder"])
    (folder / "out.md").symlink_to(built.home)
    done = built("project", "read", url)
    assert (done.out, done.err) == ("", f"Error: {told}\n")
    assert done.code != 0


def test_op_21_before_anything_was_built(machine):
    done = machine("project", "read", "memory://root")
    assert done.err.startswith("Error: Memory artifacts are not available for this project yet.")


def test_what_a_model_would_cost_is_told_before_it_is_asked(shop, builder, cli):
    shop.enable(model=builder)
    shop.talk("thread-1")
    planned = cli("project", "build", "--plan").out
    assert "The language model would be asked 2 times, about " in planned
    assert builder.chats == []
    done = cli("project", "build")
    assert (done.code, builder.calls) == (0, (1, 1))
    assert done.err.splitlines()[0] in planned
    shop.enable()
    assert cli("project", "build").err == "", "without a model nothing is to be told"
