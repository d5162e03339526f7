"""Encryption of an SQLite file with SQLite3 Multiple Ciphers: the driver, and keys in a file or in
the keyring of the operating system.

The package apsw-sqlite3mc installs a build of apsw under the same import name. Without it, apsw
ignores a key and would write in plain text, so every way to a key checks first that it is there.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import apsw

from ...errors import InvalidInput, MissingExtra, NotFound, WrongKey, reason

# Of the ciphers that notice a changed page, the one that slows a file down least: a page takes a
# sixth of what ChaCha20-Poly1305 takes, where the processor knows AES.
CIPHER = "aegis"
ALGORITHM = "aegis-256"
KEYRING = "keyring:"
NO_KEY = "none"
"""Given instead of a key file: not encrypted."""
# Name of our entries in a keyring.
SERVICE = "holdfast"
DRIVER = "apsw-sqlite3mc"
_KEY = re.compile(r"[0-9a-fA-F]{64}")


def wrong_key(file: str) -> WrongKey:
    """Return the error for an encrypted file that its key does not open."""
    return WrongKey(
        f"The key that was given does not open {file}: it is the key of another store, or the "
        "start of the file is damaged. Nothing was changed. Name another key with --key-file or "
        "HOLDFAST_KEY_FILE."
    )


def use_key(connection: apsw.Connection, key: str) -> None:
    """Set the key of a new connection, before anything is read."""
    check_driver()
    connection.pragma("cipher", CIPHER)
    connection.pragma("algorithm", ALGORITHM)
    connection.pragma("key", f"raw:{key}")


def is_available() -> bool:
    """Whether the apsw that was imported can encrypt."""
    return hasattr(apsw, "mc_version")


def is_overwritten() -> bool:
    """Whether the package that encrypts is installed, but apsw has overwritten its files."""
    # Imported here, because only problems need it.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return bool(version(DRIVER)) and not is_available()
    except PackageNotFoundError:
        return False


def check_driver() -> None:
    """Raise MissingExtra if the apsw that was imported cannot encrypt."""
    if not is_available():
        raise MissingExtra(f"Nothing was opened: this Python cannot encrypt. {how_to_install()}")


def how_to_install() -> str:
    """Say how to install what encrypts, or how to put its files back."""
    if not is_overwritten():
        return "Install what it takes with: pip install 'holdfast-memory[encryption]'"
    return (
        f"It is there, but apsw has files of the same names, and those came last. Put the files of "
        f"{DRIVER} back with: {reinstall_command()}"
    )


def reinstall_command() -> str:
    """Return the command that puts the files of the package that encrypts in place again."""
    if find_spec("pip") is None:
        return f"uv pip install --python {sys.executable} --reinstall --no-deps {DRIVER}"
    return f"{sys.executable} -m pip install --force-reinstall --no-deps {DRIVER}"


# Keys


def read_key(place: str | Path) -> str:
    """Return the key in a file, or in the keyring as `keyring:NAME`; empty for '' and 'none'.

    Raises NotFound if there is no key, InvalidInput if it is not 64 hexadecimal digits. Logs a
    warning if others can read the file.
    """
    place = str(place)
    if place in ("", NO_KEY):
        return ""
    if place.startswith(KEYRING):
        name = _name_in_keyring(place)
        found = _Keyring().get_password(SERVICE, name)
        if found is None:
            raise NotFound(
                f"The keyring has no key named {name!r}. Make one with `holdfast store key new "
                f"{place}`. Without the key that it was made with, a store cannot be read."
            )
        return _checked(found, place)
    file = Path(place).expanduser()
    try:
        written = file.read_text("ascii")
    except FileNotFoundError as error:
        raise NotFound(
            f"There is no key file {file}. Make one with `holdfast store key new {file}`. Without "
            "the key that it was made with, a store cannot be read."
        ) from error
    except UnicodeDecodeError as error:
        raise _not_a_key(str(file)) from error
    except OSError as error:
        raise InvalidInput(f"Cannot read the key file {file}: {reason(error)}.") from error
    if is_exposed(file):
        # Imported here, because few files are.
        import logging  # noqa: PLC0415

        logging.getLogger(__name__).warning(
            "Others on this machine can read the key file %s. Run: chmod 600 '%s'", file, file
        )
    return _checked(written, str(file))


def is_exposed(file: Path) -> bool:
    """Whether others than the owner may read or write a file. False where permissions are not
    bits, as on Windows.
    """
    return os.name == "posix" and bool(file.stat().st_mode & 0o077)


def absolute(place: str) -> str:
    """Return a key file as every folder understands it; a name in the keyring stays as it is."""
    return place if place.startswith(KEYRING) else str(Path(place).expanduser().absolute())


def make_key(place: str) -> str:
    """Make a random key in a new file that only its owner can read, or in the keyring as
    `keyring:NAME`; return where it is. Raises InvalidInput if there is one already.
    """
    key = os.urandom(32).hex()
    if place.startswith(KEYRING):
        keyring = _Keyring()
        name = _name_in_keyring(place)
        if keyring.get_password(SERVICE, name) is not None:
            raise InvalidInput(f"The keyring already has a key named {name!r}. It was kept.")
        keyring.set_password(SERVICE, name, key)
        return place
    file = Path(absolute(place))
    try:
        file.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        opened = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise InvalidInput(
            f"{file} is there already, and was kept: a store whose key is lost cannot be read."
        ) from error
    except OSError as error:
        raise InvalidInput(f"Cannot make the key file {file}: {reason(error)}.") from error
    with os.fdopen(opened, "w", encoding="ascii") as written:
        written.write(f"{key}\n")
        written.flush()
        # A store encrypted with a key that a power failure took away could not be read.
        os.fsync(written.fileno())
    return str(file)


def _checked(key: str, place: str) -> str:
    if not _KEY.fullmatch(key.strip()):
        raise _not_a_key(place)
    return key.strip()


def _not_a_key(place: str) -> InvalidInput:
    return InvalidInput(
        f"{place} holds no key: a key is 64 hexadecimal digits. `holdfast store key new FILE` "
        "makes one."
    )


def _name_in_keyring(place: str) -> str:
    name = place.removeprefix(KEYRING)
    if not name:
        raise InvalidInput("Name the key in the keyring, e.g. keyring:memory.")
    return name


class _Keyring:
    """The keyring of the operating system; its problems become errors that say what to do."""

    def __init__(self) -> None:
        try:
            # Optional, and slow to import.
            import keyring  # noqa: PLC0415
            from keyring.errors import KeyringError  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra(
                f"The keyring needs its package ({error}). Install it with: pip install "
                "'holdfast-memory[encryption]'"
            ) from error
        self._keyring = keyring
        self._error = KeyringError

    def get_password(self, service: str, name: str) -> str | None:
        """Return a password; None if there is none."""
        try:
            found: str | None = self._keyring.get_password(service, name)
        except self._error as error:
            raise self._unusable(error) from error
        return found

    def set_password(self, service: str, name: str, password: str) -> None:
        """Store a password."""
        try:
            self._keyring.set_password(service, name, password)
        except self._error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> InvalidInput:
        return InvalidInput(
            f"The keyring of this machine cannot be used ({str(error) or type(error).__name__}). "
            "Unlock it, or keep the key in a file: `holdfast store key new FILE`."
        )
