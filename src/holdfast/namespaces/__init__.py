"""Namespaces of `Holdfast`, one module each: sessions, records, entities, reviews, projects,
admin.

Submodules are imported on first use, as in `namespaces.records`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import admin as admin
    from . import entities as entities
    from . import projects as projects
    from . import records as records
    from . import reviews as reviews
    from . import sessions as sessions
else:
    __getattr__ = modules_of(__name__)
