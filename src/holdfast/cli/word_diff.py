"""Difference between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

Part = tuple[Literal["same", "gone", "new"], str]
# A word, one character of a script without spaces (Chinese, Japanese), white space, or
# punctuation.
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_PIECE = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\s+|[^\w\s]")


def word_diff(old: str, new: str) -> list[Part]:
    """Return the words of both texts in order, marked as common, removed or added.

    >>> word_diff("green tea", "black tea")
    [('gone', 'green'), ('new', 'black'), ('same', ' tea')]
    """
    return list(_parts(_PIECE.findall(old), _PIECE.findall(new)))


def _parts(old: list[str], new: list[str]) -> Iterator[Part]:
    # `autojunk` would ignore frequent words in long texts.
    for what, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            yield "same", "".join(old[i1:i2])
            continue
        if i2 > i1:
            yield "gone", "".join(old[i1:i2])
        if j2 > j1:
            yield "new", "".join(new[j1:j2])


def marked(parts: list[Part]) -> str:
    """Format a difference without colours: removed as [-words-], added as {+words+}."""
    signs = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(signs[what].format(text) for what, text in parts)
