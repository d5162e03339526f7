"""How a question finds memories: analyse, gather by several arms, weigh, order, explain.

Belongs here: every decision about ranking, the same for all backends. Does not: SQL, writing, printing.

Each module is loaded when it is first used, as in `search.why.why(…)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import brief as brief
    from . import context as context
    from . import decision as decision
    from . import meaning as meaning
    from . import recall as recall
    from . import why as why
    from . import working as working
else:
    __getattr__ = modules_of(__name__)
