"""What a coding session teaches: decisions, procedures, principles, incidents, preferences, and
nothing else.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.extraction.coding import CATEGORIES, ask_for_notes, find_notes
from holdfast.extraction.coding.choices import chooses_against
from holdfast.extraction.coding.cue_words import words
from holdfast.extraction.coding.error_lines import telling_line
from holdfast.extraction.coding.llm_notes import PAGE_TOKENS
from holdfast.extraction.coding.note import LONGEST_TEXT, LONGEST_TITLE, sentence, title_of, within
from holdfast.extraction.coding.shell_commands import (
    bare,
    covers,
    is_narrow,
    is_trivial,
    program,
    purpose,
    wraps,
)
from holdfast.languages import language
from holdfast.text.spoken_commands import LANGUAGES
from holdfast.types import Memory, Scope

NOTES = files("holdfast.extraction.coding")


def user(text):
    return "user", text


def agent(text):
    return "assistant", text


def ran(command, output="", *, failed=False):
    return "tool", f"Bash: {command}\n{'failed, exit 1' if failed else 'ok'}\n{output}".rstrip()


def edited(path="app.py"):
    return "tool", f"Edit: {path}\nok"


def session(*said):
    return [
        Memory(f"t{number}", Scope("project", "p"), "turn", text, number, number, number, role=role)
        for number, (role, text) in enumerate(said)
    ]


def notes(*said):
    return find_notes(session(*said))


def texts(*said):
    return [(note.category, note.text) for note in notes(*said)]


# Decisions


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "We'll use Postgres instead of SQLite because we need concurrent writers.",
            "Decided: use Postgres instead of SQLite. Reason: we need concurrent writers.",
        ),
        (
            "OK, we're going with tokio since reqwest needs it.",
            ("Decided: tokio. Reason: reqwest needs it."),
        ),
        ("We decided to drop support for Node 16.", "Decided: drop support for Node 16."),
        ("Let's move to pnpm rather than yarn.", "Decided: move to pnpm rather than yarn."),
        (
            (
                "Let's go with Postgres rather than SQLite because forty stations write at the "
                "same "
                "time."
            ),
            (
                "Decided: go with Postgres rather than SQLite. Reason: forty stations write at "
                "the same "
                "time."
            ),
        ),
        (
            "I thought about it: we'll keep one database rather than two, because we are few.",
            "Decided: keep one database rather than two. Reason: we are few.",
        ),
        ("ok, switch to Vite instead of webpack", "Decided: switch to Vite instead of webpack."),
        (
            "Wir nehmen Postgres statt MySQL, weil wir JSONB brauchen.",
            "Entschieden: Wir nehmen Postgres statt MySQL, weil wir JSONB brauchen.",
        ),
        (
            "我们决定用 Redis 而不是 Memcached，因为需要持久化。",
            "决定：用 Redis 而不是 Memcached。 原因：需要持久化。",
        ),
    ],
)
def test_a_decision_is_told_with_its_reason(said, told):
    assert texts(user(said)) == [("decisions", told)]


def test_a_bare_decision_is_about_the_task_at_hand():
    assert notes(user("Let's stick with the VS Code tasks.")) == []
    assert notes(user("Let's stick with the VS Code tasks because npm is not everywhere.")) != []


# Whose words they are


@pytest.mark.parametrize(
    "announced",
    [
        "Here is the review:\n",
        "Implement the following plan:\n",
        "can you fix what is in this report:\n",
        "Codex says ",
        "I asked around. The other agent found this. ",
        "The reviewer wrote: ",
        "Fix these and check for others:\n\n",
    ],
)
def test_what_a_person_hands_on_is_not_their_word(announced):
    rule = "From now on always run the migrations before the tests."
    assert [note.category for note in notes(user(rule))] == ["principles"]
    assert notes(user(announced + rule)) == []
    assert len(notes(user(f"{rule} {announced}It should be a list."))) == 1


def test_a_long_message_in_which_nobody_speaks_was_written_elsewhere():
    rule = "Never commit to main directly in this repository."
    rest = "The exporter reads the rows, groups them by customer and writes one file each. " * 5
    assert notes(user(f"{rule} {rest}")) == []
    assert len(notes(user(f"{rule} {rest} I want to see them sorted."))) == 1


@pytest.mark.parametrize(
    "said",
    [
        "The flag is set by the command but never read in the handler.",
        "Let's use 12 characters instead of 10 for issue 17.",
        "The fix is to always use the ignore file instead of a comment.",
        "Create a task to ensure that changes always use the main workspace.",
        "for 3 we decided that in dev\ndrop the local check\ndrop the validation",
    ],
)
def test_what_is_told_of_the_task_at_hand_is_no_rule(said):
    assert notes(user(said)) == []


def test_of_several_commands_in_a_line_nobody_knows_which_failed():
    both = "make lint && make test"
    cause = agent("The root cause is the missing `TOKEN` variable. The fix was to set `TOKEN`.")
    failed = ran(both, "E   KeyError: 'TOKEN'", failed=True)
    assert notes(failed, cause, ran("export TOKEN=1"), ran(both, "9 passed")) == []


def test_what_a_terminal_says_is_no_procedure():
    hint = "- To silence the hooks, run `HOOKS=0 git push`\n- To remove them, run `hooks remove`\n"
    assert notes(user(f"please fix\n$ git push\nerror: no configuration\n{hint}")) == []


def test_a_question_without_its_mark_states_nothing():
    assert notes(user("is it a common practice to always use Redis as an index")) == []


def test_that_packages_have_to_be_installed_is_no_news():
    absent = ran("bun run lint", "bash: biome: command not found", failed=True)
    passed = ran("bun run lint", "0 errors")
    assert notes(absent, ran("bun install"), passed) == []
    assert len(notes(absent, ran("bun add --dev biome"), passed)) == 1


CHOICES = agent(
    "Two ways:\n1. **Redis streams** - durable, one more service\n2. **LISTEN/NOTIFY** - nothing "
    "new to run\n\n"
    "Which one do you prefer?"
)


@pytest.mark.parametrize(
    "answer", ["the second one", "2", "let's go with option 2", "Yes, take LISTEN/NOTIFY."]
)
def test_a_person_picks_one_of_the_choices_that_the_agent_laid_out(answer):
    (note,) = notes(CHOICES, user(answer))
    assert (note.category, note.text) == (
        "decisions",
        "Decided: LISTEN/NOTIFY - nothing new to run.",
    )
    assert note.turns == ("t0", "t1")
    assert note.quote == "**LISTEN/NOTIFY** - nothing new to run"


@pytest.mark.parametrize(
    "answer", ["hm, let me think", "what would that cost?", "neither", "first fix the tests please"]
)
def test_who_picks_nothing_decides_nothing(answer):
    assert notes(CHOICES, user(answer)) == []


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("What I did:\n1. Moved the tests\n2. Kept the API\n\nWhich one should I show?", "1"),
        ("Which limit do you mean?\n1. Requests a minute\n2. Tokens a day", "2"),
        ("Which one?\n1. Redis streams\n2. LISTEN/NOTIFY", "B"),
        ("Two ways:\n1. Redis\n2. SQLite\n\nPlan:\n1. Write tests\n2. Run the linter", "2"),
        ("Which one?\n1. Redis streams\n2. LISTEN/NOTIFY", "1. keep it\n2. remove"),
        ("My way:\n1. I write the slots\n2. One agent does 44 items\n\nShall I proceed?", "2"),
        ("Which one?\n1. Git Integration\n2. Search Index", "Week 2: the Git part, as planned"),
    ],
    ids=["a summary", "a question", "another key", "another list", "answers", "steps", "a title"],
)
def test_an_answer_to_something_else_picks_nothing(said, answer):
    assert notes(agent(said), user(answer)) == []


def test_the_last_list_is_the_one_that_is_picked_from():
    said = "Plan:\n1. Write tests\n2. Lint\n\nWhich one?\n1. Redis\n2. Postgres 16"
    assert texts(agent(said), user("2")) == [("decisions", "Decided: Postgres 16.")]
    assert texts(agent("用哪个方案？\n方案一：Redis\n方案二：Postgres"), user("方案二")) == [
        ("decisions", "决定：Postgres。")
    ]


PROPOSAL = agent(
    "I'd suggest switching to httpx instead of requests because we need HTTP/2. Shall I?"
)


def test_a_proposal_becomes_a_decision_when_a_person_agrees():
    assert texts(PROPOSAL, user("yes, do it")) == [
        ("decisions", "Decided: switching to httpx instead of requests. Reason: we need HTTP/2.")
    ]


def test_what_an_agent_would_do_is_a_proposal():
    said = agent(
        "A queue is possible. I'd keep cron rather than a queue, since it needs no broker."
    )
    assert texts(said, user("Sounds good!")) == [
        ("decisions", "Decided: keep cron rather than a queue. Reason: it needs no broker.")
    ]
    assert notes(said, user("hm, why?")) == []


@pytest.mark.parametrize(
    "answer",
    [
        "no",
        "yes but not now",
        "why?",
        "let me ask the team first",
        "show me the diff",
        "yep let's continue",
        "ok, and please also look at the failing build of the docs",
    ],
)
def test_a_proposal_that_nobody_agreed_to_is_nothing(answer):
    assert notes(PROPOSAL, user(answer)) == []


def test_a_yes_answers_the_end_of_a_message():
    said = f"{PROPOSAL[1]} The rest is fine. I read all files. They are short. Shall I go on?"
    assert notes(agent(said), user("yes")) == []


def test_a_yes_to_the_next_step_decides_nothing():
    assert notes(agent("Shall I run the tests because you changed the parser?"), user("yes")) == []


# Principles and preferences


@pytest.mark.parametrize(
    "said",
    [
        "Never commit generated files in this repo.",
        "In this repo we never mock the database.",
        "Use pnpm, not npm.",
        "Every migration must be reversible.",
        "Every new endpoint needs a changelog entry.",
        "From now on run `make fmt` before every commit.",
        "Don't push to main without asking.",
        "Bitte committe nie direkt auf main.",
        "En este repositorio siempre escribimos los mensajes de commit en inglés.",
        "Dans ce projet on n'utilise jamais de requêtes SQL brutes.",
        "Никогда не коммить напрямую в main.",
        "И запускай ruff, а не flake8.",
        "请不要直接修改生成的文件。",
        "このリポジトリではmainに直接pushしないでください。",
    ],
)
def test_standing_instructions_are_principles(said):
    (note,) = notes(user(said))
    assert (note.category, note.place) == ("principles", "project")
    assert note.quote in said


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "We decided to use Postgres. Because SQLite blocks.",
            ("Decided: use Postgres. Reason: SQLite blocks."),
        ),
        (
            "We'll use Redis for caching. That way restarts are quick.",
            "Decided: use Redis for caching. Reason: restarts are quick.",
        ),
        (
            "We decided to use Postgres because it scales. The reason is old.",
            "Decided: use Postgres. Reason: it scales.",
        ),
        ("We decided to use Postgres. It is Tuesday.", "Decided: use Postgres."),
    ],
)
def test_the_reason_of_a_decision_may_be_the_next_sentence_if_it_says_so(said, text):
    assert texts(user(said)) == [("decisions", text)]


@pytest.mark.parametrize("said", ["No Docker for now.", "No GraphQL API for the time being"])
def test_what_a_project_leaves_out_for_now_is_a_decision(said):
    assert texts(user(said)) == [("decisions", f"Decided: {said.rstrip('.')}.")]


@pytest.mark.parametrize(
    "said", ["No comments needed for now.", "No rush for now", "no problem for now", "not now"]
)
def test_what_is_merely_not_wanted_now_is_none(said):
    assert texts(user(said)) == []


def test_what_somebody_asks_to_be_remembered_is_a_principle():
    (note,) = notes(user("remember that the billing sandbox resets every night"))
    assert (note.category, note.text) == ("principles", "The billing sandbox resets every night.")


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("I prefer full words over abbreviations in names", "project"),
        ("In all my projects I prefer conventional commits.", "assistant"),
        ("I generally like small commits, no matter which project", "assistant"),
        ("Keep your answers short.", "assistant"),
        ("I prefer concise responses, please be brief.", "assistant"),
        ("Ich bevorzuge sprechende Namen, in allen Projekten.", "assistant"),
        ("Je préfère les petites fonctions.", "project"),
    ],
)
def test_preferences_are_for_the_project_unless_they_are_about_how_to_talk_or_hold_everywhere(
    said, place
):
    (note,) = notes(user(said))
    assert (note.category, note.place) == ("preferences", place)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (
            "Dis-moi si tu préfères la création d'un module commun ou l'ajout à chaque service.",
            "Je préfère la création d'un module commun",
        ),
        (
            "Shall the export write separate files for each customer, or one?",
            "I prefer separate files for each customer.",
        ),
    ],
)
def test_who_prefers_what_the_agent_offers_chooses_and_only_for_now(asked, answered):
    assert not texts(agent(asked), user(answered))
    assert texts(user(answered))


def test_english_preferences_are_told_in_the_third_person():
    assert texts(user("I prefer small commits.")) == [
        ("preferences", "The user prefers small commits.")
    ]


# Incidents

FAILED = ran("pytest -q", "E   ModuleNotFoundError: No module named 'psycopg'", failed=True)
PASSED = ran("pytest -q 2>&1 | tail -5", "45 passed in 2.1s")


def test_a_failure_with_its_cause_and_the_command_that_helped():
    (note,) = notes(
        user("the tests fail"),
        FAILED,
        agent("The problem is that the dev extra was never installed."),
        ran("uv sync --extra dev"),
        PASSED,
    )
    assert note.category == "incidents"
    assert note.text == (
        "`pytest -q` failed: ModuleNotFoundError: No module named 'psycopg'. Cause: The dev extra "
        "was never installed. "
        "Fix: run `uv sync --extra dev`."
    )
    assert note.quote == "E   ModuleNotFoundError: No module named 'psycopg'"
    assert note.turns == ("t1", "t2", "t3", "t4")


def test_a_fix_that_was_told_beats_the_commands_in_between():
    mended = edited("pyproject.toml")
    (note,) = notes(FAILED, mended, PASSED, agent("Fixed by adding psycopg to the dev extra."))
    assert note.text.endswith("Fix: Adding psycopg to the dev extra.")


def test_the_error_itself_may_say_what_helps():
    error = "Error: The client is not there yet. Please run `kyotool emit` and try again."
    broken = ran("pnpm test", error, failed=True)
    (note,) = notes(broken, ran("pnpm kyotool emit"), ran("pnpm test", "8 passed"))
    assert note.text.endswith("Fix: run `pnpm kyotool emit`.")
    assert notes(broken, ran("pnpm other emits"), ran("pnpm test", "8 passed")) == []


def test_what_another_machine_is_told_to_run_can_fail_and_pass():
    there = "ssh box 'cd app && pnpm build'"
    (note,) = notes(
        ran(there, "FATAL ERROR: Reached heap limit", failed=True),
        agent("The cause is the size of the maps, which fill 2 GB."),
        edited("build.toml"),
        ran(there, "built in 48 s"),
        agent("It builds now: I disabled the maps of the worker."),
    )
    assert note.text.startswith(f"`{there}` failed: FATAL ERROR: Reached heap limit. Cause: ")
    assert note.text.endswith("Fix: Disabled the maps of the worker.")
    assert is_trivial("ssh box 'tail -f log'")
    assert not is_trivial(there)


@pytest.mark.parametrize(
    "said",
    [
        [FAILED, agent("It might be the virtual environment."), ran("uv sync"), FAILED],
        [FAILED, agent("The cause is a stale cache."), user("ok, I'll look at it tomorrow")],
        [FAILED, edited(), PASSED],
        [ran("pytest -q", "E   AssertionError: 10.01 != 10", failed=True), ran("uv sync"), PASSED],
        [
            ran("ls nosuch", "ls: No such file or directory", failed=True),
            ran("mkdir nosuch"),
            ran("ls nosuch", "ok"),
        ],
        [FAILED, ran("uv sync"), PASSED, FAILED],
    ],
    ids=[
        "still failing",
        "given up",
        "nobody said how",
        "red to green",
        "looking around",
        "back again",
    ],
)
def test_what_was_not_resolved_or_not_explained_is_no_incident(said):
    assert [note for note in notes(*said) if note.category == "incidents"] == []


def test_the_cause_that_was_found_last_counts_and_guesses_do_not():
    (note,) = notes(
        FAILED,
        agent("The cause is probably the cache."),
        agent("The root cause is the missing dev extra."),
        ran("uv sync"),
        PASSED,
    )
    assert "Cause: The missing dev extra." in note.text
    assert "cache" not in note.text


def test_another_way_to_call_the_same_thing_is_worth_knowing():
    (note,) = notes(
        ran("pytest", "bash: pytest: command not found", failed=True),
        ran("uv run pytest", "9 passed"),
    )
    assert (
        note.text == "`pytest` fails here: bash: pytest: command not found. `uv run pytest` works."
    )


def test_a_cause_and_a_fix_that_were_told_need_no_commands():
    told = (
        "The outage was caused by an expired certificate; we fixed it by renewing it with certbot."
    )
    assert texts(user(told)) == [
        ("incidents", "Cause: An expired certificate. Fix: Renewing it with certbot.")
    ]
    assert texts(agent(told), user("still failing, same error")) == []


def test_an_agents_account_counts_if_it_names_a_fix_and_the_person_only_agrees():
    cause = "The issue was that `push_event` adds the prefix `phx:` itself."
    named = agent(f"{cause} The fix is to push `print` and to listen for `phx:print`.")
    assert len(notes(named, user("perfect, thanks"))) == 1
    assert notes(named, user("ok now make the button bigger and add a menu to the page")) == []
    assert notes(agent(f"{cause} I've changed the listener to `phx:print`."), user("great")) == []
    weighed = "It could also stay where it is, which costs a second look at every event. " * 4
    long = agent(f"{cause} The fix is to push `print` and to listen for `phx:print`. {weighed}")
    assert notes(long, user("perfect, thanks")) == []


def test_a_pitfall_says_what_helped():
    cause = agent("The root cause is the missing dev extra.")
    assert notes(FAILED, cause, PASSED) == []
    assert len(notes(FAILED, cause, ran("uv sync"), PASSED)) == 1


def test_a_fix_that_says_nothing_is_no_fix():
    said = agent("Fixed by updating it. I updated the code so that `find()` now:")
    assert notes(FAILED, edited("run.sh"), said, PASSED) == []


# Procedures


def test_steps_that_a_person_gives_are_a_procedure():
    assert texts(user("To deploy to staging:\n1. run `make image`\n2. run `make push`")) == [
        ("procedures", "To deploy to staging:\n1. run `make image`\n2. run `make push`")
    ]
    assert texts(user("To reset the db, run `make db-reset` and then `make seed`.")) == [
        ("procedures", "To reset the db: run `make db-reset` and then `make seed`")
    ]


STEPS = agent("To run it locally:\n1. `docker compose up -d db`\n2. `make migrate`\n")


def test_an_agents_steps_count_when_they_were_run_in_order_and_passed():
    assert len(notes(ran("docker compose up -d db"), ran("make migrate"), STEPS)) == 1
    assert notes(ran("make migrate"), ran("docker compose up -d db"), STEPS) == []
    assert notes(ran("docker compose up -d db"), STEPS) == []
    # Told before they were run, they are a plan.
    assert notes(STEPS, ran("docker compose up -d db"), ran("make migrate")) == []
    assert notes(user("how do I run this locally?"), STEPS) == []


def test_plans_and_summaries_are_no_procedures():
    assert (
        notes(
            user("how do I start?"), agent("To sum up the changes:\n1. moved `a`\n2. renamed `b`")
        )
        == []
    )
    assert (
        notes(
            agent("Here is my plan to fix this:\n1. run `make`\n2. run `make test`"),
            ran("make"),
            ran("make test"),
        )
        == []
    )


def test_a_command_that_only_passes_is_no_note():
    called = "cd api && DATABASE_URL=sqlite:// uv run pytest -q"
    assert notes(*[ran(called, "9 passed")] * 3) == []


@pytest.mark.parametrize(
    "command",
    [
        "uv run pytest -q",
        "npm test",
        "pnpm --filter web build",
        "make check",
        "cargo clippy --all-targets -- -D warnings",
        "python -m pytest tests/ -v --tb=short",
        "CI=1 npx tsc --noEmit",
        "pytest --spec",
        "go test ./internal/config/...",
    ],
)
def test_a_command_that_anybody_would_guess_is_no_note(command):
    assert notes(*[ran(command, "9 passed")] * 3) == []


def test_several_commands_in_a_line_are_no_note():
    failed = ran("npm test", "1 failed", failed=True)
    chained = ran("npm test 2>&1 | tail -6 && npm run lint 2>&1 | tail -3", "9 passed")
    assert notes(failed, chained, chained) == []


def test_a_note_is_worded_in_the_language_of_most_sentences():
    markup = "move div.flex > main.m px s.m:py d.m n.est l.a m.de t.la j.le s.un d.et"
    plain, other = ran("cargo test", "error: no feature", failed=True), "cargo test --features pg"
    said = (user(markup), user("Please check the export. It is the last one."))
    (note,) = notes(*said, plain, ran(other, "9 passed"), ran(other, "9 passed"))
    assert note.text == "To run the tests: `cargo test --features pg`."


def test_flags_are_worth_a_note_where_the_plain_command_failed():
    flagged = ran("cargo test --features pg", "9 passed")
    assert notes(flagged, flagged) == []
    plain = ran("cargo test", "error: could not compile", failed=True)
    (note,) = notes(plain, flagged, flagged)
    assert note.text == "To run the tests: `cargo test --features pg`."


def test_a_bug_that_was_mended_in_the_program_is_no_pitfall():
    broken = ran("mypy .", "app.py:3: error: Incompatible return value type", failed=True)
    cause = agent("The root cause is that the function returns a plain dict.")
    assert notes(broken, cause, edited("app.py"), ran("mypy .", "Success: no issues")) == []


def test_a_fix_of_something_missing_names_it():
    absent = ran("pytest -q", "bash: command not found: pytest", failed=True)
    told = agent("Fixed by creating a pytest.ini with the patterns.")
    assert notes(absent, edited("pytest.ini"), PASSED, told) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "Hotfixes: branch from the last tag, cherry-pick the fix, run `make hotfix`.",
            "Hotfixes:\n1. branch from the last tag\n2. cherry-pick the fix\n3. run `make hotfix`",
        ),
        (
            "A release goes like this:\n1. `make version`\n2. push the tag",
            "A release:\n1. `make version`\n2. push the tag",
        ),
        (
            "Ein Release geht bei uns so: erst `make version`, dann das Changelog schreiben.",
            "Ein Release:\n1. `make version`\n2. das Changelog schreiben",
        ),
        (
            "You asked twice. To add a currency:\n1. edit `rates.json`\n2. run `make rates`",
            "To add a currency:\n1. edit `rates.json`\n2. run `make rates`",
        ),
        (
            "for next time, this is how we do backports: 1. cherry-pick 2. run `make backport`",
            "To do backports:\n1. cherry-pick\n2. run `make backport`",
        ),
    ],
)
def test_steps_may_stand_in_one_line_or_under_a_name(said, text):
    assert texts(user(said)) == [("procedures", text)]


@pytest.mark.parametrize(
    "said",
    [
        "Always keep the API routes thin.\n\nWould you like me to show you the corrected code?",
        "## Rules\n\n- Always keep the API routes thin.",
        "5. Key points:\n- Always keep the API routes thin.",
        "If the matching is right, always use the outer routes instead of the inner ones.",
    ],
)
def test_what_was_written_elsewhere_or_is_only_supposed_is_no_rule(said):
    assert notes(user(said)) == []
    assert notes(user("Always keep the API routes thin."))


def test_other_languages_have_to_say_that_something_lasts():
    assert notes(user("Prends des fonctions courtes.")) == []
    assert notes(user("On ne commite jamais de fichiers générés."))


def test_steps_of_a_pasted_document_are_none_of_the_users():
    document = "\n\n".join(f"Paragraph {number} of a long guide. " * 12 for number in range(9))
    pasted = (
        f"{document}\n\nHere's how to run it:\n\n```\n$ python app.py\n$ make up\n```\n\n{document}"
    )
    assert notes(user(f"add a command line\n\n{pasted}")) == []


@pytest.mark.parametrize(
    "said",
    [
        "make sure the legend is always visible and the columns are never empty",
        "I don't want any buttons in the header",
        "when we're ready to ship, we'll use Kafka instead of Redis because it scales",
        "don't forget to update TODO.md with the new story",
        "we never dealt with such patterns",
        "always rename it before you deploy them",
        "app.js:12 always reports ReferenceError: Chart is not defined",
        "don't ever mention in the commit message that we removed the old parser",
        "if you are unsure about any column, always ask me",
        "the list must always sort by date",
        "I don't want to commit after each change please go ahead and finish phase 5",
        "You are a senior Python reviewer. Never commit generated files in this repo.",
    ],
)
def test_looks_of_the_product_orders_and_reports_are_no_rules(said):
    assert notes(user(said)) == []


@pytest.mark.parametrize(
    "command", ["pytest tests/test_a.py -q", "pytest -k parse", "cat a.py", "npm test", "git push"]
)
def test_a_command_for_one_occasion_is_none(command):
    once = command == "npm test"
    assert notes(*[ran(command, "9 passed")] * (1 if once else 3)) == []


# Never


@pytest.mark.parametrize(
    "said",
    [
        "Should we use Postgres instead of SQLite because of the locks?",
        "If we had more time I'd use trio instead of asyncio because it is nicer.",
        "Maybe we should always squash.",
        "The docs say you should always use select_related.",
        "> From now on never use raw SQL in this repo.",
        "```\nWe will use the fallback instead of the primary because it is down\n```",
        "use port 8081 instead of 8080 for now",
        "Sam thinks we should always squash merge.",
        "don't touch the css, only the markup",
        "what does this function do?",
        "Let's use the debugger.",
    ],
)
def test_what_is_asked_supposed_quoted_or_only_for_now_is_never_noted(said):
    assert notes(user(said)) == []


def test_thoughts_are_never_noted():
    thought = (
        "<thinking>We decided to use Kafka instead of Redis because it is fun. To win:\n1. "
        "`a`\n2. `b`</thinking>"
    )
    assert notes(agent(f"{thought}Let me look."), user("yes, the second")) == []


def test_a_note_with_a_secret_in_it_is_never_kept():
    key = "sk-proj-9fK2mQ7xT4vB8nL1cR6yW3zD5hJ0pS2aG4eU7iO1kM9t"
    assert notes(user(f"Always use {key} for the smoke tests in this repo.")) == []
    assert (
        notes(
            ran("deploy", f"Error: bad key {key}", failed=True),
            ran("make setup"),
            ran("deploy", "ok"),
        )
        == []
    )


@pytest.mark.parametrize(
    "later",
    [
        "Actually, let's not.",
        "Hm, scratch that.",
        "I changed my mind. Revert that please.",
        "Let's go back to SQLite.",
        "We're not going to use Postgres.",
        "We'll use MySQL instead of Postgres because ops insist.",
    ],
)
def test_what_the_session_takes_back_is_no_note(later):
    said = user("We'll use Postgres instead of SQLite because we need concurrent writers.")
    taken_back = "Decided: use Postgres instead of SQLite. Reason: we need concurrent writers."
    assert ("decisions", taken_back) not in texts(said, agent("OK."), user(later))
    assert ("decisions", taken_back) in texts(user(later), said)


def test_what_is_said_twice_is_noted_once_and_the_later_word_stands():
    (note,) = notes(
        user("Every migration must be reversible."),
        agent("ok"),
        user("every migration must be reversible!"),
    )
    assert note.turns == ("t2",)


# Whatever comes


@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text(max_size=300)), max_size=6
    )
)
def test_any_session_is_read_and_every_note_rests_on_its_words(said):
    turns = session(*said)
    contents = {turn.id: " ".join(turn.content.split()) for turn in turns}
    for note in find_notes(turns):
        assert " ".join(note.quote.split()) in contents[note.source]
        assert note.category in CATEGORIES
        assert len(note.text) <= LONGEST_TEXT


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_knows_the_same_cues(code):
    english, cues = (language(name).section("coding") for name in ("en", code))
    for table in (
        "decided",
        "proposal",
        "incident",
        "procedure",
        "undo",
        "place",
        "told",
        "purposes",
    ):
        assert cues[table].keys() == english[table].keys(), table
    for name, template in english["told"].items():
        slots = set(re.findall(r"\{\w+\}", template))
        assert set(re.findall(r"\{\w+\}", cues["told"][name])) == slots or (
            name,
            cues["told"][name],
        ) == ("because", "")
    assert {each["category"] for each in cues["statement"]} == {
        "decisions",
        "principles",
        "preferences",
    }
    assert words(code).language.statements


# Commands and errors


def test_a_command_is_the_same_whatever_stands_around_it():
    for around in (
        "cd api && {}",
        "DEBUG=1 {}",
        "timeout 60 {}",
        "{} 2>&1 | tail -5",
        "{} || true",
        "sudo {}",
    ):
        assert bare(around.format("make test")) == "make test"


def test_a_later_run_covers_an_earlier_one_only_if_it_is_no_narrower():
    assert covers("pytest -q", "pytest tests/test_a.py -x")
    assert covers("pytest tests/test_a.py", "pytest", "FAILED tests/test_a.py::test_x")
    assert not covers("pytest tests/test_b.py", "pytest", "FAILED tests/test_a.py::test_x")
    assert not covers("npm run build", "npm run lint")
    assert wraps("uv run pytest", "pytest")


def test_what_commands_are_for():
    for_what = {
        "uv run pytest": "test",
        "cargo clippy": "lint",
        "pnpm --filter api build": "build",
        "make fmt": "format",
        "npx tsc": "types",
        "terraform apply": "deploy",
        "npm ci": "install",
        "just dev": "start",
        "alembic upgrade head": "migrate",
        "buf generate": "generate",
        "make check": "check",
    }
    assert {command: purpose(command) for command in for_what} == for_what
    assert is_trivial("grep -rn x .")
    assert is_narrow("pytest a.py::test_b")
    assert program("npm run build -- -w") == ("npm", "run", "build")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("Traceback (most recent call last):\n  File x\nKeyError: 'a'\n1 failed", "KeyError: 'a'"),
        (
            "error: could not compile\nerror[E0433]: failed to resolve",
            "error[E0433]: failed to resolve",
        ),
        (
            "npm ERR! code ELIFECYCLE\nnpm ERR! Missing script: build",
            "npm ERR! Missing script: build",
        ),
        ("make: *** [x] Error 1\nsh: 1: tsc: command not found", "sh: 1: tsc: command not found"),
        ("all fine", ""),
    ],
)
def test_the_most_telling_line_of_an_output(output, line):
    assert telling_line(output) == line


def test_lines_of_a_note_are_parted():
    assert sentence("Points are pts\nScores are pins\n") == "Points are pts; Scores are pins."
    assert sentence("we broke this line\nin the middle") == "We broke this line in the middle."


def test_texts_are_cut_between_words():
    assert sentence("pin urllib3 below 2, ") == "Pin urllib3 below 2."
    assert len(title_of("word " * 50)) <= LONGEST_TITLE
    assert within("One sentence. " + "x" * 500, LONGEST_TEXT).startswith("One")
    assert len(within("word " * 200, LONGEST_TEXT)) <= LONGEST_TEXT


def test_a_decision_against_what_was_chosen_is_seen():
    assert chooses_against(
        "use Valkey instead of Redis because of the licence", "go with Redis instead of Memcached"
    )
    assert not chooses_against("use Redis instead of Memcached", "use tabs instead of spaces")


# By a model

DECIDED = {
    "category": "decisions",
    "title": "Postgres",
    "text": "The project uses Postgres, not SQLite.",
    "turn": 1,
    "quote": "We'll use Postgres instead of SQLite",
    "turns": [1, 2],
    "place": "project",
    "confidence": 1,
}
SAID = session(user("We'll use Postgres instead of SQLite."), agent("OK."))


def asked(answer, turns=SAID):
    prompts = []
    return ask_for_notes(turns, lambda prompt: prompts.append(prompt) or answer), prompts


def test_a_models_note_has_its_quote_and_its_turns():
    (note,), prompts = asked(json.dumps([DECIDED]))
    assert (note.category, note.text, note.turns) == ("decisions", DECIDED["text"], ("t0", "t1"))
    assert "[1] user: We'll use Postgres instead of SQLite." in prompts[0]


@pytest.mark.parametrize(
    "answer",
    [
        f"Here you are:\n```json\n[{json.dumps(DECIDED)},]\n```",
        f'[{json.dumps(DECIDED)}, {{"category": "decis',
        (
            "- decision: The project uses Postgres, not SQLite. | quote: \"We'll use Postgres "
            "instead "
            'of SQLite"'
        ),
    ],
    ids=["fenced", "cut off", "lines"],
)
def test_an_answer_that_is_not_quite_json_is_mended(answer):
    (note,), _ = asked(answer)
    assert (note.category, note.text) == ("decisions", DECIDED["text"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"quote": "We'll use Oracle"},
        {"quote": ""},
        {"category": "rumours"},
        {"text": ""},
        {"text": "The key is sk-proj-9fK2mQ7xT4vB8nL1cR6yW3zD5hJ0pS2aG4eU7iO1kM9t"},
    ],
)
def test_what_a_model_makes_up_is_dropped(wrong):
    assert asked(json.dumps([DECIDED | wrong]))[0] == []
    assert asked("I found nothing.")[0] == []


def test_a_model_is_shown_no_thoughts_and_long_sessions_come_in_pages():
    long = "word " * 700
    turns = session(
        *[user(f"{long}{number}") for number in range(20)], agent("<think>hidden plan</think>done")
    )
    found, prompts = asked("[]", turns)
    assert found == []
    assert len(prompts) > 1
    assert all(len(prompt) < 5 * PAGE_TOKENS for prompt in prompts)
    assert not any("hidden plan" in prompt for prompt in prompts)


# What real sessions hold beside what people say


@pytest.mark.parametrize(
    "list_of_bugs",
    [
        "The `test_backup` test contains two bugs:\n1. `DateTime.Now` is read in a loop\n2. it "
        'hardcodes the file "a.json" and not `TestData.FileName`',
        "To claim this:\n1. `display: grid` is correct\n2. `grid-template-rows` is not",
        "To show a total:\n```\nconst total = sum(rows)\nreturn total\n```",
    ],
)
def test_a_list_without_a_command_is_no_procedure(list_of_bugs):
    assert notes(user(list_of_bugs)) == []


@pytest.mark.parametrize("step", ["`make release`", "`./release.sh`", "`twine upload dist/x`"])
def test_a_list_with_a_command_is_a_procedure(step):
    (note,) = notes(user(f"To publish a version:\n1. write the changelog\n2. {step}"))
    assert note.category == "procedures"


def test_of_an_option_only_what_is_chosen_is_told_and_not_what_speaks_for_or_against_it():
    offered = (
        "Which option do you prefer?\n"
        "1. Keep the folder `lib/tides` (as in v1.2). Less to move, but the name is misleading.\n"
        "2. Rename it to `lib/forecast`. Every import changes."
    )
    (note,) = notes(agent(offered), user("1"))
    assert note.text == "Decided: Keep the folder `lib/tides` (as in v1.2)."
    assert note.quote == "Keep the folder `lib/tides` (as in v1.2)."


@pytest.mark.parametrize("answer", ["2.3.2", "2.4", "1.5 of course", "2/3"])
def test_a_number_that_goes_on_picks_no_option(answer):
    offered = "Which option do you prefer?\n1. Postgres for all data\n2. SQLite for all data"
    assert notes(agent(offered), user(answer)) == []
    assert len(notes(agent(offered), user("2"))) == 1


RULE = "We always run the migrations before the seeds."


def test_what_the_agent_wrote_before_is_not_the_users_rule():
    assert len(notes(user(RULE))) == 1
    assert len(notes(user(RULE), agent(f"Understood: {RULE}"))) == 1
    assert notes(agent(f"You could add this to the guide:\n\n{RULE}"), user(RULE)) == []
    wrapped = RULE.replace("migrations before", "migrations\n  before")
    assert notes(ran("cat GUIDE.md", wrapped), user(RULE)) == []


def test_a_specification_of_one_task_holds_no_rules():
    part = "- read the next row of the sheet and keep its total\n"
    assert len(notes(user(f"{part * 3}\n{RULE}"))) == 1
    assert notes(user(f"{part * 20}\n{RULE}")) == []


def test_what_failed_before_an_edit_is_no_open_end():
    failure = ran("npm run build", "Error: no such export `rows`", failed=True)
    assert len(find_notes(session(failure), tentative=True)) == 1
    assert len(find_notes(session(edited(), failure), tentative=True)) == 1
    assert find_notes(session(failure, edited()), tentative=True) == []


@pytest.mark.parametrize("fix", ["Run the tests one final time", "verify that all of them pass"])
def test_another_run_is_no_fix(fix):
    failure = ran("make test", "KeyError: 'lights'", failed=True)
    told = [failure, agent(f"Fixed by: {fix}."), ran("make test", "3 passed")]
    assert notes(*told) == []
    assert notes(failure, agent("Fixed by setting `LIGHTS=on`."), *told[2:]) != []


def test_an_edit_that_names_no_file_counts_as_one_of_the_program():
    failure = ran("make test", "KeyError: 'lights'", failed=True)
    fixed = [agent("Fixed by setting `LIGHTS=on`."), ran("make test", "3 passed")]
    assert notes(failure, edited(".env"), *fixed) != []
    assert notes(failure, edited("@@ -155,7 +155,7 @@ - expect(rows) + expect(row)"), *fixed) == []


@pytest.mark.parametrize(
    "output", ["Result:\nError: (none)\nExit Code: 1", "npm error code 4294967295"]
)
def test_an_error_that_says_nothing_is_not_told(output):
    assert telling_line(output) == ""


def test_a_variable_may_be_the_output_of_a_command():
    command = "export JAVA_HOME=$(/usr/libexec/java_home -v 17) && ./gradlew installDebug"
    assert bare(command) == "./gradlew installDebug"


def test_please_note_within_a_task_is_no_request_to_remember():
    assert len(notes(user("请记住，我们用 pnpm 安装依赖。"))) == 1
    assert notes(user("请注意，文件内容是混合的。现在打开是乱码。请参考例子。请修复。")) == []


def test_an_answer_that_only_mentions_an_option_picks_none():
    offered = "Which one should we use?\n1. Postgres for all data\n2. SQLite for all data"
    assert notes(agent(offered), user("I cannot find Postgres anywhere on my machine")) == []
    assert len(notes(agent(offered), user("Postgres please"))) == 1
    assert len(notes(agent(offered), user("let's go with Postgres, we know it well"))) == 1


@pytest.mark.parametrize("said", ["每次刷新后都要这样展示", "按钮的颜色必须总是蓝色"])
def test_what_the_product_looks_like_is_no_rule_in_other_languages(said):
    assert notes(user(said)) == []
