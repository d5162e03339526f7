"""Prompts: prose in files, with slots that must all be filled."""

from __future__ import annotations

import pytest

from holdfast.extraction.prompts import prompt


def test_a_slot_is_filled_and_braces_in_what_fills_it_stay():
    text = prompt("consolidate_episodes", episodes="- [run] (now) printed {episodes} and {other}")
    assert "- [run] (now) printed {episodes} and {other}" in text


@pytest.mark.parametrize("slots", [{}, {"episodes": "x", "more": "y"}])
def test_a_slot_that_is_missing_or_left_over_is_an_error(slots):
    with pytest.raises(ValueError, match="slots"):
        prompt("consolidate_episodes", **slots)
