"""What the agent remembers, beside the conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from ...errors import HoldfastError
from ...text.terminal import plain
from ...text.tokens import index_terms, query_terms
from ...types import MAIN_KINDS, Memory
from ..role_memory import RoleMemory
from .talk import shortened

# memories in the panel, and in the answer to /memory
SHOWN = 200
LISTED = 20
LONGEST = 500  # characters of a memory
NO_MEMORY = "This agent has no memory."


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as the panel shows it."""

    type: str
    head: str
    content: str
    words: str
    """All that a filter looks at, in lower case."""

    @classmethod
    def of(cls, memory: Memory) -> Row:
        """The row of a memory."""
        head = plain(f"#{memory.seq} {memory.layer}:{memory.category}")
        content = plain(memory.content)
        return cls(memory.layer, head, shortened(content, LONGEST), f"{head}\n{content}".casefold())

    def has(self, wanted: Sequence[str]) -> bool:
        """Whether all of these words, or parts of words, are in it."""
        return all(word in self.words for word in wanted)


class MemoryPanel(Vertical):
    """What the agent remembers, newest first, and a field to narrow it."""

    class Read(Message):
        """The memories as they are now, or why they cannot be read."""

        def __init__(self, rows: Sequence[Row], failure: str = "") -> None:
            super().__init__()
            self.rows = rows
            self.failure = failure

    def __init__(self, memory: RoleMemory | None) -> None:
        super().__init__(id="memory")
        self.border_title = "Memory"
        self._memory = memory
        self._rows: Sequence[Row] = ()
        self.failure = ""
        """Why the memories could not be read when that was last tried."""

    def compose(self) -> ComposeResult:
        if self._memory is None:
            yield Static(NO_MEMORY, id="counts")
            return
        yield Static("", id="counts")
        yield Input(placeholder="Filter by words, type or category", id="filter", compact=True)
        with VerticalScroll():
            yield Static("", id="memories")

    def reload(self) -> None:
        """Reads the memories anew, in the background."""
        if self._memory is not None:
            self._read(self._memory)

    @work(thread=True, exclusive=True)
    def _read(self, memory: RoleMemory) -> None:
        try:
            # Looking must not make a store where there is none.
            read = self.Read(
                [Row.of(one) for one in memory.listed(limit=None)] if memory.exists else []
            )
        except HoldfastError as error:
            read = self.Read([], str(error))
        # A later look has begun, and will know more.
        if not get_current_worker().is_cancelled:
            self.post_message(read)

    @on(Read)
    def _have(self, read: Read) -> None:
        self._rows = read.rows
        self.failure = read.failure
        counts = Counter(row.type for row in read.rows)
        told = read.failure or " · ".join(f"{counts[type_]} {type_}" for type_ in MAIN_KINDS)
        self.query_one("#counts", Static).update(Content(plain(told)))
        self.query_one("#counts").set_class(bool(read.failure), "error")
        self._show()

    @on(Input.Changed)
    def _show(self) -> None:
        """Shows what the filter leaves."""
        wanted = self.query_one(Input).value
        found = self._found(wanted)
        self.border_subtitle = f"{len(found)} of {len(self._rows)}" if wanted.strip() else ""
        parts = [Content.assemble((row.head, "bold"), "\n", row.content) for row in found[:SHOWN]]
        if len(found) > SHOWN:
            parts.append(Content(f"… and {len(found) - SHOWN} more: narrow them above."))
        self.query_one("#memories", Static).update(Content("\n\n").join(parts))

    def told(self, wanted: str, *, nothing: str = "") -> str:
        """The memories that have all of these words, newest first, as lines; or why there are none.

        `nothing` is said where none has them.
        """
        if self._memory is None or self.failure:
            return self.failure or NO_MEMORY
        words = set(query_terms(wanted))
        found = [row for row in self._rows if words <= set(index_terms(row.words))]
        lines = [f"{row.head}  {row.content}" for row in found[:LISTED]]
        if len(found) > LISTED:
            lines.append(f"… and {len(found) - LISTED} more.")
        return "\n".join(lines) or nothing or "No memories found."

    def _found(self, wanted: str) -> list[Row]:
        words = wanted.casefold().split()
        return [row for row in self._rows if row.has(words)]
