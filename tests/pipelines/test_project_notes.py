"""What of a coding session becomes a note for the next agent, and how MEMORY.md tells it."""

from pathlib import Path

import pytest

from holdfast.errors import EmbedderError
from holdfast.extraction.coding import Note, find_notes
from holdfast.extraction.coding.note_judge import NoteJudge
from holdfast.models import cross_encoder
from holdfast.models.embeddings.onnx import OnnxEmbedder
from holdfast.models.embeddings.tiers import Tiers
from holdfast.projects.compose_memory import MOST_LINES, compose
from holdfast.projects.repository_facts import RepositoryFacts
from holdfast.projects.stage1_outputs import Output, Taught
from holdfast.types import DAY, Memory, Scope

AT = 1_767_225_600_000_000


@pytest.fixture(scope="module")
def judge():
    return NoteJudge(Tiers.of(OnnxEmbedder()))


def turns(*said):
    return [
        Memory(
            id=f"t{number}",
            scope=Scope("project", "shop"),
            kind="turn",
            content=text,
            created_at=AT,
            updated_at=AT,
            event_time=AT,
            role=role,
        )
        for number, (role, text) in enumerate(said)
    ]


def noted(judge, *said):
    return [note.text for note in find_notes(turns(*said), judge)]


# Statements


@pytest.mark.parametrize(
    "said",
    [
        "I don't want any mocks of the database in the tests, we have a real one in docker",
        "please never push straight to main, everything goes through a pull request",
        "I prefer small commits that do one thing",
        "we use pnpm here, not npm",
        "always show me the plan before you change the schema",
        "the generated client must never be edited by hand",
        "Never commit without signing.",
    ],
)
def test_what_a_user_wants_beyond_the_moment_is_noted_in_their_words(judge, said):
    (text,) = noted(judge, ("user", said), ("assistant", "Understood."))
    words = {word.strip(".,").lower() for word in said.split()}
    assert len(words & {word.strip(".,").lower() for word in text.split()}) >= len(words) / 2


@pytest.mark.parametrize(
    "said",
    [
        "now run the tests again",
        "don't change anything yet",
        "maybe we should use a queue for that",
        "The plan is looking solid.",
        "remember our process",
        "I see two entries for the same user",
        "the user should be able to export the table",
        "✓ should include CORS headers (2 ms)",
        "I don't like how we mixed the docs with the bugfix",
        "we do not need backward compatibility with the original parameters",
        "I don't like frames around text, they look like corruption",
        "The Flask docs say you should always use blueprints for larger apps.",
        "The style guide of Google says: never use wildcard imports.",
        "why did you remove that line?",
    ],
)
def test_the_moment_is_not_noted(judge, said):
    assert noted(judge, ("user", said)) == []


def test_the_judge_says_nothing_on_languages_that_it_did_not_learn(judge):
    said = [("user", "先写 plan,再 subagent-driven 执行。mockup + 品牌调整 + ESLint 清理")]
    assert find_notes(turns(*said), judge, tentative=True) == []


@pytest.mark.parametrize(
    "said",
    [
        "The dashboard should be more powerful for teams.",
        "the game should be playable with a gamepad",
        "Every tab should support one part of the export settings.",
    ],
)
def test_what_the_product_shall_do_is_a_task_and_no_rule(judge, said):
    assert noted(judge, ("user", said)) == []


def test_words_of_somebody_else_that_were_pasted_from_a_chat_are_not_the_user_s(judge):
    rule = "I prefer small commits that do one thing."
    pasted = f"{rule}\nJan Novak  [10:04 AM]\nAnd please squash them."
    assert noted(judge, ("user", rule))
    assert noted(judge, ("user", pasted)) == []


def test_answers_to_a_list_of_the_agent_say_nothing_without_its_points(judge):
    points = "Found:\n1. The hook is never run.\n2. The port is fixed.\n3. The docs are old."
    rules = "1. Yes.\n2. Why?\n3. Never rename a module without a changelog entry."
    assert noted(judge, ("user", rules))
    assert noted(judge, ("assistant", points), ("user", rules)) == []


@pytest.mark.parametrize(
    ("options", "answer", "count"),
    [
        ("A) Revenir au plan\nB) Rester au niveau besoins/objectifs", "B", 0),
        ("A) PostgreSQL pour les sessions\nB) SQLite en local", "B", 1),
    ],
)
def test_where_the_judge_cannot_read_a_choice_it_needs_a_name(judge, options, answer, count):
    asked = f"Que préfères-tu ?\n{options}\nQuelle option choisis-tu ?"
    found = noted(judge, ("user", "Bonjour, on commence ?"), ("assistant", asked), ("user", answer))
    assert len(found) == count


def test_a_command_that_only_looks_is_no_fix():
    def run(helped):
        return noted(
            None,
            ("tool", "Bash: make test\nfailed, exit 2\nerror: submodule 'bats' not found"),
            ("tool", f"Bash: {helped}\nok\ndone"),
            ("tool", "Bash: make test\nok\n12 passed"),
        )

    assert run("git submodule update --init")
    assert run("git config --file .gitmodules --get-regexp path") == []


def test_a_failure_whose_fix_would_be_cut_off_is_not_told():
    command = "make test SUITE=everything-about-the-payment-service-and-its-queue"

    def run(fix):
        return noted(
            None,
            ("tool", f"Bash: {command}\nfailed, exit 2\nerror: port 5432 is in use {'x' * 160}"),
            ("tool", "Bash: docker compose restart\nok\nrestarted"),
            ("tool", f"Bash: {command}\nok\n12 passed"),
            ("assistant", f"The fix was to set `{fix}` for the tests."),
        )

    assert "PORT=0" in run("PORT=0")[0]
    longer = "the one below it to the next free one and " * 3
    assert run(f"PORT=0` and {longer}`PORT_2=0") == []


def test_an_error_that_a_tool_cut_off_is_not_told():
    def run(error):
        return noted(
            None,
            ("tool", f"Bash: pytest\nfailed, exit 1\n{error}"),
            ("tool", "Bash: pip install httpx\nok\nInstalled httpx"),
            ("tool", "Bash: pytest\nok\n12 passed"),
        )

    assert run("ERROR tests/test_api.py: unrecognized plugin httpx")
    assert run('ERROR tests/test_api.py - File "/home/ann/shop...') == []


def test_what_an_agent_says_is_no_decision(judge):
    said = "We decided to use pnpm instead of npm because npm breaks the lock file."
    assert noted(judge, ("assistant", said)) == []
    assert noted(judge, ("user", said)) != []


def test_an_answer_picks_from_the_list_directly_before_it():
    first = "Which one?\n1. Redis – needs a server\n2. Postgres – is there already"
    later = "Shall I format the code?"
    assert noted(None, ("assistant", first), ("user", "2")) == [
        "Decided: Postgres – is there already."
    ]
    between = (("assistant", first), ("user", "let me think"), ("assistant", later))
    assert noted(None, *between, ("user", "2")) == []


# MEMORY.md


def output(session, day, *notes):
    return Output(session, AT + day * DAY, Taught("-", f"Session {session}", "", notes))


def said(text, topic="convention", category="principles", **more):
    return Note(category, text[:40], text, text, ("t0",), topic=topic, **more)


def command(text, run):
    return Note("procedures", "To run the tests", text, run, ("t0",))


def test_a_line_has_its_source_its_date_and_how_fresh_it_is():
    memory = compose(
        [
            output(
                "s-new", 300, said("Keep functions short and name them after what they return.")
            ),
            output("s-old", 0, said("Dates are stored in UTC in every table.")),
        ]
    ).memory
    assert "return. (s-new, 2026-10-28, current)" in memory
    assert "table. (s-old, 2026-01-01, old: check it first)" in memory


def test_sections_are_what_an_agent_acts_on():
    memory = compose(
        [
            output(
                "s1",
                1,
                command("To run the tests: `make test`.", "make test"),
                said("No default exports in this codebase."),
                said("SQLite stays, a server is not worth it.", "decision", "decisions"),
                said("The tests hang if docker is not running.", "pitfall"),
                said("Plans are in docs/plans.", "location"),
                said(
                    "`make build` failed: no space left.", "open_end", "incidents", tentative=True
                ),
            )
        ]
    ).memory
    headings = [line for line in memory.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Build, test and run",
        "## Conventions",
        "## Decisions",
        "## Pitfalls and fixes",
        "## Where things are",
        "## Open ends",
        "## Sessions",
    ]


def test_commands_are_checked_against_the_repository(tmp_path: Path):
    (tmp_path / "Makefile").write_text("test:\n\tpytest\n", "utf-8")
    kept = [output("s1", 1, command("To run the tests: `make test`.", "make test"))]
    assert "in Makefile)" in compose(kept, RepositoryFacts(tmp_path)).memory
    (tmp_path / "Makefile").write_text("check:\n\tpytest\n", "utf-8")
    assert "stale: not in Makefile any more" in compose(kept, RepositoryFacts(tmp_path)).memory
    assert "stale" in compose(kept, RepositoryFacts(tmp_path)).summary


def test_what_the_repository_defines_is_one_line_and_no_note(tmp_path: Path):
    (tmp_path / "Makefile").write_text("test:\n\tpytest\n\nnotes:\n\ttrue\n", "utf-8")
    (tmp_path / "package.json").write_text('{"scripts": {"build": "x", "test": "y"}}', "utf-8")
    (tmp_path / "pnpm-lock.yaml").touch()
    kept = [output("s1", 1, said("No default exports in this codebase."))]
    composed = compose(kept, RepositoryFacts(tmp_path))
    assert "- Defined here: `pnpm run build`, `make test`." in composed.memory
    assert "Defined here" not in composed.summary
    assert "Defined here" not in compose(kept).memory


def test_a_copy_of_a_session_says_nothing_again():
    once = said("Comments in bash snippets are clutter.", tentative=True)
    other = said("Dates are stored in UTC always.")
    copies = [output("s2", 2, once, other), output("s1", 1, once, other)]
    assert "bash" not in compose(copies).memory


def test_scripts_of_a_package_below_the_top_count(tmp_path: Path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "package.json").write_text('{"scripts": {"test:e2e": "x"}}', "utf-8")
    facts = RepositoryFacts(tmp_path)
    assert facts.freshness("npm run test:e2e -- --headed") == "in package.json"
    assert facts.freshness("npm run gone").startswith("stale")
    assert facts.freshness("npm install") == ""
    assert RepositoryFacts(tmp_path / "missing").freshness("make test") == ""


def test_what_the_repository_says_is_not_repeated(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("- Never use default exports in this codebase.\n", "utf-8")
    kept = [
        output("s1", 1, said("Never use default exports."), said("Dates are stored in UTC always."))
    ]
    memory = compose(kept, RepositoryFacts(tmp_path)).memory
    assert "default exports" not in memory
    assert "UTC" in memory


def test_the_latest_word_counts():
    memory = compose(
        [
            output("s2", 2, said("Never commit without signing.")),
            output("s1", 1, said("Commit without signing.")),
        ]
    ).memory
    assert "Never commit without signing" in memory
    assert "- Commit without signing" not in memory


def test_what_was_said_once_and_not_clearly_waits_for_a_second_session():
    once = said("Comments in bash snippets are clutter.", tentative=True)
    again = said("Please drop the comments from bash snippets.", tentative=True)
    other = said("Dates are stored in UTC always.")
    assert "bash" not in compose([output("s1", 1, once, other)]).memory
    memory = compose([output("s2", 2, again), output("s1", 1, once, other)]).memory
    assert memory.count("bash snippets") == 1
    assert "and in 1 other session" in memory


def test_a_memory_has_at_most_200_lines():
    kept = [
        output(f"s{number:03}", 300 - number, said(f"Rule {number} concerns module{number} alone."))
        for number in range(300)
    ]
    memory = compose(kept).memory
    assert len(memory.splitlines()) <= MOST_LINES
    assert "earlier sessions" in memory


@pytest.mark.parametrize(
    "said",
    [
        "I want a detailed explanation on changes and any issues that might arise.",
        "I want to revert the commit of .wrangler/.tmp files and add them to gitignore.",
        "Yes. From now on I am just giving you instructions and testing that it works.",
        "Add a shadow behind the image. Describe what I want in your own words first, before "
        "writing any code.",
        "the concise version was a bit too concise, but yes rewrite the guidelines so I don't "
        "waste time with backwards compatibility.",
    ],
)
def test_a_wish_for_the_task_at_hand_is_not_noted(judge, said):
    assert noted(judge, ("user", said)) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "every migration should have a rollback that runs on Postgres 14",
            "Every migration should have a rollback that runs on Postgres 14.",
        ),
        (
            "we should use the strong types instead of strings wherever we can",
            "We should use the strong types instead of strings wherever we can.",
        ),
        (
            "The shared protobufs are in ../contracts/proto, so look there first.",
            "The shared protobufs are in ../contracts/proto, so look there first.",
        ),
        (
            "our staging server is a small ARM machine with 2 GB of memory",
            "Our staging server is a small ARM machine with 2 GB of memory.",
        ),
        ("We no longer use poetry, only uv.", "We no longer use poetry, only uv."),
        (
            "The app should run offline, without any external service.",
            "The app should run offline, without any external service.",
        ),
    ],
    ids=("each", "spread", "place", "machine", "course", "app"),
)
def test_what_holds_for_all_for_the_project_or_for_good_is_noted(judge, said, text):
    assert noted(judge, ("user", said)) == [text]


@pytest.mark.parametrize(
    "said",
    [
        "The function should always use the existing helper.",
        "The flag is defined on the command but never read in the handler.",
        "We should (in a way that stays small) always reuse the helper.",
        "All of the points in your previous message should be done.",
        "Alright, get started, and make sure it works before claiming so.",
        "Prepare a task list and always test the script that you changed.",
        "Always love when tools do that.",
        "Yes, but I'd rather not do this for every script.",
        "I'd rather use the palette we just set up than the old one.",
        "All requests should always go through the proxy with",
        "Don't create a pr, just a commit",
        "We use the same data that populates all of the segments across the board by default.",
    ],
    ids=(
        "function",
        "flag",
        "bracket",
        "message",
        "start",
        "list",
        "sarcasm",
        "this",
        "just",
        "cut off",
        "ban",
        "the same",
    ),
)
def test_what_names_nothing_or_is_the_task_is_not_noted(judge, said):
    assert noted(judge, ("user", said)) == []


def test_a_note_is_understood_alone(judge):
    (text,) = noted(judge, ("user", "ok, I don't want any mocks in @tests/conftest.py, at all."))
    assert text == "The user does not want any mocks in tests/conftest.py, at all."
    # A package is no file that is mentioned.
    (text,) = noted(judge, ("user", "I prefer @acme/log to the console everywhere"))
    assert text == "The user prefers @acme/log to the console everywhere."


def test_a_rule_has_the_reason_that_the_next_sentence_states(judge):
    said = "We never mock the clock in unit tests. Because half of the timeouts depend on it."
    assert noted(judge, ("user", said)) == [
        "We never mock the clock in unit tests. Reason: half of the timeouts depend on it."
    ]


# Where there is no judge, and what it must not be asked


def test_patterns_do_where_the_model_that_reads_sentences_fails(monkeypatch):
    def damaged(pack, *rest):
        raise EmbedderError(f"{pack} is damaged")

    monkeypatch.setattr(cross_encoder, "load", damaged)
    tiers = Tiers.of(OnnxEmbedder())
    said = turns(("user", "Always run the linter before you commit. The login page looks odd."))
    assert find_notes(said, NoteJudge(tiers)) == find_notes(said) != []
    assert tiers.errors == {"local:memory-judge-s": "memory-judge-s-int8 is damaged"}


def test_a_sentence_beside_the_output_of_a_terminal_is_not_the_user_s(judge):
    rule = "We use pnpm here and we no longer support npm."
    log = "[xUnit.net 00:00:00.37]   Discovered:  Shop.Tests\n  Failed Shop.Tests.Pays [12 ms]\n"
    assert noted(judge, ("user", rule))
    hint = "Keep Fluent Assertions at the forefront of unit testing."
    assert noted(judge, ("user", f"I got this in CI:\n{log}{hint}")) == []


def test_please_note_beside_a_task_is_said_of_that_task_in_other_languages_too(judge):
    note = "注意，你只需要修改 solid 的文件即可。"
    assert noted(judge, ("user", f"请完善日历组件的代码。{note}")) == []
    assert (
        noted(
            judge,
            ("user", f"我已经写了一些代码，希望你根据 react 的方式来完善日历组件的代码，{note}"),
        )
        == []
    )
    assert noted(judge, ("user", "请记住，我们用 pnpm 安装依赖。"))


def test_a_fix_without_a_cause_has_to_speak_of_its_failure():
    failure = "Bash: npx knip\nfailed, exit 1\nError: Unrecognized key: 'ignoreUnlisted'"
    passes = ("tool", "Bash: npx knip\nok\n0 issues")
    edit = ("tool", "Edit: knip.json\nok")
    other = ("assistant", "The fix was adding tailwindcss to the list of plugins.")
    same = ("assistant", "The fix was renaming the unrecognized key to ignoreDependencies.")
    begin = ("user", "knip fails, can you look?")
    assert find_notes(turns(begin, ("tool", failure), edit, other, passes)) == []
    (note,) = find_notes(turns(begin, ("tool", failure), edit, same, passes))
    assert "unrecognized key" in note.text


def test_an_error_that_tells_only_its_exit_code_is_no_pitfall():
    failure = 'Bash: bun tsc -b\nfailed, exit 1\nerror: "tsc" exited with code 1'
    helped = ("tool", "Bash: npm install typescript\nok\nadded 1 package")
    passes = ("tool", "Bash: bun tsc -b\nok\nFinished")
    assert find_notes(turns(("tool", failure), helped, passes)) == []
