"""Recall: query analysis, candidate generation, features, fusion, explanation. All ranking is here.

Submodules are imported on first use, as in `retrieval.embedding_status`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import embedding_status as embedding_status
    from . import explain as explain
    from . import provenance as provenance
    from . import recall as recall
else:
    __getattr__ = modules_of(__name__)
