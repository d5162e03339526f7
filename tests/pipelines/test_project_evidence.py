"""Project memory by a model: of what it writes, that stays which the sessions bear out, and what
rules found stays in.
"""

from __future__ import annotations

import pytest

from holdfast.extraction.coding import find_notes
from holdfast.projects.model_evidence import (
    LOST,
    evidence_of,
    is_told,
    names_known_code,
    recombined,
    verified,
    with_lost_notes,
)
from holdfast.projects.stage1 import borne_out
from holdfast.projects.stage1_outputs import Output, Taught
from holdfast.types import ID_PREFIXES, Memory, Scope, Session, new_id

SHOP = Scope("project", "shop")
AT = 1_700_000_000_000_000
DECIDED = "We decided to use pnpm instead of npm because npm breaks the lock file."


def turns_of(*said):
    """Turns from texts of the user, or pairs of a role and a text."""
    pairs = [("user", one) if isinstance(one, str) else one for one in said]
    return [
        Memory(new_id(ID_PREFIXES["turn"], AT + at), SHOP, "turn", text, AT, AT, AT, role=role)
        for at, (role, text) in enumerate(pairs)
    ]


def kept(memory, *said):
    turns = turns_of(*said)
    return verified(memory, evidence_of(turns, find_notes(turns)))


@pytest.mark.parametrize(
    "line",
    [
        '- Use pnpm instead of npm. — "to use pnpm instead of npm because"',
        "- Use pnpm instead of npm, because npm breaks the lock file.",
    ],
    ids=["quoted", "in the user's words"],
)
def test_a_line_that_rests_on_the_user_s_words_stays(line):
    assert kept(line, DECIDED) == line


@pytest.mark.parametrize(
    "line",
    [
        '- Use pnpm instead of npm. — "we all agreed on pnpm for good"',
        '- Use pnpm. — "use pnpm"',
        '- Use yarn for the shop. — "to use pnpm instead of npm because"',
        '- Do not use pnpm. — "to use pnpm instead of npm because"',
        "- Deploy the shop on Fridays.",
        "- The lock file of npm has 900 lines.",
    ],
    ids=["invented", "too short", "another name", "negated", "of nothing", "another figure"],
)
def test_a_line_that_the_user_did_not_say_goes(line):
    assert kept(line, DECIDED) == ""


def test_what_only_the_agent_said_is_no_decision():
    proposal = "I suggest that we migrate the shop to Postgres 16."
    line = f'- Migrate the shop to Postgres 16. — "{proposal}"'
    assert kept(line, "Which database fits?", ("assistant", proposal), "Let me think.") == ""


def test_a_proposal_that_was_accepted_is_one():
    proposal = (
        "I recommend using Postgres instead of SQLite. Shall we use Postgres instead of SQLite?"
    )
    said = ("Which database fits?", ("assistant", proposal), "Yes, let's do that.")
    assert find_notes(turns_of(*said)), "rules find it, or this test says nothing"
    assert kept("- Use Postgres instead of SQLite.", *said) == "- Use Postgres instead of SQLite."


@pytest.mark.parametrize(("outcome", "stays"), [("ok", True), ("failed, exit 2", False)])
def test_commands_count_if_they_passed(outcome, stays):
    line = "- Test with `make check`."
    run = ("tool", f"Bash: make check\n{outcome}\n")
    assert kept(line, "Please test it.", run) == (line if stays else "")


def test_a_heading_goes_with_all_that_stood_under_it():
    text = (
        "# Shop\n\n## Decisions\n- Use pnpm instead of npm.\n\n## Release\n- Tag on Fridays.\n\n"
        "```sh\ngit tag v1\n```"
    )
    assert kept(text, DECIDED) == "# Shop\n\n## Decisions\n- Use pnpm instead of npm."


def test_what_rules_found_stays_beside_the_answer_and_is_not_said_twice():
    turns = turns_of(DECIDED, "Always run the linter before you commit in this repo.")
    session = Session("s1", SHOP, AT, AT)
    answer = Taught("- Use pnpm instead of npm: npm breaks the lock file.", "Chose pnpm over npm.")
    taught = borne_out(answer, session, turns)
    assert taught.memory.count("pnpm") == 1
    assert "linter" in taught.memory
    assert len(taught.notes) == 2


def test_an_answer_that_is_made_up_leaves_what_rules_found():
    turns = turns_of(DECIDED)
    taught = borne_out(
        Taught("- Use Bazel.", "Moved to Bazel."), Session("s1", SHOP, AT, AT), turns
    )
    assert "Bazel" not in taught.memory + taught.summary
    assert "pnpm" in taught.memory and "pnpm" in taught.summary


def test_a_summary_is_told_if_it_speaks_of_what_was_said():
    turns = turns_of(DECIDED)
    shown = evidence_of(turns, []).shown
    assert is_told("Decided to use pnpm instead of npm.", turns, shown)
    assert not is_told("Moved the shop to Bazel.", turns, shown)


def output(memory, *notes_of, session="s1"):
    return Output(session, AT, Taught(memory, "Tools.", "", tuple(find_notes(turns_of(*notes_of)))))


def test_the_second_stage_adds_nothing_of_its_own():
    outputs = [output("- Use pnpm instead of npm for the shop.\n- Test with `make check`.")]
    document = (
        "# Memory\n\n## Tools\n- Use pnpm instead of npm for the shop (s1, 2023-11-14).\n"
        "- Deploy the shop every Friday with great care.\n- Test with `make test`."
    )
    assert recombined(document, outputs) == (
        "# Memory\n\n## Tools\n- Use pnpm instead of npm for the shop (s1, 2023-11-14)."
    )
    assert names_known_code("Run `make check`.", outputs)
    assert not names_known_code("Run `make deploy`.", outputs)


def test_what_it_left_out_of_the_notes_is_added_with_its_session():
    outputs = [output("- Use pnpm instead of npm.", DECIDED)]
    said = with_lost_notes(
        "# Memory\n\nUse pnpm instead of npm: npm breaks the lock file.", outputs
    )
    assert LOST not in said
    added = with_lost_notes("# Memory\n\nNothing much.", outputs)
    assert added.startswith(f"# Memory\n\nNothing much.\n\n{LOST}\n\n- ")
    assert added.endswith("(s1, 2023-11-14)")
