"""mem0's `AsyncMemory`: the same methods, awaitable; each forwards in a thread."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Mapping
from typing import Any, Self

from ...client import Holdfast
from .add import Item
from .mem0_memory import Mem0


class AsyncMem0:
    """Awaitable versions of `Mem0`'s methods; each forwards in a thread."""

    def __init__(self, holdfast: Holdfast | None = None) -> None:
        self._mem0 = Mem0(holdfast)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """As `Mem0.from_config`."""
        opened = cls.__new__(cls)
        opened._mem0 = Mem0.from_config(config_dict)
        return opened

    async def add(
        self, messages: str | Mapping[str, Any] | list[Mapping[str, Any]], **given: Any
    ) -> dict[str, Any]:
        """As `Mem0.add`."""
        return await to_thread(self._mem0.add, messages, **given)

    async def search(self, query: str, **given: Any) -> dict[str, Any]:
        """As `Mem0.search`."""
        return await to_thread(self._mem0.search, query, **given)

    async def get(self, memory_id: str) -> Item | None:
        """As `Mem0.get`."""
        return await to_thread(self._mem0.get, memory_id)

    async def get_all(self, **given: Any) -> dict[str, Any]:
        """As `Mem0.get_all`."""
        return await to_thread(self._mem0.get_all, **given)

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        **given: Any,
    ) -> dict[str, str]:
        """As `Mem0.update`."""
        return await to_thread(self._mem0.update, memory_id, text, **given)

    async def delete(self, memory_id: str) -> dict[str, str]:
        """As `Mem0.delete`."""
        return await to_thread(self._mem0.delete, memory_id)

    async def delete_all(self, **given: Any) -> dict[str, str]:
        """As `Mem0.delete_all`."""
        return await to_thread(self._mem0.delete_all, **given)

    async def history(self, memory_id: str) -> list[Item]:
        """As `Mem0.history`."""
        return await to_thread(self._mem0.history, memory_id)

    async def sources(self, memory_id: str) -> list[Item]:
        """As `Mem0.sources`."""
        return await to_thread(self._mem0.sources, memory_id)

    async def entities(self) -> list[Item]:
        """As `Mem0.entities`."""
        return await to_thread(self._mem0.entities)

    async def feedback(self, memory_id: str, *given: str | None, **named: str | None) -> None:
        """As `Mem0.feedback`."""
        await to_thread(self._mem0.feedback, memory_id, *given, **named)

    async def reset(self) -> None:
        """As `Mem0.reset`."""
        await to_thread(self._mem0.reset)

    def close(self) -> None:
        """As `Mem0.close`."""
        self._mem0.close()
