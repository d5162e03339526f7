"""What of a model's text about sessions is believed: lines that the sessions bear out.

Stage 1: a line rests on words of the user, on a proposal that the user accepted, or on commands
that were run and passed; a quote that nobody said discredits its line. Stage 2 only puts such lines
together, so its lines are compared with them. What the rules found in the sessions is added where
a model left it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..extraction.candidate import quote_in
from ..extraction.coding import Note
from ..extraction.coding.coding_session import Said, read
from ..extraction.coding.shell_commands import bare
from ..extraction.quote_support import Shown, is_long_enough, shown_in, supports
from ..extraction.similarity.change_words import shared, terms_of
from ..types import Memory, iso
from .stage1_outputs import Output

# Of the content words of a line that names no quote, those that one sentence of the user has.
SHARED = 1 / 2
# Of the content words of a note, those in one line of a document that already says it.
SAID = 0.6
# Content words of a line in stage 2; a shorter one claims nothing of its own.
FEWEST_TERMS = 4
# Characters of a tool's output that are looked through for names and figures.
LONGEST_OUTPUT = 4_000
LOST = "## Also said in the sessions"
# A statement, and after a dash the words that it rests on.
_QUOTED = re.compile(r"\s*(?:—|–|-|\|)\s*[\"“](?P<quote>[^\"“”]+)[\"”][.\s]*$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
# A heading or the edge of a code block.
_LAYOUT = re.compile(r"^\s*(?:#{1,6}\s|```|~~~)")
_EMPTY_FENCE = re.compile(r"^(?:```|~~~).*\n\s*(?:```|~~~)$", re.MULTILINE)
_HEADING = re.compile(r"^\s*(#{1,6})\s")
# Text stands under a heading of any level.
_DEEPEST = 7
_GAP = re.compile(r"\n{3,}")
_CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """What a session says for itself."""

    own: Sequence[Said]
    """The user's turns."""
    found: Sequence[str]
    """What rules found in it: accepted proposals, incidents that were resolved."""
    passed: frozenset[str]
    """Commands that were run and did not fail."""
    shown: Shown

    def bears_out(self, line: str) -> bool:
        """Whether a line of a model's text only tells what the session says."""
        statement, quote = _parted(line)
        if quote:
            turns = [one for one in self.own if quote_in(quote, one.own)]
            return any(
                is_long_enough(quote, one.own) and self._says(quote, statement) for one in turns
            ) or (not turns and self._accepted(statement, quote))
        commands = [bare(one) for one in _CODE.findall(statement)]
        if commands and self.passed.issuperset(commands):
            return True
        said = (each.text for one in self.own for each in one.sentences)
        return any(self._says(text, statement) for text in (*said, *self.found))

    def _accepted(self, statement: str, quote: str) -> bool:
        """Whether the quote is of a proposal that was accepted, or of a verified outcome."""
        return any(quote_in(quote, text) and self._says(text, statement) for text in self.found)

    def _says(self, text: str, statement: str) -> bool:
        return supports(text, statement, self.shown, share=SHARED)


def evidence_of(turns: Sequence[Memory], notes: Sequence[Note]) -> SessionEvidence:
    """The evidence in a session, with the notes that rules found in it."""
    session = read(turns)
    return SessionEvidence(
        own=[one for one in session.said if one.by_user],
        found=[f"{note.text} {note.quote}" for note in notes],
        passed=frozenset(run.command for run in session.runs if run.command and not run.failed),
        shown=shown_in(
            (turn.content[: LONGEST_OUTPUT if turn.role == "tool" else None], turn.event_time)
            for turn in turns
        ),
    )


def verified(memory: str, evidence: SessionEvidence) -> str:
    """The lines of a Markdown text that the session bears out, with their headings."""
    return _with_lines(memory, evidence.bears_out)


def is_told(summary: str, turns: Iterable[Memory], shown: Shown) -> bool:
    """Whether a summary speaks of what was said in a session."""
    said = "\n".join(turn.content for turn in turns if turn.role != "tool")
    return supports(said, summary, shown, share=SHARED)


def recombined(document: str, kept: Sequence[Output]) -> str:
    """The lines of a document made of these outputs that they bear out; headings and short lines
    stay.
    """
    lines = [_parted(line)[0] for line in _lines_of(kept)]
    sources = [(f"{one.session} {iso(one.updated_at)}", 0) for one in kept]
    shown = shown_in([(line, 0) for line in lines] + sources)

    def bears_out(line: str) -> bool:
        statement = _BULLET.sub("", line)
        if not names_known_code(statement, kept):
            return False
        if len(terms_of(statement)) < FEWEST_TERMS:
            return True
        return any(supports(one, statement, shown) for one in lines)

    return _with_lines(document, bears_out)


def names_known_code(text: str, kept: Sequence[Output]) -> bool:
    """Whether all commands and names in code spans of a text occur in these outputs."""
    raw = "\n".join(_lines_of(kept))
    return all(code in raw for code in _CODE.findall(text))


def with_lost_notes(document: str, kept: Sequence[Output]) -> str:
    """The document, and behind it what rules found in the sessions and it does not say."""
    said = [terms_of(line) for line in document.splitlines()]
    lost: dict[str, str] = {}
    for output in kept:
        for note in output.taught.notes:
            if not _is_said(note, said):
                text = note.text.replace("\n", "\n  ")
                day = iso(output.updated_at)[:10]
                lost.setdefault(note.text, f"- {text} ({output.session}, {day})")
    return "\n\n".join([document, LOST, "\n".join(lost.values())]) if lost else document


def missing(notes: Iterable[Note], memory: str) -> list[Note]:
    """The notes that a text does not say."""
    said = [terms_of(line) for line in memory.splitlines()]
    return [note for note in notes if not _is_said(note, said)]


def _is_said(note: Note, lines: Sequence[frozenset[str]]) -> bool:
    terms = terms_of(note.text)
    return any(len(shared(terms, line)) >= SAID * len(terms) for line in lines if line)


def _lines_of(kept: Sequence[Output]) -> Iterator[str]:
    for output in kept:
        yield from output.taught.memory.splitlines()
        yield from output.taught.summary.splitlines()
        yield from (note.text for note in output.taught.notes)


def _parted(line: str) -> tuple[str, str]:
    """A line as its statement and the words it rests on; empty where it names none."""
    bare_line = _BULLET.sub("", line)
    quoted = _QUOTED.search(bare_line)
    if quoted is None:
        return bare_line.strip(), ""
    return bare_line[: quoted.start()].strip(), quoted["quote"].strip()


def _with_lines(text: str, bears_out: Callable[[str], bool]) -> str:
    """The lines of a text that stay; headings and fences go with all that stood under them."""
    stays = [
        line
        for line in text.splitlines()
        if _LAYOUT.match(line) or not terms_of(line) or bears_out(line)
    ]
    lines = _EMPTY_FENCE.sub("", "\n".join(stays)).splitlines()
    return _GAP.sub("\n\n", "\n".join(_without_empty_headings(lines))).strip()


def _without_empty_headings(lines: Sequence[str]) -> list[str]:
    """The lines but for headings that are followed by the end or by one of their level or above."""
    kept: list[str] = []
    follows = 0
    for line in reversed(lines):
        heading = _HEADING.match(line)
        level = len(heading[1]) if heading else _DEEPEST
        if heading and follows <= level:
            continue
        kept.append(line)
        follows = level if line.strip() else follows
    return kept[::-1]
