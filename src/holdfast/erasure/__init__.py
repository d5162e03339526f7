"""Permanent deletion of memories, sessions and owners: what goes, in which order, with a receipt.

Submodules are imported on first use, as in `erasure.purge`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import purge as purge
else:
    __getattr__ = modules_of(__name__)
