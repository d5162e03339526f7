"""What records rest on, in a real git repository: noted, and found fresh, moved, stale or beyond
checking.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.records.evidence import Evidence, fingerprint, noted, runs
from holdfast.records.freshness import check, freshness, looked_at
from holdfast.records.roots import RecordRoot
from holdfast.records.worktree import MOST_BYTES, Tree
from holdfast.types import Memory, Scope

CODE = [
    "import os",
    "",
    "def pay(amount):",
    "    retry = 3",
    "    return send(amount, retry)",
    "",
    "def main():",
    "    pay(1)",
]
SPAN = "src/app.py:3-5"


def git(folder: Path, *args: str) -> str:
    name = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *name, *args], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(folder: Path, lines: list[str], file: str = "src/app.py", end: str = "\n") -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + end for line in lines).encode())


@pytest.fixture
def project(tmp_path):
    """A repository with one file that records cite."""
    folder = tmp_path / "project"
    write(folder, CODE)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def cite(project, text=SPAN):
    (one,) = noted([text], project)
    return one


def verdict(project, cited):
    return check(Evidence.of(cited), Tree(project))


def state(project, cited):
    found = verdict(project, cited)
    return found.state, found.found


# Noting


def test_a_citation_notes_file_lines_commit_and_a_fingerprint(project):
    cited = cite(project)
    assert (cited["file"], cited["lines"], cited["commit"]) == (
        "src/app.py",
        [3, 5],
        git(project, "rev-parse", "HEAD")[:12],
    )
    assert cited["hash"].startswith("3-")
    assert list(cited) == ["file", "lines", "commit", "hash"]


@pytest.mark.parametrize(
    "text, base, file, lines",
    [
        ("src/app.py:4", ".", "src/app.py", [4, 4]),
        ("src/app.py", ".", "src/app.py", None),
        ("app.py:3-5", "src", "src/app.py", [3, 5]),
        ("src/app.py:3-5", "src", "src/app.py", [3, 5]),
        ("src/app.py:2-900", ".", "src/app.py", [3, 8]),
    ],
)
def test_files_are_named_from_where_one_stands_or_from_the_project(
    project, monkeypatch, text, base, file, lines
):
    monkeypatch.chdir(project / base)
    cited = cite(project, text)
    assert (cited["file"], cited.get("lines")) == (file, lines)


def test_web_pages_and_commits_are_cited_as_they_are(project):
    assert cite(project, "https://example.org/why?x=1") == {"url": "https://example.org/why?x=1"}
    assert cite(project, "abcdef1234") == {"commit": "abcdef1234"}
    assert noted([{"file": "src/app.py", "note": "by hand"}], project) == [
        {"file": "src/app.py", "note": "by hand"}
    ]


@pytest.mark.parametrize(
    "text, said",
    [
        ("src/gone.py:1-2", "no file 'src/gone.py'"),
        ("src/app.py:90-95", "nothing at src/app.py:90-95"),
        ("src/app.py:2", "nothing at src/app.py:2-2"),
        ("../secret.txt", "outside of"),
        ("big.txt", "too big"),
    ],
)
def test_what_cannot_be_checked_later_is_not_cited(project, text, said):
    (project.parent / "secret.txt").write_text("secret")
    (project / "big.txt").write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(InvalidInput, match=said) as caught:
        cite(project, text)
    assert "Nothing was written" in str(caught.value)


def test_a_folder_without_git_is_a_project_too(tmp_path):
    write(tmp_path, CODE)
    cited = cite(tmp_path)
    assert "commit" not in cited
    assert state(tmp_path, cited) == ("FRESH", "")
    write(tmp_path, CODE, "lib/app.py")
    write(tmp_path, ["nothing"])
    assert state(tmp_path, cited) == ("MOVED", "lib/app.py:3-5")


# Checking


def test_what_stands_where_it_did_is_fresh(project):
    assert state(project, cite(project)) == ("FRESH", "")
    assert state(project, cite(project, "src/app.py")) == ("FRESH", "")


@pytest.mark.parametrize(
    "lines, end",
    [
        pytest.param([line.replace("    ", "\t") for line in CODE], "\n", id="tabs"),
        pytest.param(
            [line.replace("retry = 3", "retry=3") for line in CODE],
            "\n",
            id="spaces around an operator",
        ),
        pytest.param([*CODE[:4], "", "", *CODE[4:]], "\n", id="blank lines between"),
        pytest.param(CODE, "\r\n", id="line ends"),
        pytest.param([line + "  " for line in CODE], "\n", id="trailing spaces"),
    ],
)
def test_white_space_makes_nothing_stale(project, lines, end):
    cited = cite(project)
    write(project, lines, end=end)
    assert state(project, cited) == ("FRESH", "")


def test_what_changes_around_the_lines_is_no_matter(project):
    cited = cite(project)
    write(project, [*CODE[:6], "def other():", "    pass"])
    assert state(project, cited) == ("FRESH", "")


def test_lines_that_slid_down_have_moved_and_it_says_where(project):
    cited = cite(project)
    write(project, ["import os", "import sys", "import re", *CODE[1:]])
    assert state(project, cited) == ("MOVED", "src/app.py:5-7")


def test_of_two_places_the_nearest_counts(project):
    cited = cite(project)
    write(project, [*CODE[2:5], *(f"line {n}" for n in range(20)), *CODE[2:5]])
    assert state(project, cited) == ("MOVED", "src/app.py:1-3")


def test_lines_that_changed_or_went_are_stale(project):
    cited, whole = cite(project), cite(project, "src/app.py")
    write(project, [line.replace("3", "5") for line in CODE])
    assert state(project, cited) == ("STALE", "")
    assert state(project, whole) == ("STALE", "")
    write(project, [*CODE[:2], *CODE[4:]])
    assert state(project, cited) == ("STALE", "")


def test_a_whole_file_that_grew_is_stale(project):
    cited = cite(project, "src/app.py")
    write(project, [*CODE, "more = 1"])
    assert state(project, cited) == ("STALE", "")


def test_a_file_that_git_renamed_is_found_and_so_is_one_of_the_same_name(project):
    cited, whole = cite(project), cite(project, "src/app.py")
    git(project, "mv", "src/app.py", "src/payments.py")
    assert state(project, cited) == ("MOVED", "src/payments.py:3-5")
    assert state(project, whole) == ("MOVED", "src/payments.py")
    git(project, "commit", "-qam", "renamed")
    assert state(project, cited) == ("MOVED", "src/payments.py:3-5")


def test_a_file_that_was_moved_by_hand_is_found_by_its_name(project):
    cited = cite(project)
    (project / "lib").mkdir()
    (project / "src/app.py").rename(project / "lib/app.py")
    assert state(project, cited) == ("MOVED", "lib/app.py:3-5")


def test_lines_that_went_to_a_namesake_have_moved(project):
    cited = cite(project)
    write(project, CODE, "src/payments/app.py")
    write(project, ["import payments"])
    assert state(project, cited) == ("MOVED", "src/payments/app.py:3-5")


def test_a_renamed_file_whose_lines_changed_is_stale_and_named(project):
    cited = cite(project)
    git(project, "mv", "src/app.py", "src/payments.py")
    write(project, [line.replace("3", "5") for line in CODE], "src/payments.py")
    git(project, "add", ".")
    assert state(project, cited) == ("STALE", "src/payments.py")


@pytest.mark.parametrize(
    "cited, reason",
    [
        ({"url": "https://example.org"}, "a web page"),
        ({"commit": "abcdef1"}, "a commit"),
        ({"file": "src/gone.py", "lines": [1, 2], "hash": "2-0123456789abcdef"}, "not there"),
        ({"file": "src/app.py", "lines": [1, 2]}, "no fingerprint was noted"),
        (
            {"file": "src/app.py", "lines": [1, 2], "hash": "0-0000000000000000"},
            "no fingerprint was noted",
        ),
        ({"file": "../secret.txt", "hash": "1-0123456789abcdef"}, "outside the project"),
        ({"file": "/etc/passwd", "hash": "1-0123456789abcdef"}, "outside the project"),
        ({"file": "way/out.txt", "hash": "1-0123456789abcdef"}, "outside the project"),
        ({"file": "src", "hash": "1-0123456789abcdef"}, "not a file"),
        ({"file": "pipe", "hash": "1-0123456789abcdef"}, "not a file"),
        ({"file": "circle", "hash": "1-0123456789abcdef"}, "not there"),
        ({"file": "nul\x00", "hash": "1-0123456789abcdef"}, "not there"),
        ({"file": "--help", "commit": "--output=owned", "hash": "1-0123456789abcdef"}, "not there"),
        ("src/app.py:3-5", "no fingerprint was noted"),
        (None, "nothing to look up"),
        (["what?"], "nothing to look up"),
    ],
)
def test_what_cannot_be_compared_is_unverifiable(project, cited, reason):
    """Nothing outside of the project is ever read, whatever a record says and wherever links
    lead.
    """
    (project.parent / "secret.txt").write_text("secret")
    (project / "way").symlink_to(project.parent)
    (project / "circle").symlink_to(project / "circle")
    os.mkfifo(project / "pipe")
    found = verdict(project, cited)
    assert (found.state, found.reason) == ("UNVERIFIABLE", reason)
    assert not (project / "owned").exists()


def test_a_file_is_read_once_however_often_it_is_cited(project, monkeypatch):
    cited, tree, read = Evidence.of(cite(project)), Tree(project), []
    monkeypatch.setattr(
        Path,
        "read_bytes",
        lambda path, real=Path.read_bytes: (read.append(path.name), real(path))[1],
    )
    assert [check(cited, tree).state for _ in range(5)] == ["FRESH"] * 5
    assert read == ["app.py"]


def memory(*evidence):
    metadata = {"evidence": list(evidence)} if evidence else {}
    return Memory("rec_1", Scope("project", "p"), "fact", "Pay thrice", 0, 0, 0, metadata=metadata)


def place(project):
    return RecordRoot(project / ".holdfast", memory().scope, "project")


def test_memories_that_cite_nothing_are_not_spoken_of(project):
    cited = memory(cite(project))
    assert freshness([memory()], [place(project)]) == {}
    assert [one.state for one in freshness([cited], [place(project)])["rec_1"]] == ["FRESH"]
    assert [one.state for one in freshness([cited], [])["rec_1"]] == ["UNVERIFIABLE"]


# After a person looked


def tied(project, cited):
    _, (now,) = looked_at(memory(cited), [place(project)])
    return now


def test_looking_ties_a_citation_to_where_it_went_and_to_what_it_says_now(project):
    cited = cite(project) | {"note": "by hand"}
    write(project, ["import sys", *CODE])
    moved = tied(project, cited)
    assert (moved["lines"], moved["note"], state(project, moved)) == (
        [4, 6],
        "by hand",
        ("FRESH", ""),
    )
    write(project, [line.replace("3", "5") for line in ["import sys", *CODE]])
    assert state(project, moved)[0] == "STALE"
    now = tied(project, moved)
    assert (now["lines"], state(project, now)) == ([4, 6], ("FRESH", ""))


def test_a_citation_by_hand_gets_its_fingerprint(project):
    assert (
        tied(project, SPAN)
        == tied(project, {"file": "src/app.py", "lines": "3-5"})
        == cite(project)
    )


def test_what_is_fresh_or_cannot_be_tied_stays_as_it_is(project):
    gone = {"file": "src/gone.py", "hash": "1-0123456789abcdef"}
    for cited in (cite(project), {"url": "https://example.org"}, gone, {"commit": "abcdef1"}, 7):
        assert tied(project, cited) == cited
    cited = cite(project)
    write(project, ["short now"])
    assert tied(project, cited) == cited


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.data())
def test_a_run_has_the_same_fingerprint_wherever_it_stands(letters, data):
    lines = list(enumerate(letters, 1))
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, len(lines)))
    size, number = fingerprint(lines[first:last]).split("-")
    found = [
        place for place, value in enumerate(runs(lines, int(size))) if f"{value:016x}" == number
    ]
    same = [
        place
        for place in range(len(letters))
        if letters[place : place + last - first] == letters[first:last]
    ]
    assert found == same
