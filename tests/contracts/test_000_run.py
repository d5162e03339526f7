"""Seed 000 for real: the command in processes of its own, a provider over HTTP, a terminal, signals
and kill -9.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest

from patience import PATIENCE
from servers import free_port


def answers(provider):
    return f"{{provider: openai, name: some-model, base_url: '{provider.url}'}}"


def test_a_conversation_over_http_with_an_openai_compatible_server(cli, write_role, provider):
    """The real path: chat and tools over HTTP, streamed; the answer, the memory and the session are
    there.
    """
    path = write_role(model=answers(provider))
    provider.script = [
        ("remember", {"content": "Ines lives in Lisbon", "category": "People"}),
        "I will remember that.",
    ]
    done = cli("run", path, "-i", stdin="Ines lives in Lisbon\n")
    assert done.out == "I will remember that.\n"
    first, second = provider.chats
    assert first["stream"]
    assert {tool["function"]["name"] for tool in first["tools"]} == {
        "remember",
        "recall",
        "list_memories",
        "learn_procedure",
        "record_episode",
    }
    assert second["messages"][-1]["content"] == "Remembered (id=1, category=people)"
    assert "[semantic:people]" in cli("memory", "list", path).out
    provider.script = [("learn_procedure", {"content": "Answer in short sentences"}), "ok"]
    cli("run", path, "-p", "answer in short sentences", "--resume")
    provider.script = ["hello"]
    cli("run", path, "-p", "hi")
    system = [
        message["content"]
        for message in provider.chats[-1]["messages"]
        if message["role"] == "system"
    ]
    assert "- [general] Answer in short sentences" in "\n".join(system)


def test_a_provider_that_fails_is_told_and_the_conversation_goes_on(cli, write_role, provider):
    path = write_role(model=answers(provider))
    provider.status = 400
    done = cli("run", path, "-i", stdin="hello\n")
    assert done.code == 1
    assert "out of order" in done.err
    assert cli("run", path, "-p", "hello").code == 1


def test_consolidation_over_http_at_the_end_of_a_session(cli, write_role, provider):
    path = write_role(model=answers(provider))
    provider.script = [
        ("record_episode", {"content": "Deployed v2.1"}),
        "noted",
        "fact: Staging runs v2.1",
    ]
    done = cli("run", path, "-i", stdin="we deployed\n")
    assert done.err == "Created 1 semantic memories from episodic data.\n"
    assert "[semantic:fact]" in cli("memory", "list", path).out


def test_two_processes_of_one_role_both_remember_and_nothing_is_lost_or_doubled(
    process, write_role, cli
):
    path = write_role()
    each = 15
    runs = [process("run", path, "-i") for _ in range(2)]
    for who, run in enumerate(runs):
        for number in range(each):
            run.say(f"Person {who} owns book {number}")
        run.say("Everybody knows the same thing")
    for run in runs:
        code, out, err = run.end()
        assert (code, err) == (0, "")
        assert out.count("Noted. Remembered") == each + 1
    listed = json.loads(cli("memory", "list", path, "--json", "--limit", "100").out)
    expected = [f"Person {who} owns book {number}" for who in range(2) for number in range(each)]
    assert sorted(one["content"] for one in listed) == sorted(
        [*expected, "Everybody knows the same thing"]
    )
    assert cli("memory", "sessions", path, "--json").out.count('"id"') == 2


def test_after_kill_9_during_a_turn_the_last_complete_turn_is_resumed(
    process, write_role, cli, provider
):
    path = write_role(model=answers(provider))
    run = process("run", path, "-i")
    provider.script = ["the first answer"]
    run.say("the first question")
    run.hear("the first answer")
    provider.script = [("remember", {"content": "half a turn"})] * 1000  # a turn that does not end
    run.say("the second question")
    while not any("half a turn" in json.dumps(chat["messages"]) for chat in provider.chats):
        # Another process is at work; there is nothing to wait on but what it asks for.
        time.sleep(0.01)
    run.popen.kill()
    run.end()
    provider.script = ["welcome back"]
    done = cli("run", path, "-i", "--resume", stdin="are you there?\n")
    assert done.out == "Resumed session with 2 messages.\nwelcome back\n"
    said = [
        message["content"]
        for message in provider.chats[-1]["messages"]
        if message["role"] != "system"
    ]
    assert said == ["the first question", "the first answer", "are you there?"]


def test_a_daemon_in_a_process_of_its_own_runs_by_its_triggers_and_ends_cleanly_at_sigterm(
    process, write_role, cli, tmp_path
):
    watched, port = tmp_path / "watched", free_port()
    watched.mkdir()
    path = write_role(
        "{embeddings: {provider: none}, consolidation: {interval: after_session}}",
        more=f"""
  triggers:
    - {{type: cron, schedule: "* * * * *", prompt: "tick"}}
    - {{type: file_watch, paths: ["{watched}"], debounce_seconds: 0.1,
       prompt_template: "The file {{path}} is new"}}
    - {{type: webhook, port: {port}}}""",
    )
    run = process("run", path, "--daemon")
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            said = "The shop is open because it is Monday."
            answer = httpx.post(f"http://127.0.0.1:{port}/webhook", content=said, timeout=PATIENCE)
            break
        except httpx.ConnectError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert answer.status_code == 202
    (watched / "note.md").write_text("hello")
    wanted = {"webhook", "file_watch"}
    while wanted - episodes(cli, path):
        assert time.monotonic() < deadline, run.popen.poll()
        time.sleep(0.1)
    run.popen.send_signal(signal.SIGTERM)
    code, _, err = run.end()
    assert code == 0, err
    left = json.loads(cli("memory", "list", path, "--type", "episodic", "--json").out)
    assert all(one["consolidated_at"] for one in left), "the session's end consolidates"


def episodes(cli, path):
    listed = json.loads(cli("memory", "list", path, "--type", "episodic", "--json").out)
    return {one["metadata"]["trigger_type"] for one in listed}


class Terminal:
    """The command on a terminal of its own, as a person has it."""

    def __init__(self, *args, cwd):
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ["TERM"] = "xterm"
            os.execv(sys.executable, [sys.executable, "-m", "holdfast", *map(str, args)])
        self.shown = ""

    def press(self, keys):
        os.write(self.screen, keys.encode())

    def see(self, words, timeout=PATIENCE):
        """Waits until these words have been shown since the last look."""
        deadline = time.monotonic() + timeout
        while words not in self.shown:
            assert time.monotonic() < deadline, self.shown
            try:
                data = os.read(self.screen, 65536).decode(errors="replace")
            except OSError:
                data = ""
            if "\x1b[6n" in data:  # the editor asks where the cursor is; a terminal answers
                self.press("\x1b[1;1R")
            assert data, f"it ended: {self.shown!r}"
            self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data)
        self.shown = self.shown.partition(words)[2]

    def end(self):
        while True:
            try:
                if not os.read(self.screen, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.skipif(sys.platform == "win32", reason="terminals there are another matter")
def test_a_person_at_a_terminal_talks_stops_an_answer_and_ends_the_session(
    write_role, cli, tmp_path, provider
):
    path = write_role(model=answers(provider))
    terminal = Terminal("run", path, "-i", cwd=tmp_path)
    terminal.see("Talking with assistant. /help lists the commands, Ctrl-D ends.")
    terminal.see(">")
    provider.script = ["hello yourself"]
    terminal.press("hello\r")
    terminal.see("hello yourself")
    terminal.see(">")
    provider.script = [("remember", {"content": "again"})] * 1000
    terminal.press("do not stop\r")
    terminal.see("· remember")
    terminal.press("\x03")
    terminal.see("(stopped; that turn is not kept)")
    terminal.see(">")
    terminal.press("\x03")
    terminal.see("Ctrl-D or /end ends the session.")
    terminal.see(">")
    provider.script = ["two lines, I see"]
    terminal.press("one\x1b\rtwo\r")
    terminal.see("two lines, I see")
    terminal.see(">")
    terminal.press("\x04")
    assert terminal.end() == 0
    prompts = [
        message["content"]
        for message in provider.chats[-1]["messages"]
        if message["role"] == "user"
    ]
    assert prompts == ["hello", "one\ntwo"]
    (session,) = json.loads(cli("memory", "sessions", path, "--json").out)
    assert session["messages"] == 4


def test_the_agent_commands_say_what_to_install_where_the_extra_is_missing(write_role, tmp_path):
    """With the packages of the extra hidden, the error names the extra, and other commands still
    work.
    """
    (tmp_path / "hide.py").write_text(
        "import sys\n"
        "for name in ('pydantic_ai', 'ruamel', 'ruamel.yaml'):\n    sys.modules[name] = None\n"
        "from holdfast.cli.app import run\nsys.exit(run())\n"
    )

    def hidden(*args):
        command = [sys.executable, tmp_path / "hide.py", *args]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    done = hidden("run", str(write_role()), "-p", "hello")
    assert (done.returncode, "pip install 'holdfast-memory[agent]'" in done.stderr) == (1, True), (
        done.stderr
    )
    assert hidden("settings").returncode == 0


def test_the_scripted_agent_does_not_remember_a_greeting(cli, write_role):
    role = write_role()
    assert "Tell me something to remember" in cli("run", role, "-p", "hello").out
    assert cli("memory", "list", role).out.startswith("No memories found.")
