"""Seed 003, recall: the brief for a ticket, from both scopes, through the real command line in a
git repository.
"""

from __future__ import annotations

import json
import re

import pytest
from hosts import ask, claude_code, context

from holdfast.text.fences import TAG, strip_fences
from holdfast.text.token_count import count_tokens
from records import Repository, by_hand

TICKET = """The install step fails in CI

pnpm install stops with a lock file error since Monday. Fix it, and answer briefly.
"""


@pytest.fixture(autouse=True)
def _ann(monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")


@pytest.fixture
def repo(tmp_path, cli):
    """A project with a record of its own and one of Ann's, about one ticket, and one about
    something else.
    """
    made = Repository(tmp_path / "acme", cli)
    assert made("project", "init").code == 0
    made.add("Use pnpm, not npm: the lock file of npm broke CI twice", "--title", "Package manager")
    made.add("Answer briefly", "--in", "personal", category="preferences")
    made.add("Invoices are rounded half to even", category="principles")
    return made


def brief(repo, *args, format="json", ticket=TICKET, **options):
    done = repo("recall", ticket, "--format", format, *args, **options)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out) if format == "json" else done.out


# AF-09, AF-13: one brief of both scopes


def test_AF09_a_ticket_brings_records_of_both_scopes_ranked_each_with_its_source_and_score(repo):
    found = brief(repo)
    assert [(one["scope"].split(":")[0], one["category"]) for one in found] == [
        ("project", "decisions"),
        ("assistant", "preferences"),
    ]
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert re.fullmatch(
        r"\.holdfast/records/decisions/rec_\w+-package-manager\.md", found[0]["source"]
    )
    assert found[1]["source"].endswith("-answer-briefly.md")
    assert all((repo.folder / one["source"]).is_file() for one in found)


def test_AF13_json_carries_id_scope_kind_category_source_score_and_text(repo):
    first = brief(repo)[0]
    assert {"id", "scope", "kind", "category", "source", "score", "text", "freshness"} <= set(first)
    assert (first["kind"], first["text"]) == (
        "fact",
        "Use pnpm, not npm: the lock file of npm broke CI twice",
    )
    assert 0 <= first["score"] <= 1
    assert repo.js("record", "get", first["id"])["content"] == first["text"]


def test_AF13_snippets_are_one_ranked_line_each(repo):
    lines = brief(repo, format="snippets").splitlines()
    cells = [line.split("\t") for line in lines]
    assert [(one[1], one[2]) for one in cells] == [
        ("project", "fact/decisions"),
        ("assistant", "fact/preferences"),
    ]
    assert [one["id"] for one in brief(repo)] == [one[3] for one in cells]
    assert float(cells[0][0]) >= float(cells[1][0])
    assert cells[0][5].startswith("Package manager: Use pnpm")


def test_AF13_a_prompt_is_ready_to_paste_fenced_labelled_and_never_learned_again(repo):
    block = brief(repo, format="prompt")
    assert block.startswith(f"<{TAG} ")
    assert block.endswith(f"</{TAG}>\n")
    assert block.index("[project decisions") < block.index("[assistant preferences")
    assert "(source: .holdfast/records/decisions/rec_" in block
    assert "Invoices" not in block
    assert strip_fences(block) == ("\n", 1)


def test_AF13_another_format_is_an_error_that_names_the_three(repo):
    done = repo("recall", TICKET, "--format", "xml")
    assert (done.code, done.out) == (2, "")
    assert all(name in done.err for name in ("'xml'", "snippets", "prompt", "json"))
    assert repo("recall", TICKET, "--format", "json", "--json").code == 2


def test_a_prompt_keeps_to_its_budget_says_what_it_left_out_and_never_cuts_in_silence(repo):
    for number in range(8):
        repo.add(f"Lock file rule {number}: " + "pnpm install in CI " * 20, category="principles")
    small, whole = (brief(repo, "--tokens", size, format="prompt") for size in (300, 5000))
    assert count_tokens(small) <= 300
    assert "more were left out" in small
    assert "left out" not in whole
    assert "[cut here]" not in whole
    long = repo.add("pnpm " + "and the lock file in CI " * 400, category="procedures")
    cut = brief(repo, "--tokens", 300, "--category", "procedures", format="prompt")
    assert f"[cut here] (whole in: {long['file'].removeprefix(str(repo.folder) + '/')}" in cut


def test_past_sessions_and_tickets_are_in_the_brief_with_their_file_lines_and_time(repo):
    (repo.folder / "T-1.md").write_text(
        "---\ntitle: CI is red\n---\n\nThe lock file error is back.\n"
    )
    said = {
        "sessionId": "s1",
        "uuid": "u1",
        "parentUuid": None,
        "type": "user",
        "cwd": str(repo.folder),
    }
    talk = {
        **said,
        "timestamp": "2026-03-18T12:00:00Z",
        "message": {"role": "user", "content": "pnpm install fails"},
    }
    (repo.folder / "s1.jsonl").write_text(json.dumps(talk) + "\n")
    assert repo("project", "index", "T-1.md", "s1.jsonl").code == 0
    sources = {one["kind"]: (one["source"], one["scope"].split(":")[0]) for one in brief(repo)}
    assert sources["turn"] == ("s1.jsonl:1, 2026-03-18 12:00", "project")
    assert re.fullmatch(r"T-1\.md:5, \d{4}-\d\d-\d\d \d\d:\d\d", sources["document"][0])
    assert set(sources) == {"turn", "document", "fact"}


def test_sources_are_named_from_where_the_command_runs(repo):
    assert brief(repo, inside="src/deep")[0]["source"] == str(
        repo.folder / brief(repo)[0]["source"]
    )


def test_a_ticket_may_come_through_a_pipe(repo):
    done = repo("recall", "-", "--format", "snippets", stdin=TICKET)
    assert done.out == brief(repo, format="snippets")


# AF-14, AF-16


def test_AF14_an_alias_or_keyword_that_is_not_in_the_text_finds_the_record(repo):
    repo.add(
        "Ship from the release branch",
        "--keyword",
        "deployment",
        "--alias",
        "go live",
        category="procedures",
    )
    for word in ("deployment", "go live"):
        assert [one["text"] for one in brief(repo, ticket=word)] == ["Ship from the release branch"]


@pytest.mark.parametrize(
    "ticket", ["", "  \n", "?!", "the of and"], ids=["empty", "blank", "marks", "stop words"]
)
@pytest.mark.parametrize("format, nothing", [("snippets", ""), ("prompt", ""), ("json", [])])
def test_AF16_an_empty_query_brings_nothing(repo, ticket, format, nothing):
    assert brief(repo, format=format, ticket=ticket) == nothing


@pytest.mark.parametrize("models", ["none", "static"])
def test_AF16_without_a_hit_nothing_is_injected(repo, monkeypatch, models):
    """A model finds a nearest record for any question; that alone does not make it one about it."""
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", models)
    unrelated = "the weather in Bergen"
    assert brief(repo, format="prompt", ticket=unrelated) == ""
    assert brief(repo, format="snippets", ticket=unrelated) == ""
    assert brief(repo, ticket=unrelated) == []


def test_paraphrase_finds_what_words_do_not(repo, monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "static")
    assert [one["text"] for one in brief(repo, ticket="Replies should be short")] == [
        "Answer briefly"
    ]


def test_people_see_what_they_saw_before(repo):
    assert repo("recall", "weather").out == "Nothing relevant is known.\n"
    assert list(repo.js("recall", "pnpm")[0])[:6] == [
        "id",
        "kind",
        "category",
        "content",
        "score",
        "why",
    ]


# What a record rests on


@pytest.fixture
def cited(repo):
    """A record that rests on three lines of the code."""
    code = repo.folder / "src" / "install.py"
    code.parent.mkdir(parents=True, exist_ok=True)
    code.write_text("import os\n\ndef install():\n    run('pnpm')\n    check()\n")
    repo.commit("code")
    return repo.add(
        "Install retries pnpm once in CI", "--evidence", "src/install.py:3-5", category="incidents"
    )


def of(repo, record, **options):
    return next(one for one in brief(repo, **options) if one["id"] == record["id"])


def test_what_a_record_cites_is_fresh_moved_or_stale_in_every_format_and_ranked_as_before(
    repo, cited
):
    code = repo.folder / "src" / "install.py"
    before = [one["id"] for one in brief(repo)]
    assert (of(repo, cited)["freshness"], "src/install.py" in brief(repo, format="prompt")) == (
        "FRESH",
        False,
    )
    by_hand(code, "import os", "import os\nimport re")
    assert of(repo, cited)["evidence"][0]["found"] == "src/install.py:4-6"
    assert "MOVED src/install.py:3-5, now src/install.py:4-6" in brief(repo, format="prompt")
    by_hand(code, "run('pnpm')", "run('npm')")
    assert of(repo, cited)["freshness"] == "STALE"
    assert "[STALE src/install.py:3-5] " in brief(repo, format="snippets")
    assert "; STALE src/install.py:3-5)" in brief(repo, format="prompt")
    assert [one["id"] for one in brief(repo)] == before


def test_a_host_is_told_by_its_hook_too(repo, cited):
    by_hand(repo.folder / "src" / "install.py", "run('pnpm')", "run('npm')")
    said = claude_code("UserPromptSubmit", repo.folder, prompt="Does install retry pnpm in CI?")
    told = context(ask("UserPromptSubmit", said), "UserPromptSubmit")
    assert "Install retries pnpm once in CI" in told
    assert "; STALE src/install.py:3-5)" in told


def test_reading_never_makes_a_record_fresh_again_but_a_person_who_has_looked_does(repo, cited):
    by_hand(repo.folder / "src" / "install.py", "run('pnpm')", "run('npm')")
    for _ in range(2):
        assert of(repo, cited)["freshness"] == "STALE"
        assert repo.js("record", "verify", cited["id"])[0]["state"] == "STALE"
    nobody = repo("record", "verify", "--update")
    assert (nobody.code, "--yes" in nobody.err) == (2, True)
    assert of(repo, cited)["freshness"] == "STALE"
    assert [
        one["state"] for one in repo.js("record", "verify", cited["id"], "--update", "--yes")
    ] == ["FRESH"]
    assert of(repo, cited)["freshness"] == "FRESH"


def test_a_file_that_git_moved_takes_its_records_along(repo, cited):
    repo.git("mv", "src/install.py", "src/setup.py")
    repo.commit("rename")
    (told,) = repo.js("record", "verify")
    assert (told["state"], told["found"]) == ("MOVED", "src/setup.py:3-5")
    assert "MOVED" in repo("record", "verify").out
    repo("record", "verify", "--update", "--yes")
    (again,) = repo.js("record", "verify")
    assert (again["state"], again["cited"]) == ("FRESH", "src/setup.py:3-5")


def test_web_pages_and_files_outside_are_not_looked_at(repo, cited):
    record = repo.add(
        "The lock file format is documented", "--evidence", "https://example.org/lock"
    )
    by_hand(
        repo.folder / repo.js("record", "get", cited["id"])["file"],
        "file: src/install.py",
        "file: ../../etc/passwd",
    )
    assert of(repo, record)["evidence"][0]["reason"] == "a web page"
    assert of(repo, cited)["evidence"][0]["reason"] == "outside the project"
    refused = repo("record", "add", "x", "--category", "decisions", "--evidence", "/etc/passwd")
    assert (refused.code, "outside" in refused.err, "x" in repo.listed()) == (2, True, False)
