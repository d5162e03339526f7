"""Seed 000, `holdfast memory …` and `holdfast run`: options, exact texts, exit codes."""

from __future__ import annotations

import json

import pytest
from scripted import calling

from holdfast.errors import ModelFailed

NO_STORE = "No memory store found.\n"


@pytest.fixture
def filled(write_role, memory_of, clock):
    """A role whose memory holds one of each type, and a conversation."""
    path = write_role()
    memory = memory_of(path)
    for type_, content, category in (
        ("semantic", "The user prefers dark mode.", "preferences"),
        ("episodic", "Deployed v2.1 to staging.", "autonomous_run"),
        ("procedural", "Always run the tests.", "deployment"),
    ):
        clock.forward(seconds=1)
        metadata = {"trigger_type": "cron"} if type_ == "episodic" else {}
        memory.remember(type_, content, category=category, metadata=metadata)
    memory.save(
        "s1",
        [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello there"}]}],
    )
    memory.close()
    return path


@pytest.mark.parametrize(
    "command", [["list"], ["clear", "--force"], ["export"], ["consolidate"], ["reembed"]]
)
def test_a_role_without_memory_is_an_error(cli, write_role, command):
    done = cli("memory", command[0], write_role(memory=""), *command[1:])
    assert (done.code, done.err) == (1, "Error: No memory config in role definition.\n")


def test_without_a_store_nothing_is_found_and_none_is_made(cli, write_role, memory_of):
    """IR-27."""
    path = write_role()
    assert cli("memory", "list", path) == (0, "No memories found.\n", "")
    for command in (["clear", "--force"], ["export"], ["consolidate"]):
        assert cli("memory", command[0], path, *command[1:]) == (0, NO_STORE, "")
    assert not memory_of(path).exists


def test_list_shows_number_type_category_time_and_the_first_hundred_characters(
    cli, filled, memory_of
):
    memory_of(filled).remember("semantic", "x" * 150)
    assert cli("memory", "list", filled).out == (
        f"#4 [semantic:general] (2026-03-18T12:00:03+00:00) {'x' * 100}\n"
        "#3 [procedural:deployment] (2026-03-18T12:00:03+00:00) Always run the tests.\n"
        "#2 [episodic:autonomous_run] (2026-03-18T12:00:02+00:00) Deployed v2.1 to staging.\n"
        "#1 [semantic:preferences] (2026-03-18T12:00:01+00:00) The user prefers dark mode.\n"
        "4 memories shown.\n"
    )


def test_list_is_narrowed_by_type_category_and_limit(cli, filled):
    assert cli("memory", "list", filled, "--type", "procedural").out.startswith("#3 ")
    assert cli("memory", "list", filled, "--category", "preferences").out.startswith("#1 ")
    assert cli("memory", "list", filled, "--limit", "1").out.endswith("\n1 memories shown.\n")
    assert (
        cli("memory", "list", filled, "--type", "semantic", "--category", "deployment").out
        == "No memories found.\n"
    )


def test_our_own_words_for_what_is_remembered_are_understood_too(cli, filled, memory_of):
    assert "[procedural:" in cli("memory", "list", filled, "--type", "rule").out
    assert cli("memory", "list", filled, "--type", "reflection").out == "No memories found.\n"
    assert cli("memory", "clear", filled, "--type", "rule", "--force").code == 0
    memory = memory_of(filled)
    assert {one.layer for one in memory.listed()} == {"semantic", "episodic"}
    assert {found.memory.kind for found in memory.recall("deployed dark mode", types=["fact"])} == {
        "fact"
    }


@pytest.mark.parametrize("command", ["list", "clear"])
def test_a_type_that_is_none_is_an_error(cli, filled, command):
    done = cli("memory", command, filled, "--type", "x")
    assert (done.code, done.err) == (
        1,
        "Error: Invalid type 'x'. Use: episodic, semantic, procedural\n",
    )


def test_list_for_scripts(cli, filled):
    listed = json.loads(cli("memory", "list", filled, "--json").out)
    assert [one["memory_type"] for one in listed] == ["procedural", "episodic", "semantic"]


def test_a_memory_cannot_steer_the_terminal(cli, filled, memory_of):
    memory_of(filled).remember("semantic", "red \x1b[31m alert")
    assert "\x1b" not in cli("memory", "list", filled).out


def test_export_writes_the_array_of_the_seed(cli, filled, tmp_path, monkeypatch):
    """IR-13."""
    monkeypatch.chdir(tmp_path)
    assert cli("memory", "export", filled).out == "Exported 3 memories to memories.json.\n"
    records = json.loads((tmp_path / "memories.json").read_text())
    assert records[1:] == [
        {
            "id": 2,
            "content": "Deployed v2.1 to staging.",
            "category": "autonomous_run",
            "created_at": "2026-03-18T12:00:02+00:00",
            "memory_type": "episodic",
            "metadata": {"trigger_type": "cron"},
        },
        {
            "id": 1,
            "content": "The user prefers dark mode.",
            "category": "preferences",
            "created_at": "2026-03-18T12:00:01+00:00",
            "memory_type": "semantic",
            "metadata": None,
        },
    ]
    assert (tmp_path / "memories.json").read_text().startswith('[\n  {\n    "id": 3,')
    assert (
        cli("memory", "export", filled, "-o", "-").out == (tmp_path / "memories.json").read_text()
    )


def test_export_into_a_folder_that_is_not_there_is_refused(cli, filled, tmp_path):
    done = cli("memory", "export", filled, "-o", tmp_path / "no" / "x.json")
    assert done.code == 2
    assert "does not exist" in done.err


@pytest.mark.parametrize(
    ("options", "question", "left"),
    [
        ([], "all memory data", (set(), 0)),
        (["--sessions-only"], "sessions", ({"semantic", "episodic", "procedural"}, 1 - 1)),
        (["--memories-only"], "memories", (set(), 1)),
        (["--what", "memories"], "memories", (set(), 1)),
        (["--type", "semantic"], "semantic memories", ({"episodic", "procedural"}, 1)),
        (
            ["--type", "episodic", "--memories-only"],
            "episodic memories",
            ({"semantic", "procedural"}, 1),
        ),
    ],
)
def test_clear_asks_and_clears_what_it_says_and_no_more(
    cli, filled, memory_of, options, question, left
):
    """D2: clearing one type leaves the others and the conversations."""
    done = cli("memory", "clear", filled, *options, stdin="n\n")
    assert done.code == 0
    assert done.out == f"Clear {question} for assistant? [y/N]: Aborted.\n"
    memory = memory_of(filled)
    assert len(memory.listed()) == 3
    done = cli("memory", "clear", filled, *options, stdin="y\n")
    assert done.out.endswith("Cleared memory for assistant.\n")
    assert ({one.layer for one in memory.listed()}, len(memory.hf.sessions.list())) == left


def test_nobody_at_the_keyboard_is_a_no(cli, filled, memory_of):
    assert cli("memory", "clear", filled).out.endswith("Aborted.\n")
    assert len(memory_of(filled).listed()) == 3


def test_what_excludes_each_other_is_refused(cli, filled, memory_of):
    assert cli("memory", "clear", filled, "--sessions-only", "--memories-only", "--force").code == 2
    assert (
        cli("memory", "clear", filled, "--what", "sessions", "--type", "semantic", "--force").code
        == 2
    )
    assert cli("memory", "clear", filled, "--what", "everything", "--force").code == 2
    assert len(memory_of(filled).listed()) == 3


def test_cleared_memories_come_back_with_the_command_it_names_unless_they_were_purged(
    cli, filled, memory_of
):
    done = cli("memory", "clear", filled, "--memories-only", "--force")
    command = done.err.partition("holdfast ")[2].split()
    assert cli(*command).code == 0
    assert len(memory_of(filled).listed()) == 3
    cli("memory", "clear", filled, "--force", "--purge")
    assert memory_of(filled).hf.stats()["memories"] == {}


def test_clearing_sessions_in_a_shared_store_leaves_those_of_other_agents(
    cli, write_role, memory_of, tmp_path
):
    shared = f"{{store_path: {tmp_path}/shared.db, embeddings: {{provider: none}}}}"
    for name in ("alice", "bob"):
        memory = memory_of(write_role(shared, name=name, file=f"{name}.yaml"))
        memory.save(
            f"of-{name}",
            [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}],
        )
    cli("memory", "clear", tmp_path / "alice.yaml", "--sessions-only", "--force")
    assert [session.id for session in memory.hf.sessions.list()] == ["of-bob"]


def test_import_takes_an_export_in_with_new_ids_and_old_times(cli, filled, write_role, tmp_path):
    cli("memory", "export", filled, "-o", tmp_path / "out.json")
    other = write_role(name="other", file="other.yaml")
    assert cli("memory", "import", other, tmp_path / "out.json").out == (
        "Imported 3 memories; 0 were already there, 0 had no text.\n"
    )
    listed, original = (
        json.loads(cli("memory", "list", path, "--json").out) for path in (other, filled)
    )
    assert [{**one, "id": 0} for one in listed] == [{**one, "id": 0} for one in original]
    again = cli("memory", "import", other, tmp_path / "out.json")
    assert again.out == "Imported 0 memories; 3 were already there, 0 had no text.\n"


def test_an_imported_episode_that_was_consolidated_is_not_consolidated_again(
    cli, filled, write_role, memory_of, tmp_path
):
    memory = memory_of(filled, complete=lambda prompt: "fact: staging runs v2.1")
    memory.consolidate()
    cli("memory", "export", filled, "-o", tmp_path / "out.json")
    other = write_role(name="other", file="other.yaml")
    cli("memory", "import", other, tmp_path / "out.json")
    assert cli("memory", "consolidate", other).out == "No episodic memories to consolidate.\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "An export is a JSON array"),
        ("[1]", "Record 0 has no text"),
        ('[{"content": "a"}, {"content": "b", "memory_type": "x"}]', "Record 1 has the type 'x'"),
        (
            '[{"content": "a", "created_at": "yesterday"}]',
            "Record 0 cannot be used: 'yesterday' is not a time",
        ),
        ('[{"content": "a", "metadata": [1]}]', "Record 0 cannot be used"),
        ("not json", "as JSON"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_whole(cli, filled, tmp_path, text, words):
    (tmp_path / "in.json").write_text(text)
    done = cli("memory", "import", filled, tmp_path / "in.json")
    assert done.code == 2
    assert words in done.err
    assert "Nothing was imported" in done.err
    assert len(json.loads(cli("memory", "list", filled, "--json").out)) == 3


def test_blank_records_are_skipped(cli, filled, tmp_path):
    (tmp_path / "in.json").write_text('[{"content": " "}, {"content": "likes tea"}]')
    assert cli("memory", "import", filled, tmp_path / "in.json").out.startswith("Imported 1 memory")


def test_consolidate_says_what_it_did_whatever_the_role_says_about_when(cli, write_role, memory_of):
    """IR-23."""
    path = write_role(
        "{embeddings: {provider: none}, consolidation: {enabled: false, interval: manual}}"
    )
    memory_of(path).remember("episodic", "The build uses Python 3.11. It was late.")
    assert (
        cli("memory", "consolidate", path).out
        == "Created 1 semantic memories from episodic data.\n"
    )
    assert cli("memory", "consolidate", path).out == "No episodic memories to consolidate.\n"
    memory_of(path).remember("episodic", "Hm.")
    assert (
        cli("memory", "consolidate", path).out
        == "Read 1 episode; there was nothing new to keep from them.\n"
    )


def test_consolidate_with_a_model_that_cannot_be_had_says_why(cli, write_role, memory_of):
    path = write_role(model="{provider: openai, name: x}")
    memory_of(path).remember("episodic", "deployed")
    done = cli("memory", "consolidate", path)
    assert done.code == 1
    assert "OPENAI_API_KEY" in done.err
    assert json.loads(cli("memory", "consolidate", path, "--json").out)["reason"]


def test_sessions_are_listed_with_how_they_began(cli, filled):
    (session,) = json.loads(cli("memory", "sessions", filled, "--json").out)
    assert (session["id"], session["messages"], session["preview"]) == ("s1", 1, "hello there")
    assert "hello there" in cli("memory", "sessions", filled).out


def test_one_prompt_is_answered_from_memory(cli, write_role):
    path = write_role()
    assert (
        cli("run", path, "-p", "Ines lives in Lisbon").out
        == "Noted. Remembered (id=1, category=general)\n"
    )
    assert (
        cli("run", path, "-p", "where does Ines live?").out
        == "From memory:\n- Ines lives in Lisbon\n"
    )
    assert (
        cli("run", path, stdin="where does Ines live?").out
        == "From memory:\n- Ines lives in Lisbon\n"
    )
    answer = json.loads(cli("run", path, "-p", "where does Ines live?", "--json").out)
    assert answer["text"] == "From memory:\n- Ines lives in Lisbon"


def test_one_prompt_leaves_no_session_unless_it_resumes_one(cli, write_role):
    path = write_role()
    cli("run", path, "-p", "hello")
    assert cli("memory", "sessions", path).out == "No sessions found.\n"
    assert "No previous session found." in cli("run", path, "-p", "hello", "--resume").err
    assert (
        "Resumed session with 2 messages." in cli("run", path, "-p", "hello again", "--resume").err
    )


def test_without_memory_nothing_is_read_or_kept(cli, write_role, memory_of):
    path = write_role()
    assert "Without memory" in cli("run", path, "-p", "Ines lives in Lisbon", "--no-memory").out
    assert not memory_of(path).exists


def test_an_autonomous_run_ends_with_its_summary_and_an_episode(cli, write_role):
    path = write_role()
    done = cli("run", path, "-p", "note that the shop moved", "--autonomous")
    assert (done.code, done.out) == (0, "completed: Was told: the shop moved\n")
    assert "[episodic:autonomous_run]" in cli("memory", "list", path).out


def test_ways_to_run_that_exclude_each_other_are_refused(cli, write_role):
    path = write_role()
    assert cli("run", path, "-i", "-p", "x").code == 2
    assert cli("run", path, "--daemon", "-p", "x").code == 2
    assert cli("run", path, "-p", " ").code == 2
    assert "has no triggers" in cli("run", path, "--daemon").err


def test_a_conversation_is_led_line_by_line_from_a_pipe(cli, write_role):
    path = write_role()
    done = cli(
        "run",
        path,
        "-i",
        stdin="Ines lives\\\nin Lisbon\n\n/memory\n/memory Ines\n/help\n/nothing\n/end\nnot read\n",
    )
    assert done.code == 0
    assert done.out.startswith(
        "Noted. Remembered (id=1, category=general)\n1 semantic, 0 episodic, 0 procedural in "
    )
    assert "Ines lives in Lisbon" in done.out
    assert "There is no /nothing." in done.out
    assert "/end, /quit    end the session" in done.out
    resumed = cli("run", path, "-i", "--resume", stdin="who lives in Lisbon?\n/quit\nnot read\n")
    assert resumed.out.startswith("Resumed session with 4 messages.\nFrom memory:\n- Ines lives")
    assert cli("memory", "sessions", path, "--json").out.count('"id"') == 2


def test_resume_without_a_conversation_says_so(cli, write_role):
    assert cli("run", write_role(), "-i", "--resume").out == "No previous session found.\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--memories-only", "--what", "sessions"],
        ["--sessions-only", "--what", "memories"],
        ["--type", "semantic", "--what", "all"],
    ],
)
def test_options_that_say_different_things_are_refused(cli, filled, memory_of, options):
    assert cli("memory", "clear", filled, *options, "--force").code == 2
    assert len(memory_of(filled).listed()) == 3


def test_an_export_is_for_its_owner_only(cli, filled, tmp_path):
    cli("memory", "export", filled, "-o", tmp_path / "out.json")
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o600


def test_an_import_over_the_cap_says_so_and_twice_still_equals_once(cli, write_role, tmp_path):
    path = write_role("{embeddings: {provider: none}, semantic: {max_memories: 2}}")
    (tmp_path / "in.json").write_text(
        json.dumps([{"content": f"fact {number}"} for number in range(5)])
    )
    done = cli("memory", "import", path, tmp_path / "in.json")
    assert (done.out[:20], done.err) == (
        "Imported 5 memories;",
        "3 memories are over the caps of the role; put away.\n",
    )
    assert cli("memory", "import", path, tmp_path / "in.json").out.startswith(
        "Imported 0 memories; 5 were already there"
    )


@pytest.mark.parametrize("name", ["123", "null", "true", "1e5", "007"])
def test_init_writes_names_that_yaml_would_take_for_something_else(
    cli, tmp_path, monkeypatch, name
):
    monkeypatch.chdir(tmp_path)
    assert cli("init", "--name", name, "--provider", "ollama", "--model", "a: 4").code == 0
    assert cli("memory", "list", "role.yaml").out == "No memories found.\n"


def test_a_name_with_a_line_end_is_refused(cli, tmp_path):
    assert cli("init", "--name", "ab\n", "-o", tmp_path / "x.yaml").code == 2


@pytest.mark.parametrize(
    "place", ["mysql://u:hunter2pw@h/db", "postgres:/u:hunter2pw@h/db", "sqlite:///x.db"]
)
def test_a_store_path_that_is_no_store_makes_no_folder_and_shows_no_password(
    cli, write_role, tmp_path, place
):
    done = cli("run", write_role(f"{{store_path: '{place}'}}"), "-p", "I like tea")
    assert done.code == 2
    assert "hunter2pw" not in done.err + done.out
    assert [entry.name for entry in tmp_path.iterdir()] == ["role.yaml"]


def test_a_store_that_is_none_says_where_the_role_names_it(cli, write_role, tmp_path):
    (tmp_path / "x.db").write_text("no database at all, but long enough to be taken for one " * 100)
    done = cli("run", write_role("{store_path: x.db}"), "-p", "I like tea")
    assert done.code == 1
    assert "under spec.memory.store_path in role.yaml" in done.err


def test_the_password_of_a_server_is_never_shown(memory_of, write_role):
    memory = memory_of(
        write_role(
            "{store_path: 'postgresql://bob:hunter2pw@db.example.org:5433/memory?sslmode=require'}"
        )
    )
    assert memory.location == "postgresql://bob@db.example.org:5433/memory"


def test_a_secret_in_a_category_is_taken_out_before_it_is_tidied(memory_of, write_role):
    memory = memory_of(write_role())
    stored = memory.remember(
        "semantic", "a", category="sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5oQ7sU9wY1bD3f"
    )
    assert "ab3de5gh7jk9" not in stored.category


@pytest.mark.parametrize(
    "options", [["--resume", "--autonomous"], ["--max-steps", "3"], ["--json", "-i"]]
)
def test_an_option_that_would_do_nothing_is_refused(cli, write_role, options):
    prompt = [] if "-i" in options else ["-p", "x"]
    assert cli("run", write_role(), *prompt, *options).code == 2


def test_half_a_surrogate_pair_harms_nobody(cli, write_role):
    path = write_role()
    assert cli("run", path, "-p", "I like \udcff tea").out.startswith("Noted.")
    assert cli("memory", "list", path, "--category", "\udcff").out == "No memories found.\n"


def test_what_begins_with_a_slash_is_not_always_a_command(cli, write_role):
    done = cli("run", write_role(), "-i", stdin="/etc/hosts is important\n/memory\timportant\n")
    assert done.out.startswith("Noted. Remembered")
    assert "] (20" in done.out


def test_the_offline_agent_does_not_say_noted_of_what_was_not(cli, write_role):
    done = cli("run", write_role(), "-p", "-", stdin="x " * 100_000)
    assert "Noted" not in done.out
    assert "limit" in done.out


@pytest.mark.parametrize("text", ["role: 2025-13-45", "max_sessions: !!int abc", "[" * 5000])
def test_yaml_that_cannot_be_read_is_an_error_not_a_crash(cli, tmp_path, text):
    (tmp_path / "role.yaml").write_text(text)
    assert cli("memory", "list", tmp_path / "role.yaml").code == 2


def test_the_key_of_the_model_that_consolidates_is_missed_before_any_work(cli, write_role):
    path = write_role(
        "{embeddings: {provider: none}, consolidation: {model_override: 'openai:gpt-5-nano'}}"
    )
    done = cli("run", path, "-p", "hello")
    assert done.code == 1
    assert "model_override" in done.err
    assert "OPENAI_API_KEY" in done.err


def test_a_limit_that_was_reached_is_named_as_the_role_spells_it(agent_of, write_role):
    agent = agent_of(
        write_role(more="  guardrails: {max_tool_calls: 1}"),
        calling(*[("recall", {"query": "x"})] * 3),
    )
    with pytest.raises(ModelFailed, match=r"spec\.guardrails\.max_tool_calls"):
        agent.run("go")
