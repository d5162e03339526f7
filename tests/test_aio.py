"""The awaitable twin: the same verbs with the same signatures, and nothing of its own."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from pathlib import Path

import pytest

from holdfast import AsyncHoldfast, Holdfast, NotFound, Settings
from holdfast.errors import InvalidInput, NeedsPerson, StoreClosed

OFFLINE = Settings(embedding_models="none")


ROOT = Path(__file__).parents[1]
NAMESPACES = ("sessions", "records", "entities", "reviews", "projects", "admin")


@pytest.fixture
def both(hf):
    """The class of each part, blocking and awaitable, by its name; the verbs at the top have
    none.
    """
    twin = AsyncHoldfast(hf)
    spaces = {name: (type(getattr(hf, name)), type(getattr(twin, name))) for name in NAMESPACES}
    return {"": (Holdfast, AsyncHoldfast), **spaces}


def verbs(cls):
    return {
        name: method
        for name, method in inspect.getmembers(cls, callable)
        if not name.startswith("_")
    }


def signature(method):
    parameters = inspect.signature(method).parameters.values()
    return [
        (
            p.name,
            p.kind,
            "a callback" if callable(p.default) and p.name == "progress" else p.default,
            p.annotation,
        )
        for p in parameters
    ]


def test_the_namespaces_are_all_there_are():
    found = {name for name, one in inspect.getmembers(Holdfast) if isinstance(one, property)}
    assert found == set(NAMESPACES)


def test_both_have_the_same_verbs_with_the_same_signatures(both):
    for ours, theirs in both.values():
        assert verbs(theirs).keys() == verbs(ours).keys()
        for name, method in verbs(theirs).items():
            assert signature(method) == signature(verbs(ours)[name]), name


def test_every_verb_is_awaitable_but_the_view(both):
    blocking = set()
    for space, (_, cls) in both.items():
        for name, method in verbs(cls).items():
            if not inspect.iscoroutinefunction(method):
                blocking.add(f"{space}.{name}")
    # `open` returns what is awaited or entered.
    assert blocking == {".open", ".scoped", "admin.export"}
    assert inspect.isasyncgenfunction(both["admin"][1].export)


def test_the_type_checker_reads_what_it_should_see_of_the_signatures():
    """`signatures.py` has no test to run: mypy, which `make lint` runs, fails if it is wrong."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    assert "tests/signatures.py" in settings["files"] and settings["strict"]
    assert "assert_type" in (ROOT / "tests" / "signatures.py").read_text("utf-8")


async def propose_and_decide(hf):
    chess, sails = (
        await hf.reviews.propose("Teaches chess"),
        await hf.reviews.propose("Sails on Sundays"),
    )
    assert [one.id for one in await hf.reviews.list()] == [chess.id, sails.id]
    assert (await hf.reviews.preview(chess.id)).told == "It is new."
    with pytest.raises(NeedsPerson):
        await hf.reviews.approve(chess.id)
    assert (await hf.reviews.reject(sails.id, "no")).status == "archived"
    assert await hf.reviews.expire() == []
    await hf.forget(chess.id)


async def use_every_verb(path):
    async with await AsyncHoldfast.open(path, scope="user:ann", settings=OFFLINE) as hf:
        tea = await hf.remember("Prefers green tea", category="taste")
        await hf.remember_many(["Plays chess", "Lives in Lisbon"])
        await hf.capture("s1", "user", "I bought tea")
        await hf.capture_many([{"session": "s1", "role": "user", "text": "and cups"}])
        await hf.confirm(tea.id)
        coffee = await hf.correct(tea.id, "Prefers coffee", reason="changed")
        assert [edge.source for edge in await hf.admin.links(tea.id)] == [coffee.id]
        await hf.undo()
        await propose_and_decide(hf)
        await hf.sessions.append("s2", [{"text": "hello"}], agent="helper")
        assert [message.body for message in await hf.sessions.messages("s2")] == [{"text": "hello"}]
        assert await hf.sessions.end("s2")
        assert await hf.sessions.purge("s2") == 1
        await hf.remember("Deployed the shop", kind="episode")
        assert (
            await hf.admin.consolidate(lambda prompt: "fact: The shop is deployed", limit=1)
        ).created == 1
        await hf.remember("@bob met @robert")
        assert {"bob", "robert"} <= {one.name for one in await hf.entities.list()}
        assert (await hf.entities.merge("bob", "robert")).aliases
        assert (await hf.entities.split("bob", "robert")).name == "robert"
        assert (await hf.entities.rename("robert", "Rob")).name == "Rob"
        assert len((await hf.entities.get("Rob")).memories) == 1
        assert (await hf.admin.decay()).faded == 0
        assert await hf.admin.write("look", lambda tx: tx.memory(tea.scope, "nobody")) is None
        assert await hf.admin.reflect() is not None
        assert len(await hf.admin.evict(kinds=["episode"], keep=0)) == 1
        assert (await hf.explain(tea.id, "green tea")).recalled
        assert (await hf.recall("green tea", limit=1))[0].memory.id == tea.id
        assert "green tea" in (await hf.context("which tea?")).turn
        await hf.archive(tea.id)
        await hf.restore(tea.id)
        await hf.forget(tea.id)
        assert [event.verb for event in await hf.history(tea.id)][-3:] == [
            "archive",
            "restore",
            "forget",
        ]
        assert (await hf.get(tea.seq)).status == "archived"
        assert [session.id for session in await hf.sessions.list()] == ["s1"]
        assert (await hf.admin.plan_purge(tea.id)).counts["memories"] == 2
        assert (await hf.admin.purge(tea.id)).memories == 2  # and the reflection on it
        assert [place.state for place in await hf.admin.finish_purge()] == ["clean"] * 3
        assert [memory.content for memory in await hf.list(kinds=["turn"])] == [
            "and cups",
            "I bought tea",
        ]
        assert (await hf.stats())["active"] == 6
        assert (await hf.admin.log(limit=1))[0].verb == "purge"
        assert await hf.admin.check() == []
        with pytest.raises(NotFound, match="No embedding model"):
            await hf.admin.reembed()
        return [line async for line in hf.admin.export()]


async def take_in(path, lines):
    async with await AsyncHoldfast.open(path, scope="user:ann", settings=OFFLINE) as hf:
        await hf.admin.import_(lines)
        return [line async for line in hf.admin.export()]


def test_every_verb_works_when_awaited_and_a_bundle_makes_the_round_trip(tmp_path):
    lines = asyncio.run(use_every_verb(tmp_path / "a.db"))
    assert asyncio.run(take_in(tmp_path / "b.db", lines)) == lines
    with Holdfast.open(tmp_path / "a.db", scope="user:ann", settings=OFFLINE) as hf:
        assert list(hf.admin.export()) == lines


async def ask_at_once(path, times):
    async with await AsyncHoldfast.open(path, scope="user:ann", settings=OFFLINE) as hf:
        tea = await hf.remember("Prefers green tea")
        await asyncio.gather(*(hf.recall("tea") for _ in range(times)))
    return tea.id


def test_recalls_at_the_same_time_are_all_counted(tmp_path):
    tea = asyncio.run(ask_at_once(tmp_path / "m.db", 25))
    with Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=OFFLINE) as hf:
        assert hf.get(tea).access_count == 25


async def leave_an_export_early(path):
    async with await AsyncHoldfast.open(path, scope="user:ann", settings=OFFLINE) as hf:
        await hf.remember_many([f"fact {number}" for number in range(1200)])
        lines = hf.admin.export()
        first = await anext(lines)
        await lines.aclose()
        await hf.scoped("user:bob").remember("still writable")
        return first


def test_an_export_may_be_left_early(tmp_path):
    assert '"bundle":"holdfast"' in asyncio.run(leave_an_export_early(tmp_path / "m.db"))


async def enter_without_await(path):
    async with AsyncHoldfast.open(path, scope="user:ann", settings=OFFLINE) as hf:
        await hf.remember("Prefers green tea")
        assert isinstance(hf, AsyncHoldfast)
    return hf


def test_a_memory_is_entered_without_await_and_closed_at_the_end(tmp_path):
    hf = asyncio.run(enter_without_await(tmp_path / "m.db"))
    with pytest.raises(StoreClosed):
        asyncio.run(hf.list())
    with Holdfast.open(tmp_path / "m.db", scope="user:ann", settings=OFFLINE) as again:
        assert [one.content for one in again.list()] == ["Prefers green tea"]


def test_opening_is_a_coroutine_that_asyncio_runs(tmp_path):
    hf = asyncio.run(AsyncHoldfast.open(tmp_path / "m.db", scope="user:ann", settings=OFFLINE))
    asyncio.run(hf.close())


async def enter_what_cannot_be_opened(folder):
    async with AsyncHoldfast.open(folder, scope="user:ann", settings=OFFLINE):
        raise AssertionError("A folder was opened as a store.")


def test_an_error_of_opening_is_raised_by_async_with(tmp_path):
    with pytest.raises(InvalidInput, match="is a folder"):
        asyncio.run(enter_what_cannot_be_opened(tmp_path))


async def use_after_close(path):
    hf = await AsyncHoldfast.open(path, scope="user:ann", settings=OFFLINE)
    await hf.close()
    await hf.list()


def test_a_closed_memory_says_so(tmp_path):
    with pytest.raises(StoreClosed):
        asyncio.run(use_after_close(tmp_path / "m.db"))
