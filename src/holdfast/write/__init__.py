"""How a text becomes a memory: guarded, built, committed.

Belongs here: everything between a caller's words and one journalled transaction. Does not: searching, models.

Each module is loaded when it is first used, as in `write.commit.build(…)`: a recall needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import approval as approval
    from . import capture as capture
    from . import commit as commit
    from . import entities as entities
    from . import guard as guard
    from . import policy as policy
    from . import profile as profile
    from . import sessions as sessions
else:
    __getattr__ = modules_of(__name__)
