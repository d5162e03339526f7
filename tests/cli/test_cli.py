"""The command line: every command, what it prints for people and for scripts, and its exit
codes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import pytest

from holdfast import __version__
from patience import PATIENCE

ESCAPE = "\x1b"
COMMANDS = [
    "remember",
    "recall",
    "list",
    "show",
    "correct",
    "confirm",
    "archive",
    "restore",
    "forget",
    "purge",
    "history",
    "explain",
    "undo",
    "stats",
    "capture",
    "context",
    "export",
    "import",
    "doctor",
    "settings",
    "demo",
    "bench",
]


@pytest.fixture
def js(cli):
    """Runs a command with --json and reads what it prints."""

    def call(*args, **options):
        done = cli(*args, "--json", **options)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    return call


def program(*args, **options):
    """Runs the real program in a process of its own."""
    command = [sys.executable, "-m", "holdfast", *map(str, args)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options
    )


# Remember and recall


def test_remember_prints_one_object_with_an_id(js):
    memory = js("remember", "Prefers green tea", "--category", "taste", "--tag", "a", "--tag", "b")
    assert memory["id"].startswith("fact_")
    assert (memory["content"], memory["category"], memory["tags"]) == (
        "Prefers green tea",
        "taste",
        ["a", "b"],
    )
    assert (memory["scope"], memory["kind"], memory["layer"], memory["source"]) == (
        "user:ann",
        "fact",
        "semantic",
        "cli",
    )


def test_recall_prints_a_list_of_hits(js):
    tea = js("remember", "Prefers green tea", "--category", "taste")
    (hit,) = js("recall", "which tea?")
    assert list(hit)[:7] == ["id", "kind", "category", "content", "score", "why", "strength"]
    assert (hit["id"], hit["kind"], hit["category"], hit["content"]) == (
        tea["id"],
        "fact",
        "taste",
        "Prefers green tea",
    )
    assert 0 <= hit["score"] <= 1
    assert hit["strength"] in ("strong", "likely", "weak")
    assert (hit["why"]["arms"], hit["why"]["summary"][:8]) == ({"words": 1}, "words #1")


def test_remember_says_how_to_undo_and_recall_shows_a_line_per_hit(cli):
    said = cli("remember", "Prefers green tea").out
    run_id = re.fullmatch(r"Remembered fact_\w+\. Undo with: holdfast undo (run_\w+)\n", said)[1]
    score, strength, id_, kind, when, text = cli("recall", "tea").out.rstrip("\n").split("\t")
    assert (0 <= float(score) <= 1, strength, id_[:5], kind, text) == (
        True,
        "strong",
        "fact_",
        "fact",
        "Prefers green tea",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", when)
    assert cli("undo", run_id).code == 0
    assert cli("recall", "tea") == (0, "Nothing relevant is known.\n", "")


def test_every_option_of_remember_reaches_the_memory(js):
    memory = js(
        "remember",
        "Tea is on sale",
        "--kind",
        "rule",
        "--title",
        "Sale",
        "--author",
        "Ann",
        "--confidence",
        "0.5",
        "--at",
        "2026-01-02T03:04:05+00:00",
        "--valid-from",
        "2026-01-01T00:00+00:00",
        "--valid-until",
        "2036-01-01T00:00+00:00",
        "--metadata",
        '{"ticket": 12}',
    )
    assert (memory["kind"], memory["title"], memory["author"], memory["confidence"]) == (
        "rule",
        "Sale",
        "Ann",
        0.5,
    )
    assert (memory["event_time"], memory["metadata"]) == (
        "2026-01-02T03:04:05+00:00",
        {"ticket": 12},
    )
    assert (memory["valid_from"][:10], memory["valid_until"][:10]) == ("2026-01-01", "2036-01-01")


def test_text_and_question_may_be_piped_in(js):
    assert js("remember", stdin="Prefers\ngreen tea\n")["content"] == "Prefers\ngreen tea"
    assert js("remember", "-", stdin="Plays chess")["content"] == "Plays chess"
    assert [hit["content"] for hit in js("recall", stdin="chess?")] == ["Plays chess"]


def test_recall_narrows_by_every_option(js):
    js("remember", "old tea", "--at", "2020-01-01", "--category", "a", "--tag", "x")
    js("remember", "new tea rule", "--at", "2026-01-01", "--kind", "rule", "--category", "b")
    for options in (
        ("--kind", "rule"),
        ("--category", "b"),
        ("--since", "2025-01-01"),
        ("--kind", "rule", "--kind", "fact", "-n", "1"),
    ):
        assert [hit["content"] for hit in js("recall", "new tea", *options)] == ["new tea rule"]
    for options in (("--tag", "x"), ("--until", "2021-01-01")):
        assert [hit["content"] for hit in js("recall", "tea", *options)] == ["old tea"]
    assert js("recall", "tea", "--as-of", "2020-01-01") == []
    assert js("recall", "tea", "--tokens", "1") == []


def test_recall_shows_reasons_on_request(cli):
    cli("remember", "Prefers green tea")
    assert "words #1" in cli("recall", "tea", "--why").out
    assert "words #1" not in cli("recall", "tea").out


def test_scopes_keep_apart_and_reads_may_name_several(js):
    js("remember", "Ann's tea", "--scope", "user:ann")
    js("remember", "Team tea", "--scope", "shared:team")
    assert [hit["content"] for hit in js("recall", "tea")] == ["Ann's tea"]
    both = js("recall", "tea", "--scope", "user:ann", "--scope", "shared:team")
    assert sorted(hit["content"] for hit in both) == ["Ann's tea", "Team tea"]


def test_the_store_and_the_scope_come_from_options_settings_and_login(js, monkeypatch, tmp_path):
    js("remember", "elsewhere", "--store", tmp_path / "other.db")
    assert js("list") == []
    assert [memory["content"] for memory in js("list", "--store", tmp_path / "other.db")] == [
        "elsewhere"
    ]
    monkeypatch.setenv("HOLDFAST_SCOPE", "project:acme")
    assert js("remember", "x")["scope"] == "project:acme"


# The other verbs


@pytest.fixture
def tea(js):
    return js("remember", "Prefers green tea")["id"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_an_id_is_whole_on_a_screen_of_any_width(js, terminal, columns):
    """Only so it can be copied; a long text goes below where there is no room beside."""
    from terminals import bare  # needs a Unix

    tea = js("remember", "Prefers green tea in the morning, and black tea with milk when it rains")[
        "id"
    ]
    shown = bare(terminal("list", COLUMNS=str(columns)).hear("rains"))
    assert tea in shown
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= columns


def test_list_pages_and_filters(js, cli):
    for text in ("one", "two", "three"):
        js("remember", text)
    page = js("list", "-n", "2")
    assert [memory["content"] for memory in page] == ["three", "two"]
    assert [memory["content"] for memory in js("list", "--after", page[-1]["seq"])] == ["one"]
    assert [line.split("\t")[-1] for line in cli("list").out.splitlines()] == [
        "three",
        "two",
        "one",
    ]
    js("archive", "1")
    assert [memory["content"] for memory in js("list", "--status", "archived")] == ["one"]
    assert cli("list", "--kind", "rule").out == "No memories.\n"


def test_show_prints_the_whole_memory_with_its_links(js, cli, tea):
    new = js("correct", tea, "Prefers coffee", "--reason", "changed")
    assert (new["content"], new["run"][:4]) == ("Prefers coffee", "run_")
    shown = js("show", "1")
    assert (shown["id"], shown["status"]) == (tea, "superseded")
    assert (shown["links"][0]["relation"], shown["links"][0]["reason"]) == ("supersedes", "changed")
    text = cli("show", tea).out
    assert text.startswith("Prefers green tea\n\n")
    assert f"supersedes   {new['id']} → {tea}" in text


def test_correct_takes_the_new_text_from_a_pipe(js, tea):
    assert js("correct", tea, stdin="Prefers coffee")["content"] == "Prefers coffee"


def test_confirm_archive_restore_and_forget_change_the_memory(js, tea):
    assert js("confirm", tea)["protected"] is True
    assert js("archive", tea)["status"] == "archived"
    assert js("restore", tea)["status"] == "active"
    assert [(memory["id"], memory["status"]) for memory in js("forget", tea)] == [(tea, "archived")]


def test_what_changes_says_what_it_did_and_how_to_undo_it(cli, tea):
    for command, said in (
        ("confirm", "Confirmed"),
        ("archive", "Archived"),
        ("restore", "Restored"),
        ("forget", "Forgot 1"),
    ):
        done = cli(command, tea)
        assert done.out.startswith(said)
        assert "Undo with: holdfast undo run_" in done.out


def test_the_log_names_a_session_as_it_was_given(cli):
    cli("capture", "--session", "s 1", "Tea at four")
    assert "\tcapture\tsession\ts 1\n" in cli("history").out


@pytest.mark.parametrize("command", ["confirm", "archive", "forget"])
def test_doing_it_twice_changes_nothing_and_says_so(cli, js, tea, command):
    cli(command, tea)
    before = js("history")
    assert "It was so already: nothing was changed." in cli(command, tea).out
    assert js("history") == before


def test_a_memory_named_twice_is_forgotten_once(cli, js, tea):
    assert cli("forget", tea, js("show", tea)["seq"]).out.startswith("Forgot 1. ")


def test_captured_turns_name_their_run_for_scripts(js):
    (turn,) = js("capture", "--session", "s1", "Tea at four")
    assert js("undo", turn["run"])["undone"] == turn["run"]


def test_metadata_is_shown_as_json(cli, js):
    kept = js("remember", "Tea at four", "--metadata", '{"place": "Köln", "sure": true}')
    assert 'metadata     {"place": "Köln", "sure": true}\n' in cli("show", kept["id"]).out


def test_undo_takes_back_the_latest_run_and_says_how_to_redo_it(js, cli, tea):
    js("archive", tea)
    done = cli("undo")
    redo = re.fullmatch(
        r"Undid archive \(run_\w+\): 1 change\. Redo with: holdfast undo (run_\w+)\n", done.out
    )
    assert redo and js("show", tea)["status"] == "active"
    again = js("undo", redo[1])
    assert (again["changes"], again["run"][:4], again["undone"][:4]) == (1, "run_", "run_")
    assert js("show", tea)["status"] == "archived"


def test_undo_again_takes_back_the_run_before(js, cli, tea):
    js("archive", tea)
    assert cli("undo").out.startswith("Undid archive")
    assert cli("undo").out.startswith("Undid remember")
    done = cli("undo")
    assert (
        done.code == 1 and "nothing left to undo" in done.err and "holdfast undo run_" in done.err
    )


def test_history_and_log_tell_who_did_what(js, cli, tea):
    js("archive", tea)
    assert [(event["verb"], event["actor"]) for event in js("history", tea)] == [
        ("remember", "cli:ann"),
        ("archive", "cli:ann"),
    ]
    assert [event["verb"] for event in js("history")] == ["archive", "remember"]
    assert len(js("history", "-n", "1")) == 1
    assert "status: active → archived" in cli("history", tea).out
    assert len(cli("history").out.splitlines()) == 2


def test_why_names_the_stage_and_needs_to_know_what_was_expected(js, cli, tea):
    assert js("explain", "green tea", "--expect", tea)["rank"] == 1
    js("archive", tea)
    assert js("explain", "green tea", "--expect", "1")["dropped_by"] == "status"
    assert "Stage 'status' dropped it" in cli("explain", "green tea", "--expect", tea).out
    assert cli("explain", "green tea").code == 2


def test_stats_are_drawn_on_a_terminal_and_nowhere_else(js, cli, terminal, tea):
    from terminals import bare  # needs a Unix

    js("remember", "Reads on the train", "--kind", "episode")
    js("remember", "Walks to work", "--kind", "episode")
    shown = [
        " ".join(line.split()) for line in bare(terminal("stats").hear("below 0.2")).split("\n")
    ]
    assert [f"episode 2 {'█' * 40}", f"fact 1 {'█' * 20}"] == shown[
        shown.index("kinds") + 1 : shown.index("kinds") + 3
    ]
    assert f"{'▁' * 25}█ 3 this week" in shown
    assert f"0.8 to 1.0 3 {'█' * 40}" in shown
    assert "kinds" not in cli("stats").out


def test_stats_count(js, cli, tea):
    stats = js("stats")
    assert (stats["active"], stats["memories"], stats["problems"]) == (
        1,
        {"fact": {"active": 1}},
        {},
    )
    assert "fact         1 active" in cli("stats").out


def test_context_prints_fenced_blocks(js, cli, tea):
    js("remember", "Answer briefly", "--kind", "rule")
    found = js("context", "which tea?")
    assert found.keys() == {"stable", "turn", "ids"}
    assert cli("context", "which tea?").out == f"{found['stable']}\n\n{found['turn']}\n"


# Capture


def test_capture_takes_one_turn_from_the_arguments(js):
    (turn,) = js(
        "capture",
        "I moved to Lisbon",
        "--session",
        "s1",
        "--role",
        "user",
        "--author",
        "Ann",
        "--at",
        "2026-01-01",
    )
    assert (turn["kind"], turn["session"], turn["position"], turn["author"]) == (
        "turn",
        "s1",
        0,
        "Ann",
    )


def test_capture_takes_many_turns_as_json_lines(js):
    lines = [
        {"session": "s1", "role": "user", "text": "one", "event_time": "2026-01-01T00:00:00+00:00"},
        {"role": "assistant", "text": "two", "author": None},
    ]
    stored = js("capture", "--session", "s2", stdin="\n\n".join(map(json.dumps, lines)))
    assert [(turn["session"], turn["content"]) for turn in stored] == [("s1", "one"), ("s2", "two")]
    assert stored[0]["event_time"] == "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("stdin", "complaint"),
    [
        ("nope", "Line 1 is not JSON"),
        ("[]", "not a JSON object"),
        ('{"text": "x"}', "is missing"),
        ('{"a"', "Line 1"),
    ],
)
def test_a_line_that_is_no_turn_stops_the_capture(cli, js, stdin, complaint):
    done = cli(
        "capture", stdin='{"session":"s","role":"user","text":"fine"}\n' * (stdin[0] == "{") + stdin
    )
    assert done.code == 2
    assert complaint.replace("Line 1", "Line 2" if stdin[0] == "{" else "Line 1") in done.err
    assert js("list") == []


def test_capture_of_nothing_stores_nothing_and_offers_no_undo(cli):
    assert cli("capture", "   ", "--session", "s1") == (0, "Captured 0 of 1 turn.\n", "")
    assert "--session" in cli("capture", "text without a session").err


# Purge


def test_purge_needs_a_yes_where_nobody_can_be_asked(cli, js, tea):
    done = cli("purge", tea)
    assert done.code == 2
    assert "--yes" in done.err
    assert "Prefers green tea" in done.err
    assert js("show", tea)["id"] == tea


def test_purge_with_yes_erases(cli, js, tea):
    assert cli("purge", tea, "--yes").out.startswith(
        "Erased 1 memory, 1 journal entry.\nReceipt receipt_"
    )
    assert cli("show", tea).code == 1
    js("remember", "x")
    assert json.loads(cli("purge", "2", "--yes", "--json").out)["erased"] == {
        "journal": 1,
        "memories": 1,
    }


# Export, import


def test_export_to_a_file_is_private_and_whole(cli, js, tea, tmp_path):
    target = tmp_path / "out.jsonl"
    assert js("export", "-o", target) == {"file": str(target), "lines": 4, "left_out": []}
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == cli("export").out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.db", "out.jsonl"]


def test_an_export_that_fails_leaves_the_old_file_and_no_other(cli, tea, tmp_path, monkeypatch):
    target = tmp_path / "out.jsonl"
    target.write_text("the old export")
    store = tmp_path / "memory.db"
    damaged = bytearray(store.read_bytes())
    damaged[4096:] = b"\x00" * (len(damaged) - 4096)
    store.write_bytes(damaged)
    assert cli("export", "-o", target).code == 1
    assert target.read_text() == "the old export"
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out.jsonl"]


def test_a_bundle_goes_from_one_store_to_another(cli, js, tea, tmp_path):
    bundle = cli("export").out
    other = tmp_path / "other.db"
    assert js("import", "-", "--store", other, stdin=bundle)["added"]["memory"] == 1
    assert cli("export", "--store", other).out == bundle
    (tmp_path / "b.jsonl").write_text(bundle)
    again = cli("import", tmp_path / "b.jsonl", "--store", other)
    assert again.out == "Imported 0 memories; 2 rows were already there.\n"


def test_import_into_another_scope_and_export_of_every_scope(cli, js, tea):
    js("import", "-", "--into", "user:bob", stdin=cli("export").out)
    assert len(js("list", "--scope", "user:bob")) == 1
    lines = cli("export", "--all", "--no-history").out.splitlines()
    assert [json.loads(line)["scope"] for line in lines[1:-1]] == ["user:ann", "user:bob"]


def test_what_cannot_be_imported_is_refused(cli, js, tmp_path):
    (tmp_path / "bytes").write_bytes(b'{"bundle":"holdfast","version":1}\n\xff\xfe\n')
    for file, complaint in (
        (tmp_path / "missing", "Cannot read"),
        (tmp_path, "Cannot read"),
        (tmp_path / "bytes", "UTF-8"),
    ):
        done = cli("import", file)
        assert (done.code, complaint in done.err) == (2, True)
        assert "Nothing was imported" in done.err
    assert cli("import", "-", stdin="hello").code == 2
    assert js("list") == []


def test_export_into_a_folder_that_is_not_there_is_refused(cli, tmp_path):
    done = cli("export", "-o", tmp_path / "no" / "out")
    assert (done.code, "does not exist" in done.err) == (2, True)


# Upkeep


def test_doctor_finds_nothing_wrong_with_a_sound_store(cli, tea):
    done = cli("doctor")
    assert done.code == 0
    assert "is in order" in done.out


def test_doctor_exits_1_for_a_damaged_index_and_repair_mends_it(cli, tea, tmp_path):
    import apsw

    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("DELETE FROM memory_terms")
    connection.close()
    done = cli("doctor")
    assert done.code == 1
    assert "holdfast doctor --repair" in done.out
    sick = cli("doctor", "--json")
    assert (sick.code, json.loads(sick.out)["findings"][0]["repairable"]) == (1, True)
    assert cli("doctor", "--repair").code == 0
    assert "green tea" in cli("recall", "tea").out


def test_reembed_tells_how_many_each_model_did(cli, js, tea, monkeypatch):
    done = cli("store", "reembed")
    assert (done.code, "HOLDFAST_EMBEDDING_MODELS" in done.err) == (1, True)
    monkeypatch.setenv("HOLDFAST_EMBEDDING_MODELS", "fake")
    assert js("store", "reembed") == {"fake:bag-of-words": 1}
    assert cli("store", "reembed", "--fresh").out == "1 embedded by fake:bag-of-words.\n"


def test_settings_show_value_and_source(cli, js, monkeypatch):
    found = js("settings")
    assert (found["recall_limit"]["value"], found["recall_limit"]["source"]) == (10, "default")
    assert found["embedding_models"]["source"] == "HOLDFAST_EMBEDDING_MODELS"
    assert "config.toml" in cli("settings").err
    monkeypatch.setenv("HOLDFAST_RECAL_LIMIT", "5")
    done = cli("settings")
    assert (done.code, "'recall_limit'" in done.err) == (2, True)


LOCOMO = [
    {
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"dia_id": "D1:1", "speaker": "Ann", "text": "I adopted a greyhound"}],
        },
        "qa": [{"question": "Which greyhound did Ann adopt?", "category": 4, "evidence": ["D1:1"]}],
    }
]


def test_bench_prints_figures_by_category(cli, js, tmp_path):
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO))
    found = js("bench", "locomo", tmp_path / "locomo.json", "--questions", tmp_path / "q.jsonl")
    assert {"R@1", "R@5", "R@10", "R@20"} <= found["turns"]["all"].keys()
    assert (found["turns"]["single-hop"]["R@1"], found["sessions"]["all"]["R@20"]) == (1, 1)
    assert json.loads((tmp_path / "q.jsonl").read_text())["ranked"] == ["D1:1"]
    assert "single-hop" in cli("bench", "locomo", tmp_path / "locomo.json", "--fusion", "rrf").out
    assert cli("bench", "nosuch", tmp_path / "locomo.json").code == 2
    assert cli("bench", "locomo", tmp_path / "missing.json").code == 2
    assert cli("bench", "locomo", tmp_path / "locomo.json", "--fusion", "magic").code == 2


def test_bench_refuses_a_file_that_it_could_not_write_before_it_measures_anything(cli, tmp_path):
    """The set is not even there: nothing was read yet."""
    done = cli(
        "bench",
        "locomo",
        tmp_path / "missing.json",
        "--questions",
        tmp_path / "nowhere" / "q.jsonl",
    )
    assert (done.code, f"The folder {tmp_path / 'nowhere'} does not exist" in done.err) == (2, True)


def test_the_demo_tells_its_story_and_keeps_to_its_own_file(cli, js, tmp_path):
    told = cli("demo", "--store", tmp_path / "demo.db").out
    assert "Lisbon" in told
    assert str(tmp_path / "demo.db") in told
    assert "Nothing relevant is known." in told and "http://127.0.0.1:" in told
    again = js("demo", "--store", tmp_path / "demo2.db")
    assert "encoder" in again["answers"][0]["hits"][0]["why"]["summary"]
    assert again["unknown"] == []
    assert again["change"] == {
        "The user lives in Hamburg, near the harbour": "superseded",
        "The user lives in Lisbon now, with a view of the river": "active",
    }
    assert again["correction"]["same_memory"] is True
    assert again["restart"]["findings"] == 0
    assert not (tmp_path / "memory.db").exists()


# Errors and exit codes


@pytest.mark.parametrize(
    "args",
    [
        ("show", "fact_missing"),
        ("correct", "fact_missing", "x"),
        ("confirm", "9"),
        ("archive", "9"),
        ("restore", "9"),
        ("forget", "9"),
        ("purge", "9", "--yes"),
        ("history", "9"),
        ("undo", "run_missing"),
        ("undo",),
        ("explain", "x", "--expect", "9"),
        ("export", "--all"),
    ],
)
def test_what_is_not_there_exits_1_with_a_message_on_stderr(cli, args):
    done = cli(*args)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: ")


@pytest.mark.parametrize(
    "args",
    [
        ("nosuch",),
        ("recall", "x", "--nosuch"),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--limit", "ten"),
        ("show",),
        ("remember", "x", "--kind", "thought"),
        ("remember", "x", "--confidence", "2"),
        ("remember", " "),
        ("remember", "x", "--metadata", "{"),
        ("remember", "x", "--metadata", "[]"),
        ("remember", "x", "--at", "soonish"),
        ("list", "--status", "lost"),
        ("recall", "x", "--scope", "ann"),
        ("recall", "x", "--since", "soonish"),
        ("remember",),
    ],
)
def test_wrong_usage_exits_2_with_a_message_on_stderr_and_writes_nothing(cli, js, args):
    done = cli(*args)
    assert (done.code, done.out) == (2, "")
    assert done.err.strip()
    assert js("list") == []


def test_a_store_that_is_no_store_exits_1_and_is_left_as_it_is(cli, tmp_path):
    (tmp_path / "memory.db").write_text("This is a letter to my aunt, not a database. " * 100)
    before = (tmp_path / "memory.db").read_bytes()
    done = cli("list")
    assert (done.code, "not a Holdfast store" in done.err) == (1, True)
    assert (tmp_path / "memory.db").read_bytes() == before


def test_help_names_every_command(cli):
    done = cli("--help")
    assert done.code == 0
    assert "Usage: holdfast" in done.out and "remember" in done.out and "doctor" in done.out


def test_help_names_values_only_of_options_that_take_one(cli):
    told = cli("recall", "--help").out
    assert "<bool>" not in told and "list[" not in told
    assert re.search(r"--deep +Read the best", told) and re.search(r"--tag +<str> +Only", told)
    assert re.search(r"--version +-V +Print the version", cli("--help").out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli, command):
    done = cli(command, "--help")
    assert done.code == 0
    assert f"Usage: holdfast {command}" in done.out
    assert "--json" in done.out
    assert ESCAPE not in done.out
    # `bench` is for people who work on Holdfast itself, so the overview does not show it.
    assert (command in cli("--help").out) == (command != "bench")


def test_control_characters_in_a_memory_do_not_reach_the_terminal(cli):
    cli("remember", "tea \x1b]0;owned\x07\x1b[31mred\x9b", "--title", "t\x1b[1m")
    for args in (
        ("recall", "tea"),
        ("list",),
        ("show", "1"),
        ("history", "1"),
        ("history",),
        ("explain", "tea", "--expect", "1"),
    ):
        done = cli(*args)
        assert done.code == 0
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.out)


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def _zone(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_zone")
def test_times_may_be_iso_with_or_without_zone_or_words(js):
    js("remember", "tea", "--at", "yesterday")
    for since in ("0001-01-01", "2020-01-01T12:00", "2020-01-01T12:00:00+05:30", "last year"):
        assert len(js("recall", "tea", "--since", since, "--until", "9999-12-31T23:59:59")) == 1


# The real program


def test_the_real_program_remembers_and_recalls_in_plain_text(tmp_path):
    assert program("remember", "Prefers green tea 🍵").returncode == 0
    done = program("recall", "which tea?")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Prefers green tea 🍵" in done.stdout
    assert ESCAPE not in done.stdout
    assert program("show", "nothing").returncode == 1
    assert program("nosuch").returncode == 2


def test_the_version_is_printed(cli):
    for flag in ("--version", "-V"):
        assert cli(flag) == (0, f"holdfast {__version__}\n", "")
    done = program("--version")
    assert (done.returncode, done.stdout) == (0, f"holdfast {__version__}\n")


def test_a_reader_that_goes_away_is_no_error(cli):
    lines = "\n".join(
        json.dumps({"session": "s", "role": "user", "text": f"{n} " + "tea " * 50})
        for n in range(800)
    )
    assert cli("capture", stdin=lines).code == 0
    for args in (["export"], ["list", "-n", "800"], ["list", "-n", "1"]):
        read_end, write_end = os.pipe()
        os.close(read_end)
        command = [sys.executable, "-m", "holdfast", *args]
        done = subprocess.run(
            command,
            stdout=write_end,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        os.close(write_end)
        assert (done.returncode, done.stderr) == (0, "")


def test_output_in_an_encoding_that_lacks_a_character_is_no_error():
    program("remember", "Prefers 茶")
    done = program("recall", "茶", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "Prefers" in done.stdout


def test_the_completion_script_can_be_shown():
    env = {**os.environ, "_HOLDFAST_COMPLETE": "source_bash"}
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = 'holdfast'; from holdfast.cli import main; main()",
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=env, timeout=PATIENCE
    )
    assert "_HOLDFAST_COMPLETE" in done.stdout
    assert "complete" in done.stdout


def test_ids_complete_to_what_is_in_the_store(cli, js):
    from holdfast.cli.app import complete_ids, complete_scopes

    tea = js("remember", "Prefers green tea")["id"]
    assert complete_ids("fact_") == [(tea, "Prefers green tea")]
    assert (complete_ids("zzz"), complete_scopes("user:a")) == ([], ["user:ann"])
