"""Keys of the HTTP API: which key opens whose memory.

A key is shown once, when it is created; the file stores a salted hash. The file is append-only: one
line per created key, one per revoked key. So two programs may add keys without a lock, and a
running server follows.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, NotFound
from ..types import Micros, Scope

# Key name and secret: 8 hex digits, and 256 bits in base64url.
SHAPE = re.compile(r"hf_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
# Write permission for group or others.
OTHERS_MAY_WRITE = 0o022


@dataclass(frozen=True, slots=True)
class Key:
    """One stored key: its name, its owner, and the hash of its secret."""

    id: str
    owner: str
    salt: str
    hash: str
    created_at: Micros
    admin: bool = False
    """Whether it also opens the figures of the server, which hold nobody's memories."""

    @property
    def scope(self) -> Scope:
        """The only scope that the key opens."""
        return Scope("user", self.owner)

    def fits(self, secret: str) -> bool:
        """Whether this is the key's secret, compared in constant time."""
        return hmac.compare_digest(self.hash, _hashed(self.salt, secret))


class KeyFile:
    """The keys of one file, reloaded when it changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}
        self._needed = False

    @property
    def needed(self) -> bool:
        """Whether a key is required: from the first one on, even after the last one was revoked."""
        self._follow()
        return self._needed

    def __iter__(self) -> Iterator[Key]:
        """Yield the valid keys, oldest first."""
        self._follow()
        return iter(list(self._keys.values()))

    def find(self, text: str) -> Key | None:
        """Return the valid key with this secret, if there is one."""
        shown = SHAPE.fullmatch(text)
        if shown is None:
            return None
        self._follow()
        key = self._keys.get(shown[1])
        return key if key is not None and key.fits(shown[2]) else None

    def add(self, owner: str, *, at: Micros, admin: bool = False) -> str:
        """Create a key for one owner and return it; it cannot be shown again."""
        # Raises for an invalid name.
        Scope("user", owner)
        id_ = secrets.token_hex(4)
        secret = secrets.token_urlsafe(32)
        salt = secrets.token_hex(16)
        self._append(
            {
                "id": id_,
                "owner": owner,
                "salt": salt,
                "hash": _hashed(salt, secret),
                "created_at": at,
                # Only where it is true, so that an older version can read the others.
                **({"admin": True} if admin else {}),
            }
        )
        return f"hf_{id_}_{secret}"

    def revoke(self, id_: str, *, at: Micros) -> Key:
        """Revoke a key; NotFound if there is none of that name."""
        self._follow()
        key = self._keys.get(id_)
        if key is None:
            raise NotFound(
                f"There is no key {id_!r} in {self.path}. `holdfast serve keys list` shows them.",
                id=id_,
            )
        self._append({"revoked": id_, "at": at})
        return key

    def _append(self, entry: dict[str, Any]) -> None:
        line = (json.dumps(entry) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(
                self.path,
                os.O_CREAT | os.O_WRONLY | os.O_APPEND,
                0o600,
            )
            try:
                # One write, so that lines of two programs never interleave.
                os.write(file, line)
            finally:
                os.close(file)
        except OSError as error:
            raise InvalidInput(
                f"Cannot write the keys to {self.path}: {error.strerror}."
            ) from error

    def _follow(self) -> None:
        try:
            state = self.path.stat()
        except FileNotFoundError:
            self._keys = {}
            self._seen = None
            return
        except OSError as error:
            raise InvalidInput(f"Cannot read the keys in {self.path}: {error.strerror}.") from error
        # Size and inode too: two changes may share one time stamp.
        seen = (state.st_ino, state.st_size, state.st_mtime_ns)
        if seen != self._seen:
            if sys.platform != "win32" and state.st_mode & OTHERS_MAY_WRITE:
                raise InvalidInput(
                    f"Other users can write {self.path}, and so create keys. Run: chmod 600 "
                    f"'{self.path}'"
                )
            self._keys = _read(self.path)
            self._seen = seen
            # Never back to False: revoking the last key must not open the server to everybody.
            self._needed = self._needed or bool(self._keys)


def _hashed(salt: str, secret: str) -> str:
    # One round is enough: a secret has 256 random bits, and no list of likely ones exists.
    return hashlib.sha256(f"{salt}:{secret}".encode()).hexdigest()


def _read(path: Path) -> dict[str, Key]:
    keys: dict[str, Key] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            entry = json.loads(line)
            if "revoked" in entry:
                keys.pop(entry["revoked"], None)
            else:
                keys[entry["id"]] = Key(**entry)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput(
                f"Line {number} of {path} is not a key. Remove it, or create the keys again."
            ) from error
    return keys
