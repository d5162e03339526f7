"""Seed 003, hooks: recall before an execution, index and extract after it, and a host that never
waits or fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hosts import (
    EVENTS,
    HOSTS,
    PATIENCE,
    Project,
    ask,
    claude_code,
    codex,
    command,
    context,
    cursor,
    entries,
    gemini_cli,
    when_finished,
)

from holdfast import config
from holdfast.coding_agents.hooks import log
from holdfast.coding_agents.hooks.after_session import LEASE, TRANSCRIPT, TURN, finish
from holdfast.coding_agents.hooks.events import MOST_CHARACTERS
from holdfast.text.fences import strip_fences

both = pytest.mark.parametrize("tool", HOSTS)


@pytest.fixture
def here(tmp_path):
    """A project with a record of every category, and one of the person's own."""
    project = Project(tmp_path / "shop")
    project.add(
        decisions="Payments go through Stripe, because refunds are simple there",
        procedures="Deploy with make release, then watch the dashboard",
        principles="Every public function has a docstring",
        incidents="The nightly job ran twice because of a stale lock file",
        preferences="Use pnpm, not npm",
    )
    project.add(place="assistant", preferences="Keep answers short")
    with project.open() as hf:
        finish(hf)
    return project


# Before: what a host is told


@both
def test_a_session_starts_with_what_stands_in_the_project_and_for_the_person(here, tool):
    told = context(
        ask("SessionStart", HOSTS[tool]("SessionStart", here.folder), "--tool", tool),
        "SessionStart",
    )
    for line in ("Every public function", "Use pnpm", "make release", "Keep answers short"):
        assert line in told
    # These are for prompts that they help with.
    assert "Stripe" not in told and "stale lock" not in told
    assert told.startswith("<holdfast-memory ") and strip_fences(told) == ("", 1)


@both
def test_a_prompt_gets_what_helps_with_it_and_where_that_stands(here, tool):
    said = HOSTS[tool](
        "UserPromptSubmit", here.folder, prompt="How do refunds of payments work here?"
    )
    told = context(ask("UserPromptSubmit", said, "--tool", tool), "UserPromptSubmit")
    assert "Stripe" in told and ".holdfast/records/decisions/" in told
    assert "stale lock" not in told
    assert strip_fences(told) == ("", 1)


def test_gemini_cli_is_told_under_its_own_names_of_the_events(here):
    started = ask("SessionStart", gemini_cli("SessionStart", here.folder), "--tool", "gemini-cli")
    assert "Use pnpm" in context(started, "SessionStart")
    said = gemini_cli("UserPromptSubmit", here.folder, prompt="How do refunds of payments work?")
    done = ask("UserPromptSubmit", said, "--tool", "gemini-cli")
    told = json.loads(done.out)["hookSpecificOutput"]
    assert (done.code, told["hookEventName"]) == (0, "BeforeAgent")
    assert "Stripe" in told["additionalContext"]


def test_cursor_is_told_in_its_own_words_and_never_kept_from_going_on(here):
    started = ask("SessionStart", cursor("SessionStart", here.folder), "--tool", "cursor")
    assert list(json.loads(started.out)) == ["additional_context"]
    assert "Use pnpm" in json.loads(started.out)["additional_context"]
    said = cursor("UserPromptSubmit", here.folder, prompt="How do refunds of payments work?")
    told = json.loads(ask("UserPromptSubmit", said, "--tool", "cursor").out)
    assert told.pop("continue") is True
    assert list(told) == ["additional_context"] and "Stripe" in told["additional_context"]
    said = cursor("UserPromptSubmit", here.folder, prompt="zxcvbn qwertz")
    assert ask("UserPromptSubmit", said, "--tool", "cursor")[:3] == (0, "{}", "")


@pytest.mark.parametrize("host", [gemini_cli, cursor])
def test_sessions_of_other_agents_are_indexed_when_they_are_over(here, host):
    transcript = here.folder.parent / "agent-transcripts" / "conv-1.jsonl"
    transcript.parent.mkdir()
    lines = {
        gemini_cli: [
            {"sessionId": "5c1f", "projectHash": "h", "startTime": "2026-05-01T09:00:00Z"},
            {"id": "1", "type": "user", "content": [{"text": "Invoices are numbered by year."}]},
        ],
        cursor: [
            {
                "role": "user",
                "message": {
                    "content": [{"type": "text", "text": "Invoices are numbered by year."}]
                },
            },
        ],
    }[host]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = host("SessionEnd", here.folder, transcript)
    assert ask("SessionEnd", said, "--tool", host.__name__.replace("_", "-")).out == "{}"
    assert when_finished()["files"] == 1
    assert any("numbered by year" in text for text in here.recalled("How are invoices numbered?"))


def test_a_record_whose_evidence_changed_is_told_with_that(here):
    cited = here.folder / "settings.py"
    cited.write_text("PORT = 8080\nHOST = 'localhost'\n")
    with here.open() as hf:
        hf.records.add(
            "The server listens on port 8080", category="decisions", evidence=["settings.py:1-2"]
        )
    said = claude_code(
        "UserPromptSubmit", here.folder, prompt="Which port does the server listen on?"
    )
    assert (
        "8080" in ask("UserPromptSubmit", said).out
        and "STALE" not in ask("UserPromptSubmit", said).out
    )
    cited.write_text("PORT = 9090\n")
    assert "STALE settings.py" in ask("UserPromptSubmit", said).out


def test_what_stands_already_is_not_told_again(here):
    said = claude_code(
        "UserPromptSubmit", here.folder, prompt="Should public functions have a docstring?"
    )
    assert "docstring" not in context(ask("UserPromptSubmit", said), "UserPromptSubmit")


def test_a_prompt_that_memory_has_nothing_to_say_about_gets_nothing(here):
    """AF-16."""
    for prompt in ("zxcvbn qwertz", "   ", ""):
        said = claude_code("UserPromptSubmit", here.folder, prompt=prompt)
        assert ask("UserPromptSubmit", said)[:3] == (0, "{}", "")


def test_a_session_that_is_resumed_or_compacted_starts_with_the_same_bytes(here):
    sources = ("startup", "resume", "clear", "compact")
    told = {
        ask("SessionStart", claude_code("SessionStart", here.folder, source=one)).out
        for one in sources
    }
    assert len(told) == 1
    here.add(principles="Errors are logged once, at the border")
    assert ask("SessionStart", claude_code("SessionStart", here.folder)).out not in told


def test_another_project_is_told_nothing_of_this_one(here, tmp_path):
    other = Project(tmp_path / "other")
    said = claude_code(
        "UserPromptSubmit", other.folder, prompt="How do refunds of payments work here?"
    )
    assert "Stripe" not in ask("UserPromptSubmit", said).out
    told = ask("SessionStart", claude_code("SessionStart", other.folder)).out
    assert "Keep answers short" in told and "pnpm" not in told


def test_what_a_record_said_before_it_was_changed_is_not_told_and_what_it_says_now_is_soon(here):
    file, said = here.file_of("principles"), claude_code("SessionStart", here.folder)
    file.write_text(file.read_text().replace("docstring", "type hint"))
    told = ask("SessionStart", said).out
    assert "docstring" not in told and "pnpm" in told
    when_finished()
    assert "type hint" in ask("SessionStart", said).out


def test_a_record_that_is_gone_is_not_told(here):
    here.file_of("principles").unlink()
    assert "docstring" not in ask("SessionStart", claude_code("SessionStart", here.folder)).out
    when_finished()


def test_a_broken_record_is_not_followed_at_every_prompt(here):
    here.file_of("principles").write_text("---\nid: [broken\n---\nNothing\n")
    for _ in range(3):
        ask("SessionStart", claude_code("SessionStart", here.folder))
        when_finished()
    assert [entry["event"] for entry in entries()].count("finish") == 1


def test_a_context_stays_below_what_hosts_cut(here):
    with here.open() as hf:
        for number in range(60):
            hf.records.add(
                f"{number}: " + "a module says at its top what belongs into it. " * 4,
                category="principles",
            )
    told = context(ask("SessionStart", claude_code("SessionStart", here.folder)), "SessionStart")
    assert 2_000 < len(told) <= MOST_CHARACTERS


def test_a_project_s_hook_leaves_it_to_the_person_s_own(here, cli):
    said = claude_code("SessionStart", here.folder)
    assert "pnpm" in ask("SessionStart", said, "--tool", "claude-code", "--project").out
    assert cli("hook", "install", "claude-code", "--yes").code == 0
    assert ask("SessionStart", said, "--tool", "claude-code", "--project").out == "{}"
    assert "pnpm" in ask("SessionStart", said, "--tool", "claude-code").out


# Whatever happens: a valid answer, exit code 0, nothing on stderr unless the event is unknown

MALFORMED = {
    "nothing": b"",
    "no JSON": b"{not json",
    "half": b'{"session_id": "abc',
    "a list": b"[1, 2]",
    "a word": b'"hello"',
    "not UTF-8": b'{"prompt": "\xff\xfe"}',
    "wrong types": (b'{"cwd": 7, "prompt": {"a": 1}, "session_id": null}'),
    "deep": b'{"a":' * 5000,
}


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", ""])
@pytest.mark.parametrize("said", MALFORMED.values(), ids=MALFORMED)
def test_whatever_comes_in_an_answer_goes_out(event, said):
    code, out, err = ask(event, said)[:3]
    assert (code, out, bool(err)) == (0, "{}", event not in EVENTS)


@both
@pytest.mark.parametrize("event", EVENTS)
def test_a_folder_in_no_project_is_answered(tmp_path, tool, event):
    assert ask(event, HOSTS[tool](event, tmp_path))[:3] == (0, "{}", "")
    assert ask(event, HOSTS[tool](event, tmp_path / "gone"))[:3] == (0, "{}", "")


def test_events_that_are_not_ours_are_answered(here):
    for event in ("PreToolUse", "PostToolUse", "Notification", "SubagentStop"):
        assert ask(event, claude_code(event, here.folder, tool_name="Bash"))[:2] == (0, "{}")


@pytest.mark.parametrize(
    ("event", "advice"),
    [
        ("UserPromtSubmit", "Did you mean 'UserPromptSubmit'?"),
        ("PreToolUse", "Unknown event 'PreToolUse'."),
        ("", "Which event?"),
    ],
)
def test_whoever_mistypes_an_event_is_told_on_stderr(here, event, advice):
    """The exit code stays 0, for a host may take any other for a reason to stop."""
    code, out, err = ask(event, claude_code(event, here.folder))[:3]
    assert (code, out) == (0, "{}")
    assert advice in err and "SessionStart, UserPromptSubmit, PreCompact, Stop, SessionEnd" in err


@both
@pytest.mark.parametrize("event", ["PreCompact", "Stop", "SessionEnd"])
def test_a_transcript_that_is_missing_is_answered(here, tool, event):
    assert ask(event, HOSTS[tool](event, here.folder, "/nowhere/abc123.jsonl"))[:3] == (0, "{}", "")
    assert ask(event, codex(event, here.folder, None))[:3] == (0, "{}", "")
    assert entries()[0]["outcome"] == "no transcript"


def test_a_huge_prompt_is_answered_by_its_two_ends(here):
    long = "How do refunds of payments work here? " + "x" * 1_000_000
    assert (
        "Stripe"
        in ask("UserPromptSubmit", claude_code("UserPromptSubmit", here.folder, prompt=long)).out
    )
    filler = "lorem ipsum dolor sit amet " * 40_000
    said = claude_code("UserPromptSubmit", here.folder, prompt=filler)
    assert json.loads(ask("UserPromptSubmit", said, seconds=None).out) is not None


def test_memory_that_is_off_says_nothing(here):
    """AF-23."""
    said = claude_code("SessionStart", here.folder)
    assert ask("SessionStart", said, HOLDFAST_MEMORY_MODE="incognito")[:3] == (0, "{}", "")
    here.switch(on=False)
    told = ask("SessionStart", said).out
    assert "pnpm" not in told and "Keep answers short" in told
    here.switch(on=False, place="assistant")
    assert ask("SessionStart", said)[:3] == (0, "{}", "")


@pytest.mark.parametrize(
    "environ",
    [
        {"HOLDFAST_NO_SUCH_SETTING": "1"},
        {"HOLDFAST_STORE": "/dev/null/memory.db"},
        {"HOLDFAST_STORE": "postgresql://nobody@127.0.0.1:1/none"},
        {"XDG_DATA_HOME": "/dev/null"},
        {"XDG_CONFIG_HOME": "/dev/null"},
        {"HOME": "/nowhere", "XDG_DATA_HOME": ""},
    ],
    ids=" ".join,
)
def test_what_is_wrong_on_this_machine_is_no_business_of_the_host(here, environ):
    for event in ("SessionStart", "UserPromptSubmit"):
        answered = ask(event, claude_code(event, here.folder, prompt="pnpm"), **environ)
        assert (answered.code, answered.err) == (0, "") and json.loads(answered.out) is not None


def test_a_file_that_is_no_store_is_answered_and_noted(here):
    config.default_store().write_bytes(b"This is no database. " * 100)
    assert ask("SessionStart", claude_code("SessionStart", here.folder))[:3] == (0, "{}", "")
    assert entries()[0]["outcome"] == "failed" and "StoreCorrupt" in entries()[0]["error"]


@pytest.mark.parametrize("said", [b"", b"{not json", b"[1, 2]"])
def test_the_log_says_that_a_host_sent_no_json(here, said, cli):
    assert ask("UserPromptSubmit", said)[:3] == (0, "{}", "")
    assert cli("hook", "log").out.splitlines()[0].endswith("standard input had no JSON object")


def test_a_broken_record_does_not_keep_the_others_from_being_told(here):
    here.file_of("principles").write_text("---\nid: [broken\n---\nNothing\n")
    told = ask("SessionStart", claude_code("SessionStart", here.folder))
    assert (told.code, told.err) == (0, "") and "pnpm" in told.out
    when_finished()


def test_a_broken_project_file_is_answered(here):
    (here.folder / ".holdfast/project.yaml").write_text(
        "<<<<<<< HEAD\nid: a\n=======\nid: b\n>>>>>>> x\n"
    )
    assert ask("SessionStart", claude_code("SessionStart", here.folder))[:3] == (0, "{}", "")
    assert entries()[0]["error"].startswith("InvalidInput")


# In time


def test_a_database_that_is_locked_is_not_waited_for(here):
    with Locked(config.default_store()):
        script = PREPARED.format(event="SessionStart", tool="codex")
        said = codex("SessionStart", here.folder)
        told = told_late(script, said)["hookSpecificOutput"]["additionalContext"]
    assert "Memory did not answer in time" in told and "pnpm" not in told
    assert entries()[0]["outcome"] == "late"


class Locked:
    """While this holds a store, nobody else can so much as read it."""

    def __init__(self, file: Path) -> None:
        self._connection = apsw.Connection(str(file))

    def __enter__(self) -> None:
        for sql in (
            "PRAGMA locking_mode = EXCLUSIVE",
            "BEGIN EXCLUSIVE",
            "UPDATE meta SET value = value",
        ):
            self._connection.execute(sql)

    def __exit__(self, *_: object) -> None:
        self._connection.close()


@pytest.mark.parametrize(
    "said", [b"", b'{"session_id": "abc", "prompt": "never'], ids=["nothing", "half"]
)
def test_a_host_that_never_closes_its_end_gets_the_empty_answer(said):
    with held_open("SessionStart", said) as process:
        assert process.stdout.read() == b"{}"
        assert process.wait(PATIENCE) == 0


def test_a_host_that_never_closes_its_end_is_heard_when_it_has_said_all(here):
    said = json.dumps(claude_code("SessionStart", here.folder)).encode()
    with held_open("SessionStart", said, seconds=PATIENCE) as process:
        assert b"pnpm" in process.stdout.read()


def held_open(event: str, said: bytes, *, seconds: float | None = None) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        command(event, seconds=seconds),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdin.write(said)
    process.stdin.flush()
    return process


LATE = """
import threading
from holdfast.coding_agents.hooks import deadline, handler, inject
from holdfast.retrieval import recall
begun = threading.Event()

def over_when_it_has_begun(self, seconds):
    threading.Thread(target=lambda: (begun.wait(), self._give_late()), daemon=True).start()

def slow(*_, **__):
    begun.set()
    threading.Event().wait()

deadline.Answer.watch = over_when_it_has_begun
{slow} = slow
handler.main(["{event}", "--tool", "{tool}"])
"""


def late(event: str, folder: Path, tool: str, *, slow: str) -> dict:
    """What a host is told when the time is over as soon as a step, the `slow` one, has begun."""
    script = LATE.format(slow=slow, event=event, tool=tool)
    return told_late(script, HOSTS[tool](event, folder, prompt="Which provider for payments?"))


# The time is over as soon as there is something to answer with.
PREPARED = """
import threading
from holdfast.coding_agents.hooks import deadline, handler
prepared = threading.Event()
prepare = deadline.Answer.prepare

def over_when_something_is_ready(self, seconds):
    threading.Thread(target=lambda: (prepared.wait(), self._give_late()), daemon=True).start()

def prepare_and_tell(self, text):
    prepare(self, text)
    prepared.set()

deadline.Answer.watch = over_when_something_is_ready
deadline.Answer.prepare = prepare_and_tell
handler.main(["{event}", "--tool", "{tool}"])
"""


def told_late(script: str, said: dict) -> dict:
    """What a hook answers that runs by a script and is late."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(said).encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert entries()[0]["outcome"] == "late"
    return json.loads(done.stdout)


@both
def test_a_prompt_whose_recall_is_late_is_told_what_stands_and_that_it_was_late(here, tool):
    told = late("UserPromptSubmit", here.folder, tool, slow="recall.recall")["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    for line in (
        "Every public function",
        "Use pnpm",
        "make release",
        "Keep answers short",
        "did not answer in time",
    ):
        assert line in told["additionalContext"]
    # Nothing of it is learned from a transcript.
    assert strip_fences(told["additionalContext"])[0].strip() == ""


@both
def test_a_session_that_starts_late_is_told_what_stands(here, tool):
    told = late("SessionStart", here.folder, tool, slow="inject.taught")["hookSpecificOutput"]
    assert (
        "Use pnpm" in told["additionalContext"]
        and "did not answer in time" in told["additionalContext"]
    )


@both
def test_where_not_even_the_store_could_be_opened_in_time_that_is_said(here, tool):
    told = late("UserPromptSubmit", here.folder, tool, slow="inject.open_store")[
        "hookSpecificOutput"
    ]
    assert (
        "did not answer in time" in told["additionalContext"]
        and "pnpm" not in told["additionalContext"]
    )


def test_the_person_is_told_of_a_late_hook_by_the_tool_that_shows_messages(here):
    assert (
        "Holdfast was late"
        in late("SessionStart", here.folder, "claude-code", slow="inject.taught")["systemMessage"]
    )
    assert list(late("SessionStart", here.folder, "codex", slow="inject.taught")) == [
        "hookSpecificOutput"
    ]


def test_where_memory_is_off_nothing_is_told_late(here, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "incognito")
    assert ask("UserPromptSubmit", claude_code("UserPromptSubmit", here.folder)).out == "{}"


def test_how_often_hooks_were_late_is_told(here, cli, monkeypatch):
    monkeypatch.chdir(here.folder)
    for number in range(9):
        log.note(
            event="UserPromptSubmit", tool="claude-code", outcome="told", ids=["rec_1"], ms=number
        )
    assert "answered late" not in cli("hook", "status").out
    assert "hooks in time" not in cli("doctor").out
    late("UserPromptSubmit", here.folder, "claude-code", slow="recall.recall")
    assert "claude-code: 1 of the last 10 calls answered late." in cli("hook", "status").out
    assert json.loads(cli("hook", "status", "--json").out)["late"]["claude-code"] == {
        "late": 1,
        "of": 10,
    }
    assert "1 of the last 10 calls answered late" in cli("doctor").out
    first = cli("hook", "log").out.splitlines()[0]
    assert " late, " in first and "only what stands was told" in first


def test_the_time_that_a_hook_takes_fits_into_what_the_host_was_asked_to_wait(tmp_path):
    from holdfast.coding_agents.hooks import deadline
    from holdfast.coding_agents.hooks.entries import HOOKS
    from holdfast.coding_agents.programs import hook_target

    wanted = HOOKS.wanted(hook_target("codex", "user", tmp_path))
    (waits,) = {one["timeout"] for ours in wanted.values() for one in ours}
    assert waits / 2 < deadline.TIME < 0.8 * waits


SLOW = """
import sys, threading
from holdfast.coding_agents.hooks import deadline, handler
deadline.TIME, deadline.LAST_STEPS = {seconds}, {seconds} / 6
handler.respond = lambda *_, **__: (threading.Event().wait({work}), ('{{"work": 1}}', "told"))[1]
handler.main(["SessionStart"])
"""


def slow(work: float, seconds: float = 0.3) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(work=work, seconds=seconds)],
        input=b"{}",
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_work_that_takes_too_long_is_cut_off_with_the_empty_answer():
    assert slow(work=PATIENCE) == (0, b"{}", b"")
    assert slow(work=PATIENCE, seconds=2) == (0, b"{}", b"")
    assert entries()[0]["outcome"] == "late"
    # 1,670 on a machine that is not crowded; without the timer, far more.
    assert 1_500 < entries()[0]["ms"] < PATIENCE * 1000


def test_work_that_ends_when_the_time_does_gives_one_answer_and_no_more():
    for work, seconds in [
        (0.0, 0.0),
        *((work, 0.3) for work in (0.0, 0.02, 0.05, 0.1, 0.2, 0.23, 0.24, 0.25, 0.26)),
    ]:
        code, out, err = slow(work, seconds)
        assert (code, err) == (0, b"")
        assert out in (b"{}", b'{"work": 1}')


def test_a_host_that_has_gone_is_no_error(here):
    said = json.dumps(claude_code("SessionStart", here.folder)).encode()
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command("SessionStart", seconds=PATIENCE),
        input=said,
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
    assert entries()[0]["outcome"] == "gone"


# The log


def test_the_log_tells_what_was_done_and_never_what_was_said(here, cli):
    secret = "the launch code is kumquat"
    ask(
        "UserPromptSubmit",
        claude_code("UserPromptSubmit", here.folder, prompt=secret),
        "--tool",
        "claude-code",
    )
    entry = entries()[0]
    assert (entry["event"], entry["tool"], entry["session"], entry["said"]) == (
        "UserPromptSubmit",
        "claude-code",
        "abc123",
        len(secret),
    )
    assert "kumquat" not in config.hook_logs()[0].read_text()
    assert "claude-code UserPromptSubmit: " in cli("hook", "log").out
    assert json.loads(cli("hook", "log", "--json").out)[0] == entry


def test_the_log_makes_room_for_itself(tmp_path):
    for number in range(3_000):
        log.note(event="Stop", session=f"{number:04}", error="x" * 500)
    files = sorted(config.hook_logs()[0].parent.glob("hooks.log*"))
    assert [file.name for file in files] == ["hooks.log", "hooks.log.1"]
    assert all(file.stat().st_size <= log.LARGEST for file in files)
    assert [entry["session"] for entry in entries()][:2] == ["2999", "2998"]
    assert config.hook_logs()[0].stat().st_mode & 0o777 == 0o600


def test_a_line_of_the_log_that_was_cut_off_is_left_out(cli):
    log.note(event="Stop", outcome="started")
    with config.hook_logs()[0].open("a") as file:
        file.write('{"event": "Sto')
    assert [entry["event"] for entry in entries()] == ["Stop"]
    assert cli("hook", "log").code == 0


def test_before_any_hook_has_run_the_log_says_so(cli):
    assert cli("hook", "log") == (0, "No hook has run yet.\n", "")
    assert json.loads(cli("hook", "log", "--json").out) == []


# After: index and extract

SESSION = [
    ("user", "Which database do we use for the shop?"),
    ("assistant", "We decided to use PostgreSQL for orders, because of its transactions."),
    ("user", "Right. Always run the migrations before the tests."),
]


@pytest.fixture
def transcript(here, tmp_path):
    """A session as Claude Code writes it down."""
    file = tmp_path / "projects" / "-shop" / "abc123.jsonl"
    file.parent.mkdir(parents=True)
    lines = [
        {
            "type": role,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": False,
            "sessionId": "abc123",
            "cwd": str(here.folder),
            "version": "2.1.0",
            "timestamp": f"2026-03-18T12:00:0{number}.000Z",
            "message": {
                "role": role,
                "content": text if role == "user" else [{"type": "text", "text": text}],
            },
        }
        for number, (role, text) in enumerate(SESSION)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_after_a_session_its_transcript_is_indexed_by_a_process_of_its_own(here, transcript):
    answered = ask("SessionEnd", claude_code("SessionEnd", here.folder, transcript))
    assert answered[:3] == (0, "{}", "")
    done = when_finished()
    assert (done["outcome"], done["files"]) == ("done", 1)
    assert any("PostgreSQL" in text for text in here.recalled("which database for orders?"))


def test_the_process_that_reads_a_transcript_leaves_nothing_behind(here, transcript, tmp_path):
    before = set(tmp_path.rglob("*"))
    ask("Stop", claude_code("Stop", here.folder, transcript))
    when_finished()
    new = set(tmp_path.rglob("*")) - before
    assert all(".holdfast" in file.parts for file in new)


def test_the_session_at_hand_is_not_told_what_it_said_itself(here, transcript):
    ask("Stop", claude_code("Stop", here.folder, transcript))
    when_finished()
    said = "which database for orders?"
    own = ask("UserPromptSubmit", claude_code("UserPromptSubmit", here.folder, prompt=said))
    other = ask(
        "UserPromptSubmit",
        claude_code("UserPromptSubmit", here.folder, prompt=said, session_id="another"),
    )
    assert "transactions" not in own.out
    assert "transactions" in other.out


def test_a_folder_in_no_project_has_nothing_read(tmp_path):
    file = tmp_path / "abc123.jsonl"
    file.write_text("{}\n")
    ask("SessionEnd", claude_code("SessionEnd", tmp_path, file))
    assert entries()[0]["outcome"] == "no project"


def test_there_is_one_at_a_time_in_a_project_and_it_reads_what_others_leave(here, transcript):
    with here.open() as hf:
        hf.store.jobs.enqueue(hf.scopes[0], TURN, TURN, watermark=hf.clock())
        other = hf.store.jobs.claim(
            [TURN], scopes=hf.scopes[:1], worker="another", now=hf.clock(), lease=LEASE
        )
        assert finish(hf, str(transcript))["files"] == 0
        hf.store.jobs.release(other)
        assert finish(hf)["files"] == 1
        assert finish(hf)["files"] == 0


def test_one_transcript_that_cannot_be_read_does_not_keep_the_others_from_being_read(
    here, transcript
):
    with here.open() as hf:
        hf.store.jobs.enqueue(
            hf.scopes[0], TRANSCRIPT, str(here.folder / "gone.jsonl"), watermark=1
        )
        assert finish(hf, str(transcript))["files"] == 1


def test_what_a_session_teaches_is_told_in_the_next(here, transcript):
    """Recall, index and extract, as one."""
    ask("SessionEnd", claude_code("SessionEnd", here.folder, transcript))
    assert when_finished()["records"] > 0
    told = ask("SessionStart", claude_code("SessionStart", here.folder, session_id="another")).out
    assert "migrations before the tests" in told


# The log, when something is erased


def logged(session: str, project: str | None = None, **more: object) -> None:
    log.note(event="UserPromptSubmit", session=session, project=project, outcome="told", **more)


def sessions_in_log() -> list[str]:
    return sorted(entry["session"] for entry in entries())


def project_of(here: Project) -> str:
    with here.open() as hf:
        return next(place.scope.key for place in hf.records.places if place.name == "project")


def test_all_that_the_log_says_of_a_project_goes_when_its_memory_is_purged(here):
    logged("one", project_of(here))
    logged("two", "another project")
    log.note(event="Stop", session="three", outcome="started")  # it may be of this project
    with here.open() as hf:
        receipt = hf.admin.purge(owner=True)
    assert sessions_in_log() == ["two"]
    assert "one" not in "".join(file.read_text() for file in config.hook_logs() if file.exists())
    assert ("hook log", "clean", "2 lines erased.") in receipt.places


def test_the_log_of_a_person_goes_when_all_that_is_kept_of_them_is_purged(cli):
    logged("one", "a project")
    cli("remember", "The spare key is under the blue pot")
    assert cli("purge", "--owner", f"user:{config.login()}", "--yes").code == 0
    assert entries() == []


def test_the_log_stays_when_somebody_else_is_purged(cli):
    logged("one", "a project")
    cli("remember", "The spare key is under the blue pot", "--scope", "user:bob")
    assert cli("purge", "--owner", "user:bob", "--yes").code == 0
    assert sessions_in_log() == ["one"]


def test_the_log_stays_when_another_store_than_that_of_hooks_is_purged(cli, tmp_path):
    logged("one", "a project")
    other = tmp_path / "other.db"
    cli("remember", "The spare key is under the blue pot", "--store", other)
    assert cli("purge", "--owner", f"user:{config.login()}", "--yes", "--store", other).code == 0
    assert sessions_in_log() == ["one"]


def test_lines_of_a_session_that_is_purged_go_from_the_log(cli):
    cli("capture", "--session", "monday", "My sister Clara lives in Narvik")
    logged("monday")
    logged("tuesday")
    assert cli("purge", "--session", "monday", "--yes").code == 0
    assert sessions_in_log() == ["tuesday"]


def test_ids_of_memories_that_are_purged_go_from_the_log(cli):
    gone, kept = (
        json.loads(cli("remember", text, "--json").out)["id"]
        for text in ("Likes tea", "Likes bread")
    )
    logged("monday", ids=[gone, kept])
    assert cli("purge", gone, "--yes").code == 0
    assert [entry["ids"] for entry in entries()] == [[kept]]
