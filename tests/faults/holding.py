"""A process that has a memory open and has read all of it: `python holding.py PATH SCOPE`. It ends
with its input.
"""

from __future__ import annotations

import sys

from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.types import STATUSES

with Holdfast.open(
    sys.argv[1], scope=sys.argv[2], settings=Settings(embedding_models="none"), background=False
) as hf:
    print(len(hf.list(statuses=STATUSES)), len(hf.recall("everything that is known")), flush=True)
    sys.stdin.read()
