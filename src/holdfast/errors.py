"""Every error Holdfast raises on purpose, in one tree.

    HoldfastError
    ├── InvalidInput          the call itself is wrong; nothing was written
    │   ├── ScopeError        a scope is missing or malformed
    │   │   └── OwnerMissing  nobody is named to whom a memory could belong
    │   ├── Nothing           there is no text to remember
    │   ├── TooLarge          a text is over the size limit
    │   └── UnknownSetting    a setting or HOLDFAST_* variable that does not exist
    ├── NotFound              no such memory, session or run in the scopes you named
    ├── Conflict              the thing changed since you read it, or a later change stands in the way
    ├── Refused               the guard or a protection said no
    │   └── NeedsPerson       only a person may decide that
    ├── MissingExtra          a feature needs an optional package
    ├── MissingKey            a model's key is not set
    ├── ModelFailed           a model did not answer
    │   └── CapReached        it was not asked, for it has taken as many tokens as it may
    ├── EmbedderError         an embedding model failed
    │   ├── DimensionMismatchError
    │   └── EmbeddingModelChangedError
    └── StoreError            the database said no
        ├── StoreBusy         another process held the write lock for too long
        ├── StoreReadOnly     the file or its folder cannot be written
        ├── StoreFull         the disk is full
        ├── StoreCorrupt      the file is damaged or is not a Holdfast store
        │   └── RowDamaged    one row of it cannot be read any more; all others can
        ├── StoreTooNew       a newer Holdfast wrote this store
        └── StoreClosed       the store was closed before this call

Core errors know nothing of HTTP or exit codes; each surface keeps its own table.
"""

from __future__ import annotations

from collections.abc import Iterable


class HoldfastError(Exception):
    """Something went wrong in Holdfast."""

    def __init__(self, message: str | None = None, **fields: object) -> None:
        """The class docstring is the default message; keyword fields become attributes."""
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)


class InvalidInput(HoldfastError, ValueError):
    """The input cannot be used as it is. Nothing was written."""


class ScopeError(InvalidInput):
    """Every call names a scope such as 'user:alice'. Pass scope='kind:key'."""


class OwnerMissing(ScopeError):
    """Nobody is named to whom this memory could belong. Give a user_id or a session id."""


class Nothing(InvalidInput):
    """There is nothing to remember: the text is empty."""


class TooLarge(InvalidInput):
    """The text is over the size limit. Split it, or raise the max_content_bytes setting."""


class UnknownSetting(InvalidInput):
    """There is no such setting. `holdfast settings` lists them all."""


class NotFound(HoldfastError, LookupError):
    """There is nothing with that id in the scopes you named."""


class Conflict(HoldfastError):
    """It changed since you read it. Read it again and retry."""


class Refused(HoldfastError):
    """Something is protected from that. The message says by what, and whether there is a way."""


class NeedsPerson(Refused):
    """Only a person may decide about a memory that waits for one. Use `holdfast review`."""


class MissingExtra(HoldfastError, ImportError):
    """This feature needs an optional package."""


class MissingKey(HoldfastError):
    """The variable that holds the model's key is not set."""


class ModelFailed(HoldfastError):
    """The model did not answer. What was remembered before is kept."""


class CapReached(ModelFailed):
    """The language model has taken as many tokens as it may. Nothing is lost: it is asked again
    later.
    """

    until: int | None = None
    """When it may be asked again, in microseconds; None: in the next run."""


class EmbedderError(HoldfastError):
    """The embedding model failed. Texts are kept and found by their words until it is back."""


class DimensionMismatchError(EmbedderError):
    """The vectors have another length than the model promises. Embed the memories anew with it."""


class EmbeddingModelChangedError(EmbedderError):
    """The memories were embedded by another model. Embed them anew, or go back to that model."""


class StoreError(HoldfastError):
    """The database could not do that."""


class StoreBusy(StoreError):
    """Another process is writing and did not finish in time. Nothing was written; try again."""


class StoreReadOnly(StoreError):
    """The store cannot be written. Check the permissions of the file and its folder."""


class StoreFull(StoreError):
    """The disk is full. Nothing was written; free some space and try again."""


class StoreCorrupt(StoreError):
    """The file is damaged or is not a Holdfast store. Restore a backup, or import an export."""


class RowDamaged(StoreCorrupt):
    """One row of the store cannot be read any more. `holdfast doctor --repair` restores it or puts
    it aside.
    """


class StoreTooNew(StoreError):
    """A newer Holdfast wrote this store. It opens with that version, or a newer one."""


class StoreClosed(StoreError, RuntimeError):
    """The store is closed. Open it again with Holdfast.open(...)."""


def reason(error: Exception) -> str:
    """Why a file could not be read, for people: what the system says, that it is no text, or where
    it breaks off.

    >>> reason(FileNotFoundError(2, "No such file or directory", "notes.txt"))
    'there is no such file'
    """
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return "it is a folder, not a file"
        case OSError(strerror=str(said)):
            return said
        case UnicodeDecodeError():
            return f"it is not UTF-8 text (byte {error.start})"
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)  # of YAML
    told = " ".join(str(getattr(error, "problem", None) or error).split()) or type(error).__name__
    return f"line {mark.line + 1}: {told}" if mark else told


def meant(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """What an error adds about a misspelt name: a blank and a question, or nothing when it cannot
    be told.

    >>> meant("enabeld", ["enabled", "models"])
    " Did you mean 'enabled'?"
    """
    # Only a mistake needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(name, list(known), n=1, cutoff=likeness)
    return f" Did you mean {near[0]!r}?" if near else ""
