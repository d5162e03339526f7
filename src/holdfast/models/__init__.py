"""Outside brains live here: each is a small protocol, a local version that ships, and a fake that ships.

Belongs here: outside brains: each a small protocol, a version that ships, a fake that ships. Does not: what is done
with what they say.

Importing this package loads no model and no numeric library; that waits for the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import chat as chat
else:
    __getattr__ = modules_of(__name__)
