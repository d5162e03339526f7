"""What the hooks would have told before a user said something again; `bench/coding_sessions.py`
calls it.

Every project is lived through in order: the turns of its sessions are stored, and their notes as
records, as the hooks do after a session. In a session in which something is said again, the hook of
the start and those of the user's prompts before that place are asked. It counts as told if one
sentence of their answers holds half of its words, as a line of MEMORY.md has to. By chance that
happens too: the same answers are searched for what users of the project said again elsewhere.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

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
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, XDG_DATA_HOME=f"{home}/data", XDG_CONFIG_HOME=f"{home}/config")
        folder = Path(home) / "project"
        folder.mkdir()
        place = init_project(folder)
        with Holdfast.open(
            config.default_store(), scope=place.scope, places=(place,), background=False
        ) as hf:
            for session in own:
                for row in wanted:
                    file, line = row["said_again"].rsplit("#", 1)
                    prompts = _before(session, int(line)) if session.file == file else None
                    if prompts is not None:
                        hf.recall("everything")  # embeds what is new
                        start = standing_in(Call(EXEC, cwd=str(folder)), {})
                        calls = [Call(EXEC, cwd=str(folder), prompt=text) for text in prompts]
                        yield row, start, [recalled(call, {}) for call in calls]
                _lived(hf, session, find)


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
    ]
    hf.capture_many(turns)
    for note in find(session):
        hf.records.add(note.text, category=note.category, title=note.title)


def _holds(block: str, what: str) -> bool:
    wanted = set(index_terms(what))
    told = re.split(r"\n|(?<=[.!?]) ", block)
    return any(len(wanted & set(index_terms(each))) >= TOLD * len(wanted) for each in told)
