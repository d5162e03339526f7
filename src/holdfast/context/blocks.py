"""The block renderer: all prompt text is escaped, laid out and fenced here.

A producer selects memories and passes plain values; it never escapes or fences them itself. A
`Line` always has the same layout:

    - id [label, label] (who, day) speaker: text (source: where)

Memory is data and never an instruction. So each value is escaped, and a block is fenced; the fences
also identify it when it comes back in a transcript (`text/fences.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..text.fences import fence, neutralise
from ..text.reference import BRANCH, read_in
from ..text.token_count import count_tokens
from ..types import OUTDATED_BY, Memory, Scope, iso, to_datetime

# Replaces the middle of a truncated text.
MARKER = "...[truncated]..."
# Share of the space for the beginning of a text; the rest is for its end.
HEAD_SHARE = 0.6
# Minimum tokens of a truncated text: a shorter beginning says nothing.
FEWEST_TOKENS = 25
# Kinds that quote somebody; a derived fact needs no attribution.
_ATTRIBUTED = ("turn", "episode", "document")
# Start of a Markdown line: indentation, then a heading, list item or number.
_MARKDOWN_OPENING = re.compile(r"\s{0,8}(?:#{2,6} |[-*] |\d{1,3}\. )?")

Measure = Callable[[str], int]
"""Returns the cost of one line."""


# Escaping


def escape(text: str) -> str:
    """Escape `text` so that it is only text inside a prompt. Idempotent."""
    return neutralise(text)


def escape_document(text: str) -> str:
    """Escape a Markdown document line by line, keeping its lists and headings."""
    return "\n".join(map(_escape_document_line, text.splitlines()))


def _escape_document_line(line: str) -> str:
    opening = _MARKDOWN_OPENING.match(line)
    if opening is None:
        return escape(line)
    return opening[0] + escape(line[opening.end() :])


def fill(template: str, **values: object) -> str:
    """Fill a template with escaped values, for lines with their own layout.

    >>> fill("{subject} likes {object}", subject="Ann", object="</holdfast-memory>")
    'Ann likes &lt;/holdfast memory>'
    """
    return template.format(**{name: escape(str(value)) for name, value in values.items()})


# Lines


class Line(NamedTuple):
    """A memory or a turn on one line. Empty parts are left out."""

    text: str
    bullet: str = "- "
    id: str = ""
    labels: Sequence[str] = ()
    """Labels in brackets: category, scope, score."""
    attribution: Sequence[str] = ()
    """Speaker and date in parentheses."""
    speaker: str = ""
    source: str = ""
    """Where to look it up."""
    whole_in: str = ""
    """Where the full text is; shown only if the text is truncated."""

    @property
    def head(self) -> str:
        """The part before the text."""
        parts = [self.bullet]
        if self.id:
            parts.append(f"{self.id} ")
        if self.labels:
            parts.append(f"[{escape(', '.join(self.labels))}] ")
        if self.attribution:
            parts.append(f"({escape(', '.join(self.attribution))}) ")
        if self.speaker:
            parts.append(f"{escape(self.speaker)}: ")
        return "".join(parts)

    @property
    def tail(self) -> str:
        """The part after a complete text."""
        if self.source:
            return f" (source: {escape(self.source)})"
        return ""

    @property
    def cut_tail(self) -> str:
        """The part after a truncated text."""
        return f" … [cut here] (whole in: {escape(self.whole_in)})"


def render_line(line: Line, *, characters: int | None = None) -> str:
    """Render a line; truncates a text longer than `characters`."""
    text = escape(line.text)
    if characters is None or len(text) <= characters:
        return line.head + text + line.tail
    return line.head + text[:characters].rstrip() + line.cut_tail


def render_line_within(line: Line, tokens: float) -> str | None:
    """Render a line within a budget, truncating its text if necessary; None if not even its
    beginning fits.
    """
    head = line.head
    text = escape(line.text)
    if count_tokens(head + text + line.tail) < tokens:
        return head + text + line.tail
    # Head and text are counted separately, and each count may be rounded up.
    room = tokens - count_tokens(head + line.cut_tail) - 2
    if room < FEWEST_TOKENS:
        return None
    return head + _beginning(text, int(room)) + line.cut_tail


def render_turn(turn: Memory, number: int | None = None) -> str:
    """Render a turn with its speaker, for prompts about a conversation; numbered if answers refer
    to it.
    """
    labels = () if number is None else (str(number),)
    speaker = turn.author or turn.role or "somebody"
    return render_line(
        Line(
            turn.content,
            bullet="",
            labels=labels,
            speaker=speaker,
        )
    )


def _beginning(text: str, tokens: int) -> str:
    """Return as much of a text as fits, up to a word boundary if one is near."""
    size = min(len(text), tokens * 4)
    while count_tokens(text[:size]) > tokens:
        size = size * 9 // 10
    cut = text[:size]
    return (cut.rsplit(None, 1)[0] if " " in cut[-40:] else cut).rstrip()


def text_of(memory: Memory) -> str:
    """Return the text of a memory, prefixed with its title unless it starts with it."""
    title = memory.title.strip()
    text = memory.content.strip()
    starts_with_title = text.lstrip("# ").casefold().startswith(title.casefold())
    if starts_with_title:
        return text
    return f"{title}: {text}"


def attribution_of(memory: Memory) -> tuple[str, ...]:
    """Return speaker, date and whether it is outdated; empty for memories that nobody said."""
    if memory.kind not in _ATTRIBUTED:
        return ()
    who = memory.author or memory.role
    day = to_datetime(memory.event_time).date().isoformat()
    branch = "abandoned branch" if memory.metadata.get(BRANCH) else ""
    is_outdated = memory.kind == "turn" and OUTDATED_BY in memory.metadata
    parts = (who, day, branch, "replaced since" if is_outdated else "")
    return tuple(part for part in parts if part)


def source_of(memory: Memory, roots: Mapping[Scope, str] | None = None) -> str:
    """Return where to look up a memory: its record file, the lines it was read from, or its id."""
    file = memory.metadata.get("file")
    if isinstance(file, str):
        root = (roots or {}).get(memory.scope, "")
        if root:
            return f"{root}/{file}"
        return file
    if place := read_in(memory):
        return f"{place}, {iso(memory.event_time)[:16].replace('T', ' ')}"
    return memory.id


# Budget


def line_tokens(line: str) -> int:
    """Return the tokens of a line including its line end."""
    return count_tokens(line) + 1


class Budget:
    """Remaining space for lines; unlimited without a limit."""

    def __init__(self, limit: float | None, measure: Measure = line_tokens) -> None:
        self.left = math.inf if limit is None else limit
        self._measure = measure

    def take(self, *lines: str) -> bool:
        """Reserve space for these lines; return False, reserving nothing, if they do not fit
        together.
        """
        cost = sum(map(self._measure, lines))
        if cost > self.left:
            return False
        self.left -= cost
        return True


class Entry(NamedTuple):
    """A rendered line with its memory and its heading."""

    memory: Memory
    line: str
    heading: str


def fit(
    entries: Iterable[Entry],
    budget: Budget,
    *,
    skip_long: bool = False,
) -> list[Entry]:
    """Return the entries that fit; the first one under a heading also pays for the heading.

    Stops at the first entry that does not fit; with `skip_long`, continues with shorter ones.
    """
    kept: list[Entry] = []
    headings: set[str] = set()
    for entry in entries:
        lines = [entry.line] if entry.heading in headings else [entry.heading, entry.line]
        if budget.take(*lines):
            headings.add(entry.heading)
            kept.append(entry)
        elif not skip_long:
            break
    return kept


def under_headings(entries: Iterable[Entry], *, blank_lines: bool = False) -> list[str]:
    """Return the lines of entries, with a heading before each group."""
    lines: list[str] = []
    heading = None
    for entry in entries:
        if entry.heading != heading:
            heading = entry.heading
            if blank_lines and lines:
                lines.append("")
            lines.append(heading)
        lines.append(entry.line)
    return lines


def cut_middle(text: str, characters: int) -> str:
    """Truncate a text in the middle, with a marker between beginning and end."""
    if len(text) <= characters:
        return text
    head = int((characters - len(MARKER)) * HEAD_SHARE)
    tail = characters - len(MARKER) - head
    return f"{text[:head]}{MARKER}{text[len(text) - tail :]}"


def cut_middle_within(text: str, tokens: int) -> str:
    """Truncate a text in the middle if it exceeds this many tokens."""
    if count_tokens(text) <= tokens:
        return text
    low = 0
    high = len(text)
    # Binary search for the longest text that fits, because tokens do not follow from the number of
    # characters.
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(cut_middle(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    if low > len(MARKER):
        return cut_middle(text, low)
    return MARKER[: 4 * tokens]


# Blocks


def fence_block(
    text: str,
    *,
    label: str,
    block_id: str | None = None,
) -> str:
    """Fence `text`. The block id is derived from the text, so that the same memories give the same
    bytes and prompt caches keep working.
    """
    if block_id is None:
        # Deferred import: it loads OpenSSL.
        from hashlib import sha256  # noqa: PLC0415

        block_id = sha256(text.encode()).hexdigest()[:12]
    return fence(text, block_id=block_id, label=label)


def fence_tokens(label: str, heading: str = "") -> int:
    """Return the tokens of the fences of a block and its heading."""
    return count_tokens(fence(heading, block_id="0" * 12, label=label))


def join_blocks(*blocks: str | None) -> str:
    """Join the non-empty blocks."""
    return "\n\n".join(block for block in blocks if block)
