"""Exports of ChatGPT and Claude.ai, as a zip or unpacked."""

import json
import zipfile
from pathlib import Path

import pytest
from heard import DATA, one, read, said

from holdfast.transcripts import reader_for
from holdfast.transcripts.chatgpt import ChatGPT
from holdfast.transcripts.claude_ai import ClaudeAi
from holdfast.transcripts.json_documents import elements

CHATGPT = DATA / "chatgpt" / "conversations.json"
CLAUDE = DATA / "claude_ai" / "conversations.json"


def test_chatgpt_gives_the_branch_that_was_seen_last() -> None:
    (first, entries), (second, others) = read(ChatGPT(), CHATGPT)
    assert (first.id, first.title, first.started_at) == (
        "683b-aaaa",
        "Mooring lines",
        1_748_768_400_123_000,
    )
    assert said(entries) == [
        ("user", "How thick a line for a 12 t boat?"),
        ("tool", "python: print(12*1.2)\n14.4"),
        ("assistant", "Take 16 mm for a 12 t boat."),
    ]
    assert second.id == "683b-bbbb"
    assert said(others) == [
        ("user", "I only want knots I can tie with one hand."),
        ("assistant", "Then the bowline."),
    ]


def test_claude_gives_what_was_said_and_looked_up() -> None:
    transcript, entries = one(ClaudeAi(), CLAUDE)
    assert (transcript.id, transcript.title) == ("c0ffee00-1", "Tide tables")
    assert said(entries) == [
        ("user", "Explain neap tides."),
        ("tool", "web_search: neap tide definition\nok\nsmallest tidal range"),
        ("assistant", "At neap tides the range is smallest."),
    ]


def test_claude_messages_that_name_parents_make_one_branch(tmp_path: Path) -> None:
    links = [("1", "00"), ("2", "1"), ("3", "1"), ("4", "3")]
    messages = [
        {"uuid": key, "parent_message_uuid": parent, "sender": "human", "text": f"m{key}"}
        for key, parent in links
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"uuid": "c", "chat_messages": messages}]))
    assert [text for _, text in said(one(ClaudeAi(), path)[1])] == ["m1", "m3", "m4"]


@pytest.mark.parametrize("name", ["conversations.json", "export/conversations-000.json"])
def test_a_zip_is_read_as_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(CHATGPT, name)
        archive.writestr("user.json", "{}")
    reader = reader_for(path)
    assert reader is not None
    assert reader.name == "chatgpt"
    assert [transcript.id for transcript, _ in read(reader, path)] == ["683b-aaaa", "683b-bbbb"]


def test_an_interrupted_export_goes_on_with_the_next_conversation() -> None:
    first, second = (transcript.cursor for transcript, _ in read(ChatGPT(), CHATGPT))
    assert [transcript.id for transcript, _ in read(ChatGPT(), CHATGPT, first)] == ["683b-bbbb"]
    assert read(ChatGPT(), CHATGPT, second) == []


def test_an_export_that_breaks_off_gives_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(CHATGPT.read_bytes()[:-400])
    (first, entries), (broken, nothing) = read(ChatGPT(), path)
    assert (first.id, len(entries)) == ("683b-aaaa", 3)
    assert (broken.skipped, nothing) == (1, [])
    assert "stops being JSON behind 1 conversation" in broken.note


def test_a_damaged_zip_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(b"PK\x03\x04 and no more")
    assert read(ChatGPT(), path) == []
    assert reader_for(path) is None


def test_a_long_array_is_read_one_element_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(
        json.dumps([{"n": number, "fill": "é" * 5000} for number in range(500)]), encoding="utf-8"
    )
    with path.open("rb") as file:
        assert [value and value["n"] for value in elements(file)] == list(range(500))


def test_each_claims_its_own_export() -> None:
    assert [reader.name for path in (CHATGPT, CLAUDE) if (reader := reader_for(path))] == [
        "chatgpt",
        "claude.ai",
    ]
