"""A coding session as the note finder sees it: sentences that were said, and commands with results.

A tool turn holds one condensed call: `Bash: make test`, then `ok` or `failed, exit 2`, then the
beginning and end of the output.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...text.fences import strip_echoes
from ...text.lazy_regex import later
from ...text.pasted_text import MACHINE, SHELL, parts
from ...types import Memory
from ..policy import PEOPLE
from ..speech import Sentence, own_words, sentences, without_thoughts
from ..vocabulary import straight
from .cue_words import Words, words, words_of
from .error_lines import telling_line
from .shell_commands import bare, program, settings

# How the index condenses tool calls: "Bash: make test", then "ok" or "failed, exit 2".
_CALL = later(r"(?P<tool>[\w./:-]{1,60}): (?P<argument>.*)")
_OUTCOME = later(r"(?P<word>ok|failed)(?:, exit (?P<status>-?\d+))?$")
# Tools are named differently by each agent; these parts of names are common to them.
_SHELL = later(r"bash|shell|terminal|exec|command|powershell|\bsh\b|\brun\b", re.IGNORECASE)
_EDIT = later(r"edit|write|patch|replace|create|insert|notebook|update", re.IGNORECASE)
# What a command prints when it went wrong, though a pipe behind it may have ended well.
_WENT_WRONG = later(
    r"^(?:E  |Traceback \(most recent|error(?:\[\w+\])?: |npm ERR!|npm error|FAILED |fatal: "
    r"|panic: |BUILD FAILED"
    r"|\[ERROR\])|\b[1-9]\d* (?:failed|failing|errors?)\b(?! ?[:=] "
    r"?0)|^\s*Tests:.*\bfailed\b|\bcommand not found\b",
    re.MULTILINE,
)
# Counts only where nothing above was found: logs of failures say "ok" as well.
_WENT_WELL = later(
    r"\b\d+ pass(?:ed|ing)\b|\bsuccess(?:ful(?:ly)?)?\b|\bok\b|\bdone\b|\bFinished\b|\b0 errors\b",
    re.IGNORECASE,
)


# What people who type a request leave out: headings, bold type, tables, rules, headed lists.
_WRITTEN = later(
    r"^\s{0,3}#{2,6}\s+\S|\*\*[^*\n]{2,80}\*\*|^\s{0,3}\|.+\|\s*$|^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$"
    r"|^\s{0,3}\d+\.\s[^\n]{3,60}:\s*\n\s*[-*•]\s|^\s{0,3}</?[a-z][\w-]*>\s*$"
    # Who wrote the next line of a chat, and when.
    r"|^[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){0,2}\s{1,4}\[?\d{1,2}:\d\d(?:\s?[AP]M)?\]?\s*$",
    re.MULTILINE,
)
# What follows may be anybody's: a list of findings, a log, an answer.
_INTRODUCES = later(r":[ \t]*\n")
# Sentences of a message that tell its language.
_SENTENCES_TO_TELL = 10
# Lines and words of a message that somebody typed; a longer one is a document.
_MOST_LINES = 15
_MOST_SAID = 250
# Words of a message in which nobody has to speak of themselves to be heard: a longer one without
# an "I" or "we" was written elsewhere, by an agent for an agent, or for everybody.
_MOST_WITHOUT_VOICE = 60


@dataclass(frozen=True)
class Said:
    """A turn in which somebody spoke: their own words, without code, logs and quotations."""

    turn: Memory
    place: int

    @property
    def by_user(self) -> bool:
        """Whether a person said it, and not the agent."""
        return self.turn.role in PEOPLE

    @cached_property
    def text(self) -> str:
        """All of it but thoughts and what memory injected: lists and code have their lines here."""
        return without_thoughts(strip_echoes(self.turn.content))

    @cached_property
    def own(self) -> str:
        """The speaker's own words; of a person's, only those before something is handed on: "here
        is the review:".
        """
        return self._written[: _handed_on(self._written)] if self.by_user else self._written

    @property
    def hands_on(self) -> bool:
        """Whether a person's message announces somebody else's words."""
        return _announced(self._written) is not None

    @cached_property
    def _written(self) -> str:
        return own_words(self.turn.content, role=self.turn.role)

    @cached_property
    def is_document(self) -> bool:
        """Whether a person's message is a long text, one with headings and bold type, or one that
        speaks as an agent does ("Would you like me to …?"): it was written elsewhere and pasted,
        and nobody can tell which of its sentences the person means as rules.
        """
        return self.by_user and (
            _WRITTEN.search(self.turn.content) is not None
            or any(words.says("guard.agent", self.turn.content) for words in self.words)
            or sum(1 for line in self.own.split("\n") if line.strip()) > _MOST_LINES
            or len(self.own.split()) > _MOST_SAID
            or self._is_voiceless
        )

    @cached_property
    def shows_output(self) -> bool:
        """Whether a person's message holds something of a terminal or a log, whose hints read like
        a person's words: "to uninstall hooks, run …".
        """
        return self.by_user and any(part.reason in (SHELL, MACHINE) for part in parts(self.text))

    @cached_property
    def _is_voiceless(self) -> bool:
        """Whether nobody speaks of themselves in a message too long for that."""
        known = self.words[:1]
        if len(self.own.split()) <= _MOST_WITHOUT_VOICE or not known:
            return False
        return "guard.voice" in known[0].cues and not known[0].says("guard.voice", self.own)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """These words sentence by sentence, apostrophes straight."""
        return [Sentence(straight(each.text), each.asks) for each in sentences(self.own)]

    @cached_property
    def words(self) -> list[Words]:
        """Languages the text may be in."""
        if self.own:
            return words_of(self.own)
        return []

    def verbatim(self, sentence: str) -> str:
        """A sentence as written in the turn, with its original apostrophes."""
        at = straight(self.own).find(sentence)
        if at >= 0:
            return self.own[at : at + len(sentence)]
        return ""


@dataclass(frozen=True, slots=True)
class Run:
    """A tool call: a command with its output, or a file change."""

    turn: Memory
    place: int
    command: str
    """What was run, without what stands around it; empty for anything but a shell."""
    edited: str
    """Which file was changed; empty for anything but an edit."""
    failed: bool | None
    """None where nothing tells how it went."""
    output: str
    error: str = ""
    """The line that tells most about what went wrong, where something did."""
    settings: str = ""
    """Variables that the command was given."""

    @property
    def called(self) -> str:
        """The command with its variables."""
        return f"{self.settings} {self.command}".lstrip()


@dataclass
class Session:
    """The turns of a session in order."""

    said: list[Said] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    _by_program: dict[tuple[str, ...], list[Run]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.said) + len(self.runs)

    def between(
        self,
        first: int,
        last: int,
    ) -> list[Said]:
        """What was said between two positions."""
        return [one for one in self.said if first < one.place < last]

    def answered(self, said: Said) -> Said | None:
        """What the agent said directly before a person's message, which may answer it."""
        at = bisect_left(self.said, said.place, key=lambda one: one.place)
        before = self.said[at - 1] if at else None
        return None if before is None or before.by_user else before

    def runs_of(
        self,
        wanted: tuple[str, ...],
    ) -> list[Run]:
        """Commands run with one program, in order."""
        if not self._by_program:
            for run in self.runs:
                if run.command:
                    self._by_program.setdefault(program(run.command), []).append(run)
        return self._by_program.get(wanted, [])

    @cached_property
    def words(self) -> Words:
        """The language people used most; generated wording uses it. Sentences vote: a long path or
        a line of markup among them looks like any language.
        """
        votes = Counter(
            known[0].code
            for one in self.said
            if one.by_user
            for sentence in one.sentences[:_SENTENCES_TO_TELL]
            if len(known := words_of(sentence.text)) == 1
        )
        return words(votes.most_common(1)[0][0] if votes else "en")


def _handed_on(text: str) -> int:
    """Where a text stops being its author's own: behind a line that ends in a colon, and where it
    announces somebody else's words.
    """
    ends = [found.end() for found in (_INTRODUCES.search(text), _announced(text)) if found]
    announced = _announced(text)
    if announced is not None and announced.lastgroup == "from_here":
        ends.append(announced.start())
    return min(ends, default=len(text))


def _announced(text: str) -> re.Match[str] | None:
    found = (words.says("guard.handed", text) for words in words_of(text))
    return next(filter(None, found), None)


def read(turns: Sequence[Memory]) -> Session:
    """Build the session from these turns."""
    session = Session()
    for place, turn in enumerate(turns):
        if turn.role == "tool":
            session.runs.append(_run(turn, place))
        else:
            session.said.append(Said(turn, place))
    return session


def _run(turn: Memory, place: int) -> Run:
    first, _, rest = turn.content.partition("\n")
    call = _CALL.match(first)
    tool, argument = (
        (call["tool"], call["argument"].strip()) if call else ("", first.removeprefix("$ "))
    )
    line, _, below = rest.partition("\n")
    outcome = _OUTCOME.match(line)
    output = below if outcome else rest
    shell = not call or bool(_SHELL.search(tool))
    edit = not shell and bool(_EDIT.search(tool))
    failed = _judged(outcome["word"] == "failed" if outcome else None, output)
    return Run(
        turn,
        place,
        command=bare(argument) if shell else "",
        edited=argument if edit else "",
        failed=failed,
        output=output,
        error=telling_line(output) if failed else "",
        settings=settings(argument) if shell else "",
    )


def _judged(failed: bool | None, output: str) -> bool | None:
    if failed:
        return True
    if _WENT_WRONG.search(output):
        return True
    if failed is False or _WENT_WELL.search(output):
        return False
    return None
