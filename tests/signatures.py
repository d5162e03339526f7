"""What type checkers and editors see of the verbs; checked by mypy, never run.

An ignored error that does not occur is an error as well, so the wrong calls prove that arguments
are checked on both clients.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from holdfast import AsyncHoldfast, Holdfast
from holdfast.retrieval.explain import Why
from holdfast.retrieval.provenance import Stored
from holdfast.types import About, Hit, Memory, Session


def blocking(hf: Holdfast) -> None:
    assert_type(hf.recall("which tea?", limit=3), list[Hit])
    assert_type(hf.explain("fact_1"), Stored)
    assert_type(hf.explain("fact_1", "which tea?", limit=3), Why)
    assert_type(hf.sessions.list(open_only=True), list[Session])
    assert_type(hf.records.add("Use pnpm", category="decisions"), Memory)
    assert_type(hf.entities.get("Ines", limit=None), About)
    assert_type(hf.admin.export(), Iterator[str])
    hf.recall(1)  # type: ignore[arg-type]
    hf.records.add("Use pnpm")  # type: ignore[call-arg]
    hf.reviews.approve()  # type: ignore[call-arg]


async def awaited(hf: AsyncHoldfast) -> None:
    assert_type(await AsyncHoldfast.open("m.db", scope="user:ann"), AsyncHoldfast)
    async with AsyncHoldfast.open("m.db", scope="user:ann") as entered:
        assert_type(entered, AsyncHoldfast)
    assert_type(await hf.recall("which tea?", limit=3), list[Hit])
    assert_type(await hf.remember("Likes tea", category="taste", tags=["drinks"]), Memory)
    assert_type(await hf.explain("fact_1"), Stored)
    assert_type(await hf.explain("fact_1", "which tea?", limit=3), Why)
    assert_type(await hf.sessions.list(open_only=True), list[Session])
    assert_type(await hf.records.add("Use pnpm", category="decisions"), Memory)
    assert_type(await hf.entities.get("Ines", limit=None), About)
    assert_type(await hf.reviews.list(), list[Memory])
    assert_type(hf.admin.export(), AsyncIterator[str])
    assert_type(await hf.admin.write("look", lambda tx: 1), int)
    await AsyncHoldfast.open("m.db")  # type: ignore[call-arg]
    await hf.recall(1)  # type: ignore[arg-type]
    await hf.remember("Likes tea", colour="green")  # type: ignore[call-arg]
    await hf.records.add("Use pnpm")  # type: ignore[call-arg]
