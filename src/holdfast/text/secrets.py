"""The one secret scanner: what must never reach the disk, and what must not be mistaken for it.

    >>> redact("export DB_PASSWORD=hunter2 # task_management_module")[0]
    'export DB_PASSWORD=[REDACTED:password] # task_management_module'

Formats that show what they are come from `secret_formats`, secrets that only their surroundings
give away from `secret_context`, those that take several words from `secret_documents`. Other
personal data is not its subject.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from .secret_context import LEADS, find_named
from .secret_documents import find_in_documents
from .secret_formats import SHORTEST, Secret, find_tokens
from .secret_prefixes import looks_drawn

__all__ = ["Secret", "find_secrets", "redact"]

_MARKER = re.compile(r"\[REDACTED:[a-z0-9-]{1,40}\]")
# `msg_01…`, or the path of a file.
_ID = re.compile(r"[a-z]{2,8}_|[^/]*/.*\.\w{1,5}$")
# A private-use character: part of no word and no token.
_HIDDEN = "\ue000"
# A secret of so many characters is looked for elsewhere; a shorter one may be a word, a longer one
# is rare.
LEAST_REPEATED = 12
MOST_REPEATED = 400
# Each costs a search through the text, so that a text full of keys stays linear.
MOST_VALUES = 64
# hiding one secret can bring the next within reach of a name; more than two rounds are contrived
_ROUNDS = 8


@lru_cache(maxsize=50_000)
def _is_harmless(word: str) -> bool:
    """Whether a word is part of no secret and leads to none. Each is judged once: most texts hold
    no other.
    """
    lower = word.lower()
    return len(word) < SHORTEST and not any(map(lower.__contains__, LEADS))


def find_secrets(text: str) -> list[Secret]:
    """The secrets in `text` in order, none overlapping another, and none inside a
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
    """Other places of a secret that was found: a log names a key once and repeats it without its
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
    """Whether a value is a secret wherever it stands: a password may be a word, `msg_01…` the id of
    something.
    """
    if kind == "token":
        return looks_drawn(value) and not _ID.match(value)
    return kind != "password"


def redact(text: str) -> tuple[str, list[Secret]]:
    """`text` with each secret replaced by `[REDACTED:kind]`, and where they were. Redacting twice
    changes nothing.
    """
    secrets = find_secrets(text)
    return _replaced(text, secrets), secrets


def _scan(text: str) -> list[Secret]:
    # The kind in a marker is not the name of what follows it.
    if "[REDACTED:" in text:
        text = _MARKER.sub(lambda match: f"[{_HIDDEN * (len(match[0]) - 2)}]", text)
    found = find_tokens(text) + find_named(text)
    return [secret for secret in found if _HIDDEN not in text[secret.start : secret.end]]


def _merged(secrets: list[Secret]) -> list[Secret]:
    """Overlapping ones joined; the kind is that of the first listed, and formats are listed before
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
    """Where in the original text stands what is at `position` after `secrets` were replaced."""
    for start, end, kind in secrets:
        if position <= start:
            break
        position += (end - start) - len(f"[REDACTED:{kind}]")
    return position
