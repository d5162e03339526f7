"""Incidents: what went wrong, why, and what fixed it.

A failure counts as resolved if the failed command passes later, or if a person states both cause
and fix; an agent's own account counts only if the person agrees at once. A failure without an end,
a red test on its way to green, a guess, or an account that names nothing is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import explanations
from .approvals import agrees
from .coding_session import Run, Said, Session
from .error_lines import describe_error_line, is_assertion
from .explanations import Explanation
from .note import LONGEST_TEXT, Note, sentence, title_of, within
from .shell_commands import covers, is_narrow, is_trivial, program, purpose, repairs, wraps

# Commands; more of them are a search, not a fix.
_MOST_REPAIRS = 3
# Later runs of the same program that are looked at.
_MOST_TRIES = 100
# Turns before it passes that may tell why it failed.
_MOST_TALK = 30
# Words of an agent's account of what was wrong and what helped.
_LONGEST_ACCOUNT = 60
# What a command is for, where a failure that stays is worth telling.
_LEFT_OPEN = ("test", "build", "lint", "types", "check", "deploy")
# Characters of a command that somebody may run again.
_LONGEST_COMMAND = 120
# A headline of a test runner.
_RULED = re.compile(r"[=_-]{5,}")
# What only leads to a cause or a fix that was told elsewhere.
_VAGUE = re.compile(
    r":$|^(?:in|on|at) |^option \d|^updated the code\b|\bnow$"
    r"|^(?:exactly|expected|what|simple|made|complete)\b|\bfollowing\b"
    r"|\b(?:run|try|build|test)\b.{0,40}\bagain\b"
    r"|^(?:re-?)?r[ua]n(?:ning)? (?!`)|^(?:verify|check|confirm)\b",
    re.IGNORECASE,
)
# A name in code, a path, a flag, a number: something to look for when it happens again.
_NAMES_SOMETHING = re.compile(
    r"[`/_\d]|\w\.\w|\b\w+[A-Z]\w*|(?<=\s)--?\w|\s[A-Z][a-z]+\w*|[^\x00-\x7f]"
)
# Files that hold the program: whoever mends one has put the fix where the next reader finds it.
_SOURCE = re.compile(
    r"(?:\.(?:py|pyi|[cm]?[jt]sx?|rs|go|rb|php|java|kt|kts|cs|swift|exs?|c|cc|cpp|h|hpp|vue|svelte|html?"
    r"|s?css|sql|dart|scala|lua|md)|(?<!pom)\.xml)\b",
    re.IGNORECASE,
)
# An edit recorded by its difference does not say of which file: most are of the program.
_DIFFERENCE = re.compile(r"@@ ")
# An error at a line of a file: of the program, too.
_IN_LINE = re.compile(rf"{_SOURCE.pattern}(?::\d|\(\d|\", line \d)", re.IGNORECASE)
# "Please run `prisma generate`": an error that says what helps.
_COMMAND_ASKED = re.compile(
    r"\b(?:run|try|execute|use)(?:ning)?:? [`'\"]([a-z][^`'\"\n]{3,80})[`'\"]", re.IGNORECASE
)
# Turns from a failure to its end, where one thing was wrong and one thing helped.
_AT_ONCE = 12
# Something is not installed: only an account that names it counts.
_MISSING = re.compile(
    r"command not found:?\s*(?P<name>[\w.-]*)|No module named ['\"]?(?P<module>\w+)",
    re.IGNORECASE,
)
_CHAINED = re.compile(r"&&|\|\||;")
_LONGER_WORD = re.compile(r"\w{4,}")
# An error that tells nothing to recognise it by.
_EXIT_CODE_ONLY = re.compile(r"\b(?:exit(?:ed)?|failed) with (?:exit )?(?:code|status) \d+\W*$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# Anything but the plain `npm install` of a project.
_INSTALLS_SOMETHING = re.compile(
    r"^(?!(?:npm|pnpm|yarn|bun|uv|poetry|bundle|composer|cargo|mix|pod|flutter pub|dart pub|go mod)"
    r"(?: (?:i|ci|install|sync|fetch|get|tidy|download|deps\.get))?(?: --?[\w-]+)*$)"
)
# Runs within which another way to call the same thing is tried.
_SOON = 3


def incidents(session: Session) -> Iterator[Note]:
    """Resolved failures of a session: those a later run proves, then those only stated."""
    proven: list[Note] = []
    over: set[int] = set()
    for failure in filter(_is_telling, session.runs):
        resolved = _resolved(session, failure)
        if resolved is None:
            proven += _another_way(session, failure)
        elif resolved.passed.place not in over and resolved.is_explained:
            over.add(resolved.passed.place)
            proven += _notes(session, resolved)
    yield from proven
    yield from _only_told(session, {turn for note in proven for turn in note.turns})


def _is_telling(run: Run) -> bool:
    """Whether a failed run says what went wrong, and could be run again."""
    return bool(
        run.failed
        and 0 < len(run.command) <= _LONGEST_COMMAND
        and run.error
        and not _RULED.search(run.error)
        and not run.error.rstrip().endswith(("...", "…"))
        # Of several commands in a line nobody knows which one failed.
        and not _CHAINED.search(_QUOTED.sub("", run.command))
    )


# By what was run


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A failure, the run that shows it is over, and what is known about the fix."""

    failure: Run
    passed: Run
    cause: Explanation | None
    fix: Explanation | None
    helped: Sequence[Run]
    """The commands in between that can have been the fix."""
    in_source: bool
    """Whether files of the program were edited in between."""

    @property
    def is_explained(self) -> bool:
        """Whether it is known what helped; a failed assertion needs the cause too. A bug that
        was fixed in the program itself seldom comes back: it takes a cause and a fix, found at
        once.
        """
        if self.in_source and not (
            self.cause and self.fix and self.passed.place - self.failure.place <= _AT_ONCE
        ):
            return False
        if not (self.fix or self.helped) or not (self.cause or self._is_about_the_error):
            return False
        if is_assertion(self.failure.error):
            return self.cause is not None
        if missing := _MISSING.search(self.failure.error):
            named = self._names(missing["name"] or missing["module"] or "")
            # That a fresh checkout wants its packages installed is no news.
            told = self.cause or any(_INSTALLS_SOMETHING.search(run.command) for run in self.helped)
            return named or bool(self.helped and told)
        return True

    @property
    def _is_about_the_error(self) -> bool:
        """Whether an error that says more than its exit code was met by commands, or by a fix that
        speaks of what stands in it: another one may be of something else.
        """
        if _EXIT_CODE_ONLY.search(self.failure.error):
            return False
        return self.fix is None or bool(_words(self.fix.what) & _words(self.failure.error))

    def _names(self, what: str) -> bool:
        """Whether the fix speaks of this."""
        told = self.fix.what if self.fix else ""
        return what.lower() in {word.strip("`'\",.;:()").lower() for word in told.split()}


def _words(text: str) -> set[str]:
    """The longer words of a text as they stand there: a part of a name is another thing."""
    return {word.lower() for word in _LONGER_WORD.findall(text)}


def _telling(told: Explanation | None) -> Explanation | None:
    """A cause or fix that says something by itself, not "in line 99" or "the following"."""
    return None if told is None or _VAGUE.search(told.what) else told


def _resolved(session: Session, failure: Run) -> _Resolved | None:
    passed = _passing(session, failure)
    if passed is None or _fails_again(session, failure, passed):
        return None
    meanwhile = session.between(failure.place, passed.place)[-_MOST_TALK:]
    talk = [*meanwhile, *_after(session, passed)]
    runs = [run for run in session.runs if failure.place < run.place < passed.place]
    helped = _repairs(runs, failure)
    fix = _telling(explanations.fix(talk))
    if fix is None and any(run.edited for run in runs):
        fix = _telling(explanations.repair(meanwhile))
    return _Resolved(
        failure,
        passed,
        _telling(explanations.cause(talk)),
        fix,
        helped,
        bool(_IN_LINE.search(failure.error))
        or any(_SOURCE.search(run.edited) or _DIFFERENCE.match(run.edited) for run in runs),
    )


def _passing(session: Session, failure: Run) -> Run | None:
    """The first later run that passes, unless the command fails the same way afterwards."""
    if is_trivial(failure.command):
        return None
    later = [run for run in session.runs_of(program(failure.command)) if run.place > failure.place][
        :_MOST_TRIES
    ]
    same = [run for run in later if covers(run.command, failure.command, failure.output)]
    passed = next((run for run in same if run.failed is False), None)
    back = passed and any(run.error == failure.error for run in same if run.place > passed.place)
    if back:
        return None
    return passed


def _fails_again(
    session: Session,
    failure: Run,
    passed: Run,
) -> bool:
    """Whether it fails the same way again before it passes; that failure is nearer to the fix."""
    between = (run for run in session.runs if failure.place < run.place < passed.place)
    return any((run.command, run.error) == (failure.command, failure.error) for run in between)


def _after(session: Session, passed: Run) -> list[Said]:
    """What the agent says once it passes, until a person speaks or something else runs."""
    after: list[Said] = []
    stop = min(
        (run.place for run in session.runs if run.place > passed.place), default=len(session)
    )
    for one in session.between(passed.place, stop):
        if one.by_user:
            break
        after.append(one)
    return after


def _repairs(between: Sequence[Run], failure: Run) -> list[Run]:
    """Commands in between that may have helped, if they are few and nothing was edited: of a kind
    that fixes things, or asked for by the error itself.
    """
    if any(run.edited for run in between):
        return []
    asked = _COMMAND_ASKED.findall(failure.error)
    found = {
        run.command: run
        for run in between
        if run.failed is not True
        and run.command
        and (repairs(run.command) or any(run.command.endswith(each) for each in asked))
    }
    if len(found) <= _MOST_REPAIRS:
        return list(found.values())
    return []


def _notes(session: Session, resolved: _Resolved) -> Iterator[Note]:
    """The note of a failure; none if it is too long to tell what helped."""
    cause = resolved.cause
    fix = resolved.fix
    helped = resolved.helped
    failure = resolved.failure
    told_as = next((one.words for one in (cause, fix) if one), session.words).told
    failed = told_as["failed"].format(
        command=_code(failure.command), error=describe_error_line(failure.error)
    )
    parts = [failed]
    if cause is not None:
        parts.append(told_as["cause"].format(cause=sentence(cause.what)))
    if fix is not None:
        parts.append(told_as["fix"].format(fix=sentence(fix.what)))
    elif helped:
        parts.append(
            told_as["ran"].format(commands=", ".join(_code(run.command) for run in helped))
        )
    text = " ".join(parts)
    if len(text) > LONGEST_TEXT:
        return
    rests = [
        failure.turn,
        *(one.said.turn for one in (cause, fix) if one),
        *(run.turn for run in helped),
    ]
    yield Note(
        category="incidents",
        title=title_of(failed),
        text=text,
        quote=failure.error,
        turns=tuple(dict.fromkeys(turn.id for turn in (*rests, resolved.passed.turn))),
        confidence=0.9 if cause else 0.8,
    )


def _another_way(session: Session, failure: Run) -> Iterator[Note]:
    """A note that one command does not work here but another form of it does."""
    if purpose(failure.command) is None or any(
        run.edited for run in session.runs if run.place < failure.place
    ):
        return
    soon = [run for run in session.runs if run.place > failure.place and run.command][:_SOON]
    works = next(
        (run for run in soon if run.failed is False and wraps(run.command, failure.command)), None
    )
    if works is not None:
        text = session.words.told["instead"].format(
            command=_code(failure.command),
            error=describe_error_line(failure.error),
            works=_code(works.command),
        )
        turns = (failure.turn.id, works.turn.id)
        yield Note(
            "incidents",
            title_of(text),
            within(text, LONGEST_TEXT),
            failure.error,
            turns,
            confidence=0.8,
        )


# What is left open


def open_ends(session: Session) -> Iterator[Note]:
    """Tests, builds and the like whose last run of the session failed: the next agent meets it.

    Where files were edited after it, nobody knows whether it still fails.
    """
    last: dict[str, Run] = {}
    edited = max((run.place for run in session.runs if run.edited), default=-1)
    for run in session.runs:
        what_for = purpose(run.command) if run.command else None
        if what_for in _LEFT_OPEN and run.failed is not None:
            last[what_for] = run
    for run in last.values():
        if run.place > edited and _is_telling(run) and not is_narrow(run.command):
            text = session.words.told["failed"].format(
                command=_code(run.command), error=describe_error_line(run.error)
            )
            yield Note(
                "incidents",
                title_of(text),
                within(text, LONGEST_TEXT),
                run.error,
                (run.turn.id,),
                topic="open_end",
                tentative=True,
            )


# By what was told


def _only_told(session: Session, covered: set[str]) -> Iterator[Note]:
    """Failures whose cause and fix somebody stated in one turn, or in two adjacent ones: a person,
    or an agent with whose account the person agreed at once.
    """
    for place, one in enumerate(session.said):
        if one.is_document or (not one.by_user and not _agreed(session, one)):
            continue
        following = [
            each for each in session.said[place + 1 : place + 2] if each.by_user == one.by_user
        ]
        cause = _telling(explanations.cause([one]))
        fix = _telling(explanations.remedy([one]) or explanations.remedy(following))
        if cause is None or fix is None or {one.turn.id, fix.said.turn.id} & covered:
            continue
        # People know what they mean; an agent's account must give something to look for.
        if not one.by_user and not _NAMES_SOMETHING.search(f"{cause.what} {fix.what}"):
            continue
        if not explanations.unresolved(_reaction(session, fix.said)):
            yield _told_note(cause, fix)
            covered |= {one.turn.id, fix.said.turn.id}


def _agreed(session: Session, said: Said) -> bool:
    """Whether a person's next words are a plain yes or thanks, with no work in between, and the
    account is short: a long one weighs what could be done.
    """
    if len(said.own.split()) > _LONGEST_ACCOUNT:
        return False
    after = next((one for one in session.said if one.place > said.place), None)
    return after is not None and after.by_user and after.place == said.place + 1 and agrees(after)


def _reaction(session: Session, said: Said) -> list[Said]:
    """What people say next."""
    return [one for one in session.between(said.place, len(session)) if one.by_user][:2]


def _told_note(cause: Explanation, fix: Explanation) -> Note:
    told_as = cause.words.told
    text = (
        f"{told_as['cause'].format(cause=sentence(cause.what))} "
        f"{told_as['fix'].format(fix=sentence(fix.what))}"
    )
    quote = cause.said.verbatim(cause.sentence)
    turns = tuple(dict.fromkeys((cause.said.turn.id, fix.said.turn.id)))
    return Note(
        "incidents", title_of(cause.what), within(text, LONGEST_TEXT), quote, turns, confidence=0.7
    )


def _code(command: str) -> str:
    return f"`{command}`"
