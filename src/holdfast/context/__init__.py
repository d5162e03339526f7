"""Everything that becomes prompt text, through one block renderer: session context, briefs,
project rules.

Submodules are imported on first use, as in `context.brief`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import brief as brief
    from . import companion as companion
    from . import session_context as session_context
else:
    __getattr__ = modules_of(__name__)
