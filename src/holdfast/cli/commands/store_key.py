"""`store key`: make the key of an encrypted store, and change it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ... import config
from ...errors import InvalidInput, WrongKey
from .. import output
from ..app import Json, Store
from .store import StoreArgument, existing_store, store_place, stores

# Beside the store, with its key: see side_tables.py.
SIDE_FILES = ("audit.db", "feedback.db", "limits.db")

key_app = typer.Typer(
    help="""Encrypt a memory file: make a key, change it, or remove it. Needs the extra encryption.

Example: holdfast store key new ~/.config/holdfast/memory.key""",
)
stores.add_typer(key_app, name="key", no_args_is_help=True)


@key_app.command("new")
def new(
    place: Annotated[
        str,
        typer.Argument(metavar="FILE", help="File to make, or keyring:NAME for the system's own."),
    ],
    as_json: Json = False,
) -> None:
    """Make a random key in a file that only you can read, or in the keyring of the system. Keep a
    copy elsewhere: without its key a store cannot be read.

    Example: holdfast store key new ~/.config/holdfast/memory.key
    """
    from ...storage.sqlite.encryption import make_key

    made = make_key(place)
    if as_json:
        output.emit({"key_file": made})
        return
    print(f"The key is in {made}. Keep a copy elsewhere: without it a store cannot be read.")
    print(f"Use it with: export HOLDFAST_KEY_FILE={shlex.quote(made)}")


@key_app.command("change")
def change(
    place: StoreArgument = None,
    to_key_file: Annotated[
        str | None,
        typer.Option(
            "--to-key-file",
            metavar="FILE",
            help="The new key file, or keyring:NAME. none: do not encrypt any more.",
        ),
    ] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Encrypt a memory file with another key, or for the first time, or not any more. Stop every
    process that uses it first; it needs room for a second copy.

    Example: holdfast store key change memory.db --key-file none --to-key-file memory.key
    """
    from ...storage.connect import is_server
    from ...storage.sqlite.encryption import absolute, read_key
    from ...storage.sqlite.rekey import change_key

    if to_key_file is None:
        raise InvalidInput("Name the new key with --to-key-file: a file, keyring:NAME, or none.")
    where = store_place(place, store)
    if is_server(where):
        raise InvalidInput(f"{where} is a server, which encrypts its disk itself. Name a file.")
    old = read_key(config.load().key_file)
    new_key = read_key(to_key_file)
    location = existing_store(where).location
    change_key(location, old, new_key)
    for name in SIDE_FILES:
        _change_side_file(Path(location).with_name(name), old, new_key)
    if as_json:
        output.emit({"store": location, "encrypted": bool(new_key)})
    elif new_key:
        print(f"{location} is encrypted with the key in {to_key_file} now.")
        print(f"Use it with: export HOLDFAST_KEY_FILE={shlex.quote(absolute(to_key_file))}")
    else:
        print(f"{location} is not encrypted any more.")


def _change_side_file(file: Path, old: str, new: str) -> None:
    from ...storage.sqlite.connection import form_of
    from ...storage.sqlite.rekey import change_key

    form = form_of(file)
    if form not in ("plain", "encrypted"):
        return
    try:
        change_key(file, old if form == "encrypted" else "", new)
    except WrongKey:
        # It has the new key already, or belongs to another store in this folder.
        return
