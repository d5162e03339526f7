"""Sessions of Gemini CLI: lines that are written again and taken back, and the JSON of before."""

import hashlib
import json
import shutil
from pathlib import Path

from heard import DATA, append, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.gemini import Gemini

READER = Gemini()
LINES = next((DATA / "gemini").glob("*.jsonl"))
DOCUMENT = next((DATA / "gemini").glob("*.json"))
HEADER = {"sessionId": "s", "projectHash": "h", "startTime": "2026-02-20T10:00:00Z"}


def message(key, text, kind="user"):
    return {
        "id": key,
        "type": kind,
        "timestamp": "2026-02-20T10:00:01Z",
        "content": [{"text": text}],
    }


def test_a_session_of_lines_is_what_holds_in_the_end() -> None:
    """The last version of each message; nothing that was rewound; no thoughts and notices."""
    transcript, entries = one(READER, LINES)
    assert transcript.id == "ab12cd34-0000-4000-8000-000000000001"
    assert transcript.title == "Speed up the lighthouse build"
    assert said(entries) == [
        ("user", "Why is the lighthouse build slow?"),
        ("assistant", "Let me time it."),
        ("tool", "run_shell_command: npm run build -- --profile\nok\nBuilt in 94s"),
        ("tool", "read_file: /home/mira/src/lighthouse/webpack.config.js\nfailed\nFile not found"),
        ("user", "We stay with webpack because of the legacy plugins; turn on its cache."),
        ("assistant", "The cache is on, the second build takes 11 s."),
    ]


def test_the_older_json_is_read_and_not_read_twice() -> None:
    transcript, entries = one(READER, DOCUMENT)
    assert said(entries) == [
        ("user", "Name the mast sensor module."),
        ("assistant", "I suggest `masthead`."),
    ]
    assert entries[1].lines == (2, 2)
    assert list(READER.read(DOCUMENT, transcript.cursor)) == []


def test_messages_that_are_all_set_anew_replace_the_others(tmp_path: Path) -> None:
    change = {"$set": {"messages": [message("2", "New.")]}}
    path = write(tmp_path / "session-1.jsonl", HEADER, message("1", "Old."), change)
    assert said(one(READER, path)[1]) == [("user", "New.")]


def test_rewinding_to_what_nobody_knows_takes_back_all(tmp_path: Path) -> None:
    path = write(
        tmp_path / "session-1.jsonl",
        HEADER,
        message("1", "Old."),
        {"$rewindTo": "?"},
        message("2", "New."),
    )
    assert said(one(READER, path)[1]) == [("user", "New.")]


def test_a_message_that_is_written_again_later_makes_the_session_be_read_anew(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "session-1.jsonl", HEADER, message("1", "Short."))
    cursor = one(READER, path)[0].cursor
    append(path, message("1", "Longer."))
    transcript, entries = one(READER, path, cursor)
    assert (transcript.continued, said(entries)) == (False, [("user", "Longer.")])


def test_the_folder_is_noted_beside_the_chats_or_known_by_its_hash(tmp_path: Path) -> None:
    folder = hashlib.sha256(b"/home/mira/reef").hexdigest()
    chats = tmp_path / ".gemini" / "tmp" / folder / "chats"
    chats.mkdir(parents=True)
    path = Path(shutil.copy(LINES, chats))
    assert one(READER, path)[0].cwd == ""
    (tmp_path / ".gemini" / "projects.json").write_text(
        json.dumps({"projects": {"/home/mira/reef": "reef"}})
    )
    assert one(READER, path)[0].cwd == "/home/mira/reef"
    (chats.parent / ".project_root").write_text("/home/mira/atoll\n")
    assert one(READER, path)[0].cwd == "/home/mira/atoll"


def test_a_sub_agent_is_private(tmp_path: Path) -> None:
    assert one(
        READER, write(tmp_path / "x.jsonl", {**HEADER, "kind": "subagent"}, message("1", "Go."))
    )[0].private


def test_a_json_that_goes_on_as_lines_is_found_once(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "reef" / "chats"
    lines = write(chats / "session-1.jsonl", HEADER)
    write(chats / "session-1.json", {})
    other = write(chats / "session-2.json", {})
    qwen = write(tmp_path / ".qwen" / "tmp" / "reef" / "chats" / "session-3.jsonl", HEADER)
    write(chats / "parent" / "sub.jsonl", HEADER)
    assert set(READER.discover(tmp_path, {})) == {lines, other, qwen}
    assert one(READER, qwen)[0].agent == "qwen-code"


def test_it_claims_its_own_files() -> None:
    assert [reader.name for path in (LINES, DOCUMENT) if (reader := reader_for(path))] == [
        "gemini-cli"
    ] * 2
