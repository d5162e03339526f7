"""Sanitise every incoming text: clean it, remove injected blocks and secrets, limit its size."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import InvalidInput, TooLarge
from ..text.fences import blank_fences, strip_fences
from ..text.invisible import is_blank
from ..text.secrets import find_secrets, redact

# Neither SQLite nor Postgres stores a NUL or half of a surrogate pair in a text.
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


class Guarded(NamedTuple):
    """A text that may be stored, and what was removed from it."""

    text: str
    secrets: tuple[str, ...] = ()
    echoes: int = 0


def guard(text: str, *, max_bytes: int) -> Guarded:
    """Return `text` ready for storage, empty if nothing visible is left.

    Raises TooLarge over the limit; never truncates.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"A memory is text, not {type(text).__name__}.")
    own = clean(text)
    size = len(own.encode("utf-8")) if not own.isascii() else len(own)
    if size > max_bytes:
        raise TooLarge(
            f"The text is {size:,} bytes long; the limit is {max_bytes:,}. Nothing was stored. "
            "Split it, or raise HOLDFAST_MAX_CONTENT_BYTES."
        )
    own, echoes = strip_fences(own)
    own, secrets = redact(own)
    kinds = tuple(sorted({secret.kind for secret in secrets})) if secrets else ()
    return Guarded("" if is_blank(own) else own.strip(), kinds, echoes)


def guard_lines(text: str) -> str:
    """`text` of any length ready for storage, with every line in its place, to be chunked.

    Anything that spans several lines is found here, before a cut could hide it.
    """
    own = blank_fences(clean(text))
    pieces = list[str]()
    position = 0
    for start, end, kind in find_secrets(own):
        pieces += [own[position:start], f"[REDACTED:{kind}]", "\n" * own.count("\n", start, end)]
        position = end
    return "".join([*pieces, own[position:]])


def clean(text: str) -> str:
    """`text` without what no database can hold: NUL and lone surrogates become U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


@lru_cache(maxsize=1024)
def without_secrets(text: str) -> str:
    """A text other than the content, such as a reason or source: cleaned and redacted."""
    return redact(clean(text))[0]


def guard_data(value: Any, *, name: str) -> Any:
    """Sanitise every text in a JSON value; each text is judged together with its key."""
    match value:
        case str():
            return without_secrets(value)
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping() if all(isinstance(key, str) for key in value):
            return {
                without_secrets(key): _under(key, item, name=name) for key, item in value.items()
            }
        case list() | tuple():
            return [guard_data(item, name=name) for item in value]
    raise InvalidInput(
        f"{name} must be what JSON can hold, not {type(value).__name__} ({value!r:.60})."
    )


def _under(
    key: str,
    value: Any,
    *,
    name: str,
) -> Any:
    if not isinstance(value, str):
        return guard_data(value, name=name)
    head = f"{without_secrets(key)}: "
    line = without_secrets(head + clean(value))
    if line.startswith(head):
        return line[len(head) :]
    return without_secrets(value)


@lru_cache(maxsize=1024)
def one_line(
    value: str,
    *,
    name: str,
    limit: int = 200,
) -> str:
    """Sanitise a short label, such as a category or author, and put it on one line."""
    label = " ".join(clean(value).split())
    if len(label) > limit:
        raise TooLarge(
            f"The {name} is {len(label)} characters long; the limit is {limit}. Nothing was stored."
        )
    return redact(label)[0]
