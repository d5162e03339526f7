"""Memories that live as files: Markdown records in project and personal places, and what is published from them.

Belongs here: files as the truth of memories, and memories written to files. Does not: SQL, ranking, printing.

Each module is loaded when it is first used, as in `files.mirror.Mirror(…)`: where no file has changed, few are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import erasing as erasing
    from . import evidence as evidence
    from . import extract as extract
    from . import freshness as freshness
    from . import indexing as indexing
    from . import mirror as mirror
    from . import publish as publish
    from . import record as record
    from . import records as records
    from . import taking as taking
else:
    __getattr__ = modules_of(__name__)
