"""Sessions of Claude Code: a graph of records becomes one conversation."""

import os
from pathlib import Path

from heard import DATA, append, held, one, read, said, write

from holdfast.transcripts import reader_for
from holdfast.transcripts.claude_code import ClaudeCode
from holdfast.transcripts.json_fields import micros

READER = ClaudeCode()
SESSION = next((DATA / "claude_code").glob("*.jsonl"))


def record(uuid, parent, role, content, **more):
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "cwd": "/p",
        "timestamp": "2026-03-02T09:00:00Z",
        "message": {"role": role, "content": content},
        **more,
    }


def call(key, name="Bash", **given):
    return [{"type": "tool_use", "id": key, "name": name, "input": given}]


def result(key, text, **more):
    return [{"type": "tool_result", "tool_use_id": key, "content": text, **more}]


def test_a_session_is_read_in_the_order_in_which_it_happened() -> None:
    """Thinking, reminders, pictures, sub-agents, synthetic errors, compaction and the replaced
    prompt are not in it.
    """
    transcript, entries = one(READER, SESSION)
    assert (transcript.id, transcript.agent) == (SESSION.stem, "claude-code")
    assert transcript.cwd == "/home/mira/src/harbor-api"
    assert transcript.title == "Sunday timetable fails"
    assert transcript.started_at == micros("2026-03-02T09:00:01.250Z")
    assert transcript.updated_at == micros("2026-03-02T09:11:00Z")
    assert (transcript.skipped, transcript.private, transcript.continued) == (0, False, False)
    assert held(entries) == [
        ("user", "The ferry timetable endpoint returns 500 on Sundays. Please find out why."),
        ("assistant", "I'll look at the handler and run its tests."),
        (
            "tool",
            "Read: /home/mira/src/harbor-api/app/timetable.py\nok\n1\tdef first_departure(day):\n"
            "     2\t    return departures(day)[0]",
        ),
        (
            "tool",
            "Bash: pytest -q tests/test_timetable.py\nfailed, exit 1\n"
            "FAILED tests/test_timetable.py::test_sunday - IndexError: list index out of range\n"
            "1 failed, 11 passed in 0.42s",
        ),
        (
            "assistant",
            "On Sundays there are no departures, so `departures(day)[0]` fails. I suggest an "
            "empty answer with "
            "status 200.",
        ),
        (
            "user",
            "An empty list with 200 is right: the app shows 'no ferries today'. Never answer 404 "
            "for a day without "
            "departures.",
        ),
        ("assistant", "Done: an empty list with 200."),
        ("user", "only the timetable module"),
        ("user", "Now write the changelog line."),
    ]


def test_an_entry_says_where_it_stands_and_how_its_tool_went() -> None:
    _, entries = one(READER, SESSION)
    read_call, tests = entries[2], entries[3]
    assert (read_call.tool, read_call.failed, read_call.lines) == ("Read", False, (5, 8))
    assert (tests.tool, tests.failed, tests.lines) == ("Bash", True, (6, 7))
    assert entries[0].lines == (2, 2)


def text(words):
    return [{"type": "text", "text": words}]


def branched(entries):
    return [entry.text for entry in entries if entry.branch]


def test_the_later_of_two_prompts_to_the_same_answer_holds_and_the_other_is_a_branch(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path / "s.jsonl",
        record("u1", None, "user", "Start."),
        record("a1", "u1", "assistant", [{"type": "text", "text": "Which colour?"}]),
        record("u2", "a1", "user", "Red."),
        record("a2", "u2", "assistant", call("t1", command="paint red")),
        record("r1", "a2", "user", result("t1", "done")),
        record("u3", "r1", "user", "Thanks."),
        record("u4", "a1", "user", "Blue."),
        record("a3", "u4", "assistant", [{"type": "text", "text": "Blue it is."}]),
    )
    _, entries = one(READER, path)
    assert held(entries) == [
        ("user", "Start."),
        ("assistant", "Which colour?"),
        ("user", "Blue."),
        ("assistant", "Blue it is."),
    ]
    assert branched(entries) == ["Red.", "Bash: paint red\nok\ndone", "Thanks."]


def test_the_branch_that_ends_the_file_is_the_conversation_though_another_began_later(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path / "s.jsonl",
        record("u1", None, "user", "Start."),
        record("a1", "u1", "assistant", text("Which colour?")),
        record("u2", "a1", "user", "Red."),
        record("u3", "a1", "user", "Blue."),
        record("a3", "u3", "assistant", text("Blue it is.")),
        record("a2", "u2", "assistant", text("Red it is.")),
        record("u4", "a2", "user", "Now sand it."),
    )
    _, entries = one(READER, path)
    assert [words for _, words in held(entries)] == [
        "Start.",
        "Which colour?",
        "Red.",
        "Red it is.",
        "Now sand it.",
    ]
    assert branched(entries) == ["Blue.", "Blue it is."]


def test_a_fork_within_a_fork_leaves_one_conversation(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        record("u1", None, "user", "One."),
        record("u2", "u1", "user", "Two."),
        record("u3", "u2", "user", "Three."),
        record("u4", "u2", "user", "Four."),
        record("u5", "u1", "user", "Five."),
        record("u6", "u4", "user", "Six."),
    )
    _, entries = one(READER, path)
    assert [words for _, words in held(entries)] == ["One.", "Two.", "Four.", "Six."]
    assert branched(entries) == ["Three.", "Five."]


def test_a_fork_at_the_very_first_prompt_is_seen_by_the_record_before_it(tmp_path: Path) -> None:
    start = {
        "type": "system",
        "uuid": "s0",
        "parentUuid": None,
        "sessionId": "s",
        "content": "started",
    }
    path = write(
        tmp_path / "s.jsonl",
        start,
        record("u1", "s0", "user", "Paint it red."),
        record("u2", "s0", "user", "Paint it blue."),
    )
    _, entries = one(READER, path)
    assert (held(entries), branched(entries)) == ([("user", "Paint it blue.")], ["Paint it red."])


def test_a_second_answer_to_the_same_prompt_leaves_the_first_as_a_branch(tmp_path: Path) -> None:
    first = record("a1", "u1", "assistant", text("Red, perhaps."))
    second = record("a2", "u1", "assistant", text("Blue, surely."))
    first["message"]["id"], second["message"]["id"] = "m1", "m2"
    path = write(tmp_path / "s.jsonl", record("u1", None, "user", "Which?"), first, second)
    _, entries = one(READER, path)
    assert (held(entries)[1:], branched(entries)) == (
        [("assistant", "Blue, surely.")],
        ["Red, perhaps."],
    )


def test_parallel_calls_are_no_branches_whichever_result_the_answer_follows(tmp_path: Path) -> None:
    def session(name, answered):
        return write(
            tmp_path / f"{name}.jsonl",
            record("u1", None, "user", "Look."),
            record("a1", "u1", "assistant", call("t1", command="ls")),
            record("a2", "a1", "assistant", call("t2", command="pwd")),
            record("r1", "a1", "user", result("t1", "src")),
            record("r2", "a2", "user", result("t2", "/p")),
            record("a3", answered, "assistant", text("Seen.")),
        )

    for answered in ("r1", "r2"):
        assert branched(one(READER, session(answered, answered))[1]) == []


def test_a_branch_does_not_name_the_session(tmp_path: Path) -> None:
    start = {
        "type": "system",
        "uuid": "s0",
        "parentUuid": None,
        "sessionId": "s",
        "content": "started",
    }
    path = write(
        tmp_path / "s.jsonl",
        start,
        record("u1", "s0", "user", "Oops."),
        record("u2", "s0", "user", "Mine."),
    )
    transcript, _ = one(READER, path)
    assert transcript.title == "Mine."


def test_a_resumed_session_has_several_roots_and_copies_count_once(tmp_path: Path) -> None:
    first = record("u1", None, "user", "We ship on Mondays.")
    path = write(
        tmp_path / "s.jsonl", first, first, record("u2", None, "user", "And on Thursdays.")
    )
    assert said(one(READER, path)[1]) == [
        ("user", "We ship on Mondays."),
        ("user", "And on Thursdays."),
    ]


def test_what_was_typed_while_the_agent_worked_is_heard(tmp_path: Path) -> None:
    def queued(uuid, parent, prompt, mode):
        attachment = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
        return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment}

    path = write(
        tmp_path / "s.jsonl",
        record("u1", None, "user", "Build it."),
        queued("q1", "u1", "And sign it.", "prompt"),
        queued("q2", "q1", "Task 7 is done", "task-notification"),
    )
    assert said(one(READER, path)[1]) == [("user", "Build it."), ("user", "And sign it.")]


def test_a_circle_of_parents_is_read_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", record("a", "b", "user", "one"), record("b", "a", "user", "two")
    )
    assert len(one(READER, path)[1]) == 2


def test_a_call_without_a_result_holds_nothing_back(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        record("a0", None, "assistant", call("lost", command="sleep 9")),
        *(
            record(f"u{number}", "a0", "user", result("other", f"orphan {number}"))
            for number in range(100)
        ),
        record("u", "a0", "user", "Go on."),
    )
    transcript = next(READER.read(path))
    first = next(transcript.entries)
    assert (first.text, first.failed) == ("Bash: sleep 9", None)
    assert [entry.text for entry in transcript.entries][-1] == "Go on."


def test_a_title_of_the_person_beats_one_of_the_model(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        {"type": "custom-title", "sessionId": "s", "customTitle": "Mine"},
        record("u1", None, "user", "Hello there."),
        {"type": "ai-title", "sessionId": "s", "aiTitle": "Theirs"},
        {"type": "summary", "summary": "Oldest", "leafUuid": "u1"},
    )
    assert one(READER, path)[0].title == "Mine"


def test_a_session_that_grew_goes_on_where_it_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", record("u1", None, "user", "One."))
    first, _ = one(READER, path)
    assert read(READER, path, first.cursor) == []
    append(path, record("u2", "u1", "user", "Two."))
    second, entries = one(READER, path, first.cursor)
    assert second.continued
    assert said(entries) == [("user", "Two.")]
    assert entries[0].lines == (2, 2)
    assert second.title == ""


def test_a_prompt_that_is_taken_back_later_makes_the_session_be_read_anew(tmp_path: Path) -> None:
    answer = record("a1", "u1", "assistant", [{"type": "text", "text": "Which?"}])
    path = write(
        tmp_path / "s.jsonl",
        record("u1", None, "user", "One."),
        answer,
        record("u2", "a1", "user", "Two."),
    )
    first, _ = one(READER, path)
    append(path, record("u3", "a1", "user", "Three."))
    again, entries = one(READER, path, first.cursor)
    assert not again.continued
    assert [words for _, words in held(entries)] == ["One.", "Which?", "Three."]


def test_they_are_found_newest_first_and_sub_agents_are_left_out(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects" / "-p"
    old, new = write(projects / "old.jsonl", {}), write(projects / "new.jsonl", {})
    os.utime(old, (1, 1))
    write(projects / "agent-1.jsonl", {})
    write(projects / "new" / "subagents" / "agent-2.jsonl", {})
    assert list(READER.discover(tmp_path, {})) == [new, old]
    assert list(READER.discover(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})) == []


def test_what_holdfast_held_itself_is_private(tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", record("u1", None, "user", "Consolidate.", entrypoint="holdfast")
    )
    assert one(READER, path)[0].private


def test_it_claims_its_own_files_and_no_other() -> None:
    assert isinstance(reader_for(SESSION), ClaudeCode)
    assert not READER.recognises(DATA / "generic" / "chat.jsonl")
    assert not READER.recognises(next((DATA / "codex").glob("*.jsonl")))
