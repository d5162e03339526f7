"""Sessions of Kimi Code CLI: the log of what the agent's loop did."""

import shutil
from pathlib import Path

from heard import DATA, one, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.kimi import Kimi

READER = Kimi()
WIRE = next((DATA / "kimi").glob("sessions/*/*/agents/main/wire.jsonl"))


def test_a_session_is_what_a_person_typed_and_the_agent_did() -> None:
    """No thoughts, nothing that the program injected, and each prompt once."""
    transcript, entries = one(READER, WIRE)
    assert (transcript.id, transcript.agent) == ("session_5b1f", "kimi-cli")
    assert (transcript.cwd, transcript.title) == ("/home/mira/src/harbour", "Numbers of the berths")
    assert said(entries) == [
        ("user", "Berths are numbered from the pier head."),
        ("assistant", "Let me check the tests."),
        ("tool", "Bash: go test ./...\nok\nok  harbour/berth"),
        ("tool", "Read: pier.go\nfailed\nno such file"),
        ("assistant", "Numbered from the pier head now."),
    ]
    assert list(READER.read(WIRE, transcript.cursor)) == []


def test_other_agents_of_a_session_are_private_and_not_looked_for(tmp_path: Path) -> None:
    shutil.copytree(DATA / "kimi", tmp_path / ".kimi-code")
    (main,) = READER.discover(tmp_path, {})
    other = Path(shutil.copytree(main.parent, main.parents[1] / "agent-0")) / "wire.jsonl"
    assert list(READER.discover(tmp_path, {})) == [main]
    assert (one(READER, main)[0].private, one(READER, other)[0].private) == (False, True)


def test_a_file_that_was_moved_away_has_no_folder(tmp_path: Path) -> None:
    lines = [{"type": "metadata", "protocol_version": "1.4"}, {"type": "turn.cancel"}]
    path = write(tmp_path / "saved.jsonl", *lines)
    transcript, entries = one(READER, path)
    assert (transcript.id, transcript.cwd, entries) == ("saved", "", [])


def test_it_claims_its_own_files() -> None:
    assert isinstance(reader_for(WIRE), Kimi)
