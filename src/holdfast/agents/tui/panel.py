"""Side panel with the agent's memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from .talk import shortened

if TYPE_CHECKING:
    from ..answer_memories import AnswerMemory
    from ..role_memory import RoleMemory

# Memories in the panel, and in the answer to /memory.
SHOWN = 200
LISTED = 20
LONGEST = 500  # characters of a memory
LONGEST_RECEIVED = 160  # characters of one above the list
NO_MEMORY = "This agent has no memory."


@dataclass(frozen=True, slots=True)
class Row:
    """A memory as the panel shows it."""

    type: str
    head: str
    content: str
    words: str
    """Text that the filter searches, in lower case."""

    @classmethod
    def of(cls, memory: Memory) -> Row:
        """Create the row of a memory."""
        head = plain(f"#{memory.seq} {memory.layer}:{memory.category}")
        content = plain(memory.content)
        return cls(
            memory.layer,
            head,
            shortened(content, LONGEST),
            f"{head}\n{content}".casefold(),
        )

    def has(self, wanted: Sequence[str]) -> bool:
        """Whether it contains all of these words or parts of words."""
        return all(word in self.words for word in wanted)


class MemoryPanel(Vertical):
    """What the model received for the last answer, and all memories, newest first with a filter."""

    class Read(Message):
        """The current memories, or why they cannot be read."""

        def __init__(
            self, rows: Sequence[Row], received: Sequence[AnswerMemory] = (), failure: str = ""
        ) -> None:
            super().__init__()
            self.rows = rows
            self.received = received
            self.failure = failure

    def __init__(self, memory: RoleMemory | None) -> None:
        super().__init__(id="memory")
        self.border_title = "Memory"
        self._memory = memory
        self._rows: Sequence[Row] = ()
        self.failure = ""
        """Error of the last load."""

    def compose(self) -> ComposeResult:
        if self._memory is None:
            yield Static(NO_MEMORY, id="counts")
            return
        yield Static("", id="received")
        yield Static("", id="counts")
        yield Input(
            placeholder="Filter by words, type or category",
            id="filter",
            compact=True,
        )
        with VerticalScroll():
            yield Static("", id="memories")

    def reload(self) -> None:
        """Reload the memories in the background."""
        if self._memory is not None:
            self._read(self._memory)

    @work(thread=True, exclusive=True)
    def _read(self, memory: RoleMemory) -> None:
        try:
            # Looking must not create a store.
            memories = memory.listed(limit=None) if memory.exists else []
            read = self.Read([Row.of(one) for one in memories], memory.answer_memories.all())
        except HoldfastError as error:
            read = self.Read([], failure=str(error))
        # A later load has started and has newer data.
        if not get_current_worker().is_cancelled:
            self.post_message(read)

    @on(Read)
    def _have(self, read: Read) -> None:
        self._rows = read.rows
        self.failure = read.failure
        counts = Counter(row.type for row in read.rows)
        summary = read.failure or " · ".join(f"{counts[type_]} {type_}" for type_ in MAIN_KINDS)
        self.query_one("#counts", Static).update(Content(plain(summary)))
        self.query_one("#counts").set_class(bool(read.failure), "error")
        self.query_one("#received", Static).update(_received(read.received))
        self._show()

    @on(Input.Changed)
    def _show(self) -> None:
        """Show the filtered memories."""
        wanted = self.query_one(Input).value
        found = self._found(wanted)
        self.border_subtitle = f"{len(found)} of {len(self._rows)}" if wanted.strip() else ""
        parts = [Content.assemble((row.head, "bold"), "\n", row.content) for row in found[:SHOWN]]
        if len(found) > SHOWN:
            parts.append(Content(f"… and {len(found) - SHOWN} more: narrow them above."))
        self.query_one("#memories", Static).update(Content("\n\n").join(parts))

    def render_found(self, wanted: str, *, nothing: str = "") -> str:
        """Render the memories with all of these words, newest first; or the reason why there are
        none.

        `nothing` is the text for an empty result.
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


def _received(memories: Sequence[AnswerMemory]) -> Content:
    """Render the memories that the model received for an answer, each with the reason; empty if
    there are none.
    """
    if not memories:
        return Content("")
    parts = [Content.assemble(("In this answer", "bold underline"))]
    for memory, reason in memories[:LISTED]:
        text = shortened(plain(memory.content), LONGEST_RECEIVED)
        number, why = (f"#{memory.seq} ", "bold"), (plain(reason), "dim")
        parts.append(Content.assemble(number, text, "\n", why))
    if len(memories) > LISTED:
        parts.append(Content(f"… and {len(memories) - LISTED} more."))
    # An empty line before the memories.
    return Content("\n").join([*parts, Content("")])
