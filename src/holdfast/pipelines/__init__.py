"""Work that takes a while: embedding, export and import, sessions, consolidation.

Belongs here: work over many memories, built from the store's promises. Does not: SQL, ranking, printing.

Each module is loaded when it is first used, as in `pipelines.sync.failures(…)`: a recall needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import bundle as bundle
    from . import catchup as catchup
    from . import consider as consider
    from . import consolidate as consolidate
    from . import decay as decay
    from . import embed as embed
    from . import enrich as enrich
    from . import erase as erase
    from . import index as index
    from . import learn as learn
    from . import reflect as reflect
    from . import spend as spend
    from . import sync as sync
    from . import task as task
    from . import work as work
else:
    __getattr__ = modules_of(__name__)
