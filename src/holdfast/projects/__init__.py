"""Project memory: MEMORY.md, a summary and playbooks built from past sessions.

Submodules are imported on first use, as in `projects.past_sessions`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import past_sessions as past_sessions
else:
    __getattr__ = modules_of(__name__)
