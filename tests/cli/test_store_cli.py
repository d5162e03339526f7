"""`holdfast store`: set up, migrate, look at and copy stores, on files and on a real server, and
what goes wrong.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from holdfast.client import Holdfast
from holdfast.errors import NotFound
from holdfast.storage import SQLiteStore, migrations_runner
from holdfast.storage.migrations_runner import Migration, migrations
from holdfast.storage.postgres import PostgresStore
from holdfast.testing.scene import ANN, fact, put, unit


@pytest.fixture
def js(cli):
    """Runs a command of `holdfast store` with --json and reads what it prints."""

    def call(*args):
        done = cli("store", *args, "--json")
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    return call


@pytest.fixture
def file(tmp_path):
    """The file that HOLDFAST_STORE names; it is not there yet."""
    return tmp_path / "memory.db"


@pytest.fixture
def one_more_migration(monkeypatch):
    """As if the next version of Holdfast were installed: it adds a table on either backend."""

    def known(backend):
        steps = migrations(backend)
        return (
            *steps,
            Migration(len(steps) + 1, "9999_later.sql", "CREATE TABLE later (number bigint)"),
        )

    return lambda: monkeypatch.setattr(migrations_runner, "migrations", known)


@pytest.fixture
def owner(postgres_server, postgres_store_url):
    """A login that may use our roles and pass them on, but may not install extensions; dropped at
    the end.
    """
    name = f"owner_{uuid4().hex[:8]}"
    execute(postgres_store_url, f"CREATE ROLE {name} LOGIN CREATEROLE")
    execute(postgres_store_url, f"GRANT holdfast_app, holdfast_worker TO {name} WITH ADMIN OPTION")
    yield name
    execute(postgres_store_url, f"DROP ROLE {name}")


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def as_login(url, name):
    return url.replace("://admin@", f"://{name}@")


def latest(backend):
    return len(migrations(backend))


# init


def test_init_makes_a_file_once(cli, js, file):
    assert cli("store", "init") == (0, f"{file} is ready, schema {latest('sqlite')}.\n", "")
    assert cli("store", "init") == (0, f"{file} was ready already.\n", "")
    other = file.with_name("other.db")
    assert js("init", other)["made"] is True
    assert js("init", "--store", other)["made"] is False


def test_init_makes_the_tables_of_a_database_once(cli, js, postgres_url):
    done = cli("store", "init", postgres_url)
    assert (done.code, done.err) == (0, "")
    assert f"{postgres_url} is ready, schema {latest('postgres')}.\npgvector: 0." in done.out
    again = js("init", postgres_url)
    assert (again["made"], again["kind"], again["rows"]["memory"]) == (False, "postgres", 0)
    assert again["pgvector"].startswith("0.")


def test_init_says_when_pgvector_cannot_be_had(cli, js, owner, postgres_url):
    url = as_login(postgres_url, owner)
    execute(postgres_url, f"GRANT CREATE ON DATABASE {postgres_url.rsplit('/')[-1]} TO {owner}")
    done = cli("store", "init", url)
    assert (
        done.code,
        "pgvector: The extension 'vector' (pgvector) is not installed" in done.out,
    ) == (0, True)
    assert js("status", url)["pgvector"] is None
    assert "is not installed and this login cannot install it" in cli("store", "status", url).out


# migrate


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_migrate_plans_then_does(cli, js, request, file, one_more_migration, kind):
    place = file if kind == "sqlite" else request.getfixturevalue("postgres_url")
    cli("store", "init", place)
    assert "is up to date" in cli("store", "migrate", place).out
    one_more_migration()
    version = latest(kind)
    planned = cli("store", "migrate", place, "--plan")
    assert (planned.code, planned.out.splitlines()[0]) == (0, "Pending: 9999_later.sql")
    assert js("migrate", place, "--plan")["pending"] == ["9999_later.sql"]
    assert f"{version}, pending: 9999_later.sql" in cli("store", "status", place).out
    done = js("migrate", place)
    assert (done["from"], done["schema"], done["done"], done["pending"]) == (
        version,
        version + 1,
        ["9999_later.sql"],
        [],
    )
    assert "is up to date" in cli("store", "migrate", place).out


def test_an_old_database_is_looked_at_but_not_opened(cli, js, postgres_url, one_more_migration):
    cli("store", "init", postgres_url)
    one_more_migration()
    refused = cli("recall", "tea", "--store", postgres_url)
    assert (refused.code, "holdfast store migrate" in refused.err) == (1, True)
    assert cli("store", "init", postgres_url).code == 1
    assert js("status", postgres_url)["rows"]["memory"] == 0


def test_migrate_starts_to_use_pgvector_when_it_has_appeared(cli, js, owner, postgres_url):
    url = as_login(postgres_url, owner)
    execute(postgres_url, f"GRANT CREATE ON DATABASE {postgres_url.rsplit('/')[-1]} TO {owner}")
    store = PostgresStore(url)
    (one,) = put(store, fact("tea"))
    store.vectors.add([ANN], "m", {one.seq: unit(1)})
    store.close()
    execute(postgres_url, "CREATE EXTENSION vector")
    assert "not in use yet: run `holdfast store migrate`" in cli("store", "status", url).out
    assert cli("store", "migrate", url, "--plan").out.startswith(
        "Pending: vectors become pgvector's type\n"
    )
    assert cli("store", "migrate", url).out.startswith(
        "Done: vectors become pgvector's type\npgvector: 0."
    )
    store = PostgresStore(url)
    assert store.has_extension
    assert store.vectors.get([ANN], "m", [one.seq])[one.seq].tobytes() == unit(1).tobytes()
    store.close()


def test_migrate_needs_a_store(cli, file, postgres_url):
    for place in (file, postgres_url):
        done = cli("store", "migrate", place)
        assert (done.code, "holdfast store init" in done.err) == (1, True)
    assert not file.exists()


# status


def test_status_of_a_file(cli, js, file):
    store = SQLiteStore(file)
    old, _ = put(store, fact("tea"), fact("coffee"))
    store.vectors.add([ANN], "m", {old.seq: unit(1)})
    store.jobs.enqueue(ANN, "embed", "k", watermark=1)
    store.close()
    now = js("status")
    assert (now["kind"], now["location"], now["schema"], now["pending"]) == (
        "sqlite",
        str(file),
        latest("sqlite"),
        [],
    )
    assert (now["scopes"], now["rows"]["memory"], now["rows"]["event"], now["rows"]["vector"]) == (
        1,
        2,
        2,
        1,
    )
    assert (now["jobs"], now["bytes"]) == ({"pending": 1}, file.stat().st_size)
    said = dict(line.split(maxsplit=1) for line in cli("store", "status").out.splitlines())
    assert (said["kind"], said["memories"], said["journal"], said["vectors"]) == (
        "sqlite",
        "2",
        "2",
        "1",
    )
    assert (said["jobs"], said["schema"]) == ("1 pending", f"{latest('sqlite')}, up to date")
    assert said["size"].endswith(" kB")


def test_status_of_a_database(cli, js, postgres_store_url):
    store = PostgresStore(postgres_store_url)
    put(store, fact("tea"), fact("coffee"))
    store.jobs.enqueue(ANN, "embed", "k", watermark=1)
    store.close()
    now = js("status", postgres_store_url)
    assert (now["kind"], now["location"], now["pending"], now["citus"]) == (
        "postgres",
        postgres_store_url,
        [],
        False,
    )
    assert (now["scopes"], now["rows"]["memory"], now["rows"]["event"], now["jobs"]) == (
        1,
        2,
        2,
        {"pending": 1},
    )
    assert now["bytes"] > 100_000
    said = dict(
        line.split(maxsplit=1)
        for line in cli("store", "status", postgres_store_url).out.splitlines()
    )
    assert (said["memories"], said["citus"], said["pgvector"]) == ("2", "no", now["pgvector"])


def test_status_changes_nothing(cli, file, postgres_url):
    done = cli("store", "status")
    assert (done.code, "There is no store at" in done.err, file.exists()) == (1, True, False)
    file.touch()
    assert "none yet" in cli("store", "status").out
    assert file.stat().st_size == 0
    assert "none yet" in cli("store", "status", postgres_url).out
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regnamespace('holdfast')").fetchall() == [(None,)]


def test_a_password_is_never_shown(cli, js, postgres_store_url, tmp_path):
    url = postgres_store_url.replace("admin@", "admin:hunter2@") + "?application_name=hunter3"
    said = "".join(
        str(cli("store", *command))
        for command in (
            ("init", url),
            ("migrate", url, "--plan"),
            ("status", url),
            ("copy", url, tmp_path / "b.db"),
            ("copy", tmp_path / "b.db", url),
            ("copy", url, url),
            ("copy", url.replace("127.0.0.1", "127.0.0.1:1"), url),
        )
    )
    assert "hunter" not in said
    assert "with password and options as in the URL you gave" in said
    assert "hunter" not in json.dumps([js("status", url), js("copy", tmp_path / "b.db", url)])


def test_a_login_without_upkeep_sees_how_the_store_stands_but_not_what_is_in_it(
    cli, js, owner, postgres_store_url
):
    execute(postgres_store_url, f"REVOKE holdfast_worker FROM {owner}")
    url = as_login(postgres_store_url, owner)
    assert (js("status", url)["rows"], js("status", url)["schema"]) == (None, latest("postgres"))
    assert "this login lacks the role holdfast_worker" in cli("store", "status", url).out


# copy


@pytest.fixture
def filled(file):
    """A file with three memories in two scopes."""
    store = SQLiteStore(file)
    tea, *_ = put(
        store, fact("green tea"), fact("coffee"), fact("theirs", scope=ANN._replace(key="bob"))
    )
    store.vectors.add([ANN], "m", {tea.seq: unit(1)})
    store.close()
    return file


def test_copy_to_a_server_and_back(cli, js, filled, postgres_store_url, tmp_path):
    done = cli("store", "copy", filled, postgres_store_url)
    assert (done.code, done.err) == (0, "")
    copied, equal, switch = done.out.splitlines()
    assert copied == (
        f"Copied 3 memories, 3 journal entries, 1 vector and 0 other rows from {filled} to "
        f"{postgres_store_url}; "
        "0 rows were already there."
    )
    assert equal.startswith("Both sides are equal, SHA-256 ")
    assert switch == f"Switch over with: HOLDFAST_STORE={postgres_store_url}"
    back = js("copy", postgres_store_url, tmp_path / "back.db")
    assert (back["scopes"], back["copied"]["memory"], back["vectors"]) == (
        ["user:ann", "user:bob"],
        3,
        1,
    )
    assert back["sha256"] in equal
    again = js("copy", filled, postgres_store_url)
    assert (sum(again["copied"].values()), sum(again["already_there"].values())) == (0, 7)
    assert [
        hit["content"]
        for hit in json.loads(cli("recall", "tea", "--store", postgres_store_url, "--json").out)
    ] == ["green tea"]


def test_copy_takes_only_the_scopes_named(js, cli, filled, tmp_path):
    target = tmp_path / "b.db"
    assert js("copy", filled, target, "--scope", "user:bob")["scopes"] == ["user:bob"]
    wrong = cli("store", "copy", filled, target, "--scope", "user:nobody")
    assert (wrong.code, "user:nobody" in wrong.err) == (1, True)
    assert cli("store", "copy", filled, target, "--scope", "nobody").code == 2


def test_copy_refuses_one_store_under_two_names(cli, filled, postgres_store_url, monkeypatch):
    monkeypatch.chdir(filled.parent)
    for one, other in (
        (filled, "memory.db"),
        (
            postgres_store_url,
            postgres_store_url.replace("admin@", "admin:x@") + "?application_name=y",
        ),
    ):
        done = cli("store", "copy", one, other)
        assert (done.code, "FROM and TO are one store" in done.err) == (2, True)


def test_copy_of_what_is_not_there_makes_nothing(cli, tmp_path, postgres_url):
    for source in (tmp_path / "typo.db", postgres_url):
        done = cli("store", "copy", source, tmp_path / "b.db")
        assert (done.code, done.out, "holdfast store init" in done.err) == (1, "", True)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_is_refused_leaves_no_file_behind(cli, filled, tmp_path, postgres_store_url):
    target = tmp_path / "b.db"
    empty = cli("store", "copy", filled, target, "--scope", "user:nobody")
    assert (empty.code, "Nothing was copied" in empty.err) == (1, True)
    login = f"reader_{uuid4().hex[:8]}"
    execute(postgres_store_url, f"CREATE ROLE {login} LOGIN", f"GRANT holdfast_app TO {login}")
    try:
        refused = cli("store", "copy", as_login(postgres_store_url, login), target)
    finally:
        execute(postgres_store_url, f"DROP ROLE {login}")
    assert (refused.code, "holdfast_worker" in refused.err) == (1, True)
    assert not list(tmp_path.glob("b.db*"))


@pytest.mark.parametrize("does", ["recall tea", "list", "stats", "doctor", "export", "forget 1"])
def test_what_has_no_use_for_empty_tables_makes_none(cli, postgres_url, monkeypatch, does):
    monkeypatch.setenv("HOLDFAST_STORE", postgres_url)
    done = cli(*does.split())
    assert (done.code, "none were made" in done.err, "holdfast store init" in done.err) == (
        1,
        True,
        True,
    ), done
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regnamespace('holdfast')").fetchone() == (None,)


def test_a_memory_that_must_exist_is_not_made(tmp_path, postgres_url):
    for place in (tmp_path / "memory.db", postgres_url):
        with pytest.raises(NotFound, match="made"):
            Holdfast.open(place, scope="user:ann", create=False)
        Holdfast.open(place, scope="user:ann", background=False).close()
        Holdfast.open(place, scope="user:ann", background=False, create=False).close()


def test_doctor_says_of_a_server_what_it_checked_there(cli, filled, postgres_store_url):
    assert "in order: file, schema, words" in cli("doctor", "--store", filled).out
    checked = cli("doctor", "--store", postgres_store_url)
    assert checked.code == 0
    assert "in order: schema, row-level security, words" in checked.out


def test_copy_into_other_data_is_refused(cli, filled, tmp_path):
    other = SQLiteStore(tmp_path / "b.db")
    put(other, fact("theirs already"))
    other.close()
    done = cli("store", "copy", filled, tmp_path / "b.db")
    assert (done.code, "holds other data in scope 'user:ann'" in done.err) == (1, True)


def test_copy_shows_its_progress_to_a_person_only(filled, tmp_path):
    command = [sys.executable, "-m", "holdfast", "store", "copy", filled, tmp_path / "b.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stderr, len(done.stdout.splitlines())) == ("", 3)


# What goes wrong


@pytest.mark.parametrize("command", ["init", "migrate", "status"])
def test_what_is_no_store_is_told_apart(cli, command, tmp_path):
    assert cli("store", command, "mysql://host/db").code == 2
    assert cli("store", command, ":memory:").code == 2
    twice = cli("store", command, tmp_path / "a.db", "--store", tmp_path / "b.db")
    assert (twice.code, "once" in twice.err) == (2, True)
    foreign = tmp_path / "notes.txt"
    foreign.write_text("not a database, but long enough to have a page's header " * 100)
    done = cli("store", command, foreign)
    assert (done.code, "is not a Holdfast store" in done.err) == (1, True)
    folder = cli("store", command, tmp_path)
    assert (folder.code in (1, 2), folder.out) == (True, "")


@pytest.mark.parametrize("command", ["init", "migrate", "status"])
def test_a_server_that_is_away_or_a_database_that_is_not_there(cli, command, postgres_server):
    away = cli("store", command, "postgresql://admin@127.0.0.1:1/holdfast")
    assert (away.code, "cannot be reached" in away.err) == (1, True)
    missing = cli("store", command, postgres_server.url("nowhere"))
    assert (missing.code, 'database "nowhere" does not exist' in missing.err) == (1, True)
    wrong = cli("store", command, "postgresql://admin@127.0.0.1:port/holdfast")
    assert (wrong.code in (1, 2), wrong.err.count("\n")) == (True, 1)


def test_a_login_without_rights_is_told_what_it_lacks(cli, owner, postgres_url, postgres_store_url):
    refused = cli("store", "init", as_login(postgres_url, owner))
    assert (refused.code, "may not make the tables" in refused.err) == (1, True)
    execute(postgres_store_url, f"REVOKE holdfast_app, holdfast_worker FROM {owner}")
    for command in ("init", "status", "migrate"):
        done = cli("store", command, as_login(postgres_store_url, owner))
        assert (done.code, done.err.endswith(f"GRANT holdfast_app TO {owner}\n")) == (1, True)
    # What it was told is enough, and opens no scope that the login does not name.
    execute(postgres_store_url, done.err.partition("run: ")[2])
    url = as_login(postgres_store_url, owner)
    assert cli("remember", "The key is under the pot", "--store", url).code == 0
    assert "holdfast_worker" in cli("export", "--all", "--store", url).err


@pytest.mark.parametrize("command", [("init",), ("migrate",), ("status",), ("copy", "memory.db")])
def test_without_the_driver_it_says_how_to_install_it(command):
    script = (
        "import sys; sys.modules['psycopg'] = None; from holdfast.cli.app import run; "
        "sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "store", *command, "postgresql://host/db"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "pip install 'holdfast-memory[postgres]'" in done.stderr) == (2, True)


def test_every_command_explains_itself(cli):
    overview = cli("store")
    assert overview.code == 2
    for command in ("init", "migrate", "status", "copy", "optimize", "distribute"):
        assert command in overview.out
        done = cli("store", command, "--help")
        assert (
            done.code,
            f"Usage: holdfast store {command}" in done.out,
            "--json" in done.out,
        ) == (0, True, True)


def test_tending_says_what_it_did(cli, filled, postgres_store_url):
    assert cli("store", "optimize", filled).out == "Merged the full-text index.\n"
    assert cli("store", "optimize", postgres_store_url).out == "There was nothing to do.\n"
    assert json.loads(cli("store", "optimize", postgres_store_url, "--json").out) == {"done": []}


def test_spreading_shows_its_plan_and_needs_citus(cli, filled, postgres_store_url):
    plan = cli("store", "distribute", postgres_store_url, "--plan")
    assert (plan.code, "create_distributed_table('holdfast.memories', 'scope'" in plan.out) == (
        0,
        True,
    )
    refused = cli("store", "distribute", postgres_store_url)
    assert (refused.code, "CREATE EXTENSION citus" in refused.err) == (1, True)
    assert cli("store", "distribute", filled).code == 2


def test_the_commands_of_the_how_to_work_on_a_server(
    cli, filled, postgres_store_url, tmp_path, monkeypatch
):
    """The tests of the docs have no server, so they leave these out."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "postgres.md").read_text("utf-8")
    one_server, cluster = page.split("## Citus cluster")  # whose tests are in test_citus.py
    assert "holdfast store distribute" in cluster
    commands = [
        line.split("#")[0].split()[1:]
        for line in one_server.splitlines()
        if line.startswith("holdfast store ")
    ]
    assert {command[1] for command in commands} == {"init", "migrate", "status", "copy", "optimize"}
    monkeypatch.chdir(tmp_path)
    for command in commands:
        words = [
            postgres_store_url if "://" in word else word.replace("alice", "ann")
            for word in command
        ]
        assert cli(*words).code == 0, command


# A backup, as docs/how-to/backup-and-sync.md says


def test_a_copy_of_a_store_that_is_being_written_is_one_moment_of_it(cli, tmp_path):
    """Each run writes a fact and what it was learned from; a backup has both of them or neither,
    and is sound.
    """
    place, target = tmp_path / "memory.db", tmp_path / "backup.db"
    started, stop = threading.Event(), threading.Event()

    def write() -> None:
        with Holdfast.open(place, scope="user:ann", background=False) as hf:
            number = 0
            while not stop.is_set():
                hf.remember_many([f"Left {number}", f"Right {number}"])
                number += 1
                started.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        started.wait()
        done = cli("store", "copy", place, target)
    finally:
        stop.set()
        writer.join()
    assert done.code == 0, done
    assert "Both sides are equal" in done.out
    assert cli("doctor", "--store", target).code == 0
    with Holdfast.open(target, scope="user:ann", background=False) as hf:
        kept = {memory.content for memory in hf.list()}
    assert kept and {text.replace("Left", "Right") for text in kept if "Left" in text} == {
        text for text in kept if "Right" in text
    }


def test_a_backup_that_takes_the_place_of_a_store_restores_it(cli, tmp_path):
    place, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    cli("remember", "The spare key is under the blue pot", "--store", place)
    assert cli("store", "copy", place, backup).code == 0
    cli("remember", "Written after the backup", "--store", place)
    backup.replace(place)
    for name in ("memory.db-wal", "memory.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    assert cli("doctor", "--store", place).code == 0
    assert [one["content"] for one in json.loads(cli("list", "--store", place, "--json").out)] == [
        "The spare key is under the blue pot"
    ]


def test_an_older_backup_is_not_overwritten_by_a_newer_one(cli, tmp_path):
    place, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    key = json.loads(cli("remember", "The key is under the pot", "--store", place, "--json").out)[
        "id"
    ]
    assert cli("store", "copy", place, backup).code == 0
    cli("correct", key, "The key is in the shed", "--store", place)
    assert cli("store", "copy", place, backup).code == 1
    assert "under the pot" in cli("list", "--store", backup).out


def test_the_setting_that_switches_over_can_be_pasted_into_a_shell(cli, filled, tmp_path):
    done = cli("store", "copy", filled, tmp_path / "my copy.db")
    words = shlex.split(done.out.splitlines()[-1])
    assert words[-1] == f"HOLDFAST_STORE={tmp_path / 'my copy.db'}"
