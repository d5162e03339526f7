"""Entities that may be the same are suggested with a reason, and never merged by themselves."""

from __future__ import annotations

import pytest

from holdfast import Holdfast, Settings

OFFLINE = Settings(embedding_models="none")


@pytest.fixture
def hf(tmp_path, clock):
    with Holdfast.open(
        tmp_path / "memory.db", scope="user:ann", settings=OFFLINE, clock=clock
    ) as hf:
        yield hf


def suggested(hf):
    return [(one.keep.name, one.other.name, one.reason) for one in hf.entities.duplicates()]


@pytest.mark.parametrize(
    ("full", "short", "reason"),
    [
        ("Melanie", "Mel", "Mel is short for Melanie"),
        ("Jonathan", "Jon", "Jon is short for Jonathan"),
        ("Robert", "Bob", "Bob is short for Robert"),
        ("Johannes", "Hans", "Hans is short for Johannes"),
        ("Francisco", "Paco", "Paco is short for Francisco"),
        ("Екатерина", "Катя", "Катя is short for Екатерина"),
        ("Ines Ferreira", "Ines", "Ines is the first name of Ines Ferreira"),
        ("Ines Ferreira", "Ferreira", "Ferreira is the surname of Ines Ferreira"),
        ("Robert Duarte", "Bob", "Bob is short for Robert"),
        (
            "Jonathan Duarte",
            "Jon Duarte",
            "the same surname, and Jon is short for Jonathan",
        ),
        ("José Duarte", "Jose Duarte", "the same name"),
    ],
)
def test_two_names_of_one_person(hf, full, short, reason):
    for name in (full, short):
        hf.capture("monday", "user", "hello there", author=name)
    (found,) = suggested(hf)
    assert set(found[:2]) == {full, short}
    assert found[2] == reason
    assert len(hf.entities.list()) == 2


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Ann", "Joanna"),
        ("Maria", "Marta"),
        ("Ines Ferreira", "Ines Duarte"),
        ("Jon Duarte", "Jonathan Silva"),
        ("Al", "Alba"),
    ],
)
def test_two_people(hf, one, two):
    for name in (one, two):
        hf.capture("monday", "user", "hello there", author=name)
    assert suggested(hf) == []


def test_two_that_are_named_together_are_two(hf):
    hf.capture("monday", "user", "My friends Jon and Jonathan are here")
    assert {one.name for one in hf.entities.list()} == {"Jon", "Jonathan"}
    assert suggested(hf) == []


def test_a_person_and_a_place_are_two(hf):
    hf.remember("My sister Ines lives in Porto")
    hf.capture("monday", "user", "hello there", author="Porto Duarte")
    assert suggested(hf) == []


def test_once_merged_they_are_not_suggested_again(hf):
    for name in ("Melanie", "Mel"):
        hf.capture("monday", "user", "hello there", author=name)
    (pair,) = hf.entities.duplicates()
    merged = hf.entities.merge(pair.keep.id, pair.other.id)
    assert merged.aliases == ("Mel",)
    assert suggested(hf) == []
