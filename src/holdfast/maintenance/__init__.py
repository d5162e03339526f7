"""Background jobs: embedding, entity linking, decay, reflection, project builds, and the worker.

Submodules are imported on first use, as in `maintenance.decay`, to keep start-up short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import modules_of

if TYPE_CHECKING:
    from . import decay as decay
    from . import embedding_catchup as embedding_catchup
    from . import embedding_jobs as embedding_jobs
    from . import entity_jobs as entity_jobs
    from . import job_runner as job_runner
    from . import reflection as reflection
else:
    __getattr__ = modules_of(__name__)
