"""Settings: defaults, then the file, then the environment; nothing misspelt goes unnoticed."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from holdfast import InvalidInput, Settings
from holdfast.config import config_file, default_store, load, login, origins
from holdfast.errors import UnknownSetting


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config.toml"


def test_without_file_and_environment_the_defaults_hold(file):
    assert load({}, file) == Settings()


def test_the_file_beats_the_defaults_and_the_environment_beats_the_file(file):
    file.write_text('recall_limit = 5\nfusion = "rrf"\n')
    settings = load({"HOLDFAST_RECALL_LIMIT": "7"}, file)
    assert (settings.recall_limit, settings.fusion, settings.context_tokens) == (7, "rrf", 2000)


def test_each_value_knows_where_it_comes_from(file):
    file.write_text("recall_limit = 5\ncontext_tokens = 9\n")
    sources = {o.name: (o.value, o.source) for o in origins({"HOLDFAST_RECALL_LIMIT": "7"}, file)}
    assert sources["recall_limit"] == (7, "HOLDFAST_RECALL_LIMIT")
    assert sources["context_tokens"] == (9, str(file))
    assert sources["fusion"] == ("learned", "default")
    assert sources.keys() == {known.name for known in fields(Settings)}


def test_every_setting_says_what_it_does(file):
    assert all(len(origin.help) > 20 for origin in origins({}, file))


def test_a_misspelt_variable_is_an_error_with_the_nearest_name(file):
    with pytest.raises(
        UnknownSetting, match=r"HOLDFAST_RECAL_LIMIT.*'recall_limit'.*holdfast settings"
    ):
        load({"HOLDFAST_RECAL_LIMIT": "5"}, file)


def test_a_misspelt_name_in_the_file_is_an_error_that_names_the_file(file):
    file.write_text("fusoin = 'rrf'")
    with pytest.raises(UnknownSetting, match=r"config\.toml.*Did you mean 'fusion'"):
        load({}, file)


def test_a_name_like_no_other_gets_no_guess(file):
    with pytest.raises(UnknownSetting, match="zzz") as caught:
        load({"HOLDFAST_ZZZ": "1"}, file)
    assert "Did you mean" not in str(caught.value)


def test_other_peoples_variables_are_not_looked_at(file):
    assert load({"HOLD_FAST": "1", "_HOLDFAST_COMPLETE": "x", "PATH": "/bin"}, file) == Settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("RECALL_LIMIT", text) for text in ("0", "-1", "ten", "", "2.5")]
    + [("FUSION", "magic"), ("FUSION", "")],
)
def test_an_unusable_variable_is_an_error_that_names_it(file, variable, value):
    with pytest.raises(InvalidInput, match=f"must be .*HOLDFAST_{variable}"):
        load({f"HOLDFAST_{variable}": value}, file)


@pytest.mark.parametrize(
    "line", ["recall_limit = true", "recall_limit = 2.5", "recall_limit = []", "store = 5"]
)
def test_a_value_of_the_wrong_type_in_the_file_is_an_error(file, line):
    file.write_text(line)
    with pytest.raises(InvalidInput, match=r"must be .*config\.toml"):
        load({}, file)


@pytest.mark.parametrize("content", [b"recall_limit =", b"= 5", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_an_error_that_names_it(file, content):
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"config\.toml is not valid TOML"):
        load({}, file)


def test_a_folder_in_place_of_the_file_is_an_error_that_names_it(file):
    file.mkdir()
    with pytest.raises(InvalidInput, match=r"config\.toml"):
        load({}, file)


def test_the_file_and_the_store_lie_in_the_users_folders(monkeypatch):
    assert config_file({"XDG_CONFIG_HOME": "/c"}) == Path("/c/holdfast/config.toml")
    assert default_store({"XDG_DATA_HOME": "/d"}) == Path("/d/holdfast/memory.db")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", "/home/ann")
    assert config_file({}) == Path("/home/ann/.config/holdfast/config.toml")
    assert default_store({}) == Path("/home/ann/.local/share/holdfast/memory.db")


def test_load_reads_the_real_environment_and_file_when_not_told(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    config_file().parent.mkdir()
    config_file().write_text("recall_limit = 3")
    monkeypatch.setenv("HOLDFAST_FUSION", "rrf")
    assert (load().recall_limit, load().fusion) == (3, "rrf")


def test_somebody_is_always_at_the_keyboard(monkeypatch):
    monkeypatch.setenv("LOGNAME", "ann")
    assert login() == "ann"


@pytest.mark.parametrize(
    "wrong",
    [
        {"recall_limit": 0},
        {"recall_limit": -3},
        {"recall_limit": "5"},
        {"recall_limit": 2.5},
        {"decay_threshold": 2},
        {"decay_threshold": "0.5"},
        {"fusion": "nope"},
        {"memory_mode": "forever"},
        {"store": None},
        {"model": 5},
    ],
)
def test_a_program_cannot_set_what_a_file_could_not(wrong):
    (name,) = wrong
    with pytest.raises(InvalidInput, match=f"{name} must be"):
        Settings(**wrong)
    with pytest.raises(InvalidInput, match=f"{name} must be"):
        replace(Settings(), **wrong)


def test_what_a_program_sets_is_as_it_was_given():
    given = Settings(recall_limit=3, decay_threshold=0, fusion="rrf", store="other.db")
    assert (given.recall_limit, given.decay_threshold, given.fusion, given.store) == (
        3,
        0,
        "rrf",
        "other.db",
    )
