"""What a person said, and nothing of what was put into their mouth."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.fences import fence
from holdfast.transcripts.tool_calls import LIMIT, condense, output_of
from holdfast.transcripts.user_text import own_words

TAGS = [
    "<skill>",
    "</skill>",
    "<system-reminder>",
    "</system-reminder>",
    "<user_query>",
    "a ",
    "\n",
]
INJECTED = fence("- Mira likes tea", block_id="ctx_1", label="from memory")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Plain words.", "Plain words."),
        ("Before <system-reminder>x</system-reminder> after", "Before  after"),
        (f"{INJECTED}\n\nWhat do I like?", "What do I like?"),
        ("<environment_context><cwd>/p</cwd></environment_context>", ""),
        ("<environment_context>cut off", ""),
        ("<turn_aborted>\nstopped\n</turn_aborted>", ""),
        ("# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>", ""),
        ("<skill>\n<name>x</name>\n</skill>", ""),
        ("My XML has a <skill>sailing</skill> tag.", "My XML has a <skill>sailing</skill> tag."),
        ("What is a <system-reminder> for?", "What is a <system-reminder> for?"),
        ("<command-name>/clear</command-name><command-message>clear</command-message>", ""),
        ("<command-name>/plan</command-name><command-args>the mast</command-args>", "the mast"),
        ("<bash-input>ls -la</bash-input>", "! ls -la"),
        ("<local-command-stdout>lots</local-command-stdout>", ""),
        ("[Request interrupted by user]", ""),
        ("<rules>r</rules><user_query>Fix it.</user_query>", "Fix it."),
        ("See data:image/png;base64," + "iVBOR" * 40, "See [data]"),
        ("A\0B", "[binary]"),
    ],
)
def test_only_the_persons_words_are_left(text: str, left: str) -> None:
    assert own_words(text) == left


def test_what_an_assistant_thought_is_not_what_it_said() -> None:
    assert own_words("<think>Hm.</think>The answer is 7.", role="assistant") == "The answer is 7."
    assert own_words("Write <system-reminder>a</system-reminder>", role="assistant").startswith(
        "Write <system"
    )


@given(st.lists(st.sampled_from(TAGS)).map("".join))
def test_cleaning_twice_adds_nothing(text: str) -> None:
    assert len(own_words(own_words(text))) <= len(own_words(text))


def test_cleaning_takes_linear_time() -> None:
    hostile = "x <system-reminder>" * 200_000 + "<user_query>" * 1000
    started = time.thread_time()
    own_words(hostile)
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    ("name", "given", "output", "text", "failed"),
    [
        ("Bash", {"command": "ls"}, "a\nb", "Bash: ls\na\nb", None),
        ("Bash", {"command": "ls"}, "Exit code: 0\na", "Bash: ls\nok\na", False),
        ("shell", {"command": ["bash", "-lc", "make all"]}, "", "shell: make all", None),
        (
            "Edit",
            {"file_path": "a.py", "old_string": "x", "new_string": "y"},
            "done",
            "Edit: a.py\ndone",
            None,
        ),
        ("Grep", {"pattern": "PORT", "path": "src"}, "", "Grep: PORT", None),
        (
            "read",
            '{"path": "b.py"}',
            "Exit code 3 is in this file",
            "read: b.py\nExit code 3 is in this file",
            None,
        ),
        ("odd", {"depth": 3, "where": "here"}, "", "odd: here", None),
        ("none", None, "x", "none\nx", None),
        ("", 7, "x", "tool\nx", None),
    ],
)
def test_a_call_is_its_name_what_it_is_about_and_how_it_went(
    name, given, output, text, failed
) -> None:
    assert condense(name, given, output) == (text, failed)


def test_long_output_is_cut_to_its_first_and_last_lines() -> None:
    text, _ = condense(
        "Bash", {"command": "seq 1 1000"}, "\n".join(map(str, range(1000))), failed=False
    )
    first, *_, last = text.splitlines()
    assert (first, last) == ("Bash: seq 1 1000", "999")
    assert "\n…\n" in text
    assert len(text) <= LIMIT


def test_environments_are_left_out() -> None:
    dump = "\n".join(
        f"{name}=secret-{name}" for name in ("HOME", "PATH", "API_KEY", "TOKEN", "LANG")
    )
    text, _ = condense("Bash", {"command": "env; echo done"}, f"{dump}\ndone")
    assert text == "Bash: env; echo done\n[environment]\ndone"


def test_a_result_that_is_nested_without_end_is_not_followed() -> None:
    nested: object = "deep"
    for _ in range(900):
        nested = [{"content": nested}]
    assert output_of(nested) == ""
    assert output_of([{"content": [{"type": "text", "text": "flat"}]}]) == "flat"


@given(st.text(), st.text(), st.none() | st.booleans())
def test_any_call_keeps_to_the_limit(name: str, output: str, failed: bool | None) -> None:
    assert (
        len(condense(name[:40], {"command": output * 20}, output * 20, failed=failed)[0]) <= LIMIT
    )


@pytest.mark.parametrize("lines", [200, 20_000], ids=["long", "very long"])
@pytest.mark.parametrize(
    "error",
    [
        "E   ModuleNotFoundError: No module named 'tea'",
        "src/main.rs:4:5: error[E0425]: cannot find value `tea` in this scope",
        "npm ERR! code ERESOLVE",
        "FAILED tests/test_tea.py::test_brew - assert 1 == 2",
        "bash: kettle: command not found",
    ],
)
def test_lines_that_look_like_errors_are_kept_from_the_middle_of_a_long_output(error, lines):
    output = "\n".join(
        [
            *(f"compiling part {n}" for n in range(lines)),
            error,
            *(f"waiting {n}" for n in range(lines)),
        ]
    )
    text, _ = condense("Bash", {"command": "make"}, output, failed=True)
    assert error in text.split("\n") and len(text) <= LIMIT
    assert text.split("\n")[-1] == f"waiting {lines - 1}"
    assert error not in condense("Bash", {"command": "make"}, output, failed=False)[0]


def test_lines_that_only_count_errors_are_not_kept():
    output = "\n".join(
        [
            *(f"line {n}" for n in range(200)),
            "found 0 errors: fine",
            *(f"line {n}" for n in range(200)),
        ]
    )
    assert "0 errors" not in condense("Bash", {"command": "make"}, output)[0]


def test_what_cursor_says_after_a_subagent_is_nobodys_word():
    said = (
        "Perform any necessary follow-up actions in response to the subagent completion above. "
        "Never repeat the same confirmation."
    )
    assert own_words(said) == ""
