"""What can be told of a text by its words alone: tokens, times, secrets, differences. No store, no model.

Each module is loaded when it is first used, as in `text.contrast.contrasts(…)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import contrast as contrast
else:
    __getattr__ = modules_of(__name__)
