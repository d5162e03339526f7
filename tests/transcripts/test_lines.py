"""Files of lines of any size and shape: growing, rewritten, broken, huge; and any bytes at all, for
every reader.
"""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from heard import DATA, append, one, read, said, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.transcripts import READERS, Cursor
from holdfast.transcripts.claude_code import ClaudeCode
from holdfast.transcripts.generic import Generic
from holdfast.transcripts.line_reader import MOST_LINE

READER = Generic()
HELLO, AGAIN = {"role": "user", "content": "Hello."}, {"role": "user", "content": "Again."}


def test_malformed_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    bad = [b"{broken", b"", b'"a text"', b"\xff\xfe", b"[" * 100_000]
    path.write_bytes(
        b"\n".join([json.dumps(HELLO).encode(), *bad, json.dumps(AGAIN).encode(), b""])
    )
    transcript, entries = one(READER, path)
    assert (said(entries), transcript.skipped) == ([("user", "Hello."), ("user", "Again.")], 4)
    assert [entry.lines for entry in entries] == [(1, 1), (7, 7)]


def test_an_empty_file_holds_no_session(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"")
    assert read(READER, path) == []


def test_a_half_written_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", HELLO)
    whole = json.dumps(AGAIN)
    with path.open("a") as file:
        file.write(whole[:10])
    transcript, entries = one(READER, path)
    assert (len(entries), transcript.skipped, transcript.cursor and transcript.cursor.lines) == (
        1,
        1,
        1,
    )
    with path.open("a") as file:
        file.write(whole[10:])
    transcript, entries = one(READER, path, transcript.cursor)
    assert (said(entries), entries[0].lines) == ([("user", "Again.")], (2, 2))
    append(path)
    with path.open("a") as file:
        file.write("\n" + json.dumps(HELLO) + "\n")
    transcript, entries = one(READER, path, transcript.cursor)
    assert (said(entries), entries[0].lines, transcript.skipped) == (
        [("user", "Hello.")],
        (3, 3),
        0,
    )


def test_a_file_is_read_on_from_its_cursor(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", HELLO)
    cursor = one(READER, path)[0].cursor
    assert read(READER, path, cursor) == []
    append(path, AGAIN)
    transcript, entries = one(READER, path, cursor)
    assert (transcript.continued, said(entries), entries[0].lines) == (
        True,
        [("user", "Again.")],
        (2, 2),
    )
    assert transcript.cursor == one(READER, path)[0].cursor


@pytest.mark.parametrize(
    "records", [[AGAIN, HELLO], [AGAIN], [{"role": "user", "content": "Hullo."}, AGAIN]]
)
def test_a_rewritten_file_is_read_anew(tmp_path: Path, records: list[object]) -> None:
    path = write(tmp_path / "chat.jsonl", HELLO)
    cursor = one(READER, path)[0].cursor
    write(path, *records)
    transcript, entries = one(READER, path, cursor)
    assert not transcript.continued
    assert len(entries) == len(records)


def test_a_cursor_of_another_file_does_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", HELLO)
    assert said(one(READER, path, Cursor(10**9, 3, "x"))[1]) == [("user", "Hello.")]


def test_a_line_that_is_far_too_long_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", HELLO)
    with path.open("ab") as file:
        file.write(b'{"role": "user", "content": "' + b"x" * (MOST_LINE + 10) + b'"}\n')
    append(path, AGAIN)
    transcript, entries = one(READER, path)
    assert (said(entries), transcript.skipped) == ([("user", "Hello."), ("user", "Again.")], 1)
    assert entries[1].lines == (3, 3)
    assert read(READER, path, transcript.cursor) == []


def test_the_hash_of_an_entry_is_the_same_in_a_copy_and_no_other(tmp_path: Path) -> None:
    _, first = one(READER, write(tmp_path / "a.jsonl", HELLO, AGAIN))
    _, second = one(READER, write(tmp_path / "b.jsonl", AGAIN))
    assert first[1].hash == second[0].hash
    assert first[0].hash != first[1].hash


def test_fifty_megabytes_take_little_memory(tmp_path: Path) -> None:
    """Claude Code's lines, which are looked over before they are told, with outputs of a
    megabyte.
    """
    path = tmp_path / "long.jsonl"
    envelope = {"sessionId": "s", "timestamp": "2026-03-02T09:00:00Z", "cwd": "/p"}
    with path.open("w") as file:
        for number in range(50):
            made = {
                "type": "tool_use",
                "id": f"t{number}",
                "name": "Bash",
                "input": {"command": f"step {number}"},
            }
            given = {
                "type": "tool_result",
                "tool_use_id": f"t{number}",
                "content": "line of output\n" * 70_000,
            }
            for kind, part, parent in (
                ("assistant", made, f"user{number - 1}"),
                ("user", given, f"assistant{number}"),
            ):
                record = {
                    "type": kind,
                    "uuid": f"{kind}{number}",
                    "parentUuid": parent,
                    "message": {"content": [part]},
                }
                file.write(json.dumps({**record, **envelope}) + "\n")
    assert path.stat().st_size > 50_000_000
    tracemalloc.start()
    try:
        count = sum(1 for transcript in ClaudeCode().read(path) for _ in transcript.entries)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 50
    assert peak < 25_000_000


NAMES = (
    "s.jsonl rollout-x.jsonl rollout-x.jsonl.gz session-x.json ses_x.json opencode.db state.vscdb "
    ".aider.chat.history.md conversations.json export.zip chat.md chat.json chat.jsonl.gz"
)
KEYS = (
    "type role message content text parts id uuid parentUuid parentId timestamp payload name "
    "input output tool_use_id "
    "num_turns toolCalls mapping current_node chat_messages author messages $set $rewindTo "
    "sessionId state time"
)
WORDS = (
    "user assistant message text tool_use tool_result session response_item function_call gemini "
    "thread_rolled_back "
    "<think> <system-reminder> </system-reminder> <user_query> 2026-01-01T00:00:00Z"
)
names, keys, words = (st.sampled_from(text.split()) for text in (NAMES, KEYS, WORDS))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=20,
)
contents = st.lists(st.dictionaries(keys, values, max_size=8), max_size=8)


def exhaust(path: Path) -> None:
    for reader in READERS:
        reader.recognises(path)
        for transcript in reader.read(path):
            for entry in transcript.entries:
                assert entry.text.encode()
                assert entry.lines[0] <= entry.lines[1]
                assert entry.role != "tool" or len(entry.text) <= 600


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    source=st.sampled_from(sorted(path for path in DATA.rglob("*") if path.is_file())),
    at=st.integers(0, 10_000),
    data=st.binary(max_size=3) | words.map(str.encode),
)
def test_a_damaged_transcript_is_read_as_far_as_it_goes(
    tmp_path: Path, source: Path, at: int, data: bytes
) -> None:
    whole = source.read_bytes()
    at %= len(whole)
    path = tmp_path / source.name
    path.write_bytes(whole[:at] + data + whole[at + len(data) + at % 3 :])
    exhaust(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(name=names, data=st.binary(max_size=2000))
def test_any_bytes_are_read_without_a_word_of_complaint(
    tmp_path: Path, name: str, data: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    exhaust(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(name=names, records=contents, array=st.booleans())
def test_any_json_is_read_without_a_word_of_complaint(
    tmp_path: Path, name: str, records: list[object], array: bool
):
    path = tmp_path / name
    text = json.dumps(records) if array else "\n".join(map(json.dumps, records))
    data = text.encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    exhaust(path)
