"""A project's memory put together without a model: every note once, under what it is about, with
where it comes from.

The same outputs always give the same text. A note that several sessions bear out says so; of two
that contradict each other the later one stands first. Procedures of several steps become skills.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..extraction.candidate import Candidate
from ..extraction.coding import Category, Note
from ..extraction.coding.finder import as_candidate
from ..extraction.similarity.dedup import first_duplicate
from ..text.budget import count_tokens
from ..text.terminal import counted, shorten
from ..types import Micros, iso
from .artifacts import LONGEST_NAME, OWN_BEGIN, OWN_END, Skill, skill_name
from .stage1_outputs import Output

HEADINGS: dict[Category, str] = {
    "principles": "Rules of the project",
    "decisions": "Decisions",
    "procedures": "Commands and workflows",
    "incidents": "Failures and their fixes",
    "preferences": "Preferences",
}
FIRST: dict[Category, int] = {
    "principles": 8,
    "decisions": 8,
    "procedures": 6,
    "incidents": 6,
    "preferences": 5,
}
"""How many of each the summary names, at most."""
OWN = "<!-- What you write between the next two lines is kept when this file is made again. -->"
SUMMARY_TOKENS = 1_200
# characters of a line in the summary, and of a failure that was mended
WIDTH = 220
NARROW = 100
MOST_SKILLS = 20
_SAID_BY_HEADING = re.compile(r"^Decided: (.)")
_STEP = re.compile(r"^\d+\.\s", re.MULTILINE)
# Of a failure, each of which gets a line of its own.
_PART = re.compile(r"\s(?=(?:Cause|Fix): )")
_INFINITIVE = re.compile(r"^to (?=\w)", re.IGNORECASE)
_COMMAND = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Composed:
    """What a project's memory says: all of it, what to know first, and its playbooks."""

    memory: str
    summary: str
    skills: tuple[Skill, ...] = ()


@dataclass(slots=True, eq=False)
class _Known:
    """A note, and every session that taught it, the latest first."""

    note: Note
    sessions: list[Output] = field(default_factory=list)

    @property
    def weight(self) -> tuple[int, Micros]:
        """How much it counts: by how many sessions bear it out, then by how recent it is."""
        return len(self.sessions), self.sessions[0].updated_at

    @property
    def text(self) -> str:
        """What it says, without what its heading says already; sentences end with a full stop."""
        said = _SAID_BY_HEADING.sub(lambda match: match[1].upper(), self.note.text.strip())
        return said if said.endswith((".", "!", "?", ":", ")")) or "\n" in said else f"{said}."


def compose(kept: Sequence[Output]) -> Composed:
    """What these outputs, the most recent first, say together."""
    known = {category: _known(kept, category) for category in HEADINGS}
    names = short_names([output.session for output in kept])
    skills = dict(_skills(known["procedures"], names))
    named = {one: skill.name for one, skill in skills.items()}
    return Composed(_memory(known, kept, names), _summary(known, named), tuple(skills.values()))


def short_names(sessions: Sequence[str]) -> dict[str, str]:
    """Each session's id, as far as a person needs it to tell it from the others."""
    return {one: _short(one, sessions) for one in sessions}


def _short(session: str, others: Sequence[str]) -> str:
    length = 8
    while length < len(session) and any(
        one != session and one.startswith(session[:length]) for one in others
    ):
        length += 1
    return session if len(session) <= 13 else session[:length]


def _known(kept: Sequence[Output], category: Category) -> list[_Known]:
    """Every note of a category once, what more sessions taught first."""
    found: list[_Known] = []
    said: list[Candidate] = []
    for output in kept:
        for note in _notes(output, category):
            statement = as_candidate(note)
            twin = first_duplicate(statement, said)
            if twin is None:
                said.append(statement)
                found.append(_Known(note, [output]))
            elif output not in (sessions := found[said.index(twin[0])].sessions):
                sessions.append(output)
    return sorted(found, key=lambda one: one.weight, reverse=True)


def _notes(output: Output, category: Category) -> Iterator[Note]:
    if output.taught.notes:
        yield from (note for note in output.taught.notes if note.category == category)
    elif category == "decisions":  # a model told it, and rules put it together: its own words then
        yield Note(category, output.taught.slug, output.taught.summary, "", ())


# The document


def _memory(
    known: dict[Category, list[_Known]], kept: Sequence[Output], names: Mapping[str, str]
) -> str:
    parts = [
        "# Memory",
        f"What {counted(len(kept), 'session')} of this project taught, from {_day(kept[-1])} to "
        f"{_day(kept[0])}. "
        "Advice, not truth: the repository and the user come first.",
        f"{OWN}\n{OWN_BEGIN}\n{OWN_END}",
    ]
    for category, heading in HEADINGS.items():
        if known[category]:
            parts += [f"## {heading}", "\n".join(_line(one, names) for one in known[category])]
    return "\n\n".join([*parts, "## Sessions", "\n".join(_session(one, names) for one in kept)])


def _line(known: _Known, names: Mapping[str, str]) -> str:
    """A note with where it comes from: beside its first line, whatever follows below that."""
    first, *more = known.text.splitlines()
    if not more:
        first, *parts = _PART.split(first)
        more = [f"- {part}" for part in parts]
    colon = ":" if first.endswith(":") else ""
    return "\n  ".join([f"- {first.removesuffix(':')} {_where(known, names)}{colon}", *more])


def _where(known: _Known, names: Mapping[str, str]) -> str:
    """Where a note comes from: the latest session, and how many others."""
    latest, *others = known.sessions
    also = f", and in {counted(len(others), 'other session')}" if others else ""
    return f"({names[latest.session]}, {_day(latest)}{also})"


def _session(output: Output, names: Mapping[str, str]) -> str:
    return f"- {names[output.session]} ({_day(output)}): {output.taught.summary.splitlines()[0]}"


def _day(output: Output) -> str:
    return iso(output.updated_at)[:10]


# What to know first


def _summary(known: dict[Category, list[_Known]], skills: dict[_Known, str]) -> str:
    """The notes that most sessions bear out, within a page; the rest is named by how much there
    is.
    """
    parts: list[str] = []
    left = SUMMARY_TOKENS
    for category, heading in HEADINGS.items():
        lines = [
            _first_line(one, skills.get(one, "")) for one in known[category][: FIRST[category]]
        ]
        while lines and sum(map(count_tokens, lines)) > left:
            lines.pop()
        more = len(known[category]) - len(lines)
        if lines:
            left -= sum(map(count_tokens, lines))
            parts += [
                f"## {heading}",
                "\n".join(lines + ([f"- {more} more in MEMORY.md"] if more else [])),
            ]
    return "\n\n".join(parts)


def _first_line(known: _Known, skill: str) -> str:
    """A note in one line; steps are where the skill is, or the whole document."""
    first, *more = known.text.splitlines()
    if not more:
        failure, *parts = _PART.split(first)
        # What helps is how it was mended; what was printed then is only how to know it again.
        remedy = f" {shorten(parts[-1], WIDTH - NARROW)}" if parts else ""
        return f"- {shorten(failure, max(NARROW, WIDTH - len(remedy)))}{remedy}"
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


def _playbook(name: str, known: _Known, names: Mapping[str, str], *, has_script: bool) -> str:
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
