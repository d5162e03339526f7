"""A server that accepts encrypted connections only."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holdfast.errors import StoreError
from holdfast.storage.postgres import PostgresStore
from holdfast.testing.scene import fact, listed, put
from servers import PostgresServer, plain_binaries, start_server

OPENSSL = shutil.which("openssl")
if plain_binaries() is None or OPENSSL is None:
    pytest.skip("no PostgreSQL with TLS, or no openssl", allow_module_level=True)


def certificate(folder: Path, name: str) -> Path:
    """A certificate for this machine that signs itself, beside its key."""
    made = folder / f"{name}.crt"
    command = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(made)]
    subprocess.run(
        [str(OPENSSL), *command, "-addext", "subjectAltName=IP:127.0.0.1", *files],
        check=True,
        capture_output=True,
    )
    return made


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls"), "server")


@pytest.fixture(scope="module")
def url(trusted: Path) -> Iterator[str]:
    with start_server(binaries=plain_binaries()) as server:
        _require_tls(server, trusted)
        server.create_database("notes")
        yield server.url("notes")


def _require_tls(server: PostgresServer, trusted: Path) -> None:
    owner = server.data.stat()
    server.stop()
    for name, text in (
        ("server.crt", trusted.read_text()),
        ("server.key", trusted.with_suffix(".key").read_text()),
        ("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust\n"),
    ):
        file = server.data / name
        file.unlink(missing_ok=True)
        file.touch(0o600)
        file.write_text(text)
        shutil.chown(file, owner.st_uid, owner.st_gid)
    with (server.data / "postgresql.conf").open("a") as settings:
        settings.write("ssl = on\n")
    server.start()


@pytest.mark.parametrize("mode", ["require", "verify-full"])
def test_the_options_of_the_url_encrypt_every_connection(
    url: str, trusted: Path, mode: str
) -> None:
    store = PostgresStore(f"{url}?sslmode={mode}&sslrootcert={trusted}")
    put(store, fact(f"tea with {mode}"))
    assert f"tea with {mode}" in listed(store)
    with psycopg.connect(f"{url}?sslmode=require") as connection:
        rows = connection.execute(
            "SELECT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) "
            "WHERE a.client_addr IS NOT NULL AND a.pid <> pg_backend_pid()"
        ).fetchall()
    assert rows and {encrypted for (encrypted,) in rows} == {True}
    store.close()


def test_who_does_not_encrypt_is_told_how(url: str) -> None:
    with pytest.raises(StoreError, match=r"without encryption\. Add sslmode=require"):
        PostgresStore(f"{url}?sslmode=disable")


def test_a_certificate_of_another_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="certificate verify failed"):
        PostgresStore(f"{url}?sslmode=verify-full&sslrootcert={certificate(tmp_path, 'other')}")
