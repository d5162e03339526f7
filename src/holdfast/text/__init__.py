"""What can be told of a text by its words alone: tokens, times, secrets, differences.

Belongs here: pure functions: what can be told of a text by its words alone. Does not: a store, a model, a clock.

Each module is loaded when it is first used, as in `text.contrast.contrasts(…)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import modules_of

if TYPE_CHECKING:
    from . import contrast as contrast
    from . import full_yaml as full_yaml
else:
    __getattr__ = modules_of(__name__)
