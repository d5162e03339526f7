"""Atomic file operations: read without following links, write whole files, and roll back."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import Conflict, InvalidInput
from ..storage.mtime import sure
from ..storage.protocol import Store
from ..storage.store_types import BEHIND, KnownFile
from ..types import Micros
from ..values import dataclass, field


@dataclass(frozen=True)
class Content:
    """Bytes of a file, and the attributes that show whether it has changed."""

    bytes: bytes
    size: int
    mtime: int
    """Modification time in nanoseconds; UNSURE when it is too recent to detect a later change."""
    mode: int
    changed_at: Micros

    @property
    def hash(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return hash_of(self.bytes)


def hash_of(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    # Imported here because it loads OpenSSL, which slows every start-up.
    from hashlib import sha256  # noqa: PLC0415

    return sha256(content).hexdigest()


def read(path: Path) -> Content | None:
    """Return the content of a file, or None if it does not exist.

    Raises InvalidInput for a link, a folder, or a file that cannot be read.
    """
    try:
        # O_NOFOLLOW: a link may lead out of the place. O_NONBLOCK: opening a named pipe would
        # otherwise wait for a writer.
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    seen = os.fstat(handle)
    if not stat.S_ISREG(seen.st_mode):
        # Checked before `fdopen`, which rejects a folder with an error of its own.
        os.close(handle)
        raise InvalidInput(f"{path} is not a file.")
    with os.fdopen(handle, "rb") as file:
        when = seen.st_mtime_ns
        return Content(
            file.read(), seen.st_size, sure(when), stat.S_IMODE(seen.st_mode), when // 1000
        )


def _host() -> str:
    # Imported here because only a store on a server needs the host name.
    from platform import node  # noqa: PLC0415

    return node()


def root_of(store: Store, folder: Path) -> str:
    """Return the name under which a store knows a folder.

    It is the path; on a server, which many machines share, the host name precedes it.
    """
    return f"{_host()}:{folder}" if "://" in store.location else str(folder)


def folder_of(store: Store, root: str) -> Path:
    """Return the folder that such a name refers to; a folder of another machine does not exist
    here.
    """
    return Path(root.removeprefix(f"{_host()}:") if "://" in store.location else root)


def noted(
    root: str,
    path: str,
    memory: str,
    content: Content,
) -> KnownFile:
    """Return the row that the store keeps about a file."""
    return KnownFile(root, path, memory, content.size, content.mtime, content.hash)


def hash_noted(file: KnownFile) -> str:
    """Return the hash that a file had when it was last read."""
    return file.hash.removeprefix(BEHIND)


@dataclass
class Changes:
    """Undo log of file changes, for use until the transaction is committed."""

    _undo: list[Callable[[], None]] = field(default_factory=list)
    deleted: list[Path] = field(default_factory=list)

    def create(self, path: Path, content: bytes) -> None:
        """Write a new file. Raises Conflict if the file already exists."""
        # A link fails if the name is taken, so no other process's new file is overwritten.
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
        """Overwrite a file and keep its mode. Raises Conflict if the file has changed since
        `old`.
        """
        draft = _draft(path, [content], old.mode)
        try:
            _still(path, old)
            with _told_as("write", path):
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._undo.append(lambda: _put_back(path, old, content))

    def delete(self, path: Path, old: Content) -> None:
        """Delete a file. Raises Conflict if the file has changed since `old`."""
        _still(path, old)
        with _told_as("delete", path):
            path.unlink()
        self.deleted.append(path)
        self._undo.append(lambda: _put_back(path, old, None))

    def take_back(self) -> None:
        """Roll back all changes, except in files that somebody else has changed since."""
        # Newest first, because a later change may build on an earlier one. One file that cannot
        # be restored must not keep the others from being restored.
        while self._undo:
            with suppress(OSError, InvalidInput, Conflict):
                self._undo.pop()()
        self.deleted.clear()


def _still(path: Path, old: Content) -> None:
    now = read(path)
    if now is None or now.bytes != old.bytes:
        raise changed_meanwhile(path)


def changed_meanwhile(path: Path) -> Conflict:
    """Return the error for a file that another process has changed."""
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
    """Write a file atomically: a reader sees the old content or all of the new."""
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
    """Write and fsync a temporary file next to `path`; renaming it completes the write."""
    # Same folder, because a rename is atomic only within one file system. The name is cut so that
    # prefix and suffix stay below the usual limit of 255 bytes.
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
    """Give a draft its final name unless that is taken; without hard links this is not atomic."""
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
    """Turn an OSError into an InvalidInput that names the file."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"Cannot {verb} {path}: {error.strerror}. Nothing was changed."
        ) from error


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
