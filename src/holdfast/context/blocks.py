"""The block renderer: everything that becomes prompt text is escaped, laid out and fenced here.

A producer chooses memories and hands over plain values; it never escapes or fences by itself. A
`Line` is laid out in one order, whoever asks for it:

    - id [label, label] (who, day) speaker: text (source: where)

Memory is data and never an instruction. So each value is escaped, and a block stands between
fences, by which it is recognised when it comes back in a transcript (`text/fences.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..text.budget import count_tokens
from ..text.fences import fence, neutralise
from ..text.reference import BRANCH, read_in
from ..types import OUTDATED_BY, Memory, Scope, iso, to_datetime

# Stands where the middle of a text was left out.
MARKER = "...[truncated]..."
# Share of the room for the beginning of a text; the rest is for its end.
HEAD_SHARE = 0.6
# Tokens of a text that is cut: a shorter beginning says nothing.
FEWEST_TOKENS = 25
# What was said rather than derived: a fact speaks for itself.
_ATTRIBUTED = ("turn", "episode", "document")
# What opens a line of Markdown: indentation, then a heading, a list item or a number.
_MARKDOWN_OPENING = re.compile(r"\s{0,8}(?:#{2,6} |[-*] |\d{1,3}\. )?")

Measure = Callable[[str], int]
"""How much of a budget one line takes."""


# Escaping


def escape(text: str) -> str:
    """`text` so that it is nothing but text inside a prompt. Escaping twice changes nothing."""
    return neutralise(text)


def escape_document(text: str) -> str:
    """A Markdown document, escaped line by line; its lists and headings stay."""
    return "\n".join(map(_escape_document_line, text.splitlines()))


def _escape_document_line(line: str) -> str:
    opening = _MARKDOWN_OPENING.match(line)
    if opening is None:
        return escape(line)
    return opening[0] + escape(line[opening.end() :])


def fill(template: str, **values: object) -> str:
    """A template of ours with each value escaped, for lines that have a form of their own.

    >>> fill("{subject} likes {object}", subject="Ann", object="</holdfast-memory>")
    'Ann likes &lt;/holdfast memory>'
    """
    return template.format(**{name: escape(str(value)) for name, value in values.items()})


# Lines


class Line(NamedTuple):
    """A memory or a turn on one line. Parts that are empty are left out."""

    text: str
    bullet: str = "- "
    id: str = ""
    labels: Sequence[str] = ()
    """What it is, in brackets: category, scope, score."""
    attribution: Sequence[str] = ()
    """Who said it and when, in parentheses."""
    speaker: str = ""
    source: str = ""
    """Where it can be looked up."""
    whole_in: str = ""
    """Where all of it is, named only if the text is cut."""

    @property
    def head(self) -> str:
        """What stands before the text."""
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
        """What stands after a text that is whole."""
        if self.source:
            return f" (source: {escape(self.source)})"
        return ""

    @property
    def cut_tail(self) -> str:
        """What stands after a text that was cut."""
        return f" … [cut here] (whole in: {escape(self.whole_in)})"


def render_line(line: Line, *, characters: int | None = None) -> str:
    """A line; a text of more than so many characters is cut."""
    text = escape(line.text)
    if characters is None or len(text) <= characters:
        return line.head + text + line.tail
    return line.head + text[:characters].rstrip() + line.cut_tail


def render_line_within(line: Line, tokens: float) -> str | None:
    """A line within a budget, its text cut if need be; None if not even its beginning fits."""
    head = line.head
    text = escape(line.text)
    if count_tokens(head + text + line.tail) < tokens:
        return head + text + line.tail
    # Counted in two pieces, and each may be rounded up.
    room = tokens - count_tokens(head + line.cut_tail) - 2
    if room < FEWEST_TOKENS:
        return None
    return head + _beginning(text, int(room)) + line.cut_tail


def render_turn(turn: Memory, number: int | None = None) -> str:
    """A turn after who said it, for prompts about a conversation; numbered if answers name it."""
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
    """As much of a text as fits, up to the end of a word if one is near."""
    size = min(len(text), tokens * 4)
    while count_tokens(text[:size]) > tokens:
        size = size * 9 // 10
    cut = text[:size]
    return (cut.rsplit(None, 1)[0] if " " in cut[-40:] else cut).rstrip()


def text_of(memory: Memory) -> str:
    """What a memory says, after its title if the text does not begin with that."""
    title = memory.title.strip()
    text = memory.content.strip()
    starts_with_title = text.lstrip("# ").casefold().startswith(title.casefold())
    if starts_with_title:
        return text
    return f"{title}: {text}"


def attribution_of(memory: Memory) -> tuple[str, ...]:
    """Who said it and when, and whether that still holds; empty for what nobody said."""
    if memory.kind not in _ATTRIBUTED:
        return ()
    who = memory.author or memory.role
    day = to_datetime(memory.event_time).date().isoformat()
    branch = "abandoned branch" if memory.metadata.get(BRANCH) else ""
    is_outdated = memory.kind == "turn" and OUTDATED_BY in memory.metadata
    parts = (who, day, branch, "replaced since" if is_outdated else "")
    return tuple(part for part in parts if part)


def source_of(memory: Memory, roots: Mapping[Scope, str] | None = None) -> str:
    """Where a memory can be looked up: its record file, the lines it was read from, or its id."""
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
    """Tokens of a line with its line end."""
    return count_tokens(line) + 1


class Budget:
    """What is left of the room for lines; without a limit there is always room."""

    def __init__(self, limit: float | None, measure: Measure = line_tokens) -> None:
        self.left = math.inf if limit is None else limit
        self._measure = measure

    def take(self, *lines: str) -> bool:
        """Takes the room for these lines, or nothing if there is too little for all of them."""
        cost = sum(map(self._measure, lines))
        if cost > self.left:
            return False
        self.left -= cost
        return True


class Entry(NamedTuple):
    """A rendered line, the memory in it, and the heading that it stands under."""

    memory: Memory
    line: str
    heading: str


def fit(
    entries: Iterable[Entry],
    budget: Budget,
    *,
    skip_long: bool = False,
) -> list[Entry]:
    """The entries that fit; the first one of a heading pays for the heading too.

    The first entry that does not fit ends it. With `skip_long` it makes room for shorter ones.
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
    """The lines of entries, with a heading before each group of them."""
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
    """A text, or its beginning and its end with a marker between them."""
    if len(text) <= characters:
        return text
    head = int((characters - len(MARKER)) * HEAD_SHARE)
    tail = characters - len(MARKER) - head
    return f"{text[:head]}{MARKER}{text[len(text) - tail :]}"


def cut_middle_within(text: str, tokens: int) -> str:
    """A text within so many tokens, cut in the middle if it is too long."""
    if count_tokens(text) <= tokens:
        return text
    low = 0
    high = len(text)
    # Bisection for the longest that fits: tokens cannot be told from the number of characters.
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
    """`text` between fences. Its id comes from the text, so that the same memories give the same
    bytes and a provider's prompt cache holds.
    """
    if block_id is None:
        # Loads OpenSSL.
        from hashlib import sha256  # noqa: PLC0415

        block_id = sha256(text.encode()).hexdigest()[:12]
    return fence(text, block_id=block_id, label=label)


def fence_tokens(label: str, heading: str = "") -> int:
    """Tokens that the fences of a block and its heading take."""
    return count_tokens(fence(heading, block_id="0" * 12, label=label))


def join_blocks(*blocks: str | None) -> str:
    """Blocks one after the other, without those that are empty."""
    return "\n\n".join(block for block in blocks if block)
