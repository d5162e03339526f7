"""Secrets spread over several words: values of a Kubernetes secret, wallet seed phrases, card
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .secret_formats import Secret
from .secret_seeds import may_hold_phrase, seed_phrases

# A manifest of `kind: Secret`; its values are base64 under `data:` or plain under `stringData:`.
_KIND = re.compile(
    r"^[ \t]*[\"']?kind[\"']?[ \t]*:[ \t]*[\"']?secret\b", re.IGNORECASE | re.MULTILINE
)
# Start of the next manifest in the same text.
_NEXT = re.compile(r"^---", re.MULTILINE)
_DATA = re.compile(r"^([ \t]*)[\"']?(?:data|stringData)[\"']?[ \t]*:[ \t]*\{?[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(
    r"[ \t]*[\"']?[\w.-]{1,100}[\"']?[ \t]*:[ \t]*(?:[|>][-+]?[ \t]*\n[ "
    r"\t]*)?[\"']?(?P<value>[^\s\"'#,]{8,}+)"
)
_INDENT = re.compile(r"[ \t]*")
# A reference that is filled in elsewhere.
_REFERENCE = re.compile(r"[$<{]|\*\*|REDACTED|xxxx", re.IGNORECASE)

# Cheap test: every card number has eight digits in a row or in two groups, and few texts do.
_DIGITS = re.compile(r"\d{4}[ -]?\d{4}")
# 15 or 16 digits with a first digit that issuers use, alone or grouped as on a card. Nothing next
# to it may make it part of a longer number, a path, a fraction or an identifier.
_CARD = re.compile(
    r"[2-6](?<![\w.,+/=:#-].)(?:(?<=3)[47]\d{2}[ -]?\d{6}[ -]?\d{5}"
    r"|(?:(?<=[46])\d|(?<=5)[1-5]|(?<=2)[2-7]|(?<=3)5)\d{2}(?:[ -]?\d{4}){3})(?![\w/=-]|[.,]\d)"
)


def find_in_documents(text: str, words: list[str]) -> list[Secret]:
    """Return every secret in `text` that no single word reveals; `words` are its words."""
    found: list[Secret] = []
    if "ecret" in text:
        found += _manifest_values(text)
    if _DIGITS.search(text):
        found += _card_numbers(text)
    if may_hold_phrase(words):
        found += [Secret(start, end, "seed-phrase") for start, end in seed_phrases(text)]
    return found


def _card_numbers(text: str) -> Iterator[Secret]:
    for match in _CARD.finditer(text):
        if _passes_luhn([int(char) for char in match[0] if char.isdecimal()]):
            yield Secret(match.start(), match.end(), "card-number")


def _passes_luhn(digits: list[int]) -> bool:
    """Whether the Luhn check digit is right: every second digit from the right counts double, minus
    nine if above nine.
    """
    doubled = (digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _manifest_values(text: str) -> Iterator[Secret]:
    if not _KIND.search(text):
        return
    edges = [0, *(match.start() for match in _NEXT.finditer(text)), len(text)]
    for start, end in pairwise(edges):
        if _KIND.search(text, start, end):
            yield from _values_under_data(text, start, end)


def _values_under_data(
    text: str,
    start: int,
    limit: int,
) -> Iterator[Secret]:
    for head in _DATA.finditer(text, start, limit):
        position = head.end() + 1
        while position < limit:
            end = text.find("\n", position)
            line = text[position : end if end >= 0 else limit]
            indent = _INDENT.match(line)
            if line.strip() and indent and len(indent[0]) <= len(head[1]):
                break
            entry = _ENTRY.match(text, position)
            if entry and not _REFERENCE.match(entry["value"]):
                yield Secret(entry.start("value"), entry.end("value"), "kubernetes-secret")
                end = text.find("\n", entry.end())
            position = end + 1 if end >= 0 else limit
