"""All errors that Holdfast raises deliberately, in one tree.

    HoldfastError
    ├── InvalidInput          the call itself is wrong; nothing was written
    │   ├── ScopeError        a scope is missing or malformed
    │   │   └── OwnerMissing  no owner given
    │   ├── Nothing           the text is empty
    │   ├── TooLarge          a text is over the size limit
    │   └── UnknownSetting    a setting or HOLDFAST_* variable that does not exist
    ├── NotFound              no such memory, session or run in the scopes you named
    ├── Conflict              it changed since you read it, or a later change blocks it
    ├── Refused               a protection rule refuses it
    │   └── NeedsPerson       only a person can approve or reject it
    ├── MissingExtra          a feature needs an optional package
    ├── MissingKey            a model's API key is not set
    ├── ModelFailed           a model did not answer
    │   └── CapReached        not asked: the token budget is used up
    ├── EmbedderError         an embedding model failed
    │   ├── DimensionMismatchError
    │   └── EmbeddingModelChangedError
    └── StoreError            the database reported an error
        ├── StoreBusy         another process held the write lock for too long
        ├── StoreReadOnly     the file or its folder cannot be written
        ├── StoreFull         the disk is full
        ├── StoreCorrupt      the file is damaged or is not a Holdfast store
        │   └── RowDamaged    one row cannot be read; all others can
        ├── StoreTooNew       a newer Holdfast wrote this store
        ├── WrongKey          the key of an encrypted store is missing or wrong
        └── StoreClosed       the store was closed before this call

Core errors know nothing of HTTP or exit codes; each surface maps them in its own table.
"""

from __future__ import annotations

from collections.abc import Iterable


class HoldfastError(Exception):
    """Something went wrong in Holdfast."""

    def __init__(self, message: str | None = None, **fields: object) -> None:
        """Use the class docstring as the default message; set keyword fields as attributes."""
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.fields = fields
        for name, value in fields.items():
            setattr(self, name, value)


class InvalidInput(HoldfastError, ValueError):
    """The input cannot be used as it is. Nothing was written."""


class ScopeError(InvalidInput):
    """Every call names a scope such as 'user:alice'. Pass scope='kind:key'."""


class OwnerMissing(ScopeError):
    """No owner given. Pass a user_id or a session id."""


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
    """A protection rule refuses this. The message names the rule and, if any, the way around it."""


class NeedsPerson(Refused):
    """Only a person can approve or reject this memory. Use `holdfast review`."""


class MissingExtra(HoldfastError, ImportError):
    """This feature needs an optional package."""


class MissingKey(HoldfastError):
    """The environment variable with the model's API key is not set."""


class ModelFailed(HoldfastError):
    """The model did not answer. Everything stored before is kept."""


class CapReached(ModelFailed):
    """The token budget for language models is used up. Nothing is lost: it is retried later."""

    until: int | None = None
    """Time of the next retry in microseconds; None means in the next run."""


class EmbedderError(HoldfastError):
    """The embedding model failed. Until it is back, memories are stored and found by full text."""


class DimensionMismatchError(EmbedderError):
    """The vectors do not have the length that the model declares. Embed the memories again."""


class EmbeddingModelChangedError(EmbedderError):
    """The memories were embedded by another model. Embed them again, or go back to that model."""


class StoreError(HoldfastError):
    """The database reported an error."""


class StoreBusy(StoreError):
    """Another process is writing and did not finish in time. Nothing was written; try again."""


class StoreReadOnly(StoreError):
    """The store cannot be written. Check the permissions of the file and its folder."""


class StoreFull(StoreError):
    """The disk is full. Nothing was written; free some space and try again."""


class StoreCorrupt(StoreError):
    """The file is damaged or is not a Holdfast store. Restore a backup, or import an export."""


class RowDamaged(StoreCorrupt):
    """A row of the store cannot be read. `holdfast doctor --repair` restores or quarantines it."""


class StoreTooNew(StoreError):
    """A newer Holdfast wrote this store. It opens with that version, or a newer one."""


class WrongKey(StoreError):
    """The key of the store is missing or wrong, or a key was given and the store has none."""


class StoreClosed(StoreError, RuntimeError):
    """The store is closed. Open it again with Holdfast.open(...)."""


def reason(error: Exception) -> str:
    """Describe for people why a file could not be read.

    >>> reason(FileNotFoundError(2, "No such file or directory", "notes.txt"))
    'there is no such file'
    """
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return "it is a folder, not a file"
        case OSError(strerror=str(message)):
            return message
        case UnicodeDecodeError():
            return f"it is not UTF-8 text (byte {error.start})"
    # YAML errors carry a position, in one of two attributes.
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or error
    message = " ".join(str(problem).split()) or type(error).__name__
    return f"line {mark.line + 1}: {message}" if mark else message


def meant(
    name: str,
    known: Iterable[str],
    *,
    likeness: float = 0.6,
) -> str:
    """Return a "Did you mean" hint for a misspelt name, with a leading space; empty without a
    match.

    >>> meant("enabeld", ["enabled", "models"])
    " Did you mean 'enabled'?"
    """
    # Imported here because only error paths need it.
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(name, list(known), n=1, cutoff=likeness)
    return f" Did you mean {near[0]!r}?" if near else ""
