"""From input text to one committed transaction: sanitise, build, link entities, commit.

Submodules are imported on first use, as in `ingest.capture`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import capture as capture
    from . import commit as commit
    from . import documents as documents
    from . import duplicate_entities as duplicate_entities
    from . import entity_linking as entity_linking
    from . import owner_profile as owner_profile
    from . import permissions as permissions
    from . import sanitize as sanitize
    from . import session_log as session_log
else:
    __getattr__ = modules_of(__name__)
