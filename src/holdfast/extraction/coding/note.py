"""Notes: one durable thing a coding session taught, as a sentence or a short list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from ...models.note_model import Topic as SentenceTopic
from ...text.secrets import find_secrets
from ...text.terminal import shorten

Category = Literal["decisions", "procedures", "principles", "incidents", "preferences"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
Home = Literal["project", "assistant"]
Topic = SentenceTopic | Literal["open_end"]
CATEGORY_OF: dict[Topic, Category] = {
    "convention": "principles",
    "decision": "decisions",
    "location": "principles",
    "pitfall": "principles",
    "preference": "preferences",
    "procedure": "procedures",
}
"""Under which category a user's statement about something is kept."""

LONGEST_TITLE = 80
LONGEST_TEXT = 400
LONGEST_QUOTE = 400
# Below which nobody could tell later what a note is about.
FEWEST_LETTERS = 8

# A word that was cut in the middle.
_CUT = re.compile(r"\s+\S*$")
_EDGES = " \t\n,;:–—-"


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing in later sessions of a project, and the words it rests on.

    It is understandable without the session: `text` is a sentence or a short list, never a piece of
    the transcript.
    """

    category: Category
    title: str
    text: str
    quote: str
    """Words of the first of `turns`, exactly as they stand there."""
    turns: tuple[str, ...]
    """The ids of the turns it rests on."""
    confidence: float = 0.8
    place: Home = "project"
    """`assistant` for what somebody wants in every project."""
    topic: Topic | None = None
    """What it is about, where its category does not say so."""
    tentative: bool = False
    """Whether it counts only once another session says the same."""

    @property
    def source(self) -> str:
        """Id of the turn that contains the quote."""
        return self.turns[0]


def is_sound(note: Note) -> bool:
    """Whether a note may be kept: not empty, short, and without secrets or redactions."""
    said = "\n".join((note.title, note.text, note.quote))
    return (
        sum(map(str.isalpha, note.text))
        >= (FEWEST_LETTERS if note.text.isascii() else FEWEST_LETTERS // 2)
        and len(note.text) <= LONGEST_TEXT
        and "[REDACTED:" not in said
        and "\ufffc" not in said  # where somebody else's words were left out
        and not find_secrets(said)
    )


def sentence(text: str) -> str:
    """The text as one sentence: on one line, with an initial capital and an end mark.

    >>> sentence("pin urllib3 below 2, ")
    'Pin urllib3 below 2.'
    """
    line = _on_one_line(text)
    if not line:
        return ""
    end = "" if line[-1] in ".!?。！？…" else "。" if _is_east_asian(line[-1]) else "."
    return capital(line) + end


def _on_one_line(text: str) -> str:
    """Lines that end without a mark are parted by one: they are items, not a sentence."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    lines = [line.strip(_EDGES) for line in lines]
    told = ""
    for line in filter(None, lines):
        # A line that was only broken goes on in small letters.
        if not told:
            told = line
        elif told[-1].isalnum() and line[0].isupper():
            told += f"; {line}"
        else:
            told += f" {line}"
    return told


def capital(text: str) -> str:
    """The text with an initial capital, unless it begins with a name such as npm or `make`."""
    first = text.split(" ", 1)[0]
    if not first.isalpha() or not first.islower():
        return text
    return text[:1].upper() + text[1:]


def title_of(text: str) -> str:
    """A title from a note's text: one line, no end mark, cut between words."""
    line = shorten(text.strip(_EDGES + ".。!"), 10**6)
    if len(line) <= LONGEST_TITLE:
        return capital(line)
    cut = _CUT.sub("", line[:LONGEST_TITLE])
    return f"{capital(cut or line[: LONGEST_TITLE - 1]).rstrip(_EDGES)}…"


def within(text: str, longest: int) -> str:
    """The text, cut after the last whole sentence, line or word that fits."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    stop = max(head.rfind(". "), head.rfind("。"), head.rfind("\n"))
    if stop > longest // 3:
        return head[: stop + 1].rstrip()
    return f"{_CUT.sub('', head).rstrip(_EDGES)}…"


def _is_east_asian(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"
