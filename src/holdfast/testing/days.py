"""The timeline: counted by day and kind, read page by page, by when things happened or were
stored.
"""

from __future__ import annotations

import math

from ..storage.protocol import Store
from ..storage.store_types import DayCount
from ..types import DAY, Kind, Memory, Micros
from .scene import ANN, BOB, START, fact, memory, mention_all, put, put_one, set_status, turn, write

KINDS: tuple[Kind, ...] = ("fact", "episode")
HOUR = DAY // 24
# The first moment of a day.
MIDNIGHT = 19_000 * DAY


def happened(content: str, when: Micros, **fields: object) -> Memory:
    """A fact about an event, stored much later."""
    return fact(content, **{"event_time": when, "created": START, **fields})


def texts(memories: list[Memory]) -> list[str]:
    """What memories say."""
    return [one.content for one in memories]


class TimelineContract:
    """Memories by day."""

    def test_memories_are_counted_by_day_and_kind(self, store: Store) -> None:
        put(
            store,
            happened("one", MIDNIGHT),
            happened("two", MIDNIGHT + DAY - 1),
            memory("talk", kind="episode", event_time=MIDNIGHT),
            happened("next day", MIDNIGHT + DAY),
            happened("another's", MIDNIGHT, scope=BOB),
            turn("a turn", "s", 0, event_time=MIDNIGHT),
        )
        assert store.timeline.days([ANN], axis="happened", kinds=KINDS) == [
            DayCount(19_000, "episode", 1),
            DayCount(19_000, "fact", 2),
            DayCount(19_001, "fact", 1),
        ]
        assert store.timeline.days([ANN], axis="learned", kinds=["fact"]) == [
            DayCount(START // DAY, "fact", 3)
        ]
        assert store.timeline.days([ANN], axis="happened", kinds=["turn"]) == [
            DayCount(19_000, "turn", 1)
        ]

    def test_a_day_is_the_day_of_the_local_time(self, store: Store) -> None:
        put(store, happened("late", MIDNIGHT + 23 * HOUR), happened("long ago", -HOUR))
        days = store.timeline.days([ANN], axis="happened", kinds=KINDS)
        assert [one.day for one in days] == [-1, 19_000]
        ahead = store.timeline.days([ANN], axis="happened", kinds=KINDS, ahead=2 * HOUR)
        assert [one.day for one in ahead] == [0, 19_001]

    def test_what_began_to_be_true_then_happened_then(self, store: Store) -> None:
        late = put_one(store, happened("moved", MIDNIGHT, valid_from=MIDNIGHT - 2 * DAY))
        put(store, happened("dinner", MIDNIGHT - DAY))
        page = store.timeline.page([ANN], axis="happened", kinds=KINDS, limit=9)
        assert texts(page) == ["dinner", "moved"]
        assert late.moment == MIDNIGHT - 2 * DAY

    def test_only_active_memories_are_on_the_timeline(self, store: Store) -> None:
        gone = put_one(store, happened("gone", MIDNIGHT))
        set_status(store, gone, "archived")
        assert store.timeline.days([ANN], axis="happened", kinds=KINDS) == []
        assert store.timeline.page([ANN], axis="happened", kinds=KINDS, limit=9) == []

    def test_pages_follow_each_other_without_gap_or_repetition(self, store: Store) -> None:
        put(store, *(happened(f"{n}", MIDNIGHT + n // 2 * DAY) for n in range(7)))
        read: list[str] = []
        last = None
        while page := store.timeline.page(
            [ANN], axis="happened", kinds=KINDS, limit=2, before=last
        ):
            read += texts(page)
            last = page[-1]
        assert read == ["6", "5", "4", "3", "2", "1", "0"]
        learned = store.timeline.page([ANN], axis="learned", kinds=KINDS, limit=3)
        assert texts(learned) == ["6", "5", "4"]
        more = store.timeline.page([ANN], axis="learned", kinds=KINDS, limit=9, before=learned[-1])
        assert texts(more) == ["3", "2", "1", "0"]

    def test_a_page_may_be_of_a_period(self, store: Store) -> None:
        put(store, *(happened(f"{n}", MIDNIGHT + n * DAY) for n in range(4)))
        page = store.timeline.page(
            [ANN],
            axis="happened",
            kinds=KINDS,
            limit=9,
            since=MIDNIGHT + DAY,
            until=MIDNIGHT + 3 * DAY,
        )
        assert texts(page) == ["2", "1"]

    def test_the_timeline_of_an_entity_has_what_mentions_it(self, store: Store) -> None:
        one, _ = put(store, happened("with Zoe", MIDNIGHT), happened("alone", MIDNIGHT))
        write(store, lambda tx: mention_all(tx, "Zoe", [one]))
        zoe = "entity_Zoe"
        page = store.timeline.page([ANN], axis="happened", kinds=KINDS, limit=9, entity=zoe)
        assert texts(page) == ["with Zoe"]
        assert store.timeline.days([ANN], axis="happened", kinds=KINDS, entity=zoe) == [
            DayCount(19_000, "fact", 1)
        ]
        assert store.timeline.days([BOB], axis="happened", kinds=KINDS, entity=zoe) == []

    def test_memories_are_counted_by_kind_and_status_without_turns(self, store: Store) -> None:
        gone, *_ = put(store, fact("gone"), fact("here"), turn("said", "s", 0))
        set_status(store, gone, "archived")
        assert store.timeline.counts([ANN]) == {"fact": {"active": 1, "archived": 1}}
        assert store.timeline.counts([BOB]) == {}

    def test_what_fades_or_ends_next_comes_first(self, store: Store) -> None:
        rate = math.log(20) / 10  # from 1 to 0.05 in ten days
        put(
            store,
            fact("fades in ten days", decay_rate=rate),
            fact("fades later", decay_rate=rate, last_accessed=START + DAY),
            fact("was surer", decay_rate=rate, confidence=0.1, strength=0.5),
            fact("ends in a day", valid_until=START + DAY),
            fact("ended", valid_until=START - DAY),
            fact("nobody is sure", decay_rate=rate, confidence=0.0),
            fact("never fades"),
            fact("confirmed", decay_rate=rate, protected=True),
        )
        fading = store.timeline.fading([ANN], now=START, threshold=0.05, limit=9)
        assert texts(fading) == ["ends in a day", "was surer", "fades in ten days", "fades later"]
        (next_one,) = store.timeline.fading([ANN], now=START + 2 * DAY, threshold=0.05, limit=1)
        assert next_one.content == "was surer"
        assert store.timeline.fading([BOB], now=START, threshold=0.05, limit=9) == []

    def test_memories_without_a_second_look_for_names_are_counted(self, store: Store) -> None:
        put(
            store,
            fact("waits"),
            fact("waits too", metadata={"a": 1}),
            fact("was looked at", metadata={"enriched_at": "2026-03-18T12:00:00+00:00"}),
            memory("a rule", kind="rule"),
        )
        assert store.timeline.waiting([ANN], kinds=KINDS, latest=9) == (2, True)
        assert store.timeline.waiting([ANN], kinds=KINDS, latest=2) == (0, False)
        assert store.timeline.waiting([BOB], kinds=KINDS, latest=9) == (0, True)
