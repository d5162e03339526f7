"""Normal forms of names and texts, for comparison."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Quotation marks around a text, and what may end it, do not change what it says.
_AROUND = " \t\r\n\"'“”„‟‘’‚‛«»‹›「」『』"
_AFTER = _AROUND + ".!。！"


@lru_cache(maxsize=4096)
def fold(name: str) -> str:
    """A name for comparison: compatibility forms, case and spacing do not count."""
    return fold_text(name)


def fold_text(text: str) -> str:
    """`fold` for a whole text, in which folded names are looked for; not kept, for texts may be
    long.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(maxsize=1024)
def content_hash(content: str) -> bytes:
    """Equal for texts that differ only in case, spacing, quotes around them or the final full
    stop.
    """
    text = content if content.isascii() else unicodedata.normalize("NFKC", content)
    normal = " ".join(text.strip(_AROUND).rstrip(_AFTER).casefold().split())
    # It loads OpenSSL, and a recall needs none.
    from hashlib import blake2b  # noqa: PLC0415

    return blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=16).digest()
