"""How long a search in one of many namespaces takes, against LangGraph's own stores in the same
run.

    python bench/langgraph_store.py [--namespaces 50] [--items 5000] [--rounds 31]

`InMemoryStore` comes with LangGraph; `SqliteStore` takes part where `langgraph-checkpoint-sqlite`
is installed. The bars: a search takes at most 10 times as long as that of `SqliteStore`, and in one
of 50 namespaces at most 3 times as long as where there is no other one, since it has to be in
proportion to what is found.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore

from common import finish, median, timed
from holdfast.client import Holdfast
from holdfast.config import Settings
from holdfast.integrations.langgraph import HoldfastStore

MOST_AGAINST_SQLITE = 10.0
MOST_AGAINST_ALONE = 3.0
ASKED: dict[str, Callable[[BaseStore], object]] = {
    "search": lambda store: store.search(("users", "u00")),
    "search with a filter": lambda store: store.search(
        ("users", "u00"), filter={"n": {"$gte": 90}}
    ),
    "list namespaces": lambda store: store.list_namespaces(prefix=("users", "u00")),
    "get": lambda store: store.get(("users", "u00"), "k5"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--namespaces", type=int, default=50)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    each = options.items // options.namespaces
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = {
            "holdfast": stack.enter_context(ours(f"{folder}/many.db")),
            "holdfast, one namespace": stack.enter_context(ours(f"{folder}/one.db")),
            "InMemoryStore": InMemoryStore(),
            **sqlite_store(stack, f"{folder}/sqlite.db"),
        }
        for name, store in stores.items():
            fill(store, 1 if "one" in name else options.namespaces, each)
        milliseconds = {asked: times(stores, work, options.rounds) for asked, work in ASKED.items()}
    finish({"milliseconds": milliseconds, **bars(milliseconds["search"])})


@contextmanager
def ours(place: str) -> Iterator[BaseStore]:
    settings = Settings(embedding_models="none")
    with Holdfast.open(place, scope="agent:bench", settings=settings, background=False) as hf:
        yield HoldfastStore(hf)


def sqlite_store(stack: ExitStack, place: str) -> dict[str, BaseStore]:
    """LangGraph's own store in a file, if it is installed."""
    try:
        from langgraph.store.sqlite import SqliteStore
    except ImportError:
        return {}
    store = stack.enter_context(SqliteStore.from_conn_string(place))
    store.setup()
    return {"SqliteStore": store}


def fill(store: BaseStore, namespaces: int, each: int) -> None:
    for number in range(namespaces):
        value = {"text": f"a note of user {number} about tea and travel"}
        store.batch(
            [PutOp(("users", f"u{number:02}"), f"k{n}", {**value, "n": n}) for n in range(each)]
        )


def times(
    stores: dict[str, BaseStore], work: Callable[[BaseStore], object], rounds: int
) -> dict[str, float]:
    """Milliseconds of each store, which take turns, so that a busy moment of the machine hits all
    of them.
    """
    took: dict[str, list[float]] = {name: [] for name in stores}
    for _ in range(rounds + 1):
        for name, store in stores.items():
            took[name].append(timed(lambda store=store: work(store)))  # type: ignore[misc]
    # The first ones fill caches.
    return {name: round(1e3 * median(each[1:]), 3) for name, each in took.items()}


def bars(search: dict[str, float]) -> dict[str, object]:
    """The ratios that count, and whether each is within its bar."""
    alone = search["holdfast"] / search["holdfast, one namespace"]
    told: dict[str, object] = {
        "ratio to one namespace": round(alone, 2),
        "met alone": alone <= MOST_AGAINST_ALONE,
    }
    if "SqliteStore" in search:
        beside = search["holdfast"] / search["SqliteStore"]
        told |= {
            "ratio to SqliteStore": round(beside, 2),
            "met beside SqliteStore": beside <= MOST_AGAINST_SQLITE,
        }
    return told


if __name__ == "__main__":
    main()
