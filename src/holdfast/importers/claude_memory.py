"""What Claude remembers about a person: the `memories.json` of an export, with a text about all
conversations and one for each project.

The texts are Markdown with a heading for each subject; each paragraph becomes a memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import InvalidInput
from ..ingest.commit import Draft
from ..transcripts.json_fields import as_dict, as_text
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in

# A line of its own, bold or with number signs.
HEADING = re.compile(r"^(?:#{1,6}\s+(.+?)|\*\*(.+?)\*\*:?)\s*$")
BREAK = re.compile(r"\n\s*\n|\n(?=\s*[-*•] )|\n(?=\*\*[^*\n]+\*\*:?\s*\n)|(?<=\*\*)\n")


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The paragraphs of the texts in a file."""
    return each(text, _memory)


def _memory(one: Value) -> Iterable[ImportedItem]:
    record = object_in(one.value)
    account = as_text(record.get("account_uuid"))
    texts = {"": as_text(record.get("conversations_memory"))}
    texts |= {name: as_text(text) for name, text in as_dict(record.get("project_memories")).items()}
    if not any(text.strip() for text in texts.values()):
        raise InvalidInput("there is no conversations_memory or project_memories in it")
    for project, text in texts.items():
        for title, said in _paragraphs(text):
            draft = Draft(
                content=said,
                title=title,
                source="claude",
                metadata={"claude": {"project": project}} if project else {},
            )
            yield ImportedItem(one.line, draft, (account, project, title, said))


def _paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Each paragraph or list entry, with the heading that it stands under."""
    title = ""
    for part in BREAK.split(text.replace("\r\n", "\n")):
        said = part.strip()
        if heading := HEADING.match(said):
            title = (heading[1] or heading[2]).strip()
        elif said:
            yield title, re.sub(r"^[-*•]\s+", "", said)


CLAUDE_MEMORY = MemoryFile(
    "claude-memory",
    "the memories.json of an export of Claude",
    parse,
    marks=(("conversations_memory",), ("project_memories",)),
    members=r"memories(?:/[^/]+)?\.json",
)
