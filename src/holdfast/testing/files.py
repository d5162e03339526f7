"""Files that were seen: noted, renewed, forgotten, and gone with the memory or the scope they
belong to.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.protocol import Store, Transaction
from ..storage.store_types import KnownFile
from ..types import Scope
from .scene import ANN, BOB, NOUNS, Again, fact, purge, put, put_one, run_id, truth, undo, write

ROOT = "/home/ann/shop"
ELSEWHERE = "/home/ann/house"


def file(
    path: str,
    *,
    root: str = ROOT,
    memory: str = "",
    size: int = 12,
) -> KnownFile:
    """A file as it was seen."""
    return KnownFile(root, path, memory, size, 1_700_000_000_123_456_789, f"{size:064x}")


def see(
    store: Store,
    *files: KnownFile,
    scope: Scope = ANN,
    run: str = "",
) -> None:
    """Notes files."""
    write(store, lambda tx: tx.files.put(scope, files), run=run)


def paths(files: Sequence[KnownFile]) -> list[str]:
    """Where files are."""
    return [one.path for one in files]


class FilesContract:
    """Files: what is known of a folder, kept apart by scope, no part of the journal."""

    def test_files_come_back_as_they_were_seen_in_the_order_of_their_paths(
        self, store: Store
    ) -> None:
        one = put_one(store, fact("one"))
        late = file("rules/z.md", memory=one.id)
        early = file("facts/ä b.md", size=2**40)
        see(store, late, early)
        assert store.files.list(ANN, ROOT) == [early, late]
        assert store.files.stats(ANN, ROOT) == {
            one.path: (one.size, one.mtime) for one in (early, late)
        }
        assert store.files.stats(ANN, ELSEWHERE) == store.files.stats(BOB, ROOT) == {}
        assert store.files.list(ANN, ELSEWHERE) == store.files.list(BOB, ROOT) == []

    def test_seeing_a_file_again_replaces_what_was_known_of_it_there(self, store: Store) -> None:
        see(store, file("a.md"), file("a.md", root=ELSEWHERE))
        see(store, file("a.md"), scope=BOB)
        see(store, file("a.md", size=1), file("b.md"), file("a.md", size=99))
        assert store.files.list(ANN, ROOT) == [file("a.md", size=99), file("b.md")]
        assert store.files.list(ANN, ELSEWHERE) == [file("a.md", root=ELSEWHERE)]
        assert store.files.list(BOB, ROOT) == [file("a.md")]

    def test_files_are_forgotten_one_by_one(self, store: Store) -> None:
        see(store, file("a.md"), file("b.md"), file("a.md", root=ELSEWHERE))
        see(store, file("a.md"), scope=BOB)
        write(store, lambda tx: tx.files.drop(ANN, ROOT, ["a.md", "never there"]))
        assert (paths(store.files.list(ANN, ROOT)), paths(store.files.list(ANN, ELSEWHERE))) == (
            ["b.md"],
            ["a.md"],
        )
        assert paths(store.files.list(BOB, ROOT)) == ["a.md"]

    def test_many_are_seen_and_forgotten_at_once(self, store: Store) -> None:
        many = [file(f"{number:04}.md") for number in range(1201)]
        see(store, *many)
        see(store, *many)
        assert store.files.list(ANN, ROOT) == many
        write(store, lambda tx: tx.files.drop(ANN, ROOT, paths(many[1:])))
        assert store.files.list(ANN, ROOT) == many[:1]

    def test_a_transaction_sees_the_files_that_it_noted_and_no_others(
        self, store: Store, again: Again
    ) -> None:
        other = again()
        see(store, file("a.md"), scope=BOB)

        def work(tx: Transaction) -> list[list[str]]:
            tx.files.put(ANN, [file("a.md"), file("b.md")])
            tx.files.drop(ANN, ROOT, ["a.md"])
            return [
                paths(tx.files.list(ANN, ROOT)),
                paths(tx.files.list(ANN, ELSEWHERE)),
                paths(other.files.list(ANN, ROOT)),
            ]

        assert write(store, work) == [["b.md"], [], []]
        assert paths(other.files.list(ANN, ROOT)) == ["b.md"]

    def test_noting_nothing_is_no_change(self, store: Store) -> None:
        see(store)
        write(store, lambda tx: tx.files.drop(ANN, ROOT, []))
        assert (store.files.list(ANN, ROOT), store.scopes()) == ([], [])

    def test_the_journal_and_exports_say_nothing_of_files_and_undo_leaves_them(
        self, store: Store
    ) -> None:
        run = run_id()
        one = put_one(store, fact("one"))
        before = truth(store)
        write(store, lambda tx: tx.change(one, title="seen"), run=run)
        see(store, file("a.md", memory=one.id), run=run)
        undo(store, run)
        assert truth(store) == before
        assert "a.md" not in str(
            [store.events([ANN]), *(list(store.rows(noun, ANN)) for noun in NOUNS)]
        )
        assert paths(store.files.list(ANN, ROOT)) == ["a.md"]

    def test_the_note_of_a_file_goes_with_its_memory_for_good(self, store: Store) -> None:
        one, two = put(store, fact("one"), fact("two"))
        see(store, file("one.md", memory=one.id), file("two.md", memory=two.id), file("talk.jsonl"))

        def work(tx: Transaction) -> int:
            tx.erasure.memory(one)
            return tx.erasure.erased["files"]

        assert write(store, work) == 1
        assert paths(store.files.list(ANN, ROOT)) == ["talk.jsonl", "two.md"]
        purge(store, two)
        assert paths(store.files.list(ANN, ROOT)) == ["talk.jsonl"]

    def test_a_seal_on_a_folder_lasts_until_something_is_noted_or_forgotten_of_a_file_in_it(
        self, store: Store
    ) -> None:
        one = put_one(store, fact("one"))
        here, there = (KnownFile("", root, "", 0, 0, "5ea1") for root in (ROOT, ELSEWHERE))
        for change in (
            lambda tx: tx.files.put(ANN, [file("a.md", size=1)]),
            lambda tx: tx.files.drop(ANN, ROOT, ["a.md"]),
        ):
            see(store, file("a.md"), file("b.md", memory=one.id), here, there)
            assert store.files.list(ANN, "") == [there, here]
            write(store, change)
            assert store.files.list(ANN, "") == [there, here._replace(hash="")]
        see(store, here)
        purge(store, one)
        assert [mark.hash for mark in store.files.list(ANN, "")] == ["", ""]

    def test_a_purged_scope_knows_no_files(self, store: Store) -> None:
        see(store, file("a.md"))
        see(store, file("a.md"), scope=BOB)
        write(store, lambda tx: tx.erasure.scope(ANN), verb="purge")
        assert (store.files.list(ANN, ROOT), paths(store.files.list(BOB, ROOT))) == ([], ["a.md"])
