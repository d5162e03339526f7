"""Seed 003, extract: sessions turned into records, through the real command line in a real git
repository.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from records import Repository, body, frontmatter

SECRET = "sk-proj-9fK2mQ7xT4vB8nL1cR6yW3zD5hJ0pS2aG4eU7iO1kM9t"
THOUGHT = "They may be wrong about the pool, but let us not argue."
ERROR = "ModuleNotFoundError: No module named 'psycopg'"


@pytest.fixture(autouse=True)
def _ann(monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")


@pytest.fixture
def repo(tmp_path, cli):
    made = Repository(tmp_path / "shop", cli)
    assert made("project", "init").code == 0
    return made


class Transcript:
    """A session of Claude Code, line by line, where Claude Code keeps those of a repository."""

    def __init__(self, repo: Repository, session: str = "0b5d") -> None:
        self.repo, self.session, self.lines = repo, session, []

    def _add(self, role: str, content: object) -> Transcript:
        number = len(self.lines)
        self.lines.append(
            {
                "type": role,
                "uuid": f"{self.session}-{number}",
                "isSidechain": False,
                "sessionId": self.session,
                "parentUuid": f"{self.session}-{number - 1}" if number else None,
                "cwd": str(self.repo.folder),
                "timestamp": f"2026-03-01T10:{number:02}:00.000Z",
                "message": {"role": role, "content": content},
            }
        )
        return self

    def user(self, text: str) -> Transcript:
        return self._add("user", text)

    def agent(self, text: str, *, thinking: str = "") -> Transcript:
        thought = [{"type": "thinking", "thinking": thinking, "signature": "x"}] if thinking else []
        return self._add("assistant", [*thought, {"type": "text", "text": text}])

    def bash(self, command: str, output: str, *, failed: bool = False) -> Transcript:
        id_ = f"toolu_{len(self.lines)}"
        call = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
        self._add("assistant", [call])
        return self._add(
            "user",
            [{"type": "tool_result", "tool_use_id": id_, "content": output, "is_error": failed}],
        )

    def save(self) -> Path:
        folder = Path.home() / ".claude" / "projects" / str(self.repo.folder).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path


def worked(repo: Repository, session: str = "0b5d") -> Transcript:
    """A session with a decision, an incident, a secret and reasoning."""
    return (
        Transcript(repo, session)
        .user(
            "We'll use Postgres instead of SQLite because we need concurrent writers. The key "
            "is "
            f"{SECRET}"
        )
        .agent("OK, I'll look at the tests first.", thinking=THOUGHT)
        .bash(
            "uv run pytest -q",
            f"Exit code 1\n{'.' * 900}\nE   {ERROR}\n1 error in 0.42s",
            failed=True,
        )
        .agent("The problem is that the dev extra was never installed.")
        .bash("uv sync --extra dev", "Resolved 40 packages")
        .bash("uv run pytest -q", "45 passed in 2.1s")
        .agent("All green.")
    )


def written(repo: Repository) -> dict[str, Path]:
    """The records of the project, by their category."""
    return {
        file.parent.name: file for file in sorted((repo.folder / ".holdfast/records").rglob("*.md"))
    }


def test_a_session_becomes_two_records_and_nothing_else(repo):
    """AF-17."""
    path = worked(repo).save()
    assert repo("project", "index", path).code == 0
    done = repo("record", "extract")
    assert (done.code, done.err) == (0, "")
    files = written(repo)
    assert set(files) == {"decisions", "incidents"}
    assert body(files["decisions"]) == (
        "Decided: use Postgres instead of SQLite. Reason: we need concurrent writers."
    )
    assert body(files["incidents"]) == (
        f"`uv run pytest -q` failed: {ERROR}. Cause: The dev extra was never installed. Fix: run "
        "`uv sync --extra dev`."
    )
    for file in files.values():
        text = file.read_text("utf-8")
        assert SECRET not in text
        assert THOUGHT not in text
        assert "......" not in text
        assert "All green" not in text


def test_a_record_says_where_it_comes_from_and_in_which_words(repo):
    path = worked(repo).save()
    repo("project", "index", path)
    repo("record", "extract")
    said = frontmatter(written(repo)["decisions"])
    assert said["source"]["session"] == "0b5d"
    assert said["source"]["path"].startswith("~/.claude/projects/")
    assert (said["source"]["lines"], said["source"]["at"]) == ([1, 1], "2026-03-01T10:00:00+00:00")
    assert (
        said["quote"] == "We'll use Postgres instead of SQLite because we need concurrent writers"
    )
    assert (said["scope"], said["category"], said["status"]) == ("project", "decisions", "active")


def test_recall_finds_what_was_extracted(repo):
    repo("project", "index", worked(repo).save())
    repo("record", "extract")
    assert "Decided: use Postgres" in repo.recalled("Postgres or SQLite?")[0]


def test_extracting_twice_writes_nothing_twice(repo):
    """AF-18."""
    repo("project", "index", worked(repo).save())
    assert len(repo.js("record", "extract")["records"]) == 2
    before = {file: file.read_bytes() for file in written(repo).values()}
    again = repo.js("record", "extract")
    assert (again["sessions"], again["skipped"], again["records"]) == (0, 1, [])
    assert repo.js("record", "extract", "0b5d")["skipped"] == 1
    assert {file: file.read_bytes() for file in written(repo).values()} == before


def test_the_same_said_in_another_session_is_known(repo):
    """AF-18."""
    repo("project", "index", worked(repo).save())
    repo("record", "extract")
    other = Transcript(repo, "7c11").user(
        "We'll use Postgres instead of SQLite because we need concurrent writers."
    )
    repo("project", "index", other.save())
    done = repo.js("record", "extract")
    assert [(one["decision"], one["note"]["category"]) for one in done["notes"]] == [
        ("known", "decisions")
    ]
    assert (done["records"], len(written(repo))) == ([], 2)


def test_a_session_that_goes_on_adds_only_what_is_new(repo):
    session = worked(repo)
    repo("project", "index", session.save())
    repo("record", "extract")
    repo("project", "index", session.user("From now on run `make fmt` before every commit.").save())
    done = repo.js("record", "extract")
    assert [one["note"]["category"] for one in done["notes"]] == ["principles"]


def test_a_plan_shows_the_words_and_writes_nothing(repo):
    repo("project", "index", worked(repo).save())
    done = repo("record", "extract", "--plan")
    assert (done.code, written(repo)) == (0, {})
    assert "+ decisions: Use Postgres instead of SQLite" in done.out
    assert (
        '"We\'ll use Postgres instead of SQLite because we need concurrent writers" (0b5d)'
        in done.out
    )
    assert "Would write 2 records" in done.out
    assert SECRET not in done.out


def test_a_failure_is_told_and_the_index_and_other_sessions_are_there_all_the_same(
    repo, monkeypatch
):
    """AF-19."""
    repo("project", "index", worked(repo).save())
    monkeypatch.setenv("HOLDFAST_MODEL", "openai:gpt-5-mini")
    monkeypatch.setenv("HOLDFAST_MODEL_KEY_ENV", "NO_SUCH_KEY")
    failed = repo("record", "extract")
    assert failed.code == 1
    assert "Warning: 0b5d is read again the next time" in failed.err
    assert "NO_SUCH_KEY" in failed.err
    assert written(repo) == {}
    monkeypatch.delenv("HOLDFAST_MODEL")
    monkeypatch.delenv("HOLDFAST_MODEL_KEY_ENV")
    assert any("dev extra" in text for text in repo.recalled("dev extra installed"))
    assert len(repo.js("record", "extract")["records"]) == 2


def test_what_is_not_indexed_and_where_there_is_no_project(repo, cli, tmp_path, monkeypatch):
    assert "No session is indexed yet" in repo("record", "extract").out
    unknown = repo("record", "extract", "nosuch")
    assert (unknown.code, "holdfast project index PATH" in unknown.err) == (1, True)
    monkeypatch.chdir(tmp_path)
    outside = cli("record", "extract")
    assert (outside.code, "holdfast project init" in outside.err) == (2, True)


def test_a_record_can_be_committed_with_the_project(repo):
    repo("project", "index", worked(repo).save())
    repo("record", "extract")
    repo.commit("What we learned")
    assert repo.git("status", "--porcelain") == ""
    repo("record", "extract")
    assert repo.git("status", "--porcelain") == ""


def test_a_plan_says_what_the_model_was_asked_and_one_that_may_not_be_is_not(
    repo, provider, monkeypatch
):
    repo("project", "index", worked(repo).save())
    monkeypatch.setenv("HOLDFAST_MODEL", "openai:reader")
    monkeypatch.setenv("HOLDFAST_MODEL_URL", provider.url)
    provider.script = ["[]"]
    planned = repo("record", "extract", "--plan")
    assert planned.err.startswith("The language model was asked once, ") and planned.err.endswith(
        " tokens.\n"
    )
    monkeypatch.setenv("HOLDFAST_MODEL_TOKENS_PER_DAY", "1")
    refused = repo("record", "extract")
    assert refused.code == 1 and "model_tokens_per_day. Nothing is lost" in refused.err
    assert len(provider.chats) == 1
    monkeypatch.delenv("HOLDFAST_MODEL_TOKENS_PER_DAY")
    provider.script = ["[]"]
    assert repo("record", "extract").code == 0, "what was put off is read the next time"
