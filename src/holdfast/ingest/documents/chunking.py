"""Cut a text into self-contained chunks: at headings, then paragraphs, then lines.

A chunk is a range of whole lines, so it can be cited by line. Chunks are formed within their
section, so an edit changes only the chunks around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Characters: long enough to answer a question, short enough to be about one thing.
SIZE = 1_500
# Better one chunk of this length than a full one and a scrap.
HARDLY_MORE = SIZE * 4 // 3
# A section this short says too little alone: the next one joins it.
TINY = SIZE // 5
# Code up to this length is worth more in one piece.
WHOLE_CODE = SIZE * 4

# As CommonMark defines them: up to three spaces, then at least three marks.
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*$")
# Chunks break between sentences; Chinese and Japanese write no space there.
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text: its words, its headings, and its first and last line, counted from 1."""

    text: str
    headings: tuple[str, ...]
    lines: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together: a paragraph, code, or a heading with a level and a title."""

    first: int
    last: int
    length: int
    level: int = 0
    title: str = ""


def chunks(text: str) -> list[Chunk]:
    """Chunks of a text in order, none of them blank. Blank lines between them belong to none.

    >>> text = "# Tea\\n\\nGreen, at four.\\n\\n# Coffee\\n\\nBlack."
    >>> [(chunk.headings, chunk.lines) for chunk in chunks(text)]
    [(('Tea',), (1, 7))]
    """
    lines = text.split("\n")
    made: list[Chunk] = []
    under: list[_Block] = []
    for section in _sections(_blocks(lines)):
        for group in _packed(section):
            titles: tuple[str, ...] | None = None
            for block in group:
                if block.level:
                    under = [*(one for one in under if one.level < block.level), block]
                elif titles is None:
                    titles = _titles(under)
            made += _cut(
                lines, group[0].first, group[-1].last, _titles(under) if titles is None else titles
            )
    return made


def _titles(headings: Sequence[_Block]) -> tuple[str, ...]:
    return tuple(heading.title for heading in headings)


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            place += 1
            continue
        block = _block_at(lines, place)
        yield block
        place = block.last + 1


def _block_at(lines: Sequence[str], first: int) -> _Block:
    """The block that begins at a non-blank line."""
    if heading := _HEADING.match(lines[first]):
        return _Block(
            first,
            first,
            len(lines[first]) + 1,
            len(heading[1]),
            heading[2].strip(),
        )
    fence = _FENCE.match(lines[first])
    last = _end_of_code(lines, first, fence[1]) if fence else _end_of_paragraph(lines, first)
    return _Block(first, last, sum(len(line) + 1 for line in lines[first : last + 1]))


def _end_of_code(
    lines: Sequence[str],
    first: int,
    fence: str,
) -> int:
    """The line that closes a code fence, or the last line."""
    for place in range(first + 1, len(lines)):
        line = lines[place].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return place
    return len(lines) - 1


def _end_of_paragraph(lines: Sequence[str], first: int) -> int:
    for place in range(first + 1, len(lines)):
        line = lines[place]
        if not line.strip() or _FENCE.match(line) or _HEADING.match(line):
            return place - 1
    return len(lines) - 1


def _sections(blocks: Iterator[_Block]) -> Iterator[list[_Block]]:
    """Each heading with its content; a tiny section absorbs the next one."""
    section: list[_Block] = []
    for block in blocks:
        if block.level and _length(section) > TINY:
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _length(blocks: Sequence[_Block]) -> int:
    return sum(block.length for block in blocks)


def _packed(section: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Pack a section's blocks into chunks; a heading stays with what follows it."""
    group: list[_Block] = []
    for block in section:
        text = max((place for place, one in enumerate(group, start=1) if not one.level), default=0)
        if text and _length(group) + block.length > SIZE:
            yield group[:text]
            group = group[text:]
        group.append(block)
    yield group


def _cut(
    lines: Sequence[str],
    first: int,
    last: int,
    titles: tuple[str, ...],
) -> Iterator[Chunk]:
    """One chunk of these lines, or several if they are too long for one."""
    stretch = lines[first : last + 1]
    most = WHOLE_CODE if any(map(_FENCE.match, stretch)) else HARDLY_MORE
    if sum(len(line) + 1 for line in stretch) <= most:
        yield Chunk("\n".join(stretch), titles, (first + 1, last + 1))
        return
    start = first
    length = 0
    for place, line in enumerate(stretch, start=first):
        if length > TINY and length + len(line) > SIZE:
            yield from _cut_line(lines, start, place - 1, titles)
            start = place
            length = 0
        length += len(line) + 1
    yield from _cut_line(lines, start, last, titles)


def _cut_line(
    lines: Sequence[str],
    first: int,
    last: int,
    titles: tuple[str, ...],
) -> Iterator[Chunk]:
    """Chunks of lines that fit, or one overlong line cut at sentences, words, or anywhere."""
    text = "\n".join(lines[first : last + 1])
    while text.strip():
        end = len(text) if len(text) <= HARDLY_MORE else _good_end(text)
        yield Chunk(text[:end].strip("\n"), titles, (first + 1, last + 1))
        text = text[end:].lstrip()


def _good_end(text: str) -> int:
    """Where to cut an overlong text: after the last sentence that fits, or else the last word."""
    for end in (_SENTENCE_END, _SPACE):
        if found := [match.end() for match in end.finditer(text, SIZE // 2, SIZE)]:
            return found[-1]
    return SIZE
