"""Token counts of texts, estimated without a model's vocabulary.

Calibrated on common byte-pair encodings and rounded up: about four ASCII characters per token, two
characters of another alphabet, one CJK character. For ordinary text, the real count stays within a
budget measured this way.
"""

from __future__ import annotations

import math

from .lazy_regex import later

_WIDE = later(
    r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def count_tokens(text: str) -> int:
    """Estimate the tokens in `text`; 0 only for the empty text.

    >>> count_tokens("")
    0
    >>> count_tokens("Prefers dark mode in every editor")
    9
    """
    if text.isascii():
        return math.ceil(len(text) / 4)
    ascii_ = sum(character < "\x80" for character in text)
    wide = len(_WIDE.findall(text))
    return math.ceil(ascii_ / 4 + (len(text) - ascii_ - wide) / 2 + wide)
