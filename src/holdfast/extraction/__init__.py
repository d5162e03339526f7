"""From conversations to memories: candidates, the write policy, reconciliation, promotion,
summaries.

Submodules are imported on first use, as in `extraction.approval`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import approval as approval
    from . import episodes as episodes
    from . import job_types as job_types
    from . import permission_checks as permission_checks
    from . import policy as policy
    from . import proposals as proposals
    from . import session_extraction as session_extraction
    from . import turn_extraction as turn_extraction
else:
    __getattr__ = modules_of(__name__)
