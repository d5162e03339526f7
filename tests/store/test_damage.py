"""A row that cannot be read any more is left out and named, whatever reads it; repair restores it
or puts it aside.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from holdfast import Holdfast, Settings
from holdfast.errors import NotFound, RowDamaged
from holdfast.replication.copy import copy_store
from holdfast.storage import SQLiteStore
from holdfast.storage.damage import QUARANTINED
from holdfast.storage.postgres import PostgresStore
from holdfast.storage.schema import TABLES
from holdfast.types import SUMMARY, Progress

WORDS = Settings(embedding_models="static")
NOT_UTF8 = "CAST(CAST({column} AS BLOB) || x'ff' AS TEXT)"  # one byte that no UTF-8 text has
NOT_JSON = "{column} || '}}]'"
SCOPE = "user:ann"
TEXT_COLUMNS = {
    "memories": (
        "id",
        "kind",
        "category",
        "status",
        "status_reason",
        "title",
        "content",
        "author",
        "role",
        "session",
        "source",
        "trust",
        "quote",
        "triple",
        "outcome",
        "tags",
        "metadata",
    ),
    "sessions": ("id", "agent", "end_reason", "metadata"),
    "progress": ("session", "sink", "detail"),
    "messages": ("session", "body"),
    "edges": ("source", "target", "relation", "reason"),
    "entities": ("id", "name", "type", "summary"),
    "entity_names": ("folded", "entity", "name"),
    "mentions": ("entity", "memory"),
    "profiles": ("settings",),
    "events": ("run", "actor", "verb", "noun", "target", "before", "after"),
    "scopes": ("kind", "key"),
    "jobs": ("kind", "key", "worker", "error"),
}
JSON_COLUMNS = {
    "memories": ("triple", "tags", "metadata"),
    "sessions": ("metadata",),
    "progress": ("detail",),
    "messages": ("body",),
    "profiles": ("settings",),
    "events": ("before", "after"),
}
DAMAGE = [
    pytest.param(table, column, how, id=f"{table}.{column} {name}")
    for name, how, columns in (
        ("not UTF-8", NOT_UTF8, TEXT_COLUMNS),
        ("not JSON", NOT_JSON, JSON_COLUMNS),
    )
    for table, named in columns.items()
    for column in named
]
READS: dict[str, Callable[[Holdfast, str], Any]] = {
    "list": lambda hf, id_: hf.list(statuses=("active", "archived")),
    "list by tag": lambda hf, id_: hf.list(tags=("drink",)),
    "recall": lambda hf, id_: hf.recall("who drinks tea in Porto?"),
    "recall as of": lambda hf, id_: hf.recall("tea", as_of=begun(hf)),
    "context": lambda hf, id_: hf.context("who drinks tea?", session="s2"),
    "working memory": lambda hf, id_: hf.sessions.working_memory("who drinks tea?"),
    "get": lambda hf, id_: hf.get(id_),
    "history": lambda hf, id_: hf.history(id_),
    "links": lambda hf, id_: hf.admin.links(id_),
    "why": lambda hf, id_: hf.explain(id_, "tea"),
    "why stored": lambda hf, id_: hf.explain(id_),
    "log": lambda hf, id_: hf.admin.log(limit=None),
    "sessions": lambda hf, id_: hf.sessions.list(),
    "messages": lambda hf, id_: hf.store.sessions.messages(hf.scopes[0], "s1"),
    "entities": lambda hf, id_: hf.entities.list(),
    "about": lambda hf, id_: hf.entities.get("Ines"),
    "stats": lambda hf, id_: hf.stats(),
    "profile": lambda hf, id_: hf.sessions.profile(),
    "export": lambda hf, id_: list(hf.admin.export(vectors=True)),
    "doctor": lambda hf, id_: hf.admin.check(),
}
WRITES: dict[str, Callable[[Holdfast, str], Any]] = {
    "remember": lambda hf, id_: hf.remember("Bob plays chess"),
    "capture": lambda hf, id_: hf.capture("s3", "user", "I walk to work"),
    "undo": lambda hf, id_: hf.undo(),
    "sync": lambda hf, id_: hf.admin.sync(Path(hf.store.location).with_name("other.db")),
    "jobs": lambda hf, id_: hf.store.jobs.list(),
    "maintain": lambda hf, id_: hf.admin.maintain(),
    "copy": lambda hf, id_: copy_store(
        hf.store, SQLiteStore(Path(hf.store.location).with_name("copy.db"))
    ),
    "purge of the owner": lambda hf, id_: hf.admin.purge(owner=True),
    "repair": lambda hf, id_: hf.admin.check(repair=True),
}


def begun(hf: Holdfast) -> int:
    """A moment when the first memories were there and nothing had been changed yet."""
    return (
        min((memory.created_at for memory in hf.list(statuses=("active", "superseded"))), default=0)
        + 1
    )


def opened(path: Path | str) -> Holdfast:
    return Holdfast.open(path, scope=SCOPE, settings=WORDS, background=False)


def fill(hf: Holdfast) -> str:
    """A memory with something in every table and every column; the id of the one that will be
    damaged comes back.
    """
    hf.sessions.set_profile(proactive_recall=True)
    hf.capture("s1", "user", "My sister Ines Ferreira drinks tea")
    hf.sessions.append(
        "s1",
        [{"role": "user", "text": "hello"}, {"role": "assistant", "text": "hi"}],
        agent="bot",
        metadata={"mode": "run"},
    )
    read = Progress(hf.scopes[0], "s1", SUMMARY, 0, 0, {"outcome": "no_output"})
    hf.admin.write("learn", lambda tx: tx.progress.put(read))
    tea = hf.remember(
        "Ines Ferreira drinks green tea in Porto",
        title="tea",
        author="Ann",
        tags=["drink"],
        metadata={"k": "v"},
        session="s1",
    )
    hf.forget(tea.id)
    hf.undo(hf.last_run)
    hf.correct(hf.remember("Ines lives in Lisbon").id, "Ines lives in Porto", reason="moved")
    hf.admin.maintain()
    return tea.id


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A sound file, made once, and the id of the memory that will be damaged in copies of it."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with opened(path) as hf:
        id_ = fill(hf)
        assert hf.admin.check() == []
    tamper(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return path, id_


def tamper(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def damage(path: Path, table: str, column: str, how: str, id_: str = "") -> None:
    """Damages one row of a table: of memories the one that was chosen, of the others the first that
    says something.
    """
    wanted = f"id = '{id_}'" if table == "memories" else f"{column} <> ''"
    key = "seq" if table in ("memories", "events") else f"CAST({column} AS BLOB)"
    # Whatever was empty has words now.
    value = {"metadata": '{"a":1}', "triple": '["a","b","c","",""]', "tags": '["a"]'}.get(
        column, "x"
    )
    if column not in ("before", "after"):
        tamper(
            path, f"UPDATE {table} SET {column} = '{value}' WHERE {column} = '' OR {column} IS NULL"
        )
    first = f"{key} = (SELECT {key} FROM {table} WHERE {wanted} LIMIT 1)"
    tamper(path, f"UPDATE {table} SET {column} = {how.format(column=column)} WHERE {first}")


@pytest.fixture
def copy(tmp_path: Path, whole: tuple[Path, str]) -> Path:
    path = tmp_path / "memory.db"
    shutil.copy(whole[0], path)
    return path


def passes(name: str, work: Callable[[], Any]) -> None:
    """Runs something that may meet a damaged row: it works, or it says which row stands in its
    way.
    """
    try:
        work()
    except (RowDamaged, NotFound) as error:
        assert "piped" not in str(error), name


class TestEveryReadPassesOverADamagedRow:
    @pytest.mark.parametrize(("table", "column", "how"), DAMAGE)
    def test_no_read_fails_but_by_naming_the_row(
        self, copy: Path, whole: tuple[Path, str], table: str, column: str, how: str
    ) -> None:
        damage(copy, table, column, how, whole[1])
        with opened(copy) as hf:
            for name, read in READS.items():
                passes(name, lambda read=read: read(hf, whole[1]))

    @pytest.mark.parametrize(("table", "column", "how"), DAMAGE)
    def test_no_write_fails_but_by_naming_the_row(
        self, copy: Path, whole: tuple[Path, str], table: str, column: str, how: str
    ) -> None:
        damage(copy, table, column, how, whole[1])
        with opened(copy) as hf:
            for name, write in WRITES.items():
                passes(name, lambda write=write: write(hf, whole[1]))

    @pytest.mark.parametrize(("table", "column", "how"), DAMAGE)
    def test_the_doctor_names_the_table_that_is_damaged(
        self, copy: Path, whole: tuple[Path, str], table: str, column: str, how: str
    ) -> None:
        damage(copy, table, column, how, whole[1])
        with opened(copy) as hf:
            found = [finding for finding in hf.admin.check() if finding.check == "rows"]
        assert found, (table, column)

    @pytest.mark.parametrize("column", TEXT_COLUMNS["memories"])
    def test_the_other_memories_are_listed_and_the_damaged_one_is_named(
        self, copy: Path, whole: tuple[Path, str], column: str
    ) -> None:
        with opened(copy) as hf:
            before = {memory.id for memory in hf.list(statuses=("active", "superseded"))}
        damage(copy, "memories", column, NOT_UTF8, whole[1])
        with opened(copy) as hf:
            after = {memory.id for memory in hf.list(statuses=("active", "superseded"))}
            assert after == before - {whole[1]}
            if (
                column != "status"
            ):  # a status that does not exist is none of those that were asked for
                named = hf.store.damaged(hf.scopes)
                assert len(named) == 1 and (
                    whole[1] in str(named[0]) or f"#{named[0].seq}" in str(named[0])
                )

    @pytest.mark.parametrize("column", ["content", "tags", "metadata", "id"])
    def test_an_export_has_every_other_row_and_can_be_imported(
        self, copy: Path, whole: tuple[Path, str], tmp_path: Path, column: str
    ) -> None:
        damage(copy, "memories", column, NOT_UTF8, whole[1])
        with opened(copy) as hf, opened(tmp_path / "new.db") as other:
            lines = list(hf.admin.export())
            assert len(hf.store.damaged(hf.scopes)) == 1
            other.admin.import_(lines)
            assert {m.id for m in other.list()} == {m.id for m in hf.list()}
            if column != "id":  # by its id the journal would tell what belongs to it
                assert other.admin.check() == []

    def test_the_row_itself_is_refused_with_a_typed_error(
        self, copy: Path, whole: tuple[Path, str]
    ) -> None:
        damage(copy, "memories", "content", NOT_UTF8, whole[1])
        told = f"{whole[1]} cannot be read: its content is not UTF-8"
        with opened(copy) as hf, pytest.raises(RowDamaged, match=told):
            hf.get(whole[1])

    def test_a_page_with_a_damaged_memory_is_as_long_as_any(
        self, copy: Path, whole: tuple[Path, str]
    ) -> None:
        damage(copy, "memories", "content", NOT_UTF8, whole[1])
        with opened(copy) as hf:
            for number in range(5):
                hf.remember(f"note {number}")
            every, page = hf.list(), hf.list(limit=7)
            assert len(page) == 7 and page == every[:7]

    def test_what_is_remembered_again_does_not_trip_over_a_damaged_twin(
        self, copy: Path, whole: tuple[Path, str]
    ) -> None:
        damage(copy, "memories", "title", NOT_UTF8, whole[1])
        with opened(copy) as hf:
            assert hf.remember("Ines Ferreira drinks green tea in Porto").id != whole[1]

    def test_the_warning_names_the_row_and_the_command_for_this_store(
        self, copy: Path, whole: tuple[Path, str]
    ) -> None:
        damage(copy, "memories", "content", NOT_UTF8, whole[1])
        with opened(copy) as hf:
            hf.list()
            told = "\n".join(hf.admin.warnings())
        assert whole[1] in told and f"holdfast doctor --store {copy}" in told


def flipped(path: Path, id_: str, text: str) -> None:
    tamper(path, f"UPDATE memories SET content = '{text}' WHERE id = '{id_}'")


BROKEN = {
    "a text that cannot be read": NOT_UTF8,
    "a text that is another": "replace({column}, 'green', 'grean')",
}


class TestRepairNeverBlesses:
    @pytest.mark.parametrize("how", BROKEN.values(), ids=list(BROKEN))
    def test_a_text_that_the_journal_has_comes_back(self, tmp_path: Path, how: str) -> None:
        path = tmp_path / "memory.db"
        with opened(path) as hf:
            tea = hf.remember("Ines drinks green tea")
            hf.undo(hf.last_run)
            hf.undo(
                hf.admin.log(limit=1)[0].run
            )  # removed and brought back: the journal has all of it
        damage(path, "memories", "content", how, tea.id)
        with opened(path) as hf:
            assert hf.admin.check() != []
            assert hf.admin.check(repair=True) == []
            assert (hf.get(tea.id).content, hf.get(tea.id).status) == (
                "Ines drinks green tea",
                "active",
            )
            assert [hit.memory.id for hit in hf.recall("green tea")] == [tea.id]
            assert hf.history(tea.id)[-1].verb == "repair"

    @pytest.mark.parametrize("how", BROKEN.values(), ids=list(BROKEN))
    def test_a_text_that_nothing_proves_is_put_aside_with_a_note(
        self, copy: Path, whole: tuple[Path, str], how: str
    ) -> None:
        damage(copy, "memories", "content", how, whole[1])
        with opened(copy) as hf:
            assert [finding.check for finding in hf.admin.check(repair=True)] == ["quarantine"]
            put_aside = hf.get(whole[1])
            assert put_aside.status == "archived" and put_aside.status_reason.startswith(
                QUARANTINED
            )
            assert whole[1] not in {memory.id for memory in hf.list()}
            assert whole[1] not in {hit.memory.id for hit in hf.recall("green tea")}
            assert whole[1] not in hf.context("green tea").ids
            assert [memory.id for memory in hf.list(statuses=("archived",))] == [whole[1]]
            last = hf.history(whole[1])[-1]
            assert (last.actor, last.verb) == ("doctor", "repair")

    def test_a_second_repair_changes_nothing(self, copy: Path, whole: tuple[Path, str]) -> None:
        flipped(copy, whole[1], "Ines drinks greun tea")
        with opened(copy) as hf:
            hf.admin.check(repair=True)
            once = list(hf.admin.export())
            hf.admin.check(repair=True)
            assert list(hf.admin.export()) == once

    def test_a_person_who_restores_it_takes_the_text_as_it_is(
        self, copy: Path, whole: tuple[Path, str]
    ) -> None:
        flipped(copy, whole[1], "Ines drinks greun tea")
        with opened(copy) as hf:
            hf.admin.check(repair=True)
            hf.restore(whole[1])
            assert hf.admin.check() == []
            assert hf.get(whole[1]).content == "Ines drinks greun tea"

    def test_taking_the_repair_back_does_not_make_the_text_good(
        self, copy: Path, whole: tuple[Path, str]
    ) -> None:
        flipped(copy, whole[1], "Ines drinks greun tea")
        with opened(copy) as hf:
            hf.admin.check(repair=True)
            hf.undo(hf.history(whole[1])[-1].run)
            assert "rows" in {finding.check for finding in hf.admin.check()}

    @pytest.mark.parametrize(("table", "column", "how"), DAMAGE)
    def test_after_a_repair_every_row_can_be_read_or_is_said_to_be_lost(
        self, copy: Path, whole: tuple[Path, str], table: str, column: str, how: str
    ) -> None:
        damage(copy, table, column, how, whole[1])
        with opened(copy) as hf:
            left = hf.admin.check(repair=True)
            assert not [one for one in left if one.repairable], left
            list(hf.admin.export())
            unread = hf.store.damaged(None)
            key = table in ("events", "scopes") or column in next(
                (one.key for one in TABLES.values() if one.name == table and table != "memories"),
                (),
            )
            assert not unread or key, unread


class TestDamageDoesNotTravel:
    @pytest.fixture
    def pair(self, tmp_path: Path) -> Iterator[tuple[Path, Path, str]]:
        ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
        with opened(ours) as hf:
            id_ = hf.remember("Ines drinks green tea").id
            hf.remember("Bob plays chess")
            hf.admin.sync(theirs)
        yield ours, theirs, id_

    def test_a_damaged_text_is_not_sent(self, pair: tuple[Path, Path, str]) -> None:
        ours, theirs, id_ = pair
        flipped(ours, id_, "Ines drinks greun tea")
        with opened(ours) as hf:
            hf.archive(id_)
            assert [id_ in line for line in hf.admin.sync(theirs).left_out] == [True]
        with opened(theirs) as hf:
            assert (hf.get(id_).content, hf.get(id_).status) == ("Ines drinks green tea", "active")

    @pytest.mark.parametrize(
        "how", [NOT_UTF8, "replace({column}, 'green', 'greun')"], ids=["unreadable", "another"]
    )
    def test_a_sound_copy_elsewhere_heals_it(self, pair: tuple[Path, Path, str], how: str) -> None:
        ours, theirs, id_ = pair
        damage(ours, "memories", "content", how, id_)
        with opened(ours) as hf:
            hf.admin.check(repair=True)
            hf.admin.sync(theirs)
            assert (hf.get(id_).content, hf.get(id_).status) == ("Ines drinks green tea", "active")
            assert [hit.memory.id for hit in hf.recall("green tea")][:1] == [id_]
            assert hf.admin.check() == []
        with opened(theirs) as hf:
            assert (hf.get(id_).content, hf.get(id_).status) == ("Ines drinks green tea", "active")
            assert hf.admin.check() == []

    def test_everything_else_still_travels(self, pair: tuple[Path, Path, str]) -> None:
        ours, theirs, id_ = pair
        damage(ours, "memories", "content", NOT_UTF8, id_)
        damage(ours, "events", "actor", NOT_UTF8)
        with opened(ours) as hf:
            new = hf.remember("Cleo sails")
            hf.admin.sync(theirs)
        with opened(theirs) as hf:
            assert hf.get(new.id).content == "Cleo sails"


class TestOnPostgres:
    """No text there is without UTF-8, but JSON in a text column may be damaged, and a text may be
    another.
    """

    @pytest.fixture
    def hf(self, postgres_store_url: str) -> Iterator[Holdfast]:
        with Holdfast(PostgresStore(postgres_store_url), SCOPE, settings=WORDS) as memory:
            yield memory

    def tamper(self, url: str, statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET search_path = holdfast, public")
            connection.execute(statement)

    @pytest.mark.parametrize("column", JSON_COLUMNS["memories"])
    def test_no_read_fails_and_the_row_is_named(
        self, hf: Holdfast, postgres_store_url: str, column: str
    ) -> None:
        id_ = fill(hf)
        self.tamper(postgres_store_url, f"UPDATE memories SET {column} = '[\"a' WHERE id = '{id_}'")
        for name, read in READS.items():
            passes(name, lambda read=read: read(hf, id_))
        assert [one.name for one in hf.store.damaged(hf.scopes)] == [id_]
        # Maintenance has changed its metadata, so the journal has it; of the others it knows
        # nothing.
        aside = column != "metadata"
        assert [one.check for one in hf.admin.check(repair=True)] == ["quarantine"] * aside
        assert (hf.get(id_).status == "archived", hf.get(id_).metadata.get("k") == "v") == (
            aside,
            True,
        )

    def test_journal_images_that_are_damaged_stop_no_question_about_the_past(
        self, hf: Holdfast, postgres_store_url: str
    ) -> None:
        fill(hf)
        self.tamper(postgres_store_url, "UPDATE events SET before = '{' WHERE before IS NOT NULL")
        assert hf.recall("tea in Porto", as_of=begun(hf))

    def test_a_text_that_nothing_proves_is_put_aside(
        self, hf: Holdfast, postgres_store_url: str
    ) -> None:
        id_ = fill(hf)
        self.tamper(
            postgres_store_url,
            f"UPDATE memories SET content = 'Ines drinks greun tea' WHERE id = '{id_}'",
        )
        assert [one.check for one in hf.admin.check(repair=True)] == ["quarantine"]
        assert hf.get(id_).status_reason.startswith(QUARANTINED)
        assert id_ not in {memory.id for memory in hf.list()}

    def test_a_text_that_the_journal_has_comes_back(
        self, hf: Holdfast, postgres_store_url: str
    ) -> None:
        tea = hf.remember("Ines drinks green tea")
        hf.undo(hf.last_run)
        hf.undo(hf.admin.log(limit=1)[0].run)
        self.tamper(
            postgres_store_url,
            f"UPDATE memories SET content = 'Ines drinks greun tea' WHERE id = '{tea.id}'",
        )
        assert hf.admin.check(repair=True) == []
        assert hf.get(tea.id).content == "Ines drinks green tea"
