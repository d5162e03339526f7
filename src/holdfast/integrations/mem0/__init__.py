"""mem0's `Memory` and `AsyncMemory` interfaces.

Items are memories, so they are recalled, journalled and undoable. A user's items are in
`user:<user_id>`, an agent's own in `agent:<agent_id>`; a run id is stored with them.

    from holdfast.integrations.mem0 import Memory
"""

from __future__ import annotations

from .async_memory import AsyncMem0
from .mem0_memory import Mem0

Memory = Mem0
AsyncMemory = AsyncMem0
"""mem0's own names, so that only the import changes."""

__all__ = ["AsyncMem0", "AsyncMemory", "Mem0", "Memory"]
