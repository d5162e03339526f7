"""Moving memories between stores: lossless export and import, copy, two-way sync.

Submodules are imported on first use, as in `replication.bundle`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import bundle as bundle
    from . import sync as sync
else:
    __getattr__ = modules_of(__name__)
