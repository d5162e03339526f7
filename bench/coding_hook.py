"""What the hooks would have told before a user said something again; `bench/coding_sessions.py`
calls it.

Every project is lived through in order: the turns of its sessions are stored, and their notes as
records, as the hooks do after a session. In a session in which something is said again, the hook of
the start and those of the user's prompts before that place are asked. It counts as told if one
sentence of their answers holds half of its words, as a line of MEMORY.md has to. By chance that
happens too: the same answers are searched for what users of the project said again elsewhere.

`relevance` asks the other way round: how often the hook of a prompt tells anything, and what it
costs, for prompts of the project's last sessions, for prompts of other projects, and for opening
messages of LongMemEval's sessions, which have nothing to do with any project.
"""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

import relevance as openings
from coding_notes import TOLD, Session, sessions
from coding_sessions import digest, rows
from holdfast import config
from holdfast.client import Holdfast
from holdfast.coding_agents.hooks.events import EXEC, Call
from holdfast.coding_agents.hooks.inject import recalled, standing_in
from holdfast.extraction.coding import Note, find_notes
from holdfast.extraction.coding.note_judge import NoteJudge
from holdfast.records.roots import init_project
from holdfast.text.token_count import count_tokens
from holdfast.text.tokens import index_terms

# Prompts of a session that are asked for, the latest before the place.
MOST_PROMPTS = 10
# The last sessions of a project: their prompts are asked, and the sessions before are its memory.
LAST = 2
# Sessions and turns of a project for which relevance is counted.
FEWEST_SESSIONS = 4
MOST_TURNS = 3000
# Prompts of others that each project is asked.
PROMPTS_OF_OTHERS = 25
COUNTED = ("said again", "in a session's first prompt", "told at the start", "told")

Row = dict[str, Any]
Find = Callable[[Session], list[Note]]


def hook(folder: Path, half: str | None, judge: NoteJudge) -> Row:
    """Which share of what users said again the hooks would have told before, and what it costs:
    with the sessions alone, and with their notes as records too.
    """
    every = list(sessions(folder, half))
    repeats = rows("coding_repeats.jsonl", half)
    return {
        "sessions alone": _figures(every, repeats, lambda session: []),
        "with notes": _figures(every, repeats, lambda session: find_notes(session.turns, judge)),
    }


def _figures(every: Sequence[Session], repeats: Sequence[Row], find: Find) -> Row:
    counts: Counter[str] = Counter()
    start: list[int] = []
    prompt: list[int] = []
    for project, group in groupby(every, lambda session: session.project):
        wanted = [row for row in repeats if row["project"] == project]
        if not wanted:
            continue
        for row, at_start, at_prompts in _asked(list(group), wanted, find):
            start.append(count_tokens(at_start))
            prompt += map(count_tokens, at_prompts)
            others = [one["what"] for one in wanted if one["what"] != row["what"]]
            told = [_holds(text, row["what"]) for text in (at_start, *at_prompts)]
            counts["said again"] += 1
            counts["in a session's first prompt"] += not at_prompts
            counts["told at the start"] += told[0]
            counts["told"] += any(told)
            counts["others"] += len(others)
            counts["told by chance"] += sum(
                any(_holds(text, what) for text in (at_start, *at_prompts)) for what in others
            )
    return {
        **{name: counts[name] for name in COUNTED},
        "share told": round(counts["told"] / counts["said again"], 3),
        "share told by chance": round(counts["told by chance"] / max(1, counts["others"]), 3),
        "tokens at the start": round(mean(start)),
        "tokens at a prompt": round(mean(prompt)) if prompt else 0,
    }


def _asked(
    own: Sequence[Session], wanted: Sequence[Row], find: Find
) -> Iterator[tuple[Row, str, list[str]]]:
    """For each thing said again, what the hooks of its session answer before that place."""
    with _project() as (folder, hf):
        for session in own:
            for row in wanted:
                file, line = row["said_again"].rsplit("#", 1)
                prompts = _before(session, int(line)) if session.file == file else None
                if prompts is not None:
                    start = standing_in(Call(EXEC, cwd=str(folder)), {})
                    yield row, start, _answers(hf, folder, prompts)
            _lived(hf, session, find)


@contextmanager
def _project() -> Iterator[tuple[Path, Holdfast]]:
    """The folder of a new project with an empty memory, in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, XDG_DATA_HOME=f"{home}/data", XDG_CONFIG_HOME=f"{home}/config")
        folder = Path(home) / "project"
        folder.mkdir()
        place = init_project(folder)
        with Holdfast.open(
            config.default_store(), scope=place.scope, places=(place,), background=False
        ) as hf:
            yield folder, hf


def _answers(hf: Holdfast, folder: Path, prompts: Sequence[str]) -> list[str]:
    """What the hook of a prompt says to each."""
    hf.recall("everything")  # embeds what is new
    return [recalled(Call(EXEC, cwd=str(folder), prompt=text), {}) for text in prompts]


def relevance(folder: Path, half: str | None, longmemeval: Path) -> Row:
    """How often the hook and `recall` tell anything beside prompts of the project, of others, and
    of nobody. `recall` has the vectors of both models, the hook asks the quick one.
    """
    chance = random.Random(0)
    everyday = openings.prompts(longmemeval)
    projects = [list(group) for _, group in groupby(sessions(folder, half), lambda s: s.project)]
    projects = [
        own
        for own in projects
        if len(own) >= FEWEST_SESSIONS and sum(len(one.turns) for one in own) <= MOST_TURNS
    ]
    prompts = [[text for one in own[-LAST:] for text in _prompts(one)] for own in projects]
    hook_tells: dict[str, list[str]] = defaultdict(list)
    recall_tells: dict[str, list[str]] = defaultdict(list)
    for number, own in enumerate(projects):
        others = [text for other, said in enumerate(prompts) if other != number for text in said]
        asked = {
            "own": prompts[number],
            "other projects": chance.sample(others, min(PROMPTS_OF_OTHERS, len(others))),
            "everyday": chance.sample(everyday, PROMPTS_OF_OTHERS),
        }
        with _project() as (place, hf):
            for session in own[:-LAST]:
                _lived(hf, session, lambda session: [])
            hf.admin.reembed()
            for kind, texts in asked.items():
                hook_tells[kind] += _answers(hf, place, texts)
                recall_tells[kind] += [_recalled(hf, text) for text in texts]
    return {
        "projects": len(projects),
        **{
            kind: {
                "prompts": len(answers),
                "hook": _told_share(answers),
                "recall": _told_share(recall_tells[kind]),
            }
            for kind, answers in hook_tells.items()
        },
    }


def _recalled(hf: Holdfast, text: str) -> str:
    """What `recall` finds, as one text."""
    return "\n".join(hit.memory.content for hit in hf.recall(text))


def _told_share(answers: Sequence[str]) -> Row:
    return {
        "told anything": round(mean(map(bool, answers)), 3),
        "tokens": round(mean(map(count_tokens, answers)), 1),
    }


def _prompts(session: Session) -> list[str]:
    said = [turn.content for turn in session.turns if turn.role == "user" and turn.content.strip()]
    return said[:MOST_PROMPTS]


def _before(session: Session, line: int) -> list[str] | None:
    """The prompts before a line of a session's file; None if the line is not in the session."""
    said = [turn for turn in session.turns if turn.role == "user"]
    here = [turn for turn in said if session.lines[turn.id][0] <= line <= session.lines[turn.id][1]]
    if not here:
        return None
    before = said[: said.index(here[0])]
    return [turn.content for turn in before[-MOST_PROMPTS:]]


def _lived(hf: Holdfast, session: Session, find: Find) -> None:
    turns = [
        {
            "session": digest(session.id),
            "role": turn.role,
            "text": turn.content,
            "event_time": turn.event_time,
        }
        for turn in session.turns
        # Longer ones are not stored.
        if len(turn.content.encode()) <= hf.settings.max_content_bytes
    ]
    hf.capture_many(turns)
    for note in find(session):
        hf.records.add(note.text, category=note.category, title=note.title)


def _holds(block: str, what: str) -> bool:
    wanted = set(index_terms(what))
    told = re.split(r"\n|(?<=[.!?]) ", block)
    return any(len(wanted & set(index_terms(each))) >= TOLD * len(wanted) for each in told)
