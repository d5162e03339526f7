"""Sessions of pi and oh-my-pi: a tree that is branched in place, of which the last path counts."""

from pathlib import Path

from heard import DATA, append, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.pi import Pi

READER = Pi()
SESSION = next((DATA / "pi").glob("*.jsonl"))
HEADER = {
    "type": "session",
    "version": 3,
    "id": "s",
    "timestamp": "2026-05-03T08:00:00Z",
    "cwd": "/p",
}


def message(key, parent, text, role="user"):
    return {
        "type": "message",
        "id": key,
        "parentId": parent,
        "message": {"role": role, "content": text},
    }


def test_a_session_is_the_path_to_its_last_entry() -> None:
    """Thinking, the abandoned branch, extensions, and commands that the person kept to themselves
    are not in it.
    """
    transcript, entries = one(READER, SESSION)
    assert (transcript.id, transcript.agent, transcript.cwd) == (
        "6d1f0c22",
        "pi",
        "/home/mira/src/buoy",
    )
    assert transcript.title == "Buoy simulator port"
    assert said(entries) == [
        ("user", "Which port does the buoy simulator use?"),
        ("assistant", "I search for it."),
        ("tool", "grep: PORT\nok\nsim/config.py:4:PORT = 7411"),
        ("assistant", "It uses port 7411."),
        ("user", "Leave the port at 7411; the firewall on the ship only opens that one."),
        ("tool", "bash: make sim\nok\nlistening on 7411"),
    ]


def test_what_came_before_a_clear_is_kept(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", HEADER, message("a", None, "Before."), message("b", None, "After.")
    )
    assert [text for _, text in said(one(READER, path)[1])] == ["Before.", "After."]


def test_the_linear_first_version_is_read(tmp_path: Path) -> None:
    lines = [
        {"type": "message", "message": {"role": "user", "content": text}}
        for text in ("One.", "Two.")
    ]
    path = write(tmp_path / "s.jsonl", HEADER, *lines)
    assert [text for _, text in said(one(READER, path)[1])] == ["One.", "Two."]


def test_oh_my_pi_has_a_line_for_the_title_and_a_place_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / ".omp" / "agent" / "sessions" / "-p" / "t_s.jsonl"
    write(
        path,
        {"type": "title", "title": "Rig plan"},
        {**HEADER, "title": "Old"},
        message("a", None, "Hi."),
    )
    assert list(READER.discover(tmp_path, {})) == [path]
    transcript, _ = one(READER, path)
    assert (transcript.agent, transcript.title) == ("oh-my-pi", "Rig plan")


def test_a_new_branch_makes_the_session_be_read_anew(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", HEADER, message("a", None, "One."), message("b", "a", "Two.")
    )
    cursor = one(READER, path)[0].cursor
    append(path, message("c", "a", "Three."))
    transcript, entries = one(READER, path, cursor)
    assert not transcript.continued
    assert [entry.text for entry in entries] == ["One.", "Three."]


def test_the_environment_says_where_sessions_are(tmp_path: Path) -> None:
    path = write(tmp_path / "mine" / "--p--" / "s.jsonl", HEADER)
    assert list(
        READER.discover(Path("/nowhere"), {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "mine")})
    ) == [path]
    assert list(READER.discover(tmp_path, {"PI_CODING_AGENT_SESSION_DIR": "~/mine"})) == [path]


def test_it_claims_its_own_files() -> None:
    reader = reader_for(SESSION)
    assert reader is not None
    assert reader.name == "pi"
