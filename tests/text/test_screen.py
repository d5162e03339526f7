"""What a terminal and a model are shown of characters that nobody sees: tested over every one that
Unicode has.
"""

import json
import sys
import unicodedata

import pytest

from holdfast.text.fences import neutralise
from holdfast.text.invisible import JOINERS, is_blank
from holdfast.text.terminal import escaped, plain

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]
CONTROLS = [char for char in EVERY if unicodedata.category(char) == "Cc" and char not in "\t\n"]
TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "L", "R", "AL")
OVERRIDES = [char for char in EVERY if unicodedata.bidirectional(char) in TURNING[:9]]
# Arabic and Indic signs that stand before numbers are formats by class, and yet they are seen.
SIGNS = set(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
FORMATS = [
    char
    for char in EVERY
    if unicodedata.category(char) == "Cf" and char not in SIGNS | set(JOINERS)
]
LEGITIMATE = [
    pytest.param("👩\u200d👩\u200d👧 and 🏳\ufe0f\u200d🌈", id="emoji"),
    pytest.param("می\u200cخواهم", id="Persian"),
    pytest.param("क्\u200dष and न्\u200c", id="Hindi"),
    pytest.param("\u0600\u0661\u0662", id="Arabic number sign"),
    pytest.param("שלום עולם", id="Hebrew"),
]


def test_no_control_and_no_format_is_shown_by_a_terminal() -> None:
    shown = plain("a".join([*CONTROLS, *FORMATS]))
    assert {char for char in shown if char in {*CONTROLS, *FORMATS}} == set()


def test_what_turns_the_direction_leaves_a_mark() -> None:
    assert {plain(char) for char in OVERRIDES} == {"\ufffd"}
    assert plain("pay\u202egnp.exe") == "pay\ufffdgnp.exe"


def test_a_lone_surrogate_leaves_a_mark() -> None:
    assert plain("a\ud800b") == "a\ufffdb"


def test_no_control_and_no_format_goes_into_a_prompt() -> None:
    shown = neutralise("a".join([*CONTROLS, *FORMATS]))
    assert {char for char in shown if char in {*CONTROLS, *FORMATS}} == set()


def test_json_is_escaped_without_loss() -> None:
    value = "a".join([*CONTROLS, *FORMATS, "\u2028", "\u2029", "茶"])
    document = escaped(json.dumps(value, ensure_ascii=False))
    assert json.loads(document) == value
    assert not {*CONTROLS, *FORMATS, "\u2028", "\u2029"} & set(document)
    assert "茶" in document


@pytest.mark.parametrize("text", LEGITIMATE)
def test_joiners_and_signs_of_real_text_are_shown_as_they_are(text: str) -> None:
    assert plain(text) == text
    assert neutralise(text) == text
    assert not is_blank(text)


def test_a_text_of_characters_that_nobody_sees_is_blank() -> None:
    spaces = [char for char in EVERY if unicodedata.category(char) in ("Zs", "Zl", "Zp")]
    fillers = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe0f\U000e0100\u180e"
    assert [
        char for char in [*CONTROLS, *FORMATS, *spaces, *JOINERS, *fillers] if not is_blank(char)
    ] == []
    assert is_blank("") and is_blank(" \n\t\u200b\u200b\u2060 \ufeff")


@pytest.mark.parametrize("text", ["a", "é", "茶", "٣", "!", "👍", "\u200bx", "\u0301e", "ऽ"])
def test_a_text_with_anything_to_see_is_not(text: str) -> None:
    assert not is_blank(text)
