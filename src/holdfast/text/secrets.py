"""The secret scanner: finds what must never reach the disk, and avoids false positives.

    >>> redact("export DB_PASSWORD=hunter2 # task_management_module")[0]
    'export DB_PASSWORD=[REDACTED:password] # task_management_module'

`secret_formats` knows recognisable formats, `secret_context` secrets recognised by their context,
`secret_documents` those of several words. Other personal data is not covered.
"""

from __future__ import annotations

import re
from itertools import islice

from .secret_context import LEADS, find_named
from .secret_documents import find_in_documents
from .secret_formats import SHORTEST, Secret, find_tokens
from .secret_values import looks_drawn

__all__ = ["Secret", "find_secrets", "redact"]

_MARKER = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]")
# An id such as `msg_01…`, or a file path.
_ID = re.compile(r"[a-z]{2,8}_|[^/]*/.*\.\w{1,5}$")
# A private-use character: part of no word and no token.
_HIDDEN = "\ue000"
# Lengths of secrets that are searched elsewhere in the text; shorter ones may be words, longer ones
# are rare.
LEAST_REPEATED = 12
MOST_REPEATED = 400
# Each value costs a search through the text, so this keeps the time linear for a text full of keys.
MOST_VALUES = 64
# Redacting one secret may bring the next within reach of a name; more than two rounds are
# artificial.
_ROUNDS = 8


class _Harmless(dict[str, bool]):
    """Whether a word neither is nor introduces a secret. A cache, because most texts have only such
    words, and a dictionary, because a lookup is cheaper than a call.
    """

    def __missing__(self, word: str) -> bool:
        if len(word) < SHORTEST and word.rstrip(".,").isdecimal():
            # Numbers are too many to cache, and introduce nothing.
            return True
        if len(self) > _WORDS_KEPT:
            self.clear()
        lower = word.lower()
        self[word] = harmless = len(word) < SHORTEST and not any(map(lower.__contains__, LEADS))
        return harmless


_WORDS_KEPT = 50_000
_is_harmless = _Harmless().__getitem__


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in `text` in order, without overlaps and not inside a
    `[REDACTED:kind]`.
    """
    words = text.split()
    found = find_in_documents(text, words)
    secrets = _merged(found) if found else []
    if all(map(_is_harmless, words)):
        return secrets
    current = _replaced(text, secrets)
    for _ in range(_ROUNDS):
        found = _scan(current)
        if not found:
            break
        moved = [
            Secret(_origin(start, secrets), _origin(end, secrets), kind)
            for start, end, kind in found
        ]
        secrets = _merged([*secrets, *moved])
        current = _replaced(text, secrets)
    return _merged([*secrets, *_repeated(text, secrets)])


def _repeated(text: str, secrets: list[Secret]) -> list[Secret]:
    """Find other occurrences of a secret: a log names a key once and repeats it without the
    name.
    """
    again: list[Secret] = []
    values = {text[start:end]: kind for start, end, kind in secrets}
    for value, kind in islice(values.items(), MOST_VALUES):
        if (
            LEAST_REPEATED <= len(value) <= MOST_REPEATED
            and _is_unmistakable(value, kind)
            and text.count(value) > 1
        ):
            whole = rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])"
            again += [
                Secret(match.start(), match.end(), kind) for match in re.finditer(whole, text)
            ]
    return again


def _is_unmistakable(value: str, kind: str) -> bool:
    """Whether a value is a secret wherever it occurs. A password may be an ordinary word, and
    `msg_01…` an id.
    """
    if kind == "token":
        return looks_drawn(value) and not _ID.match(value)
    return kind != "password"


def redact(text: str) -> tuple[str, list[Secret]]:
    """Replace each secret by `[REDACTED:kind]`; return the text and the secrets. Idempotent."""
    secrets = find_secrets(text)
    return (_replaced(text, secrets) if secrets else text), secrets


def _scan(text: str) -> list[Secret]:
    # The kind inside a marker must not count as a name for the text after it.
    if "[REDACTED:" in text:
        text = _MARKER.sub(lambda match: f"[{_HIDDEN * (len(match[0]) - 2)}]", text)
    found = find_tokens(text) + find_named(text)
    return [secret for secret in found if _HIDDEN not in text[secret.start : secret.end]]


def _merged(secrets: list[Secret]) -> list[Secret]:
    """Merge overlapping secrets. The kind of the first listed wins; formats are listed before
    contexts.
    """
    merged: list[Secret] = []
    for _, secret in sorted(enumerate(secrets), key=lambda item: (item[1].start, item[0])):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(end=max(last.end, secret.end))
        else:
            merged.append(secret)
    return merged


def _replaced(text: str, secrets: list[Secret]) -> str:
    pieces = []
    position = 0
    for start, end, kind in secrets:
        pieces += [text[position:start], f"[REDACTED:{kind}]"]
        position = end
    return "".join([*pieces, text[position:]])


def _origin(position: int, secrets: list[Secret]) -> int:
    """Map a position in the redacted text to the original text."""
    for start, end, kind in secrets:
        if position <= start:
            break
        position += (end - start) - len(f"[REDACTED:{kind}]")
    return position
