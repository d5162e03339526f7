"""Sessions of Codex: rollouts, packed or not, without what the harness says in the person's
name.
"""

import gzip
from pathlib import Path

import pytest
from heard import DATA, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.codex import Codex
from holdfast.transcripts.json_fields import micros

READER = Codex()
SESSION = next((DATA / "codex").glob("*.jsonl"))


def line(kind, at="2026-04-11T14:00:00Z", **payload):
    return {"timestamp": at, "type": kind, "payload": payload}


def user(text):
    return line(
        "response_item", type="message", role="user", content=[{"type": "input_text", "text": text}]
    )


def test_a_session_is_what_was_said_and_done() -> None:
    """No instructions, environment, reasoning, compaction; each thing once; the turn that was
    rolled back is gone.
    """
    transcript, entries = one(READER, SESSION)
    assert transcript.id == "019d7f10-4a2b-7c33-8d44-1e5f6a7b8c9d"
    assert transcript.cwd == "/home/mira/src/harbor-api"
    assert transcript.started_at == micros("2026-04-11T14:02:50.900Z")
    assert said(entries) == [
        ("user", "Migrate the tides table to Postgres 18 and keep the old column until June."),
        (
            "tool",
            (
                "exec_command: alembic upgrade head\nfailed, exit "
                "1\nsqlalchemy.exc.OperationalError: "
                "connection refused"
            ),
        ),
        (
            "tool",
            "apply_patch: compose.yaml, migrations/0042_tides.py\nok\n"
            "Success. Updated the following files:\nM compose.yaml",
        ),
        (
            "assistant",
            "The database was not running; I start it with `docker compose up -d db` first.",
        ),
        ("user", "We always start the database with make db, not compose directly."),
        ("assistant", "Noted: `make db`."),
    ]
    assert [entry.failed for entry in entries if entry.role == "tool"] == [True, False]


def test_parallel_calls_keep_their_order_whatever_ends_first(tmp_path: Path) -> None:
    def call(number):
        given = f'{{"command": "step {number}"}}'
        return line(
            "response_item",
            type="function_call",
            name="shell",
            arguments=given,
            call_id=f"c{number}",
        )

    def end(number):
        return line(
            "response_item",
            type="function_call_output",
            call_id=f"c{number}",
            output=f"done {number}",
        )

    path = write(tmp_path / "rollout-x.jsonl", call(1), call(2), end(2), end(1))
    assert [text for _, text in said(one(READER, path)[1])] == [
        "shell: step 1\ndone 1",
        "shell: step 2\ndone 2",
    ]


@pytest.mark.parametrize(
    "meta",
    [
        {"memory_mode": "disabled"},
        {"memory_mode": "polluted"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}},
        {"originator": "holdfast_consolidation"},
    ],
)
def test_sessions_that_are_not_to_be_remembered_are_private(
    tmp_path: Path, meta: dict[str, object]
) -> None:
    path = write(tmp_path / "rollout-x.jsonl", line("session_meta", id="s", **meta), user("Hello"))
    assert one(READER, path)[0].private


def test_a_fork_is_known_by_its_own_header(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rollout-x.jsonl",
        line("session_meta", id="fork", cwd="/a", memory_mode="enabled"),
        line("session_meta", id="parent", cwd="/b"),
    )
    transcript, _ = one(READER, path)
    assert (transcript.id, transcript.cwd, transcript.private) == ("fork", "/a", False)


def test_several_turns_can_be_rolled_back(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rollout-x.jsonl",
        *map(user, ("one", "two", "three")),
        line("event_msg", type="thread_rolled_back", num_turns=2),
        user("four"),
        line("event_msg", type="thread_rolled_back", num_turns=9),
        user("five"),
    )
    assert said(one(READER, path)[1]) == [("user", "five")]


def test_the_first_versions_wrote_items_without_an_envelope(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rollout-x.jsonl",
        {"id": "old", "timestamp": "2025-06-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "We use fish."}],
        },
    )
    transcript, entries = one(READER, path)
    assert (transcript.id, said(entries)) == ("old", [("user", "We use fish.")])


def test_a_gzipped_session_is_read_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl.gz"
    path.write_bytes(gzip.compress(SESSION.read_bytes()))
    transcript, entries = one(READER, path)
    assert said(entries) == said(one(READER, SESSION)[1])
    assert list(READER.read(path, transcript.cursor)) == []


def test_a_broken_gzip_gives_what_could_be_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "rollout-x.jsonl.gz"
    path.write_bytes(gzip.compress(SESSION.read_bytes())[:-200])
    transcript, _ = one(READER, path)
    assert transcript.skipped >= 1


def test_zstandard_is_read_or_named_as_what_is_missing(tmp_path: Path) -> None:
    """Python itself unpacks it from 3.14 on."""
    path = tmp_path / "rollout-x.jsonl.zst"
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        path.write_bytes(b"\x28\xb5\x2f\xfd\x00")
        transcript, entries = one(READER, path)
        assert "zstd" in transcript.note
        assert "3.14" in transcript.note
        assert entries == []
    else:
        path.write_bytes(zstd.compress(SESSION.read_bytes()))
        assert said(one(READER, path)[1]) == said(one(READER, SESSION)[1])


def test_they_are_found_by_day_and_in_the_archive_but_not_twice(tmp_path: Path) -> None:
    home = tmp_path / ".codex"
    plain = write(home / "sessions" / "2026" / "04" / "11" / "rollout-a.jsonl", {})
    (plain.parent / "rollout-a.jsonl.zst").write_bytes(b"")
    packed = plain.parent / "rollout-b.jsonl.zst"
    packed.write_bytes(b"x")
    archived = write(home / "archived_sessions" / "rollout-c.jsonl", {})
    assert set(READER.discover(tmp_path, {})) == {plain, packed, archived}
    assert set(READER.discover(Path("/nowhere"), {"CODEX_HOME": str(home)})) == {
        plain,
        packed,
        archived,
    }


def test_it_claims_its_own_files() -> None:
    reader = reader_for(SESSION)
    assert reader is not None
    assert reader.name == "codex"
