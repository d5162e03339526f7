"""Compose a project's memory without a model, for the next agent: each note once, with its sources.

Deterministic. The sections are what an agent acts on. A note found in several sessions says so; of
two that contradict each other only the later one stays, and of several commands for one purpose the
one that was used most. What the repository says itself is not repeated, and a command that it does
not define any more is marked as stale. Procedures of several steps become skills.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..extraction.candidate import Candidate
from ..extraction.coding import Note
from ..extraction.coding.choices import chooses_against
from ..extraction.coding.finder import as_candidate
from ..extraction.coding.note import Topic
from ..extraction.similarity.dedup import first_duplicate
from ..text.negation import contrasts
from ..text.terminal import counted, shorten
from ..text.token_count import count_tokens
from ..text.tokens import index_terms
from ..types import DAY, Micros, iso
from .artifacts import LONGEST_NAME, OWN_BEGIN, OWN_END, Skill, skill_name
from .repository_facts import RepositoryFacts
from .stage1_outputs import Output

Section = Literal["run", "conventions", "decisions", "pitfalls", "places", "open"]
HEADINGS: dict[Section, str] = {
    "run": "Build, test and run",
    "conventions": "Conventions",
    "decisions": "Decisions",
    "pitfalls": "Pitfalls and fixes",
    "places": "Where things are",
    "open": "Open ends",
}
_BY_TOPIC: dict[Topic, Section] = {
    "convention": "conventions",
    "decision": "decisions",
    "location": "places",
    "pitfall": "pitfalls",
    "preference": "conventions",
    "procedure": "run",
    "open_end": "open",
}
_BY_CATEGORY: dict[str, Section] = {
    "decisions": "decisions",
    "incidents": "pitfalls",
    "preferences": "conventions",
    "principles": "conventions",
    "procedures": "run",
}
# What a note says of the way things are, and not of what to do.
_STATES = ("location", "pitfall")
FIRST: dict[Section, int] = {
    "run": 6,
    "conventions": 10,
    "decisions": 8,
    "pitfalls": 6,
    "places": 4,
    "open": 3,
}
"""Maximum number of notes per section in the summary."""
MOST = 30
"""Maximum number of notes per section in the document."""
MOST_LINES = 200
"""Lines of the document: an agent reads it whole."""
# Days between a note's last session and the latest one.
CURRENT = 30
OLD = 180
# Sessions, latest first, whose open ends still matter.
_RECENT = 3
# Share of the shorter note's terms that another session's note has to share to say the same.
_ALIKE = 0.5
_FEWEST_SHARED = 2
# Terms in more than this share of notes say nothing about what a note is about.
_COMMON = 0.2
OWN = "<!-- What you write between the next two lines is kept when this file is made again. -->"
# Every session starts with the summary, so it must stay short.
SUMMARY_TOKENS = 1_200
# Characters per line of the summary, and of a fixed failure.
WIDTH = 220
NARROW = 100
# An agent lists all skills of a project; more would hide the useful ones.
MOST_SKILLS = 20
# The heading already says that it is a decision.
_SAID_BY_HEADING = re.compile(r"^Decided: (.)")
_EDGES = "`'\".,;:!?()"
# A numbered step at the beginning of a line.
_STEP = re.compile(r"^\d+\.\s", re.MULTILINE)
# Failures get a line each.
_PART = re.compile(r"\s(?=(?:Cause|Fix): )")
# Titles of procedures such as "to deploy the shop".
_INFINITIVE = re.compile(r"^to (?=\w)", re.IGNORECASE)
_COMMAND = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Composed:
    """Composed memory: the full document, the summary, and playbooks."""

    memory: str
    summary: str
    skills: tuple[Skill, ...] = ()


@dataclass(slots=True, eq=False)
class _Known:
    """A note with all sessions that contain it, latest first."""

    note: Note
    sessions: list[Output] = field(default_factory=list)
    mark: str = ""
    """Whether it still holds, as far as the repository tells."""
    wordings: set[str] = field(default_factory=set)
    """The words of each session: a copy of a session says nothing new."""

    @property
    def is_tentative(self) -> bool:
        """Whether it was said only once, and that not clearly. How things are, said twice in
        passing, is no instruction: it may have changed since.
        """
        said_once = len(self.wordings) < 2 or self.note.topic in _STATES
        return self.note.tentative and said_once and self.note.topic != "open_end"

    @property
    def weight(self) -> tuple[int, Micros]:
        """Sort key: number of sessions, then recency."""
        return len(self.sessions), self.sessions[0].updated_at

    @property
    def text(self) -> str:
        """Text without a repeated heading; sentences end with a full stop."""
        said = _SAID_BY_HEADING.sub(lambda match: match[1].upper(), self.note.text.strip())
        return said if said.endswith((".", "!", "?", ":", ")")) or "\n" in said else f"{said}."


Sections = dict[Section, list[_Known]]


def compose(kept: Sequence[Output], repository: RepositoryFacts | None = None) -> Composed:
    """Compose these outputs, most recent first."""
    known = _known(kept)
    standing = [one for one in _without_rivals(_not_reversed(known)) if not one.is_tentative]
    if repository is not None:
        for one in standing:
            one.mark = _checked(one.note, repository)
        standing = [one for one in standing if not repository.says(one.note.text)]
    ordered = sorted(standing, key=lambda one: one.weight, reverse=True)
    sections: Sections = {
        name: [one for one in ordered if section_of(one.note) == name][:MOST] for name in HEADINGS
    }
    sections["open"] = [one for one in sections["open"] if one.sessions[0] in kept[:_RECENT]]
    names = short_names([output.session for output in kept])
    skills = dict(_skills(sections["run"], names))
    named = {one: skill.name for one, skill in skills.items()}
    return Composed(
        _memory(sections, kept, names, repository.commands() if repository else ()),
        _summary(sections, named),
        tuple(skills.values()),
    )


def section_of(note: Note) -> Section:
    """The section in which an agent looks for a note."""
    if note.topic == "location" and "/" not in note.text and "." not in note.text.rstrip("."):
        return "conventions"
    return _BY_TOPIC[note.topic] if note.topic else _BY_CATEGORY[note.category]


def _checked(note: Note, repository: RepositoryFacts) -> str:
    """What the repository says of the commands of a procedure: the worst of it."""
    if note.category != "procedures":
        return ""
    marks = [repository.freshness(command) for command in _COMMAND.findall(note.text)]
    return next((mark for mark in marks if mark.startswith("stale")), next(filter(None, marks), ""))


def short_names(sessions: Sequence[str]) -> dict[str, str]:
    """Short form of each session id that is still unique."""
    return {one: _short(one, sessions) for one in sessions}


def _short(session: str, others: Sequence[str]) -> str:
    length = 8
    while length < len(session) and any(
        one != session and one.startswith(session[:length]) for one in others
    ):
        length += 1
    return session if len(session) <= 13 else session[:length]


def _known(kept: Sequence[Output]) -> list[_Known]:
    """Notes without duplicates, those of the latest session first."""
    found: list[_Known] = []
    said: list[Candidate] = []
    common = _common(note for output in kept for note in output.taught.notes)
    for output in kept:
        for note in _notes(output):
            statement = as_candidate(note)
            twin = first_duplicate(statement, said)
            same = found[said.index(twin[0])] if twin else _alike(note, output, found, common)
            if same is None:
                said.append(statement)
                found.append(_Known(note, [output], wordings={note.quote}))
            elif output not in same.sessions:
                same.sessions.append(output)
                same.wordings.add(note.quote)
                # Of two wordings the clearer one is shown.
                if same.note.tentative and not note.tentative:
                    same.note = note
    return found


def _notes(output: Output) -> Iterator[Note]:
    if output.taught.notes:
        yield from output.taught.notes
    else:
        # Output of a model composed by rules: use the model's text.
        yield Note("decisions", output.taught.slug, output.taught.summary, "", ())


def _common(notes: Iterable[Note]) -> set[str]:
    """Terms that many notes of a project have."""
    every = [set(index_terms(note.text)) for note in notes]
    counts: dict[str, int] = {}
    for terms in every:
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
    return {term for term, count in counts.items() if count > max(3, _COMMON * len(every))}


def _alike(
    note: Note,
    output: Output,
    found: Sequence[_Known],
    common: set[str],
) -> _Known | None:
    """What another session's user said to the same effect in other words."""
    ours = set(index_terms(note.text)) - common
    for one in found if _is_stated(note) else ():
        theirs = set(index_terms(one.note.text)) - common
        fewest = min(len(ours), len(theirs))
        shared = len(ours & theirs)
        if (
            _is_stated(one.note)
            and output not in one.sessions
            and shared >= max(_FEWEST_SHARED, _ALIKE * fewest)
            and not _takes_back(note.text, one.note.text)
        ):
            return one
    return None


def _is_stated(note: Note) -> bool:
    return note.topic not in (None, "open_end")


def _not_reversed(known: Sequence[_Known]) -> list[_Known]:
    """Notes that no later one takes back: the latest word counts."""
    return [
        one
        for one in known
        if not any(
            later.sessions[0].updated_at > one.sessions[0].updated_at
            and (
                chooses_against(later.note.text, one.note.text)
                or _takes_back(later.note.text, one.note.text)
            )
            for later in known
        )
    ]


def _takes_back(later: str, earlier: str) -> bool:
    """Whether two statements say the opposite with the same words."""
    ours = set(index_terms(later))
    theirs = set(index_terms(earlier))
    shared = len(ours & theirs)
    return shared >= max(_FEWEST_SHARED, _ALIKE * len(ours | theirs)) and contrasts(
        _words(later), _words(earlier)
    )


def _words(text: str) -> set[str]:
    return {word.strip(_EDGES) for word in text.lower().split()}


def _without_rivals(known: Sequence[_Known]) -> list[_Known]:
    """Of several commands for one purpose, the one that most sessions used."""
    best: dict[str, _Known] = {}
    for one in known:
        rival = best.get(one.note.title)
        if _is_command(one.note) and (rival is None or one.weight > rival.weight):
            best[one.note.title] = one
    return [one for one in known if not _is_command(one.note) or best[one.note.title] is one]


def _is_command(note: Note) -> bool:
    """Whether a note only says which command serves a purpose."""
    named = _COMMAND.findall(note.text)
    return note.category == "procedures" and any(one.endswith(note.quote) for one in named)


# Document


def _memory(
    known: Sections,
    kept: Sequence[Output],
    names: Mapping[str, str],
    defined: Sequence[str],
) -> str:
    parts = [
        "# Memory",
        f"What {counted(len(kept), 'session')} of this project taught, from {_day(kept[-1])} to "
        f"{_day(kept[0])}. Advice, not truth: the repository and the user come first.",
        f"{OWN}\n{OWN_BEGIN}\n{OWN_END}",
    ]
    for name, heading in HEADINGS.items():
        lines = [_line(one, names, kept[0]) for one in known[name]]
        if name == "run" and defined:
            # One line to begin with; the repository says the rest itself.
            lines.insert(0, f"- Defined here: {', '.join(f'`{each}`' for each in defined)}.")
        if lines:
            parts += [f"## {heading}", "\n".join(lines)]
    return _with_sessions("\n\n".join(parts), kept, names)


def _with_sessions(
    text: str,
    kept: Sequence[Output],
    names: Mapping[str, str],
) -> str:
    """The text within its lines, and as many sessions below it as there is room for."""
    lines = text.split("\n")[: MOST_LINES - 4]
    room = MOST_LINES - len(lines) - 5
    told = [_session(one, names) for one in kept[: max(room, 0)]]
    more = len(kept) - len(told)
    told += [f"- {counted(more, 'earlier session')}"] if more else []
    return "\n".join([*lines, "", "## Sessions", "", *told])


def _line(
    known: _Known,
    names: Mapping[str, str],
    latest: Output,
) -> str:
    """Render a note with its source on the first line."""
    first, *more = known.text.splitlines()
    if not more:
        first, *parts = _PART.split(first)
        more = [f"- {part}" for part in parts]
    colon = ":" if first.endswith(":") else ""
    where = _where(known, names, latest)
    return "\n  ".join([f"- {first.removesuffix(':')} {where}{colon}", *more])


def _where(
    known: _Known,
    names: Mapping[str, str],
    latest: Output,
) -> str:
    """Source of a note: its last session, the number of others, and whether it still holds."""
    last, *others = known.sessions
    also = f"and in {counted(len(others), 'other session')}" if others else ""
    mark = known.mark or _age(last, latest)
    return f"({', '.join(filter(None, (names[last.session], _day(last), also, mark)))})"


def _age(last: Output, latest: Output) -> str:
    days = (latest.updated_at - last.updated_at) // DAY
    if days <= CURRENT:
        return "current"
    return "older" if days <= OLD else "old: check it first"


def _session(output: Output, names: Mapping[str, str]) -> str:
    return f"- {names[output.session]} ({_day(output)}): {output.taught.summary.splitlines()[0]}"


def _day(output: Output) -> str:
    return iso(output.updated_at)[:10]


# Summary


def _summary(known: Sections, skills: dict[_Known, str]) -> str:
    """Notes found in most sessions, within a page; the rest is only counted."""
    parts: list[str] = []
    left = SUMMARY_TOKENS
    for name, heading in HEADINGS.items():
        lines = [_first_line(one, skills.get(one, "")) for one in known[name][: FIRST[name]]]
        while lines and sum(map(count_tokens, lines)) > left:
            lines.pop()
        more = len(known[name]) - len(lines)
        if lines:
            left -= sum(map(count_tokens, lines))
            parts += [
                f"## {heading}",
                "\n".join(lines + ([f"- {more} more in MEMORY.md"] if more else [])),
            ]
    return "\n\n".join(parts)


def _first_line(known: _Known, skill: str) -> str:
    """A note on one line; steps are in the skill or the full document."""
    first, *more = known.text.splitlines()
    if not more:
        failure, *parts = _PART.split(first)
        # The fix is what helps; the error output only serves to recognise the failure.
        remedy = f" {shorten(parts[-1], WIDTH - NARROW)}" if parts else ""
        stale = f" ({known.mark})" if known.mark.startswith("stale") else ""
        return f"- {shorten(failure, max(NARROW, WIDTH - len(remedy)))}{remedy}{stale}"
    where = f"memory://root/skills/{skill}/SKILL.md" if skill else "see memory://root/MEMORY.md"
    return f"- {first.rstrip(':')}: {where}"


# Playbooks


def _skills(
    procedures: Sequence[_Known], names: Mapping[str, str]
) -> Iterator[tuple[_Known, Skill]]:
    """Procedures of several steps: a single command needs no playbook."""
    taken: set[str] = set()
    wanted = [one for one in procedures if len(_STEP.findall(one.note.text)) > 1]
    for one in wanted[:MOST_SKILLS]:
        name = _free(skill_name(_INFINITIVE.sub("", one.note.title)) or "playbook", taken)
        taken.add(name)
        commands = list(dict.fromkeys(_COMMAND.findall(one.note.text)))
        script = (
            {"scripts/run.sh": "#!/bin/sh\nset -eu\n" + "\n".join(commands)}
            if len(commands) > 1
            else {}
        )
        yield one, Skill(name, _playbook(name, one, names, has_script=bool(script)), script)


def _free(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name[: LONGEST_NAME - 3]}-{number}"
        number = number + 1
    return free


def _playbook(
    name: str,
    known: _Known,
    names: Mapping[str, str],
    *,
    has_script: bool,
) -> str:
    title = known.note.title.rstrip(".:")
    about, is_how = _INFINITIVE.subn("How to ", title)
    described = (f"{about} in this project" if is_how else about).replace('"', "'")
    parts = [
        f'---\nname: {name}\ndescription: "{described}"\n---',
        f"# {about}",
        known.note.text.strip(),
    ]
    if has_script:
        parts.append("The commands alone are in scripts/run.sh. Read them before you run them.")
    parts.append(
        "Used in: "
        + "; ".join(f"{names[one.session]} ({_day(one)})" for one in known.sessions)
        + "."
    )
    return "\n\n".join(parts)
