"""Procedures: stated steps towards a goal, and commands that test, build and run a project.

A person's steps are accepted if they say what to run. A command that passed is no note if anybody
would guess it, or would find it in the repository. An agent's steps are accepted if all of their
commands had been run in this order and passed: its lists are mostly plans and summaries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...text.pasted_text import TALK, why_pasted
from .coding_session import Said, Session
from .cue_words import Words, words_of
from .note import LONGEST_QUOTE, LONGEST_TEXT, Note, capital, title_of, within
from .shell_commands import bare, is_narrow, is_routine, purpose

# Times that a command has to pass in a session.
OFTEN = 2
# Steps as a list, or one after the other in a line: "1. build 2. test".
_STEP = re.compile(r"\s{0,8}(?:\d{1,2}[.)]|[-*•]|[①-⑨])\s*(?P<step>\S.*)")
_INLINE_STEP = re.compile(r"(?:^|\s)\d[.)]\s+(?P<step>.+?)(?=\s+\d[.)]\s|$)")
_FENCE = re.compile(r"\s{0,4}(?:```|~~~)")
_MARKED = re.compile(r"`|~~~")
_COMMAND = re.compile(r"`([^`\n]{3,200})`")
# Code that calls a program with something, or a script: neither a name nor a line of a program.
_CALLS = re.compile(
    r"(?!(?:const|let|var|import|from|def|class|return|if|for|while|function|public|private|static|async"
    r"|await|type|interface|new|using|namespace|select|insert|update|delete)\b)"
    r"(?:\.{0,2}/[\w./-]+(?:\s|$)|[a-z][\w.+/-]*\s+(?![=:<>{(])\S)(?!.*[{;(]$)"
)
# A prompt copied from a terminal is no part of the command.
_PROMPT = re.compile(r"^(?:[$%#❯>]\s+)")
_MARKS = re.compile(r"\*\*|__")
# Several commands in a line: an agent's way of the moment.
_CHAINED = re.compile(r"&&|\|\||[;|]|\b2>&1\b")
_SENTENCE_END = re.compile(r"(?<=\w\w)[.!?…]\s+(?=\S)|[。！？]")
# A step that is a command, though nobody marked it as code.
_RUNS = re.compile(
    r"(?:run|execute|then|first)?\s*(?:make|npm|pnpm|yarn|uv|pip|cargo|go|docker|git|python3?|\./\S+)\s\S"
)
_FEWEST_STEPS = 2
# Characters that tell which language a message is in.
_MOST_TEXT = 2_000
# Characters of a step that stands in a line with others.
_LONGEST_STEP = 100
_MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class _Steps:
    goal: str
    steps: tuple[str, ...]
    quote: str
    is_name: bool = False
    """Whether the goal is a name such as "the release", and not what to do."""


def procedures(session: Session) -> Iterator[Note]:
    """Procedures of a session: stated ones, then commands that passed repeatedly."""
    # Where nothing passed, no steps of an agent's are borne out, and most of a session is its talk.
    passed = any(run.command and run.failed is False for run in session.runs)
    said = [
        one
        for one in session.said
        if (
            not (one.is_document or one.hands_on or one.shows_output)
            if one.by_user
            else passed and _MARKED.search(one.turn.content)
        )
    ]
    told = [note for one in said for note in _told(session, one)]
    yield from told
    given = {bare(command) for note in told for command in _COMMAND.findall(note.text)}
    yield from (
        note for note in _recurring(session) if not given & set(_COMMAND.findall(note.text))
    )


# Steps


def _told(session: Session, said: Said) -> Iterator[Note]:
    for words in said.words or words_of(said.text[:_MOST_TEXT]):
        found = [*_lists(words, said), *_inline(words, said)]
        for steps in found:
            if _borne_out(session, said, steps):
                yield _note(words, said, steps)
        if found:
            return


def _lists(words: Words, said: Said) -> Iterator[_Steps]:
    lines = said.text.split("\n")
    for number, whole in enumerate(lines):
        line, heading, named = _heading(words, whole.strip())
        if heading is None or words.says("procedure.plan", heading[0]):
            continue
        if said.by_user and why_pasted(said.text, line) not in ("", TALK):
            # Part of a document that somebody pasted; a name before a colon is a heading here.
            continue
        behind = _behind(words, line[heading.end() :])
        below = [] if behind else list(_below(lines[number + 1 :]))
        steps = behind or [step for step, _ in below]
        if _FEWEST_STEPS <= len(steps) <= _MOST_STEPS:
            end = number + 1 + (below[-1][1] if below else 0)
            quote = "\n".join((line, *lines[number + 1 : end]))
            quote = quote.strip()[:LONGEST_QUOTE]
            yield _Steps(heading["goal"], tuple(map(_clean, steps)), quote, named)


def _heading(
    words: Words,
    line: str,
) -> tuple[str, re.Match[str] | None, bool]:
    """A line from its heading on, which may stand behind another sentence, and whether the heading
    is a name: "It works. To run it locally:".
    """
    ends = [found.end() for found in _SENTENCE_END.finditer(line)]
    for start in (0, *ends):
        rest = line[start:]
        named = words.begins("procedure.named", rest)
        heading = named or words.begins("procedure.heading", rest)
        if heading:
            return rest, heading, bool(named)
    return line, None, False


def _behind(words: Words, rest: str) -> list[str]:
    """The steps in the line of their heading: numbered, or one after the other where one of them is
    a command.
    """
    numbered = [step["step"] for step in _INLINE_STEP.finditer(rest)]
    if numbered or not words.says("procedure.then", rest):
        return numbered
    steps = [step for step in words.cues["procedure.then"].split(rest.strip(" .")) if step.strip()]
    runs = any(_RUNS.match(step.replace("`", "").strip()) for step in steps)
    return steps if runs and all(len(step) <= _LONGEST_STEP for step in steps) else []


def _below(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """List items or code lines below a heading, each with the lines down to it."""
    code = False
    for count, line in enumerate(lines, start=1):
        if _FENCE.match(line):
            if code:
                return
            code = True
        elif code:
            if line.strip() and not line.lstrip().startswith(("#", "//")):
                yield f"`{_PROMPT.sub('', line.strip())}`", count
        elif step := _STEP.match(line):
            yield step["step"], count
        elif line.strip():
            return


def _inline(words: Words, said: Said) -> Iterator[_Steps]:
    """Goal and command in one sentence: "to reset the database, run `make db-reset`"."""
    for sentence in said.sentences:
        found = None if sentence.asks else words.says("procedure.inline", sentence.text)
        if (
            found
            and not words.says("procedure.plan", found["goal"])
            and not words.doubts(sentence.text)
        ):
            yield _Steps(
                found["goal"], (found["do"].strip(),), said.verbatim(sentence.text)[:LONGEST_QUOTE]
            )


def _borne_out(
    session: Session,
    said: Said,
    steps: _Steps,
) -> bool:
    """Whether steps are no mere proposal: a person's that say what to run, or run and passed."""
    commands = [bare(command) for step in steps.steps for command in _COMMAND.findall(step)]
    if said.by_user:
        calls = any(purpose(each) or _CALLS.match(each) for each in commands)
        return calls or any(map(_RUNS.match, steps.steps))
    return bool(commands) and _passed_in_order(session, commands, said.place)


def _passed_in_order(
    session: Session,
    commands: Sequence[str],
    before: int,
) -> bool:
    """Whether commands were run one after the other, each with success, before they were told: what
    is told first is a plan, even if it is carried out.
    """
    runs = (run.command for run in session.runs if run.failed is False and run.place < before)
    return all(any(run == command for run in runs) for command in commands)


def _note(
    words: Words,
    said: Said,
    steps: _Steps,
) -> Note:
    goal = steps.goal.strip(" `*")
    heading = capital(goal) if steps.is_name else words.told["goal"].format(goal=goal)
    if len(steps.steps) == 1:
        text = f"{heading}: {steps.steps[0]}"
    else:
        text = "\n".join(
            (
                f"{heading}:",
                *(f"{number}. {step}" for number, step in enumerate(steps.steps, start=1)),
            )
        )
    confidence = 0.9 if said.by_user else 0.7
    return Note(
        "procedures",
        title_of(heading),
        within(text, LONGEST_TEXT),
        steps.quote,
        (said.turn.id,),
        confidence,
    )


def _clean(step: str) -> str:
    return _MARKS.sub("", " ".join(step.split())).rstrip(" ;,")


# Commands


def _recurring(session: Session) -> Iterator[Note]:
    """One note per purpose that a command served more than once, with the most frequent command:
    only if it has flags without which it failed. Variables are most often of the moment.
    """
    passed = [run for run in session.runs if run.command and run.failed is False]
    counts = Counter(
        run.called
        for run in passed
        if not is_narrow(run.command) and not _CHAINED.search(run.command)
    )
    found: set[str] = set()
    for command, count in counts.most_common():
        what_for = purpose(bare(command))
        if count < OFTEN or what_for is None or what_for in found:
            continue
        if not _fails_plainly(session, command):
            continue
        found.add(what_for)
        told = session.words.told
        goal = session.words.purposes[what_for]
        text = told["recurs"].format(purpose=goal, command=f"`{command}`")
        turns = tuple(run.turn.id for run in passed if run.called == command)
        confidence = min(0.9, 0.6 + 0.1 * count)
        yield Note(
            "procedures",
            title_of(told["goal"].format(goal=goal)),
            text,
            bare(command),
            turns,
            confidence,
        )


def _fails_plainly(session: Session, command: str) -> bool:
    """Whether a plainer call of the same tool failed before this command passed."""
    first = next(run.place for run in session.runs if run.called == command and not run.failed)
    return not is_routine(command) and any(
        run.failed and run.place < first and run.command and command.startswith(f"{run.command} ")
        for run in session.runs
    )
