"""What a person types wrong: a path, a scope, a setting, a command, a time, an id. Each is told
what was meant.
"""

from __future__ import annotations

import copy
import pickle
import re
from operator import attrgetter

import pytest
from mistake import Mistake, names

from holdfast import AsyncHoldfast, Holdfast, foreign_names

PATHS = [
    Mistake(
        "recall tea --store {id}/",
        1,
        ("There is no store at", "none was made", "Name another with --store"),
    ),
    Mistake(
        "recall tea",
        0,
        ("Nothing is remembered yet in", "right --store?"),
        env={"HOLDFAST_STORE": "memry.db"},
    ),
    Mistake("recall tea --store .", 2, ("is a folder", "Give the path of a file, e.g. ")),
    Mistake(
        "remember tea --store notes.txt/memory.db",
        1,
        ("a file where a folder is to be", "another path with --store"),
        files={"notes.txt": "x"},
    ),
    Mistake(
        "remember tea --store nowhere/memory.db",
        1,
        ("Cannot create", "there is no folder", "nowhere", "Make it, or choose another path"),
    ),
    Mistake(
        "recall tea",
        1,
        ("there is no folder", "nowhere/deep. Make it"),
        env={"HOLDFAST_STORE": "nowhere/deep/memory.db"},
    ),
    Mistake("store init nowhere/memory.db", 1, ("there is no folder", "nowhere")),
    Mistake("store copy memory.db nowhere/copy.db", 1, ("there is no folder", "nowhere")),
    Mistake("serve --store nowhere/memory.db", 1, ("there is no folder", "nowhere")),
    Mistake("recall tea --store mysql://ann:secret@host/db", 2, ("is no store", "postgresql://")),
    Mistake(
        "import nowhere.jsonl",
        2,
        ("nowhere.jsonl", "there is no such file", "Nothing was imported"),
    ),
    Mistake(
        "import .",
        2,
        ("it is a folder, not a file", "Nothing was imported", "Name a file in it", "--all"),
    ),
    Mistake("export -o .", 2, ("is a folder", "Nothing was written", "Name a file")),
    Mistake(
        "export -o nowhere/all.jsonl",
        2,
        ("The folder nowhere does not exist", "Nothing was written"),
    ),
    Mistake(
        "run nowhere.yaml -p hello",
        2,
        ("There is no file nowhere.yaml", "holdfast agent init --name"),
    ),
    Mistake("run . -p hello", 2, ("it is a folder, not a file", "Nothing was started")),
    Mistake("record publish nowhere/AGENTS.md", 2, ("holdfast project init",)),
    Mistake(
        "agent exec --file nowhere.md -- true", 2, ("there is no such file", "Nothing was run")
    ),
]
SCOPES = [
    Mistake("recall tea --scope alice", 2, ("'alice' is not a scope", "'user:alice'")),
    Mistake("remember tea --scope user:", 2, ("The key of scope", "1 to 200")),
    Mistake("recall tea", 2, ("'alice' is not a scope",), env={"HOLDFAST_SCOPE": "alice"}),
    Mistake(
        "recall tea --scope user:anne",
        0,
        ("Nothing is kept of user:anne", "Did you mean 'user:ann'?"),
    ),
    Mistake(
        "list --scope project:blue",
        0,
        ("Nothing is kept of project:blue", "keeps memories of user:ann"),
    ),
    Mistake("list --scope team:blue", 2, ("Unknown scope kind 'team'", "Use one of: user, ")),
    Mistake("recall tea --scope project", 2, ("There is no project here", "holdfast project init")),
    Mistake("show {id} --scope user:bob", 1, ("No memory", "user:bob")),
]
SETTINGS = [
    Mistake(
        "recall tea",
        2,
        ("no setting 'recal_limit'", "'recall_limit'"),
        env={"HOLDFAST_RECAL_LIMIT": "3"},
    ),
    Mistake(
        "recall tea", 2, ("whole number above 0", "'many'"), env={"HOLDFAST_RECALL_LIMIT": "many"}
    ),
    Mistake("recall tea", 2, ("must be one of learned, rrf",), env={"HOLDFAST_FUSION": "magic"}),
    Mistake(
        "recall tea",
        2,
        ("Unknown embedder 'statik'", "'static'"),
        env={"HOLDFAST_EMBEDDING_MODELS": "statik"},
    ),
    Mistake(
        "worker once all", 2, ("names no model", "provider:name"), env={"HOLDFAST_MODEL": "gpt"}
    ),
    Mistake("worker once everything", 2, ("no task 'everything'", "consolidate")),
]
COMMANDS = [
    Mistake(
        "--json list",
        2,
        ("No such option: --json", "Options go behind the command: holdfast COMMAND"),
    ),
    Mistake("rmember tea", 2, ("No such command 'rmember'", "Did you mean 'remember'")),
    Mistake("project innit", 2, ("No such command 'innit'", "Did you mean 'init'")),
    Mistake("remember tea --catgory drinks", 2, ("No such option: --catgory", "--category", "-h")),
    Mistake("recall tea --limit many", 2, ("'--limit'", "valid integer")),
    Mistake("chat", 2, ("Missing argument 'ROLE'", "holdfast agent init --name assistant")),
    Mistake("show", 2, ("Missing argument", "Try 'holdfast show -h'")),
    Mistake("remember tea cake", 2, ("unexpected extra argument", "cake")),
    Mistake("remember tea --kind thought", 2, ("thought", "fact")),
    Mistake("serve --port 99999", 2, ("'--port'", "65535")),
    Mistake("mcp install emacs", 2, ("no client 'emacs'", "claude-code")),
    Mistake("hook install emacs", 2, ("no hooks for 'emacs'", "claude-code")),
    Mistake("hook install clade-code", 2, ("no hooks for", "Did you mean 'claude-code'?")),
    Mistake(
        "record add --category decision x",
        2,
        ("Did you mean 'decisions'?", "procedures", "Nothing was written"),
    ),
    Mistake("project read memory://nowhere/MEMORY.md", 2, ("nowhere", "Supported: root")),
]
TIMES = [
    Mistake(
        "recall tea --as-of yesterdayy",
        2,
        ("'yesterdayy' is not a time", "2026-03-31", "'last week'"),
    ),
    Mistake("recall tea --as-of 2026-13-41", 2, ("'2026-13-41' is not a time",)),
    Mistake("remember tea --at 31.2.2026", 2, ("is not a time",)),
]
IDS = [
    Mistake("show fact_0", 1, ("No memory 'fact_0' in user:ann", "Did you mean fact_0")),
    Mistake("forget FACT_0", 1, ("No memory 'FACT_0' in user:ann", "Did you mean fact_0")),
    Mistake(
        "forget fact_zz",
        1,
        ("No memory 'fact_zz' in user:ann", "`holdfast list` shows which there are"),
    ),
    Mistake("forget 99", 1, ("No memory '99' in user:ann", "`holdfast list` shows")),
    Mistake("undo run_0", 1, ("run_0", "holdfast history")),
    Mistake("session end nosuch", 1, ("nosuch",)),
    Mistake("purge {id}", 2, ("Nobody can be asked here, so nothing was done", "--yes")),
    Mistake("purge", 2, ("Name what to erase", "Nothing was erased")),
    Mistake("run {id} -p hello", 2, ("There is no file",)),
]
EMPTY = [
    Mistake("recall", 0, ("The question is empty",)),
    Mistake("recall tea --tokens 1", 0, ("longer than --tokens 1",)),
    Mistake("remember", 2, ("nothing to remember", "empty")),
    Mistake("remember -", 2, ("nothing to remember", "empty"), stdin="  \n"),
    Mistake("import", 2, ("Name a file", "--all")),
]


@pytest.mark.parametrize("mistake", PATHS, ids=names(PATHS))
def test_a_wrong_path(told, folder, mistake):
    said = told(mistake)
    assert "secret" not in said
    assert not (folder / "nowhere").exists()


@pytest.mark.parametrize(
    "does",
    [
        "recall tea",
        "list",
        "show 1",
        "history 1",
        "explain tea --expect 1",
        "history",
        "context tea",
        "stats",
        "worker jobs",
        "export",
        "doctor",
        "review",
        "session list",
        "entity list",
        "show 1 --forecast",
        "explain 1",
        "forget 1",
        "undo",
        "purge 1 --yes",
        "store reembed",
        "worker decay",
    ],
)
def test_what_has_no_use_for_an_empty_store_makes_none(cli, folder, does):
    """A path that was mistyped after --store is told, and nothing lies there afterwards."""
    done = cli(*does.split(), "--store", folder / "memry.db")
    assert (
        done.code,
        f"There is no store at {folder / 'memry.db'}, and none was made." in done.err,
    ) == (1, True), done
    assert not (folder / "memry.db").exists()


def test_in_a_project_a_store_that_was_deleted_comes_back(cli, folder):
    """It is made again out of the records, wherever --store says."""
    cli("project", "init")
    cli(
        "record",
        "add",
        "Green tea in the morning",
        "--category",
        "preferences",
        "--store",
        "memory.db",
    )
    assert "Green tea" in cli("recall", "tea", "--store", "again.db").out
    assert (folder / "again.db").exists()


def test_a_memory_of_ones_own_that_is_empty_is_no_mistake(cli, monkeypatch):
    """On the first day a person is told how to begin."""
    monkeypatch.delenv("HOLDFAST_STORE")
    done = cli("recall", "tea")
    assert (done.code, done.out) == (0, "Nothing relevant is known.\n")
    assert done.err == 'Nothing is remembered yet. Begin with: holdfast remember "…"\n'


@pytest.mark.parametrize("mistake", SCOPES, ids=names(SCOPES))
def test_a_wrong_scope(told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", SETTINGS, ids=[str(one.env or one.does) for one in SETTINGS])
def test_a_wrong_setting(told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", COMMANDS, ids=names(COMMANDS))
def test_a_wrong_command(told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", TIMES, ids=names(TIMES))
def test_a_time_that_is_none(told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", IDS, ids=names(IDS))
def test_an_id_that_is_not_there(told, mistake):
    told(mistake)


@pytest.mark.parametrize("mistake", EMPTY, ids=names(EMPTY))
def test_nothing_at_all(told, mistake):
    told(mistake)


def test_forgetting_twice_equals_once_and_says_so(cli, kept):
    assert "Undo with" in cli("forget", kept["id"]).out
    again = cli("forget", kept["id"])
    assert (again.code, "nothing was changed" in again.out) == (0, True), again
    assert cli("undo").code == 0
    assert "Green tea" in cli("recall", "tea").out


def test_what_was_undone_is_not_undone_twice(cli, kept):
    assert cli("undo", kept["run"]).code == 0
    again = cli("undo", kept["run"])
    assert (again.code, "undone already" in again.err) == (1, True), again


def test_a_login_without_a_memory_is_told_whose_there_are(cli, kept, monkeypatch):
    monkeypatch.setenv("LOGNAME", "root")
    done = cli("recall", "tea")
    assert (done.code, done.out) == (0, "Nothing relevant is known.\n")
    assert "Nothing is kept of user:root" in done.err and "user:ann" in done.err


def test_a_hint_is_given_only_where_nothing_is_kept(cli, kept):
    assert cli("recall", "zeppelin").err == ""


# Names from other libraries


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("add", "`remember`"),
        ("search", "`recall`"),
        ("query", "`recall`"),
        ("put", "`remember`"),
        ("delete", "`forget`"),
        ("get_all", "`list`"),
        ("update", "`correct`"),
        ("redo", "`undo` with the run of the undo"),
        ("export", "`admin.export`"),
        ("extract", "`sessions.extract`"),
        ("recal", "Did you mean 'recall'?"),
    ],
)
@pytest.mark.parametrize("kind", [Holdfast, AsyncHoldfast])
def test_a_method_of_another_library_is_answered_with_ours(hf, kind, name, advice):
    client = hf if kind is Holdfast else AsyncHoldfast(hf)
    with pytest.raises(
        AttributeError, match=f"^'{kind.__name__}' object has no .*'{name}'"
    ) as told:
        getattr(client, name)
    assert advice in str(told.value)
    assert (told.value.name, told.value.obj) == (name, client)


def test_every_name_that_is_advised_exists(hf):
    for said in foreign_names._CALLED.values():
        for name in re.findall(r"`([\w.]+)`", said):
            assert callable(attrgetter(name)(hf))
    assert not [name for name in foreign_names._CALLED if hasattr(Holdfast, name)]


@pytest.mark.parametrize(
    ("name", "advice"),
    [("content", "`memory.content`"), ("text", "`memory.content`"), ("id", "`memory.id`")],
)
def test_a_hit_says_where_its_memory_has_what_was_looked_for(hf, name, advice):
    hf.remember("Prefers green tea")
    (hit,) = hf.recall("green tea")
    with pytest.raises(AttributeError, match=f"It is {advice}"):
        getattr(hit, name)
    with pytest.raises(AttributeError, match="It is `content`"):
        hit.memory.text  # noqa: B018
    assert not hasattr(hit, "zebra") and not hasattr(hit.memory, "__len__")
    assert pickle.loads(pickle.dumps(hit)) == hit == copy.deepcopy(hit)


@pytest.mark.parametrize("name", ["__deepcopy__", "_repr_html_", "zebra"])
def test_other_unknown_names_get_no_advice(hf, name):
    assert not hasattr(hf, name)
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'\.$"):
        getattr(hf, name)
