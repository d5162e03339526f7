"""Why nothing was found, where a slip is likelier than an empty memory: a misspelt scope, or another file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..errors import HoldfastError, meant
from ..text.screen import plain

if TYPE_CHECKING:
    from ..memory import Holdfast

MOST_NAMED = 5


def tell_why(hf: Holdfast) -> None:
    """Says on standard error what to look at, when nothing was found because these scopes hold nothing at all."""
    try:
        known = [str(scope) for scope in hf.store.scopes()]
    except HoldfastError:  # a login that may not see the scopes of others
        return
    asked = [str(scope) for scope in hf.scopes]
    if set(asked) & set(known):
        return
    said = f"Nothing is remembered yet in {hf.store.location}. Is that the right --store?"
    if known:
        more = ", …" if len(known) > MOST_NAMED else ""
        there = f"{hf.store.location} keeps memories of {', '.join(known[:MOST_NAMED])}{more}."
        said = f"Nothing is kept of {', '.join(asked)}.{meant(asked[0], known)} {there}"
    print(plain(said), file=sys.stderr)
