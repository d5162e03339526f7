"""Wallet seed phrases: twelve to twenty-four consecutive words of the English BIP-39 list.

Only a filter of the list is stored: one bit for the CRC of each of its 2,048 words. One in sixteen
other words passes too, which does not matter for twelve in a row.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from functools import cache

# Words of the shortest phrase.
LEAST = 12
# Characters of a listed word including punctuation.
LONGEST = 12
# Minimum number of different words: a phrase may repeat a word, but a chant is not a phrase.
DISTINCT = 9
# Words whose marks are cached.
MOST_KNOWN = 50_000
_BITS = 32_768
_FILTER = """
eNplV0tua0UQrW53Qidk0I7Ck5l1oghZjMxbQcdEyMzMjKHZAUvohCAZiUHECoLEAlhChFhAlvCWQp1TdT8RTuy+t2/d+tep
ahHpLyJZuqRQBZ8sJegSpGexnSoti7wU3iTB071+ewi16dLrkk/k0ZbudJIrbmoMsUnKfE8/pagIiUXZBimH/YlyC9cvtUuP
Mvso6yJRadOVXh2zfJSWBCSv1DLLIhqZdOVO1nngYIo/JtOn3+uij+qB5IdY1Dblrv9l3Ul9iTevsJUSLdDviSvc01J6HQy7
MyOVtG/rqCp+SzNxdaUulR1F9ABr+ZOcgVokkfL6ajI3+6oqJ31J/9Vs+Q3v1jKzaSJtvEqbnIrK9kdVzAVRnamsDh6QVslF
d966SzmprcGVcaZHuNCfU0rujRIzo9VzUy5RN/JoPYQ0CZ/LEFgymAWw1mmvqQYxUuPAd4uETAG8izCA4S/uTKoolyC50EAc
t737fhxkF6ZuoRrGUuQPKeeM219lUiQWaP1xphoS6xoXD1BvKbEKaYJl9v7ZXJtD0bRcD1ak6KGIEnFLhWPcWDTyUbdubjtj
EXoyIz5N5dA7cl6rZL9xNS6Ucot3oxKVj4xcGcJ8777WN0OUsFWrzsw/7onwpj+r0yH9svyjWtXBdSDScggUIF8ULbvSrQwQ
kASa3Dw8FaJfpC6stIMZCWkfyCzzT1KdeVDJUOOkzSnJu0fwC9RPJb9q4jRlGlMYqjO1oOaFMT02ULvvU0jpoc3yqGFtXtQd
rlsVVrtHITzpctwpFcTvGt4wEPk7M/XpwVrMK4GVu6KJD3Fwmy7JrWXZJERPJiRiUadBKdN61Qwn+8hkNbMf1FGrCDrXMGCi
sm0Ko1qIst2UtM0oW6hvBJ9DdlnkL1l6uTzb9omke8ry2oALsydGhfTXx7qp8Kj870OVkno9fM+nYVPi/fiAa4E5Cv0dlinH
X3oz14Pkjnn2E6vK8FwT8Bv6gTWcXAl1RIPXzR5XXCuryoBcRStpTDp1w6Nnze5MX25aVUH2mveaheEqW3XKCFwpNAt29bRo
I0TArSHducJoGA/jwwTdth5DaIdyDWfUGT5HDd4xjs/yZ3SSa4fZgKXLeTZuX1n0k8IEs7qPmC+IF217M5yr2YWmIZG5VnQE
RVumBqBVt4t5cFeHiBweh5S9VfE3uHjSbtKLmxE2rkAHWoWhIyUVpSzR0vSKUVDcOgX+t0CEZHkfFS6TjKl+LW6JyUZEvH1F
+R0Nur4GqL/bqsLpfW0DzOIHGfE9mAR8XnRo0LpwpCmxon6CDRExauUF9xfF3WGKEHZveAM5o0HKaDQ0Qzbo2kiuqLm3vR/j
nrzB5MoKS4PjwDoFyr5tgLI+QWoYK1HJb3yDMw7z8jdpY4+FK58A8/QXIOOwltblXQup7r311JutBBb4LZ+hq6kdizR2tYRl
xmU5NfOs2PorkXgLZdSqaE5fGPcz872OIYmpU3pL5BVskvk6enQS+z60W6YxT/toFskM8HzzwEKVBQjXjoKRsInySNPEccWJ
45ht4zZznikj926SOt1mweBcKUPONU50N4YHtYXgti9vHqfkSmnUVjMm0RS9/9Y0aQaX2hI4BShkaIjbj/DBSqdWU6F4tqab
rHAehoRXmvOhhcXZHKUEeRi+TsaH4YhhymBOZ4AnCadTkltI7rSLsctcBcylA9SBQfbRmZbUi77DhNFMPXaoXaHni9/30Yv5
tZYlkKLSeYHGFFnH2QTYXqmKt5YLrWo48IxzglQ0Gc3Dcgny9V68BTH3Xt5Qk+13bzzKe9vYAHMnYDadHy+pyxV7aejZB4bA
8OkDuGo3zqNMHfg0lD/HPmVuVfJ9PzTiFFvH1KXYr2vS/L+s3eEPPLocjl6Stsf8sfMGg3o+y08L3RvG6XrB3ijsyHXq5nqx
TGz5fqSJNpSqe3qLjmSf8GDhcPBgFcR2sLFEinrIMX57eGXvpi9cwhFhbMHnrr1bstAIooncwjNeDSWiNuRfOrCJaeth3Axe
XavT2/w8YCV0bgPHhGN/VyZrZbrJD1mey0nOETy2Mo+BQ6DvmNaBzU5OMali7sXx7AYNgEipkVrFMR+1YFv193eOlQQhaz/Z
JgfW8lH2CnmyelrCFeeVHQn24yIDl7RQkoNGMAHl9ZSHFlZQm42PJrxpOjaeQlZyCD+ryLWMJynV4JCcvuMYwL5RUF84el7P
3ViQHiEX9JFL77yGSnDnd7w9c0DkCTUOc7T12CAnQLVeAMu9JE99O40A3iuasqE2D2O15McJ+7A8Kyy8vushdWoDDXWoyu6r
zeVIWA1u4ZyarwxN8uy0GbZ25mQ1+TysIyTnLx4S9FFbKlYknxfhlVOZDqIACvkPO+/5nQ==
"""
_WORD = re.compile(r"\S+")
_TWELVE = "x" * LEAST
_RUN = re.compile(f"x{{{LEAST},}}")
# Punctuation around a word of a phrase. Without the colon, which ends an introduction to one.
_PUNCTUATION = ",;.()[]\"'`"
# Phrases may be numbered.
_NUMBER = re.compile(r"\(?\d{1,2}[.):]?")


class _Marks(dict[str, str]):
    """Cache of word marks: a lookup is cheaper than a call."""

    def __missing__(self, word: str) -> str:
        if len(self) > MOST_KNOWN:
            self.clear()
        self[word] = mark = _mark(word)
        return mark


_marks = _Marks()


def may_hold_phrase(words: list[str]) -> bool:
    """Whether these words contain twelve listed ones in a row. Fast, because it runs on every
    text.
    """
    return len(words) >= LEAST and _TWELVE in "".join(map(_marks.__getitem__, words))


def seed_phrases(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each seed phrase in `text`."""
    places = [match for match in _WORD.finditer(text) if _marks[match[0]]]
    marks = "".join(_marks[match[0]] for match in places)
    for run in _RUN.finditer(marks):
        found = places[run.start() : run.end()]
        if len({match[0].strip(_PUNCTUATION).lower() for match in found}) >= DISTINCT:
            start = found[0]
            last = found[-1]
            yield (
                start.start() + _leading(start[0]),
                last.start() + len(last[0].rstrip(_PUNCTUATION)),
            )


def _mark(word: str) -> str:
    """Return `x` for a listed word, nothing for a number between words, a space for anything
    else.
    """
    if len(word) > LONGEST:
        return " "
    bare = word.strip(_PUNCTUATION)
    if (
        3 <= len(bare) <= 8
        and bare.isascii()
        and bare.isalpha()
        and (bare.islower() or bare.isupper())
    ):
        if _is_listed(bare.lower()):
            return "x"
        return " "
    if _NUMBER.fullmatch(word):
        return ""
    return " "


def _leading(word: str) -> int:
    return len(word) - len(word.lstrip(_PUNCTUATION))


def _is_listed(word: str) -> bool:
    place = zlib.crc32(word.encode()) % _BITS
    return bool(_filter()[place // 8] & (1 << place % 8))


@cache
def _filter() -> bytes:
    return zlib.decompress(base64.b64decode(_FILTER))
