"""Rows that cannot be read any more: told from sound ones in one place, left out, and named.

A flipped bit makes a text that is not UTF-8, JSON that does not parse, or a status that does not
exist. The decoders in `rows.py` raise RowDamaged for such a row; whoever reads many rows goes
through `Damages.sound`, which leaves it out and notes it, so that one damaged row never hides the
others.
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
"""How the reason begins for which a damaged memory is archived: until a person decides about it."""
UNKNOWN = "has a value that does not exist"
# Verbs after which a damaged row may be gone or sound.
AFRESH = ("purge", "repair", "import")
JOURNAL_ENTRY = "journal entry"
LOST = (
    "What it says is nowhere else; a backup may have it. `holdfast doctor` lists all that "
    "cannot be read"
)
ADVICE = "`holdfast doctor --repair` restores it from the journal, or puts it aside"


class Damage(NamedTuple):
    """One row that cannot be read: whose it is, what it is, by which name it is known, and what is
    wrong with it.
    """

    scope: Scope | None
    noun: str
    name: str
    fault: str
    seq: int | None = None
    """The number of a memory, or of an entry of the journal."""

    def __str__(self) -> str:
        return f"{self.noun} {self.name}: {self.fault}"

    def error(self) -> RowDamaged:
        """What is raised where this very row is asked for."""
        advice = LOST if self.noun == JOURNAL_ENTRY else ADVICE
        return RowDamaged(
            f"The {self.noun} {self.name} cannot be read: {self.fault}. {advice}.",
            id=self.name,
            damage=self,
        )


class GarbledRow(tuple[Any, ...]):
    """A row in which texts are not UTF-8: they have the replacement character in the place of what
    cannot be read.
    """

    garbled: frozenset[int]
    """The places of those texts in the row."""

    @classmethod
    def of(cls, values: Sequence[Any], garbled: Iterable[int]) -> GarbledRow:
        """The row with these values, of which those at some places are garbled."""
        row = cls(values)
        row.garbled = frozenset(garbled)
        return row


class Damages:
    """The damaged rows that were met so far, each once."""

    logged = True
    """Whether they are logged. A command turns that off for its process: it names them when it
    ends.
    """

    def __init__(self) -> None:
        self._met: dict[tuple[Scope | None, str, str], Damage] = {}

    def __iter__(self) -> Iterator[Damage]:
        return iter(list(self._met.values()))

    def note(self, damage: Damage) -> None:
        """Notes a damaged row, and logs it when it is new."""
        key = damage[:3]
        known = self._met.get(damage[:3])
        if known is None or known.seq is None:
            self._met[key] = damage
        if known is None and self.logged:
            # It loads much that is rarely needed.
            from logging import getLogger  # noqa: PLC0415

            getLogger("holdfast.storage").warning("left out, because it cannot be read: %s", damage)

    def learn_of(self, error: RowDamaged) -> None:
        """Notes the row that an error is about."""
        damage = error.fields.get("damage")
        if isinstance(damage, Damage):
            self.note(damage)

    def sound(self, rows: Sequence[Any], decode: Callable[[Any], T]) -> list[T]:
        """What can be read of these rows; what cannot is left out and noted."""
        try:
            # Nearly always nothing is damaged, and this is quickest.
            return [decode(row) for row in rows]
        except RowDamaged:
            return list(self.each_sound(rows, decode))

    def each_sound(self, rows: Iterable[Any], decode: Callable[[Any], T]) -> Iterator[T]:
        """The same row by row, in constant memory."""
        for row in rows:
            try:
                found = decode(row)
            except RowDamaged as error:
                self.learn_of(error)
            else:
                yield found

    def learn(self, others: Damages, *, afresh: bool = False) -> None:
        """Adds what others met; `afresh` after what may have removed damaged rows, which are looked
        at anew.
        """
        if afresh:
            self.clear()
        for damage in others:
            self.note(damage)

    def clear(self) -> None:
        """Forgets them: after a repair all are looked at anew."""
        self._met.clear()
