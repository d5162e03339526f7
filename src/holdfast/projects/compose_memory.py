"""Compose a project's memory without a model: every note once, grouped by topic, with its sources.

Deterministic. A note found in several sessions says so; of two that contradict each other the later
one comes first. Procedures of several steps become skills.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..extraction.candidate import Candidate
from ..extraction.coding import Category, Note
from ..extraction.coding.finder import as_candidate
from ..extraction.similarity.dedup import first_duplicate
from ..text.terminal import counted, shorten
from ..text.token_count import count_tokens
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
"""Maximum number of notes per category in the summary."""
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

    @property
    def weight(self) -> tuple[int, Micros]:
        """Sort key: number of sessions, then recency."""
        return len(self.sessions), self.sessions[0].updated_at

    @property
    def text(self) -> str:
        """Text without a repeated heading; sentences end with a full stop."""
        said = _SAID_BY_HEADING.sub(lambda match: match[1].upper(), self.note.text.strip())
        return said if said.endswith((".", "!", "?", ":", ")")) or "\n" in said else f"{said}."


def compose(kept: Sequence[Output]) -> Composed:
    """Compose these outputs, most recent first."""
    known = {category: _known(kept, category) for category in HEADINGS}
    names = short_names([output.session for output in kept])
    skills = dict(_skills(known["procedures"], names))
    named = {one: skill.name for one, skill in skills.items()}
    return Composed(
        _memory(known, kept, names),
        _summary(known, named),
        tuple(skills.values()),
    )


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


def _known(kept: Sequence[Output], category: Category) -> list[_Known]:
    """Notes of a category without duplicates, most frequent first."""
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
    # Output of a model composed by rules: use the model's text.
    elif category == "decisions":
        yield Note(category, output.taught.slug, output.taught.summary, "", ())


# Document


def _memory(
    known: dict[Category, list[_Known]],
    kept: Sequence[Output],
    names: Mapping[str, str],
) -> str:
    parts = [
        "# Memory",
        f"What {counted(len(kept), 'session')} of this project taught, from {_day(kept[-1])} to "
        f"{_day(kept[0])}. Advice, not truth: the repository and the user come first.",
        f"{OWN}\n{OWN_BEGIN}\n{OWN_END}",
    ]
    for category, heading in HEADINGS.items():
        if known[category]:
            parts += [f"## {heading}", "\n".join(_line(one, names) for one in known[category])]
    return "\n\n".join([*parts, "## Sessions", "\n".join(_session(one, names) for one in kept)])


def _line(known: _Known, names: Mapping[str, str]) -> str:
    """Render a note with its source on the first line."""
    first, *more = known.text.splitlines()
    if not more:
        first, *parts = _PART.split(first)
        more = [f"- {part}" for part in parts]
    colon = ":" if first.endswith(":") else ""
    return "\n  ".join([f"- {first.removesuffix(':')} {_where(known, names)}{colon}", *more])


def _where(known: _Known, names: Mapping[str, str]) -> str:
    """Source of a note: the latest session, and the number of others."""
    latest, *others = known.sessions
    also = f", and in {counted(len(others), 'other session')}" if others else ""
    return f"({names[latest.session]}, {_day(latest)}{also})"


def _session(output: Output, names: Mapping[str, str]) -> str:
    return f"- {names[output.session]} ({_day(output)}): {output.taught.summary.splitlines()[0]}"


def _day(output: Output) -> str:
    return iso(output.updated_at)[:10]


# Summary


def _summary(known: dict[Category, list[_Known]], skills: dict[_Known, str]) -> str:
    """Notes found in most sessions, within a page; the rest is only counted."""
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
    """A note on one line; steps are in the skill or the full document."""
    first, *more = known.text.splitlines()
    if not more:
        failure, *parts = _PART.split(first)
        # The fix is what helps; the error output only serves to recognise the failure.
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
