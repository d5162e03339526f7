"""Seed 003, records: Markdown files in two scopes, through the real command line in a real git
repository.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripted import calling, seen_by

from holdfast import Conflict, Holdfast
from holdfast.agents.role_memory import from_outside
from holdfast.cli.record_roots import GUIDES
from holdfast.config import default_store
from holdfast.records.roots import project_place
from holdfast.types import Edge
from patience import PATIENCE
from records import CATEGORIES, Repository, body, by_hand, frontmatter
from terminals import editor


@pytest.fixture(autouse=True)
def _ann(monkeypatch):
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "none")
    monkeypatch.setenv("LOGNAME", "ann")
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def plain_repo(tmp_path, cli):
    """A git repository that is no project yet."""
    return Repository(tmp_path / "acme", cli)


@pytest.fixture
def repo(plain_repo):
    """A git repository whose project keeps records."""
    assert plain_repo("project", "init").code == 0
    return plain_repo


# Two scopes


def test_a_project_is_made_at_the_top_of_the_repository_and_found_from_any_folder_in_it(plain_repo):
    made = plain_repo.js("project", "init", inside="src/deep")
    assert made["folder"] == str(plain_repo.folder / ".holdfast")
    assert made["scope"].startswith("project:acme-")
    assert plain_repo.js("project", "init") == made, "twice equals once"
    assert plain_repo.js("project", "status", inside="docs")["project"]["scope"] == made["scope"]


def test_without_git_a_project_is_made_in_the_folder_itself(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("project", "init", "--name", "Notes").code == 0
    assert (tmp_path / ".holdfast" / "project.yaml").is_file()
    assert " (Notes)" in cli("project", "status").out


def test_what_a_project_keeps_is_safe_to_commit(repo):
    repo.add("Use pnpm, not npm")
    repo("recall", "pnpm")
    changed = repo.git("status", "--porcelain", "--untracked-files=all").split("\n")
    names = [line[3:] for line in changed if line]
    assert all(
        re.fullmatch(
            r"\.holdfast/(project\.yaml|records/decisions/rec_\w+-use-pnpm-not-npm\.md)", n
        )
        for n in names
    )
    assert len(names) == 2


def test_records_of_a_project_stay_there_and_ones_own_follow_into_every_project(
    repo, tmp_path, cli
):
    repo.add("Use pnpm, not npm")
    repo.add("Prefers concise responses", "--in", "personal", category="preferences")
    other = Repository(tmp_path / "other", cli)
    other("project", "init")
    assert other.listed() == {"Prefers concise responses"}
    assert other.recalled("pnpm or npm? concise responses?") == ["Prefers concise responses"]
    assert set(repo.recalled("pnpm or npm? concise responses?")) == {
        "Use pnpm, not npm",
        "Prefers concise responses",
    }


def test_outside_of_a_project_records_are_ones_own(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("record", "add", "Prefers snake_case", "--category", "preferences", "--json")
    assert json.loads(done.out)["scope"] == "assistant:ann"
    assert "Prefers snake_case" in cli("recall", "snake_case").out
    refused = cli("record", "add", "x", "--category", "decisions", "--in", "project")
    assert (refused.code, "project init" in refused.err) == (2, True)


def test_what_one_person_learns_a_clone_of_the_project_knows(repo, tmp_path, cli, monkeypatch):
    """Shared across all agents working on the same project, by git."""
    scope = repo.add("Use pnpm, not npm")["scope"]
    repo.commit("memory")
    repo.git("clone", "--quiet", str(repo.folder), str(tmp_path / "clone"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "bobs-data"))
    monkeypatch.setenv("LOGNAME", "bob")
    clone = Repository(tmp_path / "clone", cli)
    assert clone.recalled("which package manager, pnpm?") == ["Use pnpm, not npm"]
    assert clone.js("project", "status")["project"]["scope"] == scope


# Adding


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("place", ["project", "assistant"])
def test_a_record_is_a_file_of_its_category_listed_and_recalled(repo, category, place):
    """AF-01."""
    record = repo.add(
        "Zebras sleep standing up", "--in", place, "--title", "Zebra sleep", category=category
    )
    file = Path(record["file"])
    root = repo.folder / ".holdfast" if place == "project" else default_store().parent / "assistant"
    assert file == root / "records" / category / f"{record['id']}-zebra-sleep.md"
    head = frontmatter(file)
    assert (head["id"], head["scope"], head["category"], head["title"]) == (
        record["id"],
        place,
        category,
        "Zebra sleep",
    )
    assert {"created", "updated", "status"} <= head.keys()
    assert body(file) == "Zebras sleep standing up"
    assert repo.listed("--category", category, "--in", place) == {"Zebras sleep standing up"}
    assert repo.recalled("how do zebras sleep?") == ["Zebras sleep standing up"]


def test_every_category_says_what_belongs_in_it():
    assert tuple(GUIDES) == CATEGORIES


@pytest.mark.parametrize("options", [["--category", "rumours"], []])
def test_there_are_five_categories_and_the_error_names_them(repo, options):
    """AF-01."""
    done = repo("record", "add", "Something", *options)
    assert done.code == 2
    assert all(category in done.err for category in CATEGORIES)
    assert repo.listed() == set()


def test_everything_that_can_be_said_of_a_record_is_kept_in_its_file(repo):
    (repo.folder / "main.py").write_text("a = 1\nb = 2\nc = 3\n")
    record = repo.add(
        "Port 5433 is taken by the old staging database",
        "--title",
        "Port clash",
        "--keyword",
        "postgres",
        "--keyword",
        "docker",
        "--alias",
        "port trouble",
        "--source",
        "ticket 12",
        "--expires",
        "2099-01-31",
        "--confidence",
        "0.8",
        "--evidence",
        "main.py:1-2",
        category="incidents",
    )
    head = frontmatter(Path(record["file"]))
    assert (head["keywords"], head["aliases"]) == (["postgres", "docker"], ["port trouble"])
    assert (head["confidence"], "ticket 12" in str(head["source"])) == (0.8, True)
    assert str(head["expires"]).startswith("2099-0")
    assert "main.py" in str(head["evidence"])
    shown = repo("record", "get", record["id"]).out
    for words in (
        "Port clash",
        "postgres, docker",
        "port trouble",
        "ticket 12",
        "main.py",
        "0.80",
        "2099-0",
    ):
        assert words in shown


def test_a_guest_leaves_no_record(repo, monkeypatch):
    monkeypatch.setenv("HOLDFAST_MEMORY_MODE", "incognito")
    done = repo("record", "add", "Use pnpm", "--category", "decisions")
    assert (done.code, "incognito" in done.err) == (2, True)
    assert list(repo.folder.rglob("*.md")) == []


def test_a_text_can_be_piped_in_with_its_title_as_a_heading(repo):
    done = repo(
        "record",
        "add",
        "--category",
        "procedures",
        stdin="# Release\n\n1. Tag it.\n2. Push the tag.\n",
    )
    assert done.code == 0
    (record,) = repo.js("record", "list")
    assert (record["title"], record["content"]) == ("Release", "1. Tag it.\n2. Push the tag.")


def test_in_a_terminal_the_editor_asks_for_what_belongs_in_the_category(
    repo, tmp_path, terminal, monkeypatch
):
    monkeypatch.chdir(repo.folder)
    seen = tmp_path / "seen.txt"
    code = (
        f"pathlib.Path({str(seen)!r}).write_text(text)\ntext = '# Ports\\n\\nStaging is on "
        "5433.' + text"
    )
    screen = terminal("record", "add", "--category", "decisions", EDITOR=editor(tmp_path, code))
    screen.hear("Added")
    assert screen.end() == 0
    assert ";; decisions: what was chosen" in seen.read_text()
    (record,) = repo.js("record", "list")
    assert (record["title"], record["content"]) == ("Ports", "Staging is on 5433.")


def test_an_empty_text_adds_nothing(repo, tmp_path, terminal, monkeypatch):
    assert repo("record", "add", "   ", "--category", "decisions").code == 2
    monkeypatch.chdir(repo.folder)
    screen = terminal("record", "add", "--category", "decisions", EDITOR="true")
    screen.hear("Error")
    assert screen.end() == 2
    assert repo.listed() == set()


def test_secrets_never_reach_the_file(repo):
    key = "sk-proj-" + "a8Fk2LmQ9xTz4RvB7nWc1YpD" * 2
    record = repo.add(f"The old key was {key}, it is revoked", category="incidents")
    assert key not in Path(record["file"]).read_text()
    assert all(
        key.encode() not in file.read_bytes()
        for file in default_store().parent.rglob("*")
        if file.is_file()
    )


# Looking


def test_get_gives_the_whole_content(repo):
    """AF-02."""
    text = "# A heading\n\n" + "\n".join(f"- step {n}" for n in range(300)) + "\n\nEnd."
    done = repo(
        "record",
        "add",
        "--category",
        "procedures",
        "--title",
        "Long",
        "--json",
        stdin="Begin.\n\n" + text,
    )
    record = json.loads(done.out)
    assert repo("record", "get", record["id"]).out.startswith("Begin.\n\n" + text)
    assert repo.js("record", "get", record["id"])["content"] == "Begin.\n\n" + text


def test_an_unknown_id_is_an_error_that_names_the_nearest(repo):
    """AF-02."""
    record = repo.add("Use pnpm, not npm", "--title", "Package manager")
    done = repo("record", "get", record["id"][:-1] + ("0" if record["id"][-1] != "0" else "1"))
    assert (done.code, done.out) == (1, "")
    assert record["id"] in done.err and "Package manager" in done.err


def test_a_memory_that_is_no_record_is_not_taken_for_one(repo):
    memory = repo.js("remember", "Prefers tea")
    done = repo("record", "get", memory["id"])
    assert (done.code, "There is no record" in done.err) == (1, True)


def test_list_shows_what_is_active_of_both_scopes_or_one_category(repo):
    """AF-07."""
    repo.add("Use pnpm, not npm")
    repo.add("Deploys on Tuesday", category="principles")
    repo.add("Prefers concise responses", "--in", "personal", category="preferences")
    gone = repo.add("Use yarn")
    repo("record", "archive", gone["id"])
    assert repo.listed() == {"Use pnpm, not npm", "Deploys on Tuesday", "Prefers concise responses"}
    assert repo.listed("--category", "decisions") == {"Use pnpm, not npm"}
    assert repo.listed("--in", "personal") == {"Prefers concise responses"}
    assert repo.listed("--archived") == {"Use yarn"}
    assert repo("record", "list", "--category", "rumours").code == 2


# Changing


def test_update_changes_the_file_and_what_recall_finds(repo):
    """AF-03."""
    record = repo.add("Deploys go out on Mondays", "--title", "Deploys")
    file = Path(record["file"])
    for key in ("created", "updated"):
        by_hand(
            file,
            re.search(rf"^{key}: .*$", file.read_text(), re.MULTILINE)[0],
            f"{key}: 2020-01-01",
        )
    assert repo("record", "update", record["id"], "Releases leave every Thursday").code == 0
    assert body(file) == "Releases leave every Thursday"
    assert str(frontmatter(file)["updated"]) > "2026"
    assert repo.recalled("thursday releases") == ["Releases leave every Thursday"]
    assert repo.recalled("mondays") == []
    assert repo.js("record", "get", record["id"])["id"] == record["id"]


def test_update_of_what_is_said_about_a_record_leaves_its_text(repo):
    record = repo.add(
        "Port 5433 is taken",
        "--keyword",
        "postgres",
        "--expires",
        "2099-01-01",
        category="incidents",
    )
    repo.js(
        "record",
        "update",
        record["id"],
        "--title",
        "Ports",
        "--keyword",
        "mysql",
        "--expires",
        "never",
    )
    now = repo.js("record", "get", record["id"])
    assert (now["content"], now["title"], now["keywords"]) == (
        "Port 5433 is taken",
        "Ports",
        ["mysql"],
    )
    assert "valid_until" not in now
    assert repo.js("recall", "postgres") == []


def test_update_in_a_terminal_opens_the_whole_file(repo, tmp_path, terminal, monkeypatch):
    record = repo.add("Deploys go out on Mondays", "--title", "Deploys")
    monkeypatch.chdir(repo.folder)
    code = "assert 'category: decisions' in text\ntext = text.replace('Mondays', 'Fridays')"
    screen = terminal("record", "update", record["id"], EDITOR=editor(tmp_path, code))
    screen.hear("Updated")
    assert screen.end() == 0
    assert repo.recalled("fridays") == ["Deploys go out on Fridays"]


def test_a_file_that_the_editor_leaves_broken_stays_as_it_was_left_and_waits(
    repo, tmp_path, terminal, monkeypatch
):
    record = repo.add("Deploys go out on Mondays")
    monkeypatch.chdir(repo.folder)
    write = editor(
        tmp_path, "text = text.replace('category: ', 'category: [').replace('Mondays', 'Fridays')"
    )
    screen = terminal("record", "update", record["id"], EDITOR=write)
    screen.hear("Saved, but not taken in. ")
    assert screen.end() == 1
    assert "Fridays" in Path(record["file"]).read_text()
    assert repo("recall", "deploys").out.endswith("Deploys go out on Mondays\n"), (
        "until it is mended"
    )


def test_reclassify_moves_the_file_and_keeps_id_and_links(repo):
    """AF-04."""
    old, new = repo.add("Use npm"), repo.add("Use pnpm, not npm")
    linked(new["scope"], new["id"], old["id"])
    before = repo.js("record", "get", new["id"])["links"]
    moved = repo.js("record", "reclassify", new["id"], "principles")
    assert (moved["id"], moved["category"], moved["kind"]) == (new["id"], "principles", "rule")
    assert not Path(new["file"]).exists()
    assert Path(moved["file"]).parent.name == "principles"
    assert frontmatter(Path(moved["file"]))["category"] == "principles"
    assert len(before) == 1
    assert repo.js("record", "get", new["id"])["links"] == before
    assert repo("record", "reclassify", new["id"], "rumours").code == 2


def linked(scope, source, target):
    """Somebody notes that one record supersedes another."""
    with Holdfast.open(scope=scope, background=False) as hf:
        edge = Edge(hf.scopes[0], source, target, "supersedes", hf.clock())
        hf.admin.write("link", lambda tx: tx.link(edge))


def test_archived_records_are_not_recalled_and_keep_their_file(repo):
    """AF-05."""
    record = repo.add("Use pnpm, not npm")
    assert repo("record", "archive", record["id"]).code == 0
    assert repo.recalled("pnpm") == []
    assert frontmatter(Path(record["file"]))["status"] == "archived"
    assert repo("record", "get", record["id"]).code == 0
    assert repo("record", "unarchive", record["id"]).code == 0
    assert repo.recalled("pnpm") == ["Use pnpm, not npm"]


def test_deleted_records_are_gone_with_their_files(repo):
    """AF-06."""
    record, other = repo.add("Use pnpm, not npm"), repo.add("Use ruff")
    assert repo("record", "delete", record["id"]).code == 0
    assert not Path(record["file"]).exists()
    assert repo.recalled("pnpm") == []
    again = repo("record", "delete", other["id"], record["id"])
    assert (again.code, "There is no record" in again.err) == (1, True)
    assert repo.listed() == {"Use ruff"}, "all of them, or none"


def test_every_change_says_how_to_take_it_back_and_undo_brings_the_file_back(repo):
    record = repo.add("Use pnpm, not npm")
    done = repo("record", "delete", record["id"])
    run = re.search(r"holdfast undo (run_\w+)", done.out)[1]
    assert repo("undo", run).code == 0
    assert body(Path(record["file"])) == "Use pnpm, not npm"
    assert repo.recalled("pnpm") == ["Use pnpm, not npm"]


def test_a_record_moves_between_the_project_and_its_owner(repo):
    record = repo.add("Prefers snake_case", category="preferences")
    moved = repo.js("record", "move", record["id"], "personal")
    assert (moved["scope"], Path(record["file"]).exists()) == ("assistant:ann", False)
    assert frontmatter(Path(moved["file"]))["scope"] == "assistant"
    assert repo.listed("--in", "project") == set()
    assert repo("record", "move", record["id"], "moon").code == 2


# Finding


def test_aliases_and_keywords_find_what_the_text_does_not_say(repo):
    """AF-14."""
    repo.add("We start containers by hand", "--keyword", "docker", "--alias", "compose file")
    assert repo.recalled("docker") == repo.recalled("compose") == ["We start containers by hand"]


@pytest.mark.parametrize("question", ["", "quaggas"])
def test_nothing_found_is_no_error(repo, question):
    """AF-16."""
    repo.add("Use pnpm, not npm")
    assert repo.js("recall", question) == []
    assert (repo("context", question).code, "pnpm" in repo("context", question).out) == (0, False)


def test_an_incident_past_its_expiry_is_kept_but_not_recalled(repo):
    """AF-21."""
    record = repo.add("The runner was down", "--expires", "2020-01-01", category="incidents")
    lasting = repo.add("The runner needs 4 GB", category="incidents")
    assert repo.recalled("runner") == [lasting["content"]]
    assert Path(record["file"]).exists()
    assert repo.listed() == {"The runner was down", "The runner needs 4 GB"}


def test_recall_covers_both_scopes_and_ones_own_memory_at_once(repo):
    """Both scopes are queried simultaneously, together with what is remembered without any
    project.
    """
    repo.add("Deploys need two reviews")
    repo.add("Prefers short deploys", "--in", "personal", category="preferences")
    repo("remember", "Deploys are announced in the morning")
    scopes = {hit["scope"].partition(":")[0] for hit in repo.js("recall", "deploys")}
    assert scopes == {"project", "assistant", "user"}
    only = {hit["scope"] for hit in repo.js("recall", "deploys", "--scope", "assistant")}
    assert only == {"assistant:ann"}


# The file is the truth


def test_what_is_edited_by_hand_is_what_is_recalled(repo):
    record = repo.add("Deploys go out on Mondays")
    by_hand(Path(record["file"]), "Mondays", "Wednesdays")
    assert repo.recalled("wednesdays") == ["Deploys go out on Wednesdays"]
    assert repo.recalled("mondays") == []


def test_comments_formatting_and_unknown_keys_survive_every_write(repo):
    record = repo.add("Use pnpm, not npm")
    file = Path(record["file"])
    by_hand(
        file,
        f"id: {record['id']}\n",
        f"# asked by Bob\nid: {record['id']}\nreviewer:   'Bob'  # twice\n",
    )
    for command in (
        ["update", record["id"], "Use pnpm"],
        ["archive", record["id"]],
        ["unarchive", record["id"]],
    ):
        assert repo("record", *command).code == 0
        assert "# asked by Bob\n" in file.read_text()
        assert "reviewer:   'Bob'  # twice\n" in file.read_text()
    moved = repo.js("record", "reclassify", record["id"], "principles")
    assert "reviewer:   'Bob'  # twice\n" in Path(moved["file"]).read_text()


def test_a_file_renamed_by_hand_keeps_its_id(repo):
    record = repo.add("Use pnpm, not npm")
    file = Path(record["file"])
    file.rename(file.with_name("package manager.md"))
    now = repo.js("record", "get", record["id"])
    assert (now["id"], Path(now["file"]).name) == (record["id"], "package manager.md")


def test_a_file_moved_to_another_folder_by_hand_is_of_that_category(repo):
    record = repo.add("Use pnpm, not npm")
    target = repo.folder / ".holdfast/records/principles/pnpm.md"
    target.parent.mkdir()
    Path(record["file"]).rename(target)
    assert repo.js("record", "get", record["id"])["category"] == "principles"


def test_a_file_that_somebody_writes_without_any_frontmatter_is_a_record(repo):
    folder = repo.folder / ".holdfast/records/procedures"
    folder.mkdir(parents=True)
    (folder / "release.md").write_text("Tag first, then push the tag.\n")
    (record,) = repo.js("record", "list", "--category", "procedures")
    assert record["content"] == "Tag first, then push the tag."
    assert repo.recalled("how to tag?") == ["Tag first, then push the tag."]
    assert (folder / "release.md").read_text() == "Tag first, then push the tag.\n", (
        "reading changes nothing"
    )


def test_a_file_deleted_by_hand_is_a_record_deleted(repo):
    record = repo.add("Use pnpm, not npm")
    Path(record["file"]).unlink()
    assert repo.recalled("pnpm") == []
    assert repo("record", "get", record["id"]).code == 1


def test_broken_yaml_is_skipped_with_a_warning_that_names_file_and_line(repo):
    record = repo.add("Use pnpm, not npm")
    repo.add("Use ruff for linting")
    file = Path(record["file"])
    by_hand(file, "category: decisions", "category: [decisions")
    done = repo("recall", "pnpm ruff", "--json")
    assert done.code == 0
    assert re.search(rf"{file.name}:\d+: ", done.err)
    assert {hit["content"] for hit in json.loads(done.out)} == {
        "Use pnpm, not npm",
        "Use ruff for linting",
    }
    by_hand(file, "category: [decisions", "category: decisions")
    assert set(repo.recalled("pnpm ruff")) == {"Use pnpm, not npm", "Use ruff for linting"}


# With git


def test_another_branch_has_other_records(repo):
    repo.add("Use npm")
    repo.commit("npm")
    repo.git("checkout", "--quiet", "-b", "pnpm")
    (record,) = repo.js("record", "list")
    repo("record", "update", record["id"], "Use pnpm")
    repo.add("Use workspaces")
    repo.commit("pnpm")
    repo.git("checkout", "--quiet", "main")
    assert repo.listed() == {"Use npm"}
    assert repo.recalled("workspaces pnpm") == []
    repo.git("checkout", "--quiet", "pnpm")
    assert repo.listed() == {"Use pnpm", "Use workspaces"}
    assert repo.js("record", "get", record["id"])["content"] == "Use pnpm"


def test_a_merge_that_leaves_conflict_markers_spares_what_was_known(repo):
    record = repo.add("Use npm")
    repo.add("Lint with ruff")
    repo.commit("npm")
    repo.git("checkout", "--quiet", "-b", "pnpm")
    repo("record", "update", record["id"], "Use pnpm")
    repo.commit("pnpm")
    repo.git("checkout", "--quiet", "main")
    repo("record", "update", record["id"], "Use yarn")
    repo.commit("yarn")
    assert repo.listed() == {"Use yarn", "Lint with ruff"}
    repo.git("merge", "pnpm")
    file = Path(record["file"])
    assert "<<<<<<<" in file.read_text()
    done = repo("record", "list", "--json")
    assert re.search(rf"{file.name}:\d+: git left a conflict", done.err)
    assert {one["content"] for one in json.loads(done.out)} == {"Use yarn", "Lint with ruff"}
    marked = file.read_text()
    refused = repo("record", "update", record["id"], "Use bun")
    assert (refused.code, file.read_text()) == (1, marked), "a conflict is for people to solve"
    repo.git("checkout", "--theirs", str(file))
    assert repo.listed() == {"Use pnpm", "Lint with ruff"}


def test_the_same_record_added_on_two_branches_merges_into_both(repo):
    repo.add("Common")
    repo.commit("one")
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.add("From the feature")
    repo.commit("two")
    repo.git("checkout", "--quiet", "main")
    repo.add("From main")
    repo.commit("three")
    repo.git("merge", "--quiet", "--no-edit", "feature")
    assert repo.listed() == {"Common", "From the feature", "From main"}


# Two at once


def test_what_an_editor_saves_last_counts_and_nothing_is_mixed(
    repo, tmp_path, terminal, monkeypatch
):
    """The editor is open on a record while a command changes it."""
    record = repo.add("Deploys go out on Mondays", "--keyword", "release")
    monkeypatch.chdir(repo.folder)
    code = (
        "import subprocess\n"
        f"meanwhile = ['-m', 'holdfast', 'record', 'update', {record['id']!r}, 'On Tuesdays']\n"
        "subprocess.run([sys.executable, *meanwhile], check=True)\n"
        "assert 'On Tuesdays' in f.read_text()\n"
        "text = text.replace('Mondays', 'Fridays')"
    )
    screen = terminal("record", "update", record["id"], EDITOR=editor(tmp_path, code))
    screen.hear("Updated rec_")
    assert screen.end() == 0
    assert repo.recalled("fridays") == ["Deploys go out on Fridays"]
    assert repo.recalled("tuesdays") == []


def test_a_program_does_not_write_over_what_somebody_saved_since_it_looked(repo):
    record = repo.add("Deploys go out on Mondays")
    place, file = project_place(repo.folder), Path(record["file"])
    with Holdfast.open(scope=place.scope, places=[place], background=False) as hf:
        assert hf.get(record["id"]).content == "Deploys go out on Mondays"
        by_hand(file, "Mondays", "Fridays")
        with pytest.raises(Conflict):
            hf.records.update(record["id"], body="Deploys go out on Sundays")
        assert body(file) == "Deploys go out on Fridays"
        assert (
            hf.records.update(record["id"], title="Deploys").content == "Deploys go out on Fridays"
        ), "after a look"


def test_many_commands_at_once_lose_nothing(repo):
    """Eight processes add records and change one; every answer is true, and every file is whole."""
    shared = repo.add("Changed by everybody")
    commands = [
        ["record", "add", f"Fact number {n}", "--category", "decisions"] for n in range(4)
    ] + [["record", "update", shared["id"], f"Version {n}"] for n in range(4)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "holdfast", *command],
            cwd=repo.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    ended = [(process.communicate(timeout=PATIENCE), process.returncode) for process in running]
    assert {code for _, code in ended[:4]} == {0}, ended
    assert {code for _, code in ended[4:]} <= {0, 1}, ended
    listed = repo.listed()
    assert {f"Fact number {n}" for n in range(4)} < listed
    (changed,) = listed - {f"Fact number {n}" for n in range(4)}
    won = [n for n in range(4) if ended[4 + n][1] == 0]
    assert changed in {f"Version {n}" for n in won}
    assert body(Path(shared["file"])) == changed
    assert repo("doctor").code == 0


# The index is a projection


def test_a_deleted_index_is_rebuilt_and_gives_the_same_answers(repo):
    repo.add("Use pnpm, not npm", "--keyword", "node")
    repo.add("Prefers concise responses", "--in", "personal", category="preferences")
    gone = repo.add("Use yarn")
    repo("record", "archive", gone["id"])
    asked = ("pnpm", "concise responses", "node", "yarn")
    before = [repo.recalled(question) for question in asked], stable(repo.js("record", "list"))
    for file in default_store().parent.glob("memory.db*"):
        file.unlink()
    assert (
        [repo.recalled(question) for question in asked],
        stable(repo.js("record", "list")),
    ) == before


def stable(records):
    """What of records must not depend on the store that they are in."""
    passing = ("seq", "access_count", "last_accessed")
    kept = [{name: value for name, value in one.items() if name not in passing} for one in records]
    return sorted(kept, key=lambda record: record["id"])


# Switched off, and cleared


@pytest.mark.parametrize(
    ("option", "off", "on"),
    [
        ([], "Use pnpm, not npm", "Prefers npm scripts"),
        (["--personal"], "Prefers npm scripts", "Use pnpm, not npm"),
    ],
)
def test_memory_that_is_switched_off_is_neither_recalled_nor_written(repo, option, off, on):
    """AF-23."""
    records = {
        "Use pnpm, not npm": repo.add("Use pnpm, not npm"),
        "Prefers npm scripts": repo.add(
            "Prefers npm scripts", "--in", "personal", category="preferences"
        ),
    }
    assert repo("project", "disable", *option).code == 0
    assert repo.recalled("npm") == [on]
    assert off not in repo("context", "npm").out
    place = "assistant" if option else "project"
    file = Path(records[off]["file"])
    before = file.read_bytes()
    for command in (
        ["add", "x", "--category", "decisions", "--in", place],
        ["update", records[off]["id"], "y"],
        ["reclassify", records[off]["id"], "principles"],
        ["move", records[on]["id"], place],
    ):
        done = repo("record", *command)
        assert (done.code, "project enable" in done.err) == (1, True), command
    assert file.read_bytes() == before
    assert repo.listed() == {on, off}, "people may look"
    assert repo("project", "enable", *option).code == 0
    assert set(repo.recalled("npm")) == {on, off}


@pytest.mark.parametrize(
    ("option", "gone", "left"),
    [
        ([], "Use pnpm", "Prefers pnpm"),
        (["--personal"], "Prefers pnpm", "Use pnpm"),
    ],
)
def test_clear_asks_and_erases_that_scope_only(repo, option, gone, left):
    """AF-23."""
    repo.add("Use pnpm")
    repo.add("Prefers pnpm", "--in", "personal", category="preferences")
    repo("remember", "Uses pnpm at home")
    asked = repo("project", "clear", *option)
    assert (asked.code, "1 record" in asked.err) == (2, True)
    assert repo.listed() == {gone, left}
    assert repo("project", "clear", *option, "--yes").code == 0
    assert repo.listed() == {left}
    assert set(repo.recalled("pnpm")) == {left, "Uses pnpm at home"}
    assert all(gone not in file.read_text() for file in repo.folder.rglob(".holdfast/**/*.md"))


def test_clear_in_a_terminal_takes_no_for_an_answer(repo, terminal, monkeypatch):
    repo.add("Use pnpm")
    monkeypatch.chdir(repo.folder)
    screen = terminal("project", "clear")
    screen.hear("[y/N]")
    screen.type("n\n")
    assert screen.end() == 1
    assert repo.listed() == {"Use pnpm"}


# Live


def test_watch_tells_what_changes_and_survives_whatever_editors_and_git_do(
    repo, terminal, monkeypatch
):
    file = Path(repo.add("Deploys go out on Mondays")["file"])
    monkeypatch.chdir(repo.folder)
    screen = terminal("record", "watch")
    screen.hear("Watching 1 record in")
    save_by_renaming(file, file.read_text().replace("Mondays", "Fridays"))
    screen.hear("changed")
    repo.add("Use pnpm, not npm")  # by another process, which notes it first
    screen.hear("added")
    by_hand(file, "category: decisions", "category: [decisions")
    screen.hear("Warning")
    by_hand(file, "category: [decisions", "category: decisions")
    repo.commit("records")
    repo.git("checkout", "--quiet", "-b", "empty")
    repo.git("rm", "-r", "--quiet", ".holdfast")
    screen.hear("removed")
    screen.hear("removed")
    repo.git("commit", "--quiet", "--message", "nothing")
    repo.git("checkout", "--quiet", "main")
    screen.hear("added")
    screen.hear("added")
    save_by_renaming(file, file.read_text().replace("Fridays", "Sundays"))
    screen.hear("changed")
    screen.type("\x03")
    screen.hear("Stopped.")
    assert screen.end() == 0
    assert repo.recalled("sundays") == ["Deploys go out on Sundays"]


def save_by_renaming(file: Path, text: str) -> None:
    """As many editors save: the old file is put aside, the new one takes its name."""
    backup, new = file.with_name(file.name + "~"), file.with_name(".#new")
    new.write_text(text)
    file.rename(backup)
    new.rename(file)
    backup.unlink()


# In the shell


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("record get rec_", "Package manager"),
        ("record add --category pr", "principles"),
        ("record reclassify rec_x inc", "incidents"),
    ],
)
def test_the_shell_completes_ids_with_titles_and_categories(repo, typed, offered):
    record = repo.add("Use pnpm, not npm", "--title", "Package manager")
    env = {
        **os.environ,
        "_HOLDFAST_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": f"holdfast {typed}",
    }
    command = [sys.executable, "-m", "holdfast"]
    done = subprocess.run(
        command,
        cwd=repo.folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert offered in done.stdout
    assert record["id"] in done.stdout or not typed.endswith("rec_")


# By an agent


@pytest.mark.parametrize(
    ("scope", "place"), [("project", "project:acme-"), ("assistant", "assistant:ann")]
)
def test_an_agent_that_is_told_to_remember_adds_a_record(
    repo, write_role, agent_of, monkeypatch, scope, place
):
    """AF-20."""
    monkeypatch.chdir(repo.folder)
    told = {
        "content": "Use pnpm, not npm",
        "category": "decisions",
        "title": "Package manager",
        "scope": scope,
    }
    answer = (
        agent_of(write_role(), calling(("add_record", told))).run("Remember that we use pnpm").text
    )
    (record,) = repo.js("record", "list")
    assert record["id"] in answer
    assert (record["content"], record["category"], record["title"]) == (
        "Use pnpm, not npm",
        "decisions",
        "Package manager",
    )
    assert record["scope"].startswith(place)
    assert "assistant" in str(repo.js("history", record["id"])[0]["actor"])


def test_an_agent_adds_no_record_for_a_task_from_outside(repo, write_role, agent_of, monkeypatch):
    monkeypatch.chdir(repo.folder)
    agent = agent_of(
        write_role(),
        calling(("add_record", {"content": "Trust everybody", "category": "principles"})),
    )
    token = from_outside.set(True)
    try:
        assert "came from outside" in agent.run("Remember that").text
    finally:
        from_outside.reset(token)
    assert repo.listed() == set()


def test_an_agent_has_the_tool_in_a_project_only(repo, write_role, agent_of, monkeypatch, tmp_path):
    offered = []
    for folder in (repo.folder, tmp_path):
        monkeypatch.chdir(folder)
        infos = []
        agent_of(write_role(), seen_by(infos)).run("hello")
        offered.append("add_record" in {tool.name for tool in infos[0].function_tools})
    assert offered == [True, False]


def test_an_agent_that_names_a_sixth_category_may_try_again(
    repo, write_role, agent_of, monkeypatch
):
    """AF-20."""
    monkeypatch.chdir(repo.folder)
    wrong, right = (
        {"content": "Use pnpm", "category": category} for category in ("rumours", "decisions")
    )
    agent_of(write_role(), calling(("add_record", wrong), ("add_record", right))).run(
        "Remember that"
    )
    assert repo.listed() == {"Use pnpm"}


def test_records_are_listed_by_the_time_that_is_shown(repo):
    """The column is when a record was last changed, so an old one that was changed lately comes
    first.
    """
    folder = repo.folder / ".holdfast" / "records" / "decisions"
    folder.mkdir(parents=True)
    for created, updated in ((1, 9), (2, 5), (3, 7)):
        times = f"created: 2026-01-0{created}\nupdated: 2026-02-0{updated}"
        (folder / f"rec_{created:018}-x.md").write_text(
            f"---\nid: rec_{created:018}\n{times}\n---\nUse {created}\n"
        )
    assert [one["content"] for one in repo.js("record", "list")] == ["Use 1", "Use 3", "Use 2"]
    shown = [line.split("\t")[3] for line in repo("record", "list").out.splitlines()]
    assert shown == sorted(shown, reverse=True)
