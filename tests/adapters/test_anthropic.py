"""The memory tool of Anthropic: its exact answers, through the real SDK, with a model that follows
a script.
"""

from __future__ import annotations

import asyncio
import json
import threading
import unicodedata
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import anthropic
import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.integrations.anthropic import async_memory_tool, memory_tool

WORDS = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=WORDS, clock=clock, background=False
    ) as hf:
        yield hf


@pytest.fixture
def tool(hf):
    return memory_tool(hf)


def ask(tool, command, **values):
    return tool.call({"command": command, **values})


def refusal(tool, command, **values):
    with pytest.raises(ToolError) as error:
        ask(tool, command, **values)
    return str(error.value)


# Exact answers: ours beside those of the SDK's own tool over files


STEPS = [
    ("create", {"path": "/memories/notes.md", "file_text": "# Notes\n\ntea\ncoffee\n"}),
    ("view", {"path": "/memories/notes.md"}),
    ("view", {"path": "/memories/notes.md", "view_range": [2, 3]}),
    ("view", {"path": "/memories/notes.md", "view_range": [3, -1]}),
    ("str_replace", {"path": "/memories/notes.md", "old_str": "coffee", "new_str": "cocoa"}),
    ("view", {"path": "/memories/notes.md"}),
    ("insert", {"path": "/memories/notes.md", "insert_line": 0, "insert_text": "first\n"}),
    ("insert", {"path": "/memories/notes.md", "insert_line": 5, "insert_text": "last"}),
    ("view", {"path": "/memories/notes.md"}),
    ("rename", {"old_path": "/memories/notes.md", "new_path": "/memories/deep/er/notes.md"}),
    ("view", {"path": "/memories/deep/er/notes.md"}),
    ("create", {"path": "/memories/empty.md", "file_text": ""}),
    ("view", {"path": "/memories/empty.md"}),
    ("delete", {"path": "/memories/deep"}),
]
REFUSED = [
    ("create", {"path": "/memories/a.md", "file_text": "again"}),
    ("view", {"path": "/memories/none.md"}),
    ("view", {"path": "/etc/passwd"}),
    ("str_replace", {"path": "/memories/a.md", "old_str": "nowhere", "new_str": ""}),
    ("str_replace", {"path": "/memories/a.md", "old_str": "x", "new_str": "y"}),
    ("str_replace", {"path": "/memories/none.md", "old_str": "x", "new_str": "y"}),
    ("str_replace", {"path": "/memories/folder", "old_str": "x", "new_str": "y"}),
    ("insert", {"path": "/memories/a.md", "insert_line": 9, "insert_text": "x"}),
    ("insert", {"path": "/memories/none.md", "insert_line": 0, "insert_text": "x"}),
    ("delete", {"path": "/memories"}),
    ("delete", {"path": "/memories/none.md"}),
    ("rename", {"old_path": "/memories/none.md", "new_path": "/memories/b.md"}),
    ("rename", {"old_path": "/memories/a.md", "new_path": "/memories/folder/c.md"}),
    ("rename", {"old_path": "/memories", "new_path": "/memories/b"}),
    ("view", {"path": "/memories/../../etc/passwd"}),
]


def test_every_answer_is_that_of_the_reference(tool, tmp_path):
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command, values in STEPS:
        assert ask(tool, command, **values) == ask(reference, command, **values), (command, values)


@pytest.mark.parametrize(("command", "values"), REFUSED)
def test_every_refusal_is_that_of_the_reference(tool, tmp_path, command, values):
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for one in (tool, reference):
        ask(one, "create", path="/memories/a.md", file_text="x\nx\n")
        ask(one, "create", path="/memories/folder/c.md", file_text="c")
    assert refusal(tool, command, **values) == refusal(reference, command, **values)


def test_a_folder_is_listed_two_levels_deep(tool):
    for path in ("a.md", "b/c.md", "b/d/e.md", ".hidden/x.md"):
        ask(tool, "create", path=f"/memories/{path}", file_text="12345")
    assert ask(tool, "view", path="/memories").split("\n") == [
        (
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden "
            "items:"
        ),
        "20B\t/memories",
        "5B\t/memories/a.md",
        "10B\t/memories/b/",
        "5B\t/memories/b/c.md",
        "5B\t/memories/b/d/",
    ]
    assert ask(tool, "view", path="/memories/b").endswith(
        "5B\t/memories/b/c.md\n5B\t/memories/b/d/\n5B\t/memories/b/d/e.md"
    )


# Files are memories


def test_what_a_model_writes_is_recalled(hf, tool):
    ask(tool, "create", path="/memories/tea.md", file_text="Ann drinks oolong in the afternoon.")
    assert [hit.memory.content for hit in hf.recall("what tea does Ann drink?")] == [
        "Ann drinks oolong in the afternoon."
    ]
    ask(tool, "str_replace", path="/memories/tea.md", old_str="oolong", new_str="sencha")
    assert "sencha" in hf.recall("what tea does Ann drink?")[0].memory.content
    ask(tool, "delete", path="/memories/tea.md")
    assert hf.recall("what tea does Ann drink?") == []
    hf.undo()
    assert "sencha" in ask(tool, "view", path="/memories/tea.md")


def test_what_was_remembered_elsewhere_is_a_file(hf, tool):
    hf.remember("Ann lives in Porto")
    hf.remember("Answer in Portuguese", kind="rule")
    listed = ask(tool, "view", path="/memories")
    (fact,) = [line.split("\t")[1] for line in listed.split("\n") if "/facts/ann" in line]
    assert "/memories/rules/answer-in-portuguese" in listed
    assert ask(tool, "view", path=fact).endswith("     1\tAnn lives in Porto")
    ask(tool, "str_replace", path=fact, old_str="Porto", new_str="Braga")
    assert [memory.content for memory in hf.list(kinds=["fact"])] == ["Ann lives in Braga"]


def test_a_file_in_the_folder_of_facts_is_one(hf, tool):
    ask(tool, "create", path="/memories/facts/chess.md", file_text="Ann plays chess.")
    ask(tool, "create", path="/memories/copy.md", file_text="Ann plays chess.")
    assert [(memory.kind, memory.content) for memory in hf.list()] == [
        ("document", "Ann plays chess."),
        ("fact", "Ann plays chess."),
    ]


def test_scopes_do_not_meet(hf, tool):
    ask(tool, "create", path="/memories/mine.md", file_text="mine")
    other = memory_tool(hf.scoped("user:bob"))
    assert "mine" not in ask(other, "view", path="/memories")
    assert "does not exist" in refusal(other, "view", path="/memories/mine.md")


def test_secrets_are_left_out(tool):
    ask(tool, "create", path="/memories/key.md", file_text="password=hunter2-x9")
    assert "hunter2" not in ask(tool, "view", path="/memories/key.md")


def test_too_long_a_file_is_refused_with_what_to_do(tool):
    assert "Split it" in refusal(tool, "create", path="/memories/big.md", file_text="x" * 200_000)


@given(
    text=st.text(
        alphabet=st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=200
    )
)
def test_a_file_holds_what_was_written(text):
    # A text of nothing but invisible characters is refused.
    assume(not text or any(unicodedata.category(one)[0] in "LNPS" for one in text))
    with Holdfast.open(":memory:", scope="user:ann", settings=WORDS, background=False) as hf:
        tool = memory_tool(hf)
        ask(tool, "create", path="/memories/x", file_text=text)
        shown = ask(tool, "view", path="/memories/x").split("\n", 1)[1]
        numbered = [f"{number:>6}\t{line}" for number, line in enumerate(text.split("\n"), start=1)]
        assert shown == "\n".join(numbered)


@pytest.mark.parametrize(
    "path",
    ["/memoriesx", "memories/a", "/memories/..", "/memories/a/../b", "/memories/a\\..\\b", ""],
)
def test_no_path_leads_out(tool, path):
    with pytest.raises(ToolError):
        ask(tool, "create", path=path, file_text="x")


# End to end


@pytest.fixture
def model():
    """A server on loopback, and a model behind it that uses the tool by a script, then repeats what
    it was told.
    """

    class Scripted(BaseHTTPRequestHandler):
        script: ClassVar[list] = list(COMMANDS)
        asked: ClassVar[list] = []

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.asked.append(body)
            if self.script:
                use = {
                    "type": "tool_use",
                    "id": f"toolu_{len(self.asked)}",
                    "name": "memory",
                    "input": self.script.pop(0),
                }
                content, reason = [use], "tool_use"
            else:
                told = body["messages"][-1]["content"][0]["content"]
                content, reason = (
                    [{"type": "text", "text": told if isinstance(told, str) else told[0]["text"]}],
                    "end_turn",
                )
            message = {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-test",
                "content": content,
                "stop_reason": reason,
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            answer = json.dumps(message).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", Scripted.asked
        server.shutdown()


COMMANDS = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/tea.md", "file_text": "Ann drinks oolong."},
    {"command": "view", "path": "/memories/tea.md"},
)
ASKED = {
    "model": "claude-test",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "remember my tea"}],
}


def test_the_sdk_runs_the_tool(hf, model):
    url, asked = model
    with anthropic.Anthropic(api_key="none", base_url=url) as client:
        last = client.beta.messages.tool_runner(**ASKED, tools=[memory_tool(hf)]).until_done()
    assert last.content[0].text.endswith("     1\tAnn drinks oolong.")
    assert asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert [memory.content for memory in hf.list()] == ["Ann drinks oolong."]


def test_the_awaitable_sdk_runs_it_too(hf, model):
    async def run():
        async with anthropic.AsyncAnthropic(api_key="none", base_url=model[0]) as client:
            return await client.beta.messages.tool_runner(
                **ASKED, tools=[async_memory_tool(hf)]
            ).until_done()

    assert asyncio.run(run()).content[0].text.endswith("     1\tAnn drinks oolong.")
