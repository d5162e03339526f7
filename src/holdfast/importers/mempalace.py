"""MemPalace: a room of an exported palace, a Markdown file with a section for each drawer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ingest.commit import Draft
from ..transcripts.json_fields import micros
from .json_values import Problem
from .memory_file import ImportedItem, MemoryFile

ROOM = re.compile(r"# (.+) / (.+)\n\n## \S")
# A drawer's words are a quotation; a heading in them begins with the sign of a quotation too.
DRAWER = re.compile(r"^## (\S.*)$", re.MULTILINE)
FIELD = re.compile(r"^\| (Source|Filed|Added by) \| (.*) \|$", re.MULTILINE)
UNKNOWN = "unknown"


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The drawers in a file."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    room = ROOM.match(text)
    if room is None:
        yield Problem(1, "this is no room of an exported palace")
        return
    headings = list(DRAWER.finditer(text))
    for place, heading in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(text)
        line = text.count("\n", 0, heading.start()) + 1
        yield _drawer(line, heading[1].strip(), text[heading.end() : end], (room[1], room[2]))


def _drawer(
    line: int,
    name: str,
    section: str,
    room: tuple[str, str],
) -> ImportedItem | Problem:
    quoted = [part for part in section.split("\n") if part.startswith(">")]
    said = "\n".join(part.removeprefix(">").removeprefix(" ") for part in quoted).strip()
    if not said:
        return Problem(line, f"the drawer {name} is empty")
    told = {field: value for field, value in FIELD.findall(section) if value != UNKNOWN}
    filed = micros(told.get("Filed"))
    metadata = {"wing": room[0], "room": room[1], "source": told.get("Source", "")}
    draft = Draft(
        content=said,
        kind="episode",
        category=room[1],
        source="mempalace",
        author=told.get("Added by", ""),
        event_time=filed,
        tags=room,
        metadata={"mempalace": {key: value for key, value in metadata.items() if value}},
    )
    return ImportedItem(line, draft, (*room, name, said), created_at=filed)


MEMPALACE = MemoryFile(
    "mempalace", "a room of an exported palace of MemPalace", parse, beginning=ROOM
)
