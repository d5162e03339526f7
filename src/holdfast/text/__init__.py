"""Pure text functions: tokens, time expressions, secrets, fences, front matter.

Submodules are imported on first use, as in `text.negation`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import negation as negation
else:
    __getattr__ = modules_of(__name__)
