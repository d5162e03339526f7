"""Seed 003, index: session transcripts and tickets, through the real command line in a real git
repository.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.config import default_store
from holdfast.records.roots import project_place
from holdfast.storage import Filter, SQLiteStore
from patience import PATIENCE
from records import Repository

TICKET = """\
---
id: SHOP-12
title: Checkout times out under load
status: blocked
type: bug
priority: high
labels: [payments]
---
Above two hundred orders a minute the payment call takes too long.

## Notes

The connection pool was drained by the nightly report.
"""


@pytest.fixture(autouse=True)
def _ann(monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def repo(tmp_path, cli):
    """A git repository whose project can index."""
    made = Repository(tmp_path / "shop", cli)
    assert made("project", "init").code == 0
    return made


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def said(*messages: tuple[str, str], cwd: Path, session: str = "0b5d", start: int = 0) -> str:
    """Lines of a transcript of Claude Code."""
    lines = [
        {
            "type": role,
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session,
            "cwd": str(cwd),
            "timestamp": f"2026-03-01T10:{number:02}:00.000Z",
            "isSidechain": False,
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for number, (role, text) in enumerate(messages, start=start)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def transcript(repo: Repository, *messages: tuple[str, str], session: str = "0b5d") -> Path:
    """A transcript where Claude Code keeps those of this repository."""
    folder = Path.home() / ".claude" / "projects" / str(repo.folder).replace("/", "-")
    return write(folder, f"{session}.jsonl", said(*messages, cwd=repo.folder, session=session))


TALK = (
    ("user", "Why do the carts vanish after a deploy?"),
    ("assistant", "The session cookie was signed with a key that each deploy made anew."),
)


def documents(repo: Repository, *options: str) -> list[dict]:
    return repo.js("list", "--scope", "project", "--limit", "500", *options)


# Transcripts


def test_a_transcript_is_searchable_with_its_file_its_lines_and_its_time(repo):
    file = transcript(repo, *TALK)
    done = repo.js("project", "index", str(file))
    assert (done["files"], done["chunks"], done["warnings"], done["sessions"]) == (
        1,
        2,
        [],
        ["0b5d"],
    )
    hit = repo.js("recall", "why did carts vanish? the cookie key")[0]
    assert (hit["kind"], hit["role"], hit["scope"][:8]) == ("turn", "assistant", "project:")
    assert hit["metadata"]["at"] == {"path": str(file), "lines": [2, 2]}
    assert hit["event_time"] == "2026-03-01T10:01:00+00:00"
    assert f"{file}:2" in repo("recall", "cookie key").out
    assert f"{file}:2" in repo("show", hit["id"]).out


def test_a_transcript_in_the_assistant_scope_is_refused(repo):
    """AF-11."""
    file = transcript(repo, *TALK)
    done = repo("project", "index", str(file), "--scope", "assistant")
    assert done.code == 2
    assert "records only" in done.err and "Nothing was indexed" in done.err
    assert repo.js("recall", "cookie", "--scope", "assistant") == []


def test_outside_a_project_it_says_how_to_make_one(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("project", "index", str(write(tmp_path, "a.md", "Words.")))
    assert done.code == 2
    assert "holdfast project init" in done.err


def test_a_folder_of_transcripts_gives_those_of_this_project(repo, tmp_path):
    transcript(repo, *TALK)
    other = Repository(tmp_path / "bakery", None)
    transcript(other, ("user", "Where is the sourdough?"), session="77aa")
    done = repo.js("project", "index", str(Path.home() / ".claude" / "projects"))
    assert done["sessions"] == ["0b5d"]
    assert not any("sourdough" in text for text in repo.recalled("Where is the sourdough?"))


def test_a_session_that_goes_on_adds_its_new_turns_only(repo):
    file = transcript(repo, *TALK)
    repo.js("project", "index", str(file))
    before = {one["id"] for one in documents(repo)}
    with file.open("a") as more:
        more.write(said(("user", "Keep the key in the vault then."), cwd=repo.folder, start=2))
    done = repo.js("project", "index")
    assert (done["files"], done["chunks"], done["removed"]) == (1, 1, 0)
    assert before < {one["id"] for one in documents(repo)}


def test_what_recall_injected_is_not_indexed_as_somebodys_words(repo):
    repo.js("record", "add", "Use pnpm, not npm", "--category", "decisions")
    block = repo("recall", "Which package manager, pnpm or npm?", "--format", "prompt").out
    assert "pnpm" in block
    file = transcript(repo, ("user", f"{block}\n\nAdd a date picker."), ("assistant", "Done."))
    assert repo.js("project", "index", str(file))["chunks"] == 2
    assert [one["content"] for one in documents(repo, "--kind", "turn")] == [
        "Done.",
        "Add a date picker.",
    ]


def test_the_transcript_that_its_tool_deleted_stays_known(repo):
    file = transcript(repo, *TALK)
    note = write(repo.folder, "docs/note.md", "A note about carts.")
    repo.js("project", "index", str(file), str(note))
    file.unlink(), note.unlink()
    done = repo.js("project", "index")
    assert (done["removed"], done["changes"]) == (1, {str(file): "gone", "docs/note.md": "gone"})
    assert {one["kind"] for one in documents(repo)} == {"turn"}


# Tickets


def test_a_ticket_is_found_by_its_title_its_notes_and_its_status(repo):
    write(repo.folder, "tickets/12.md", TICKET)
    repo.js("project", "index", "tickets")
    for question in ("checkout times out", "SHOP-12", "drained connection pool", "payments"):
        hit = repo.js("recall", question)[0]
        assert (hit["kind"], hit["category"]) == ("document", "ticket")
        assert hit["title"].startswith("SHOP-12 Checkout times out under load")
        assert hit["metadata"]["at"]["path"] == "tickets/12.md"
    assert repo.js("recall", "checkout", "--tag", "status:blocked")
    assert repo.js("recall", "checkout", "--tag", "status:done") == []
    assert documents(repo, "--tag", "type:bug", "--category", "ticket")


def test_tickets_may_be_json_one_or_a_list(repo):
    one = {
        "title": "Cart is empty",
        "description": "After login.",
        "status": "done",
        "notes": "Cookie path was wrong.",
    }
    write(repo.folder, "tickets/one.json", json.dumps(one))
    several = [
        {"title": f"Ticket {number}", "description": f"About thing {number}."}
        for number in range(3)
    ]
    write(repo.folder, "tickets/several.json", json.dumps(several, indent=2))
    assert repo.js("project", "index", "tickets")["chunks"] == 4
    hit = repo.js("recall", "wrong cookie path")[0]
    assert (hit["title"], hit["tags"]) == ("Cart is empty", ["status:done"])
    third = repo.js("recall", "About thing 2")[0]
    assert third["metadata"]["at"] == {"path": "tickets/several.json", "lines": [10, 13]}


def test_a_changed_ticket_is_replaced_and_another_branch_has_another(repo):
    file = write(repo.folder, "tickets/12.md", TICKET)
    repo.js("project", "index", "tickets")
    repo.commit("A ticket")
    ids = {one["id"] for one in documents(repo)}
    repo.git("checkout", "--quiet", "-b", "fix")
    file.write_text(TICKET.replace("blocked", "done").replace("nightly report", "weekly backup"))
    done = repo.js("project", "index")
    assert (done["files"], done["unchanged"]) == (1, 0)
    assert any("weekly backup" in text for text in repo.recalled("weekly backup"))
    assert not any("nightly report" in text for text in repo.recalled("nightly report"))
    repo.commit("Done")
    repo.git("checkout", "--quiet", "main")
    repo.js("project", "index")
    assert {one["id"] for one in documents(repo)} == ids
    assert any("nightly report" in text for text in repo.recalled("nightly report"))


def test_a_deleted_ticket_is_forgotten(repo):
    file = write(repo.folder, "tickets/12.md", TICKET)
    repo.js("project", "index", "tickets")
    file.unlink()
    done = repo("project", "index")
    assert done.code == 0 and "removed" in done.out
    assert documents(repo) == []


# What is on the list


def test_what_was_indexed_is_listed_for_people_and_for_git(repo):
    write(repo.folder, "tickets/12.md", TICKET)
    file = transcript(repo, *TALK)
    repo.js("project", "index", "tickets", str(file))
    lines = (repo.folder / ".holdfast" / "sources").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["tickets"]
    (elsewhere,) = default_store().parent.glob("projects/*/sources")
    assert elsewhere.read_text().splitlines()[-1] == f"~/{file.relative_to(Path.home())}"
    assert ".claude" not in repo.git("ls-files", "--others", "--exclude-standard", "--full-name")


def test_a_store_that_was_deleted_is_built_anew_by_the_next_command(repo):
    write(repo.folder, "tickets/12.md", TICKET)
    repo.js("project", "index", "tickets", str(transcript(repo, *TALK)))
    questions = ("checkout times out", "cookie key", "payments")
    before = [[hit["id"] for hit in repo.js("recall", question)] for question in questions]
    for file in default_store().parent.glob("memory.db*"):
        file.unlink()
    assert [[hit["id"] for hit in repo.js("recall", question)] for question in questions] == before
    assert all(before)


def test_a_clone_knows_what_was_committed(repo, tmp_path, monkeypatch, cli):
    write(repo.folder, "tickets/12.md", TICKET)
    repo.js("project", "index", "tickets")
    repo.commit("A ticket")
    subprocess.run(
        ["git", "clone", "--quiet", repo.folder, tmp_path / "clone"], check=True, timeout=PATIENCE
    )
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another machine"))
    monkeypatch.chdir(tmp_path / "clone")
    (hit, *_) = json.loads(cli("recall", "checkout times out", "--json").out)
    assert hit["title"].startswith("SHOP-12")


# Care


def test_what_cannot_be_indexed_is_skipped_with_a_reason_and_the_rest_is_done(repo):
    write(repo.folder, "in/good.md", "Good words about carts.")
    write(repo.folder, "in/binary.md", b"\x00\x01\x02")
    write(repo.folder, "in/other.json", "{}")
    done = repo("project", "index", "in")
    assert done.code == 0
    assert "Indexed 1 file: 1 chunk added" in done.out
    assert "in/binary.md: it is a binary file" in done.err and "in/other.json" in done.err
    assert repo("project", "index", "in/binary.md").code == 1
    missing = repo("project", "index", "in/good.md", "nowhere.md")
    assert missing.code == 2 and "There is no nowhere.md. Nothing was indexed." in missing.err


def test_a_file_that_may_not_be_read_is_named(repo):
    file = write(repo.folder, "secret.md", "Words.")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("who may do anything may read anything")
    done = repo("project", "index", "secret.md")
    assert done.code == 1 and "cannot be read" in done.err


def test_secrets_never_reach_the_store(repo):
    write(repo.folder, "ops.md", "# Ops\n\nexport DB_PASSWORD=correct-horse-battery\n")
    done = repo("project", "index", "ops.md")
    assert "ops.md: it holds a secret" in done.err
    files = [file for file in default_store().parent.rglob("*") if file.is_file()]
    assert not any(b"correct-horse" in file.read_bytes() for file in files)
    assert "[REDACTED:" in documents(repo)[0]["content"]


def test_a_memory_that_is_switched_off_takes_nothing_in(repo):
    write(repo.folder, "note.md", "Words.")
    assert repo("settings", "profile", "--memory", "off", "--scope", "project").code == 0
    done = repo("project", "index", "note.md")
    assert done.code == 1 and "off" in done.err
    assert not (repo.folder / ".holdfast" / "sources").exists()


def test_a_plan_shows_what_would_be_done_and_does_nothing(repo):
    write(repo.folder, "tickets/12.md", TICKET)
    done = repo("project", "index", "tickets", "--plan")
    assert done.out.splitlines()[0].split() == ["new", "tickets/12.md"]
    assert "Nothing was changed" in done.out
    assert documents(repo) == [] and not (repo.folder / ".holdfast" / "sources").exists()


def test_nothing_to_follow_is_no_error(repo):
    done = repo("project", "index")
    assert (done.code, done.err) == (0, "") and "holdfast project index PATH" in done.out


def test_only_the_lists_take_back_what_was_indexed(repo):
    write(repo.folder, "tickets/12.md", TICKET)
    repo.js("project", "index", "tickets")
    run = repo.js("history", "--scope", "project")[0]["run"]
    done = repo("undo", run, "--scope", "project")
    assert done.code != 0 and "sources" in done.err
    (repo.folder / ".holdfast" / "sources").write_text("")
    repo.js("project", "index")
    assert documents(repo) == []


# Several at once, and none to the end


def many(repo: Repository, count: int) -> None:
    for number in range(count):
        sections = "\n\n".join(
            f"## Part {part}\n\n{f'Word{part} of {number}. ' * 40}" for part in range(4)
        )
        write(repo.folder, f"tickets/{number:03}.md", f"# Ticket {number}\n\n{sections}")


def start(repo: Repository) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", "project", "index", "tickets"], cwd=repo.folder
    )


def indexed(repo: Repository) -> dict[str, int]:
    """How many chunks there are of each file that is known, as the store itself says: a command
    would go on first.
    """
    scope = project_place(repo.folder).scope
    store = SQLiteStore(default_store())
    try:
        chunks = {file.path: 0 for file in store.files.list(scope, "sources")}
        for one in store.list(Filter((scope,), kinds=("document",))):
            chunks[one.metadata["at"]["path"]] += 1  # KeyError: a chunk of a file that is not known
        return chunks
    finally:
        store.close()


def test_two_at_once_do_what_one_does(repo):
    many(repo, 30)
    both = [start(repo), start(repo)]
    assert [process.wait(timeout=PATIENCE) for process in both] == [0, 0]
    assert indexed(repo) == {f"tickets/{number:03}.md": 4 for number in range(30)}
    assert repo.js("project", "index")["unchanged"] == 30
    assert repo("doctor").code == 0


def test_killed_in_the_middle_it_leaves_whole_files_and_goes_on_with_the_rest(repo):
    files, code = 0, None
    while (
        code != -signal.SIGKILL
    ):  # with more to do each time, if it was done before it could be killed
        files += 200
        assert files <= 2000
        many(repo, files)
        code = killed_when_it_has_begun(repo)
    left = indexed(repo)
    assert 0 < len(left) < files
    assert set(left.values()) == {4}
    assert repo.js("recall", f"Word3 of {files - 1}"), "the next command, whichever it is, goes on"
    assert indexed(repo) == {f"tickets/{number:03}.md": 4 for number in range(files)}


def killed_when_it_has_begun(repo: Repository) -> int:
    process, log = start(repo), default_store().with_name("memory.db-wal")
    patience = time.monotonic() + PATIENCE
    while not (log.exists() and log.stat().st_size > 500_000) and process.poll() is None:
        assert time.monotonic() < patience
    process.kill()
    return process.wait(timeout=PATIENCE)


@pytest.mark.parametrize("scope", ["user:bob", "assistant", "project:another"])
@pytest.mark.parametrize(
    "words",
    [
        ["project", "index", "notes"],
        ["project", "index"],
        ["record", "extract"],
        ["project", "build", "--plan"],
    ],
)
def test_a_set_scope_does_not_hide_the_project_from_its_own_commands(
    repo, monkeypatch, scope, words
):
    write(repo.folder, "notes/pool.md", "The pool was drained.")
    monkeypatch.setenv("HOLDFAST_SCOPE", scope)
    done = repo(*words)
    assert (done.code, done.err) == (0, "")


def test_what_is_indexed_with_a_set_scope_belongs_to_the_project(repo, monkeypatch):
    write(repo.folder, "notes/pool.md", "The pool was drained by the nightly report.")
    monkeypatch.setenv("HOLDFAST_SCOPE", "user:bob")
    assert repo("project", "index", "notes").code == 0
    monkeypatch.delenv("HOLDFAST_SCOPE")
    assert "drained" in repo("recall", "what drained the pool?").out
