"""Which values are worth hiding, by what they are called and how they are written."""

from __future__ import annotations

import pytest

from holdfast.text.secret_values import is_placeholder, is_random, is_secret


def hidden(values: str, name: str, how: str) -> list[str]:
    return [value for value in values.split("|") if is_secret(value, name=name, how=how)]


@pytest.mark.parametrize(
    ("name", "how", "secrets", "others"),
    [
        ("pin", "told", "4821|12345678", "123|123456789|48a1"),
        # A password: any word in quotes, else one that is no ordinary word.
        (
            "password",
            "quoted",
            "abcd|hunter.twofold|heLLo",
            "abc|changeme|10.20.30|ann@example.org|secrets/db/main",
        ),
        (
            "password",
            "bare",
            "ab1d|ab:cd|correct-horse|sha256x|abcdefghijklmnopqr",
            "ab1|hello|heLLo|hello_world",
        ),
        (
            "password",
            "bare",
            "hello-wide-world",
            "hello_big_wide_world|abcdefghijklmnopq|hunter.twofold|a::b",
        ),
        (
            "password",
            "told",
            "ab1d|ab!cd|!ab?cd",
            "hello|ab.cd|ab:cd|really!|what?!|correct-horse|SHA-256|12-16",
        ),
        ("password", "url", "abc|10.20.30|ann@example.org|hello", "changeme|${PASSWORD}"),
        # Several words are a password in quotes only, if they make no sentence.
        (
            "password",
            "quoted",
            "red blue green|my red house door",
            "red blue|enter the red house|Red blue green",
        ),
        ("password", "quoted", "", "red blue gr33n|red blue g!een"),
        ("password", "told", "", "red blue green"),
        # A token needs digits among its letters, or marks in quotes.
        (
            "token",
            "bare",
            "abCdefgh1|abc12DEF|user_token_X2y3",
            "abC1|12345678|user_token_2|v1beta1|abc!defghij",
        ),
        ("token", "quoted", "abc!defghij", "abc.defghij|sendMessage|send-the-message|oauth2Bearer"),
        (
            "token",
            "quoted",
            "Basic a1B2c3D4e5F6g7H8i9",
            "Basic a1B2c3D4e5F6g7H8i|send it to Ann by Friday",
        ),
        ("token", "bare", "ab12-" * 8, "ab12-" * 7 + "ab12"),
        # A mere key has to look random.
        ("key", "bare", "a1B2c3D4e5F6g7H8i9J0", "hunter2x9|a1B2c3D4e5F6g7H8i9J"),
    ],
)
def test_a_value_is_a_secret_or_not(name: str, how: str, secrets: str, others: str) -> None:
    assert hidden(secrets, name, how) == [value for value in secrets.split("|") if value]
    assert hidden(others, name, how) == []


@pytest.mark.parametrize(
    "value",
    ["a1B2c3D4e5F6g7H8i9J0", "abcDEF12ghiJKL34mnop", "aB1cD2eF3g" * 2, "a1/B2+c3/D4+e5/F6+g7/"],
)
def test_long_mixed_and_ever_changing_is_random(value: str) -> None:
    assert is_random(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("a1B2c3D4e5F6g7H8i9J", id="19 characters"),
        pytest.param("aBcDeFgHiJkLmNoPqRsT", id="no digits"),
        pytest.param("a1b2c3d4e5f6g7h8i9j0", id="no capitals"),
        pytest.param("A1B2C3D4E5F6G7H8I9J0", id="nothing else"),
        pytest.param("A1/B2+C3/D4+E5/F6+G7/", id="marks, and no small letters"),
        pytest.param("abcDEF12ghiJKL34mnopq", id="6 changes in 21 characters"),
        pytest.param("aB1cD2eF3" * 3, id="9 different characters"),
        pytest.param("sha512-a1B2c3D4e5F6g7H8i9J0", id="a digest"),
    ],
)
def test_what_lacks_one_of_these_is_not(value: str) -> None:
    assert not is_random(value)


@pytest.mark.parametrize(
    "value",
    [
        "${hunter2}",
        "<your-key>",
        "ab***cd",
        "[REDACTED:pin]",
        "xREDACTEDx",
        "abab",
        "YOUR-Password",
        "test-1",
    ],
)
def test_a_placeholder_shows_where_a_secret_goes(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize("value", ["abcabc", "test-12", "test-x", "your-aunt"])
def test_what_says_more_is_none(value: str) -> None:
    assert not is_placeholder(value)
