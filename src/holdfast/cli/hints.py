"""Hints when nothing was found and a mistake is likely: a misspelt scope, another file, a partial
id.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import config
from ..errors import HoldfastError, NotFound, meant
from ..text.terminal import plain
from ..types import STATUSES

if TYPE_CHECKING:
    from ..client import Holdfast

# Names or ids that a hint lists.
MOST_NAMED = 5
# Number of newest memories whose ids are compared.
MOST_LOOKED_AT = 1_000


def tell_why(
    hf: Holdfast,
    *,
    asked: str = "?",
    tokens: int | None = None,
) -> None:
    """Print on stderr why nothing was found, unless it is simply that nothing matches."""
    if not asked.strip():
        print("The question is empty, so nothing was looked for.", file=sys.stderr)
        return
    if hf.mode == "incognito":
        print("Memory is incognito: nothing that is kept is looked at.", file=sys.stderr)
        return
    try:
        known = [str(scope) for scope in hf.store.scopes()]
    except HoldfastError:
        # A login that may not see the scopes of others.
        return
    if set(known) & set(map(str, hf.scopes)):
        if tokens is not None:
            print(f"Even the best may be longer than --tokens {tokens}: try more.", file=sys.stderr)
        return
    print(plain(_about_scopes(hf, known)), file=sys.stderr)


def _about_scopes(hf: Holdfast, known: list[str]) -> str:
    """Explain why scopes are empty: misspelt, another store, or first use."""
    asked = [str(scope) for scope in hf.scopes]
    if known:
        more = ", …" if len(known) > MOST_NAMED else ""
        there = f"{hf.store.location} keeps memories of {', '.join(known[:MOST_NAMED])}{more}."
        return f"Nothing is kept of {', '.join(asked)}.{meant(asked[0], known)} {there}"
    if hf.store.location == str(config.default_store()):
        return 'Nothing is remembered yet. Begin with: holdfast remember "…"'
    return f"Nothing is remembered yet in {hf.store.location}. Is that the right --store?"


def add_nearest(hf: Holdfast, error: NotFound) -> None:
    """Add ids with the given prefix to a NotFound error about a memory."""
    given = error.fields.get("id")
    if not isinstance(given, str) or not str(error).startswith("No memory "):
        return
    begun = given.strip().lower()
    newest = hf.list(statuses=STATUSES, limit=MOST_LOOKED_AT)
    near = [memory.id for memory in newest if begun and memory.id.startswith(begun)][:MOST_NAMED]
    hint = f"Did you mean {', '.join(near)}?" if near else "`holdfast list` shows which there are."
    error.args = (f"{error} {hint}",)
