"""Embedding models, language models and entity recognisers, each behind a small protocol.

Submodules are imported on first use, as in `models.llm`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import llm as llm
else:
    __getattr__ = modules_of(__name__)
