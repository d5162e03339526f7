"""What ChatGPT remembers about a person: the saved memories as its web page loads them, or the list
that an assistant writes when it is asked for one.

The list has a line for each memory, `[date saved] - memory`; it is what claude.com/import-memory
asks another assistant for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..ingest.commit import Draft
from ..transcripts.json_fields import as_text, micros
from .json_values import Problem, Value
from .locate import each
from .memory_file import ImportedItem, MemoryFile, object_in, text_in

SOURCE = "chatgpt"
# A date in brackets, or a word such as [unknown], then a dash.
ENTRY = re.compile(r"^[ \t]*(?:[-*•][ \t]+)?\[([^\]\n]{0,40})\][ \t]*[-–—:][ \t]*(\S.*)$")
FENCE = "```"
BEGINNING = re.compile(
    rf"(?:[ \t]*(?:{FENCE}\w*|#.*)?\n)*[ \t]*(?:[-*•][ \t]+)?\[(?:\d{{4}}|unknown|no date|n/a)"
    r"[^\]\n]{0,30}\][ \t]*[-–—:]",
    re.IGNORECASE,
)


def parse(text: str) -> Iterator[ImportedItem | Problem]:
    """The memories in a file."""
    if text.removeprefix("\ufeff").lstrip()[:1] == "{":
        return each(text, _saved, lists=("memories",))
    return _listed(text)


def _saved(one: Value) -> Iterable[ImportedItem]:
    memory = object_in(one.value)
    at = micros(memory.get("created_timestamp")) or micros(memory.get("updated_at"))
    draft = Draft(content=text_in(memory, "content"), source=SOURCE)
    key = (as_text(memory.get("id")), draft.content)
    yield ImportedItem(
        one.line, draft, key, created_at=at, updated_at=micros(memory.get("updated_at"))
    )


def _listed(text: str) -> Iterator[ImportedItem | Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        entry = ENTRY.match(line)
        if entry is not None:
            draft = Draft(content=entry[2].strip(), source=SOURCE)
            yield ImportedItem(number, draft, ("", draft.content), created_at=micros(entry[1]))
        elif line.strip() and not line.strip().startswith((FENCE, "#")):
            yield Problem(number, "this line does not begin with a date in brackets")


CHATGPT_MEMORY = MemoryFile(
    "chatgpt-memory",
    "saved memories of ChatGPT, as JSON or as a list with dates",
    parse,
    marks=(("memories", "memory_max_tokens"), ("memories", "memory_num_tokens")),
    beginning=BEGINNING,
)
