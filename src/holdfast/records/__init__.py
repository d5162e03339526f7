"""Records: memories stored as Markdown files that people edit and commit.

Submodules are imported on first use, as in `records.evidence`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import evidence as evidence
    from . import file_transaction as file_transaction
    from . import freshness as freshness
    from . import markdown as markdown
    from . import operations as operations
    from . import publish as publish
    from . import roots as roots
    from . import session_notes as session_notes
    from . import source_indexing as source_indexing
    from . import write_back as write_back
else:
    __getattr__ = modules_of(__name__)
