"""Normal forms of names and texts, for comparison."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

# Quotation marks around a text and punctuation at its end do not change the statement.
_AROUND = " \t\r\n\"'“”„‟‘’‚‛«»‹›「」『』"
_AFTER = _AROUND + ".!。！"


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """Normalise a name for comparison: ignores compatibility forms, case and spacing."""
    return fold_text(name)


def fold_text(text: str) -> str:
    """Fold a whole text like `fold`, to search folded names in it. Not cached, because texts may be
    long.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=1024)
def content_hash(content: str) -> bytes:
    """Return a hash that is equal for texts that differ only in case, spacing, surrounding quotes
    or the final full stop.
    """
    text = content if content.isascii() else unicodedata.normalize("NFKC", content)
    normal = " ".join(text.strip(_AROUND).rstrip(_AFTER).casefold().split())
    digest: bytes = _blake2b()(normal.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return digest


@cache
def _blake2b() -> Callable[..., Any]:
    # Deferred import: it loads OpenSSL, which a recall does not need.
    from hashlib import blake2b  # noqa: PLC0415

    return blake2b
