"""Search by words and by vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from ..errors import DimensionMismatchError
from ..floats import Vector
from ..floats import unit as normalised
from ..storage.protocol import Store
from ..storage.store_types import Filter
from ..types import Memory
from .scene import (
    ALL,
    ANN,
    BOB,
    MODEL,
    Again,
    brute_force,
    change,
    fact,
    found,
    memory,
    purge,
    put,
    put_one,
    same_ranking,
    set_status,
    turn,
    undo,
    unit,
    write,
)


class WordsContract:
    """The full-text index and its totals."""

    def test_one_of_the_terms_is_enough_and_more_are_better(self, store: Store) -> None:
        put(store, fact("green tea"), fact("black coffee"), fact("green grass"), fact("water"))
        assert found(store, "green tea") == ["green tea", "green grass"]
        assert set(found(store, "tea coffee")) == {"green tea", "black coffee"}

    def test_scores_lie_between_zero_and_one_best_first(self, store: Store) -> None:
        put(
            store,
            *(fact("tea " * (1 + number % 3) + "word " * (number % 7)) for number in range(20)),
        )
        scores = [score for _, score in store.by_text(Filter((ANN,)), ["tea", "word"], 20)]
        assert len(scores) == 20
        assert scores == sorted(scores, reverse=True)
        assert 0.0 <= scores[-1] <= scores[0] <= 1.0

    def test_ties_come_in_insertion_order_and_the_limit_keeps_the_first(self, store: Store) -> None:
        stored = put(store, *(fact("green tea") for _ in range(9)), fact("water"))
        assert [seq for seq, _ in store.by_text(Filter((ANN,)), ["tea"], 4)] == [
            one.seq for one in stored[:4]
        ]

    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("Она живёт в Москве", "Москва"),
            ("彼女は東京に住んでいる", "東京"),
            ("她喜欢绿茶", "绿茶"),
            ("그녀는 녹차를 좋아한다", "녹차"),
            ("Café crème à Genève", "cafe geneve"),
            ("Er wohnt in Zürich", "zurich"),
            ("Η Αθήνα είναι μεγάλη", "Αθήνα"),
            ("ﬁle system", "file"),
        ],
    )
    def test_words_of_every_script_are_found(
        self,
        store: Store,
        text: str,
        question: str,
    ) -> None:
        put(store, fact(text), fact("something else entirely"))
        assert found(store, question) == [text]

    def test_titles_and_tags_are_words_too(self, store: Store) -> None:
        one = put_one(store, fact("body", title="headline", tags=("label",)))
        assert found(store, "headline") == found(store, "label") == ["body"]
        change(store, one, title="banner", tags=("sticker",))
        assert found(store, "headline label") == []
        assert found(store, "banner") == found(store, "sticker") == ["body"]

    @pytest.mark.parametrize(
        "terms",
        [
            [],
            [""],
            ['"'],
            ['""'],
            ["'"],
            ["a\x00b"],
            ["AND", "OR", "NOT", "NEAR"],
            ["*"],
            ["-tea"],
            ["te*"],
            ["(", ")"],
            ["{x}:y"],
            ["^tea"],
            ["\\"],
            ["a b c"],
            ["~"],
            ["_"],
            ["%"],
            ["?"],
            ["\ud7ff"],
            ["x" * 5000],
            ["词"] * 3,
            [f"w{number}" for number in range(2000)],
        ],
        ids=lambda terms: f"{len(terms)} terms {str(terms)[:20]!a}",
    )
    def test_any_list_of_terms_is_legal(self, store: Store, terms: list[str]) -> None:
        put(store, fact("green tea"))
        assert store.by_text(Filter((ANN,)), terms, 10) == []
        assert [seq for seq, _ in store.by_text(Filter((ANN,)), [*terms, "tea"], 10)] == [1]
        assert set(store.corpus([ANN], terms).frequency.values()) <= {0}

    def test_a_memory_without_words_is_never_found_but_kept(self, store: Store) -> None:
        put(store, fact("?!"), fact("tea"))
        assert found(store, "tea ?!") == ["tea"]
        assert store.corpus([ANN], []).size == 2

    def test_corpus_tells_size_length_and_frequencies(self, store: Store) -> None:
        put(store, fact("green tea"), fact("green green grass grows"), fact("tea", scope=BOB))
        corpus = store.corpus([ANN], ["green", "tea", "nowhere"])
        assert (corpus.size, corpus.mean_length) == (2, 3.0)
        assert corpus.frequency == {"green": 2, "tea": 1, "nowhere": 0}
        assert store.corpus([ANN, BOB], ["tea"]).frequency == {"tea": 2}

    def test_an_empty_corpus_has_no_length(self, store: Store) -> None:
        assert store.corpus([ANN], ["tea"]) == store.corpus([ANN], [])._replace(
            frequency={"tea": 0}
        )
        assert (store.corpus([ANN], []).size, store.corpus([ANN], []).mean_length) == (0, 0.0)

    def test_corpus_follows_every_change(self, store: Store) -> None:
        def seen() -> tuple[int, float, int]:
            corpus = store.corpus([ANN], ["tea"])
            return corpus.size, corpus.size * corpus.mean_length, corpus.frequency["tea"]

        put(store, fact("water"))
        one = put_one(store, fact("green tea"), run="run_add")
        assert seen() == (2, 3, 1)
        set_status(store, one, "archived", run="run_archive")
        assert seen() == (1, 1, 0)
        undo(store, "run_archive")
        assert seen() == (2, 3, 1)
        one = change(store, one, tags=("tea", "hot"))
        assert seen() == (2, 5, 1)
        write(store, lambda tx: tx.remove(one), run="run_remove")
        assert seen() == (1, 1, 0)
        undo(store, "run_remove")
        assert seen() == (2, 5, 1)
        purge(store, one)
        assert seen() == (1, 1, 0)

    def test_archived_memories_are_found_when_asked_for(self, store: Store) -> None:
        one, _ = put(store, fact("green tea"), fact("black tea"))
        set_status(store, one, "archived")
        assert found(store, "tea") == ["black tea"]
        assert found(store, "tea", statuses=("archived",)) == ["green tea"]
        set_status(store, one, "active")
        assert sorted(found(store, "tea")) == ["black tea", "green tea"]


class VectorsContract:
    """Exact search by vector, cold and warm."""

    @pytest.mark.parametrize("size", [1, 7, 60])
    def test_the_nearest_are_exact_at_the_first_call_and_at_every_later_one(
        self, store: Store, size: int
    ) -> None:
        vectors = vectorised(store, size)
        for attempt in range(4):
            query = unit(1000 + attempt)
            for limit in (1, 5, size, 500):
                ranked = store.by_vector(Filter((ANN,)), MODEL, query, limit)
                assert same_ranking(ranked, brute_force(vectors, query, limit))

    def test_the_length_of_the_question_does_not_matter(self, store: Store) -> None:
        vectors = vectorised(store, 20)
        for _ in range(3):
            ranked = store.by_vector(Filter((ANN,)), MODEL, unit(99) * 12.5, 20)
            assert same_ranking(ranked, brute_force(vectors, unit(99), 20))

    def test_opposites_and_empty_vectors_score_zero(self, store: Store) -> None:
        opposite, blank, same = put(store, fact("opposite"), fact("blank"), fact("same"))
        store.vectors.add(
            ALL, MODEL, {opposite.seq: -unit(1), blank.seq: unit(1) * 0, same.seq: unit(1)}
        )
        for _ in range(3):
            (best, high), *rest = store.by_vector(Filter((ANN,)), MODEL, unit(1), 3)
            assert best == same.seq and high == pytest.approx(1.0)
            assert rest == [(opposite.seq, 0.0), (blank.seq, 0.0)]

    def test_equal_vectors_come_in_insertion_order(self, store: Store) -> None:
        stored = put(store, *(fact(str(number)) for number in range(30)))
        store.vectors.add(ALL, MODEL, {one.seq: unit(1) for one in reversed(stored)})
        for _ in range(3):
            ranked = store.by_vector(Filter((ANN,)), MODEL, unit(2), 10)
            assert [seq for seq, _ in ranked] == [one.seq for one in stored[:10]]

    def test_a_limit_of_zero_finds_nothing(self, store: Store) -> None:
        vectorised(store, 3)
        for _ in range(3):
            assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 0) == []

    @pytest.mark.parametrize("other", [False, True], ids=["same store", "another store"])
    def test_search_follows_every_write(
        self,
        store: Store,
        again: Again,
        other: bool,
    ) -> None:
        vectors = vectorised(store, 12)
        writing = again() if other else store
        first, second, third, fourth, *_ = store.list(Filter((ANN,)), order="oldest")

        def agrees(expected: Mapping[int, Vector]) -> None:
            for limit in (3, 50):
                # As a recall does: reads in one block, and the same vector compared twice.
                with store.reading([ANN]):
                    question = normalised(unit(77))
                    ranked = store.by_vector(Filter((ANN,)), MODEL, question, limit)
                    near = store.vectors.similarities([ANN], MODEL, question, list(expected))
                assert same_ranking(ranked, brute_force(expected, unit(77), limit))
                known = {seq: max(near[seq], 0.0) for seq, _ in ranked}
                assert known == pytest.approx(dict(ranked), abs=1e-5)

        agrees(vectors)
        agrees(vectors)
        set_status(writing, first, "archived", run="run_archive")
        agrees(without(vectors, first))
        set_status(writing, first, "active")
        agrees(vectors)
        purge(writing, second)
        agrees(without(vectors, second))
        vectors |= vectorised(writing, 30, start=500)
        agrees(without(vectors, second))
        write(writing, lambda tx: tx.remove(third), run="run_remove")
        agrees(without(vectors, second, third))
        undo(writing, "run_remove")
        # It is back, but its vector has to be made again.
        agrees(without(vectors, second, third))
        writing.vectors.add(ALL, MODEL, {third.seq: vectors[third.seq]})
        agrees(without(vectors, second))
        set_status(writing, fourth, "archived")
        writing.vectors.add(ALL, MODEL, {fourth.seq: unit(4242)})
        agrees(without(vectors, second, fourth))
        set_status(writing, fourth, "active")
        agrees(without(vectors, second) | {fourth.seq: unit(4242)})

    def test_what_was_archived_before_the_first_search_comes_back_when_restored(
        self, store: Store
    ) -> None:
        vectors = vectorised(store, 6)
        one = store.list(Filter((ANN,)))[0]
        set_status(store, one, "archived")
        for _ in range(3):
            assert one.seq not in dict(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10))
        set_status(store, one, "active")
        assert same_ranking(
            store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), brute_force(vectors, unit(5), 10)
        )

    def test_what_left_and_came_back_between_two_searches_has_no_vector(self, store: Store) -> None:
        vectors = vectorised(store, 6)
        one = store.list(Filter((ANN,)))[0]
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(5), 10)
        write(store, lambda tx: tx.remove(one), run="run_remove")
        undo(store, "run_remove")
        expected = brute_force(without(vectors, one), unit(5), 10)
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), expected)

    def test_a_vector_can_be_replaced(self, store: Store) -> None:
        vectors = vectorised(store, 5)
        for _ in range(2):
            store.by_vector(Filter((ANN,)), MODEL, unit(5), 10)
        seq = next(iter(vectors))
        store.vectors.add(ALL, MODEL, {seq: unit(31)})
        expected = brute_force(vectors | {seq: unit(31)}, unit(5), 10)
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), expected)

    @pytest.mark.parametrize("length", [0, 1, 15, 17, 64])
    def test_a_vector_of_another_length_matches_nothing(self, store: Store, length: int) -> None:
        vectorised(store, 5)
        for _ in range(3):
            assert store.by_vector(Filter((ANN,)), MODEL, np.ones(length, np.float32), 10) == []

    def test_an_unknown_model_matches_nothing(self, store: Store) -> None:
        vectorised(store, 5)
        assert store.by_vector(Filter((ANN,)), "test:unknown", unit(1), 10) == []

    @pytest.mark.parametrize("lengths", [(16, 8), (8, 8)], ids=["mixed", "other than before"])
    def test_vectors_of_two_lengths_are_refused_and_none_is_stored(
        self, store: Store, lengths: Sequence[int]
    ) -> None:
        vectors = vectorised(store, 2)
        new = put(store, fact("x"), fact("y"))
        with pytest.raises(DimensionMismatchError):
            store.vectors.add(
                ALL, MODEL, {one.seq: unit(1, size) for one, size in zip(new, lengths, strict=True)}
            )
        assert store.vectors.get(ALL, MODEL, [one.seq for one in new]) == {}
        assert store.vectors.coverage() == {MODEL: len(vectors)}

    def test_mixed_lengths_of_a_new_model_leave_no_trace(self, store: Store) -> None:
        one, two = put(store, fact("x"), fact("y"))
        with pytest.raises(DimensionMismatchError):
            store.vectors.add(ALL, MODEL, {one.seq: unit(1, 8), two.seq: unit(1, 16)})
        assert (store.vectors.models([ANN]), store.vectors.coverage()) == ({}, {})
        store.vectors.add(ALL, MODEL, {one.seq: unit(1, 8)})
        assert store.vectors.models([ANN]) == {MODEL: False}

    def test_vectors_come_back_as_they_were_stored(self, store: Store) -> None:
        vectors = vectorised(store, 3)
        stored = store.vectors.get(ALL, MODEL, [*vectors, 999_999])
        assert stored.keys() == vectors.keys()
        assert all(np.array_equal(stored[seq], vectors[seq]) for seq in vectors)
        assert store.vectors.get(ALL, "test:unknown", list(vectors)) == {}

    def test_named_memories_are_compared_however_far_they_are(self, store: Store) -> None:
        vectors = vectorised(store, 5)
        blank, bare, foreign = put(store, fact("blank"), fact("bare"), fact("of bob", scope=BOB))
        store.vectors.add(ALL, MODEL, {blank.seq: np.zeros(16, np.float32), foreign.seq: unit(1)})
        asked = -3 * unit(1)
        seqs = [*vectors, blank.seq, bare.seq, foreign.seq, 999_999]
        expected = {seq: float(vector @ -unit(1)) for seq, vector in vectors.items()} | {
            blank.seq: 0.0
        }
        # The second time a scope is asked, its vectors may be kept at hand.
        for _ in range(3):
            assert store.vectors.similarities([ANN], MODEL, asked, seqs) == pytest.approx(
                expected, abs=1e-5
            )
            store.by_vector(Filter((ANN,)), MODEL, asked, 1)
        assert store.vectors.similarities([ANN], "test:unknown", asked, seqs) == {}
        assert store.vectors.similarities([ANN], MODEL, unit(1, 8), seqs) == {}

    def test_vectors_of_memories_that_are_gone_are_dropped(self, store: Store) -> None:
        one, two = put(store, fact("x"), fact("y"))
        purge(store, two)
        store.vectors.add(ALL, MODEL, {one.seq: unit(1), two.seq: unit(2), 999_999: unit(3)})
        assert set(store.vectors.get(ALL, MODEL, [one.seq, two.seq, 999_999])) == {one.seq}

    def test_models_coexist(self, store: Store) -> None:
        one, two = put(store, fact("x"), fact("y"))
        store.vectors.add(ALL, "test:small", {one.seq: unit(1, 8), two.seq: unit(2, 8)})
        store.vectors.add(ALL, "test:large", {one.seq: unit(2, 32)})
        for _ in range(3):
            assert [
                seq for seq, _ in store.by_vector(Filter((ANN,)), "test:small", unit(2, 8), 1)
            ] == [two.seq]
            assert [
                seq for seq, _ in store.by_vector(Filter((ANN,)), "test:large", unit(1, 32), 5)
            ] == [one.seq]
        assert store.vectors.models([ANN]) == {"test:small": True, "test:large": False}
        assert store.vectors.dimensions([ANN, BOB]) == {"test:small": 8, "test:large": 32}
        assert store.vectors.coverage([ANN]) == {"test:large": 1, "test:small": 2}

    def test_dropping_a_model_forgets_its_vectors_only(self, store: Store) -> None:
        vectors = vectorised(store, 5)
        store.vectors.add(ALL, "test:other", {seq: unit(seq) for seq in vectors})
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)
        assert (store.vectors.drop(MODEL), store.vectors.drop(MODEL)) == (5, 0)
        assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 10) == []
        assert store.vectors.models([ANN]) == {"test:other": True}
        assert store.vectors.dimensions([ANN]) == {"test:other": 16}
        assert len(store.vectors.missing(MODEL, 10)) == 5

    def test_dropping_a_model_in_one_scope_leaves_the_others(self, store: Store) -> None:
        ann, bob = put(store, fact("tea"), fact("tea", scope=BOB))
        store.vectors.add(ALL, MODEL, {ann.seq: unit(1), bob.seq: unit(1)})
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)
        assert store.vectors.drop(MODEL, [ANN]) == 1
        assert store.by_vector(Filter((ANN,)), MODEL, unit(1), 10) == []
        assert [seq for seq, _ in store.by_vector(Filter((BOB,)), MODEL, unit(1), 10)] == [bob.seq]

    def test_a_dropped_model_can_come_back_with_another_length(self, store: Store) -> None:
        (seq,) = vectorised(store, 1)
        for _ in range(3):
            store.by_vector(Filter((ANN,)), MODEL, unit(1), 10)
        store.vectors.drop(MODEL)
        store.vectors.add(ALL, MODEL, {seq: unit(1, 8)})
        assert store.vectors.dimensions([ANN]) == {MODEL: 8}
        for _ in range(3):
            assert [
                found for found, _ in store.by_vector(Filter((ANN,)), MODEL, unit(1, 8), 10)
            ] == [seq]

    def test_without_vector_gives_durable_kinds_first_then_the_newest(self, store: Store) -> None:
        put(
            store,
            turn("turn 1", "s", 0),
            fact("fact 1"),
            memory("doc", kind="document"),
            memory("rule", kind="rule"),
            turn("turn 2", "s", 1),
            fact("fact 2", status="archived"),
        )
        expected = ["fact 2", "rule", "fact 1", "turn 2", "doc", "turn 1"]
        assert [one.content for one in store.vectors.missing(MODEL, 10)] == expected
        assert [one.content for one in store.vectors.missing(MODEL, 2, [ANN])] == expected[:2]

    @pytest.mark.parametrize("step", [1, 2, 3, 100])
    def test_going_on_behind_the_last_one_gives_each_memory_once_in_order(
        self, store: Store, step: int
    ) -> None:
        put(
            store,
            turn("turn 1", "s", 0),
            fact("fact 1"),
            turn("turn 2", "s", 1),
            fact("fact 2"),
            fact("bob 1", scope=BOB),
            turn("bob 2", "s", 0, scope=BOB),
            fact("fact 3"),
        )
        whole = [one.content for one in store.vectors.missing(MODEL, 100, ALL)]
        found = list[str]()
        last = None
        while waiting := store.vectors.missing(MODEL, step, ALL, after=last):
            found += [one.content for one in waiting]
            last = waiting[-1]
        assert found == whole and len(whole) == 7

    def test_embedding_in_steps_ends_and_marks_the_model_complete(self, store: Store) -> None:
        put(
            store,
            *(fact(str(number)) for number in range(7)),
            turn("t", "s", 0),
            fact("bob", scope=BOB),
        )
        steps = 0
        while waiting := store.vectors.missing(MODEL, 3, [ANN]):
            store.vectors.add(ALL, MODEL, {one.seq: unit(one.seq) for one in waiting})
            steps += 1
            assert store.vectors.models([ANN]) == {MODEL: steps == 3}
        assert (steps, store.vectors.models([ANN, BOB])) == (3, {MODEL: True})

    def test_a_new_memory_makes_a_model_incomplete_until_it_is_embedded(self, store: Store) -> None:
        vectorised(store, 3)
        one = put_one(store, fact("new"))
        assert (store.vectors.models([ANN]), store.vectors.missing(MODEL, 5)) == (
            {MODEL: False},
            [one],
        )
        store.vectors.add(ALL, MODEL, {one.seq: unit(9)})
        assert (store.vectors.models([ANN]), store.vectors.missing(MODEL, 5)) == ({MODEL: True}, [])

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_a_model_is_complete_when_the_last_one_that_waited_is_gone(
        self, store: Store, place: int
    ) -> None:
        stored = put(store, fact("a"), fact("b"), fact("c"))
        store.vectors.add(
            ALL, MODEL, {one.seq: unit(one.seq) for one in stored if one != stored[place]}
        )
        assert store.vectors.models([ANN]) == {MODEL: False}
        purge(store, stored[place])
        assert (store.vectors.models([ANN]), store.vectors.missing(MODEL, 5)) == ({MODEL: True}, [])

    def test_what_comes_back_by_undo_waits_for_its_vector(self, store: Store) -> None:
        vectorised(store, 3)
        one = store.list(Filter((ANN,)), order="oldest")[0]
        write(store, lambda tx: tx.remove(one), run="run_remove")
        undo(store, "run_remove")
        assert store.vectors.models([ANN]) == {MODEL: False}
        assert [waiting.id for waiting in store.vectors.missing(MODEL, 5)] == [one.id]

    def test_coverage_counts_active_memories(self, store: Store) -> None:
        vectors = vectorised(store, 3)
        set_status(store, store.get([ANN], list(vectors))[0], "archived")
        assert store.vectors.coverage() == store.vectors.coverage([ANN]) == {MODEL: 2}

    def test_repair_keeps_good_vectors_and_their_marks(self, store: Store) -> None:
        vectors = vectorised(store, 3)
        expected = brute_force(vectors, unit(5), 10)
        store.repair()
        assert store.vectors.models([ANN]) == {MODEL: True}
        assert same_ranking(store.by_vector(Filter((ANN,)), MODEL, unit(5), 10), expected)


def vectorised(
    store: Store,
    size: int,
    *,
    start: int = 0,
) -> dict[int, NDArray[np.float32]]:
    """Stores facts with vectors and returns the vectors by number."""
    stored = put(store, *(fact(f"note {start + number}") for number in range(size)))
    vectors = {one.seq: unit(start + number) for number, one in enumerate(stored)}
    store.vectors.add(ALL, MODEL, vectors)
    return vectors


def without(vectors: Mapping[int, Vector], *memories: Memory) -> dict[int, Vector]:
    """The vectors but those of some memories."""
    gone = {one.seq for one in memories}
    return {seq: vector for seq, vector in vectors.items() if seq not in gone}
