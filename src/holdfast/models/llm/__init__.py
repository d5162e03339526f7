"""Language models: chat completion, token budget, JSON output.

Submodules are imported on first use, as in `models.llm.budget`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy import modules_of

if TYPE_CHECKING:
    from . import budget as budget
    from . import chat as chat
else:
    __getattr__ = modules_of(__name__)
