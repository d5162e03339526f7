"""Files on a disk: read without following links, written whole or not at all, and put back when
that was in vain.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import Conflict, InvalidInput
from ..storage.mtime import sure
from ..storage.protocol import BEHIND, KnownFile, Store
from ..types import Micros
from ..values import dataclass, field


@dataclass(frozen=True)
class Content:
    """The bytes of a file, and what tells whether they are still the same."""

    bytes: bytes
    size: int
    mtime: int
    """When it was changed, in nanoseconds; UNSURE when that is too short ago to tell."""
    mode: int
    changed_at: Micros

    @property
    def hash(self) -> str:
        """SHA-256, in hexadecimal digits."""
        return hash_of(self.bytes)


def hash_of(content: bytes) -> str:
    """By what the content of a file is told from another."""
    # It loads OpenSSL.
    from hashlib import sha256  # noqa: PLC0415

    return sha256(content).hexdigest()


def read(path: Path) -> Content | None:
    """What a file holds; None when there is none. InvalidInput for a link, a folder, or what may
    not be read.
    """
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    seen = os.fstat(handle)
    if not stat.S_ISREG(seen.st_mode):
        # Before it is opened as a file, which a folder refuses with an error of its own.
        os.close(handle)
        raise InvalidInput(f"{path} is not a file.")
    with os.fdopen(handle, "rb") as file:
        when = seen.st_mtime_ns
        return Content(
            file.read(), seen.st_size, sure(when), stat.S_IMODE(seen.st_mode), when // 1000
        )


def _host() -> str:
    # Only where the store is a server.
    from platform import node  # noqa: PLC0415

    return node()


def root_of(store: Store, folder: Path) -> str:
    """By which name a store knows a folder: its path, and on a server, which many machines share,
    whose path it is.
    """
    return f"{_host()}:{folder}" if "://" in store.location else str(folder)


def folder_of(store: Store, root: str) -> Path:
    """The folder that such a name means. One of another machine is none here."""
    return Path(root.removeprefix(f"{_host()}:") if "://" in store.location else root)


def noted(
    root: str,
    path: str,
    memory: str,
    content: Content,
) -> KnownFile:
    """A file as it is remembered."""
    return KnownFile(root, path, memory, content.size, content.mtime, content.hash)


def hash_noted(file: KnownFile) -> str:
    """The hash that a file had when it was last read."""
    return file.hash.removeprefix(BEHIND)


@dataclass
class Changes:
    """What was done to files so far, so that it can be taken back until it is known to last."""

    _undo: list[Callable[[], None]] = field(default_factory=list)
    deleted: list[Path] = field(default_factory=list)

    def create(self, path: Path, content: bytes) -> None:
        """Writes a new file; Conflict when there is one already."""
        draft = _draft(path, [content], 0o644 & ~_umask())
        try:
            _link(draft, path)
        except FileExistsError:
            raise Conflict(f"{path} is already there. Nothing was changed.") from None
        finally:
            draft.unlink(missing_ok=True)
        self._undo.append(lambda: _remove_if(path, content))

    def replace(
        self,
        path: Path,
        old: Content,
        content: bytes,
    ) -> None:
        """Writes over a file, which keeps its mode; Conflict when it is no longer what it was."""
        draft = _draft(path, [content], old.mode)
        try:
            _still(path, old)
            with _told_as("write", path):
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._undo.append(lambda: _put_back(path, old, content))

    def delete(self, path: Path, old: Content) -> None:
        """Removes a file; Conflict when it is no longer what it was."""
        _still(path, old)
        with _told_as("delete", path):
            path.unlink()
        self.deleted.append(path)
        self._undo.append(lambda: _put_back(path, old, None))

    def take_back(self) -> None:
        """Makes the files what they were, but for those that somebody has changed since."""
        while self._undo:
            with suppress(OSError, InvalidInput, Conflict):
                self._undo.pop()()
        self.deleted.clear()


def _still(path: Path, old: Content) -> None:
    now = read(path)
    if now is None or now.bytes != old.bytes:
        raise changed_meanwhile(path)


def changed_meanwhile(path: Path) -> Conflict:
    """The error for a file that somebody else has changed."""
    return Conflict(
        f"{path} was changed by somebody else meanwhile. Nothing was written; look at it and "
        "try "
        "again."
    )


def _remove_if(path: Path, content: bytes) -> None:
    now = read(path)
    if now is not None and now.bytes == content:
        path.unlink()


def _put_back(
    path: Path,
    old: Content,
    ours: bytes | None,
) -> None:
    now = read(path)
    if (now.bytes if now else None) == ours:
        write_whole(path, [old.bytes], mode=old.mode)


def write_whole(
    path: Path,
    content: Iterable[bytes],
    *,
    mode: int | None = None,
) -> None:
    """Writes a file all at once: whoever reads it sees what it held before, or all of this."""
    draft = _draft(path, content, 0o644 & ~_umask() if mode is None else mode)
    try:
        with _told_as("write", path):
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _draft(
    path: Path,
    content: Iterable[bytes],
    mode: int,
) -> Path:
    """A file beside the one that is meant, on the disk for sure, which only has to be given its
    name.
    """
    draft = path.with_name(f".{path.name[:100]}.{os.getpid()}.draft")
    try:
        with _told_as("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(
                os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb"
            ) as file:
                file.writelines(content)
                file.flush()
                os.fchmod(file.fileno(), mode) if hasattr(os, "fchmod") else None
                os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    return draft


def _link(draft: Path, path: Path) -> None:
    """Gives a draft its name unless it is taken; a file system without links gets as near to that
    as it can.
    """
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists():
            raise FileExistsError(path) from None
        draft.replace(path)


@contextmanager
def _told_as(verb: str, path: Path) -> Iterator[None]:
    """Tells what could not be done to a file instead of an error of the operating system."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"Cannot {verb} {path}: {error.strerror}. Nothing was changed."
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
