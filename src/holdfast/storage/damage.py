"""Damaged rows: detected in one place, skipped and recorded.

A flipped bit produces text that is not UTF-8, JSON that does not parse, or an unknown status. The
decoders in `row_codec.py` raise RowDamaged for such a row. Code that reads many rows goes through
`Damages.sound`, which skips and records it, so that one damaged row never hides the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ..errors import RowDamaged
from ..types import Scope

T = TypeVar("T")
NOT_TEXT = "is not UTF-8 text"
NOT_JSON = "is not valid JSON"
NOT_AS_STORED = "is not the text that was stored: its hash is another"
QUARANTINED = "quarantined: "
"""Prefix of the status reason of a damaged memory that is archived until a person decides."""
UNKNOWN = "has a value that does not exist"
# Verbs that may remove or fix damaged rows, so that what was recorded must be checked again.
AFRESH = ("purge", "repair", "import")
JOURNAL_ENTRY = "journal entry"
LOST = (
    "What it says is nowhere else; a backup may have it. `holdfast doctor` lists all that "
    "cannot be read"
)
ADVICE = "`holdfast doctor --repair` restores it from the journal, or puts it aside"


class Damage(NamedTuple):
    """One unreadable row: its scope, its noun, its name, and the fault."""

    scope: Scope | None
    noun: str
    name: str
    fault: str
    seq: int | None = None
    """Number of the memory or journal entry."""

    def __str__(self) -> str:
        return f"{self.noun} {self.name}: {self.fault}"

    def error(self) -> RowDamaged:
        """The error to raise when this row itself is requested."""
        advice = LOST if self.noun == JOURNAL_ENTRY else ADVICE
        return RowDamaged(
            f"The {self.noun} {self.name} cannot be read: {self.fault}. {advice}.",
            id=self.name,
            damage=self,
        )


class GarbledRow(tuple[Any, ...]):
    """A row with text that is not UTF-8; the replacement character marks the undecodable bytes."""

    garbled: frozenset[int]
    """Column indexes of those texts."""

    @classmethod
    def of(cls, values: Sequence[Any], garbled: Iterable[int]) -> GarbledRow:
        """Build a row from its values and the indexes of the garbled ones."""
        row = cls(values)
        row.garbled = frozenset(garbled)
        return row


class Damages:
    """The damaged rows found so far, each once."""

    logged = True
    """Whether to log them. Commands turn it off in their process and list the rows when they
    end.
    """

    def __init__(self) -> None:
        self._met: dict[tuple[Scope | None, str, str], Damage] = {}

    def __iter__(self) -> Iterator[Damage]:
        return iter(list(self._met.values()))

    def note(self, damage: Damage) -> None:
        """Record a damaged row, and log it the first time."""
        key = damage[:3]
        known = self._met.get(damage[:3])
        # A later report may add the row number that the first one lacked.
        if known is None or known.seq is None:
            self._met[key] = damage
        if known is None and self.logged:
            # Importing logging is slow, and damage is rare.
            from logging import getLogger  # noqa: PLC0415

            getLogger("holdfast.storage").warning("left out, because it cannot be read: %s", damage)

    def learn_of(self, error: RowDamaged) -> None:
        """Record the row that an error is about."""
        damage = error.fields.get("damage")
        if isinstance(damage, Damage):
            self.note(damage)

    def sound(self, rows: Sequence[Any], decode: Callable[[Any], T]) -> list[T]:
        """Decode these rows; skip and record the damaged ones."""
        try:
            # Fast path: almost always nothing is damaged.
            return [decode(row) for row in rows]
        except RowDamaged:
            return list(self.each_sound(rows, decode))

    def each_sound(self, rows: Iterable[Any], decode: Callable[[Any], T]) -> Iterator[T]:
        """Like `sound`, row by row in constant memory."""
        for row in rows:
            try:
                found = decode(row)
            except RowDamaged as error:
                self.learn_of(error)
            else:
                yield found

    def learn(self, others: Damages, *, afresh: bool = False) -> None:
        """Add what others found; `afresh` first clears the list, after rows may have been fixed."""
        if afresh:
            self.clear()
        for damage in others:
            self.note(damage)

    def clear(self) -> None:
        """Forget all of them, so that reads after a repair check every row again."""
        self._met.clear()
