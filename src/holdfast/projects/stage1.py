"""Stage 1, the project sink: read each past session once and store what it teaches.

One job per session. A session is due when it has been idle long enough, is not too old, and has new
turns since it was last read. A model gives one structured answer, of which stays what the session
bears out, beside what the note finder found; without a model only the note finder is used. A
session without notes leaves only its progress mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import ModelFailed, NotFound
from ..extraction import runner
from ..extraction.coding import CATEGORIES, Note, find_notes
from ..extraction.coding.note_judge import NoteJudge, note_judge_of
from ..extraction.coding.project_settings import HOUR, SECOND, Building
from ..extraction.job_types import Due, Kind, Output, Task, Terms, Worker
from ..extraction.policy import PEOPLE
from ..extraction.progress import PROJECTS, Marks, covers, marks_by_session
from ..extraction.runner import Extraction, Reached
from ..storage.protocol import Store, Transaction
from ..text.secrets import redact
from ..text.terminal import counted, shorten
from ..types import DAY, Job, Memories, Memory, Micros, Progress, Scope, Session
from . import stage1_outputs
from .llm_output import answer_of, slug_of
from .model_evidence import evidence_of, is_told, missing, verified
from .prompt_files import asked
from .stage1_outputs import Taught
from .transcript_json import payload

NAME = "project-extract"
NEXT = ("project-build", "memory")
"""The job that combines all sessions; a changed output gives it more to do."""
# Limit per session: more than this is a document, not a session.
MOST_NOTES = 40
UNCONFIRMED = " (said once)"
"""Behind a note that counts only once another session says the same."""
# Characters of a session's title in its summary.
LONGEST_TITLE = 70
HAS_BEEN_READ = "it has been read"
KEYS = ("rollout_summary", "rollout_slug", "raw_memory")
# End of a sentence, of a line, or of an introduction such as "Please do this:".
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|:?\n")


class Lesson(NamedTuple):
    """What a session teaches, and the memories that hold its previous output."""

    taught: Taught
    known: Sequence[Memory]


@dataclass(frozen=True, slots=True)
class Passed:
    """A session that is not read now, with the reason."""

    session: Session
    reason: str


def candidates(
    store: Store,
    scope: Scope,
    building: Building,
    now: Micros,
) -> Iterator[Session | Passed]:
    """Sessions of a project, latest first: those to read, and the others with the reason."""
    settings = building.settings
    jobs = {job.key: job for job in store.jobs.list([scope]) if job.kind == NAME}
    every = sorted(store.sessions.list([scope]), key=lambda one: (-one.last_activity, one.id))
    marks = marks_by_session(store, every)
    left = settings.max_rollouts_per_startup
    for number, session in enumerate(every):
        mark = marks.get(session.id, {}).get(PROJECTS)
        reason = _reason(session, mark, jobs.get(session.id), building, now)
        if number >= settings.thread_scan_limit:
            reason = (
                f"only the latest {counted(settings.thread_scan_limit, 'session')} are considered"
            )
        elif not reason and left == 0:
            reason = (
                f"at most {counted(settings.max_rollouts_per_startup, 'session')} per run; "
                "it is left for the next"
            )
        left -= not reason
        yield Passed(session, reason) if reason else session


def _reason(
    session: Session,
    mark: Progress | None,
    job: Job | None,
    building: Building,
    now: Micros,
) -> str:
    """Reason why a session is not read now; empty if it is."""
    settings = building.settings
    idle = now - session.last_activity
    oldest = settings.max_rollout_age_days
    youngest = settings.min_rollout_idle_hours
    reasons = {
        "it is still active": session.id in building.skipped,
        "it is private": bool(session.metadata.get("private")),
        f"it is older than {counted(oldest, 'day')}": idle > oldest * DAY,
        f"it was active in the last {counted(youngest, 'hour')}": idle < youngest * HOUR,
        HAS_BEEN_READ: covers(mark, session),
    }
    for reason, applies in reasons.items():
        if applies:
            return reason
    # The session has new turns since this job was enqueued, so the job's state is outdated.
    if job is None or job.watermark < session.last_activity:
        return ""
    return _standing(job, now)


def _standing(job: Job, now: Micros) -> str:
    """Reason why an already known session is not read now."""
    if job.done_watermark >= job.watermark:
        return HAS_BEEN_READ
    if job.status == "running" and (job.lease_until or 0) > now:
        return f"{job.worker} is reading it"
    if job.retries_left <= 0:
        return f"it failed three times: {job.error}"
    return (
        f"it failed: {job.error}; it is retried later"
        if job.status == "error" and (job.retry_at or 0) > now
        else ""
    )


def _due(worker: Worker) -> Iterator[Due]:
    if worker.building is None:
        return
    for scope in _projects(worker):
        for one in candidates(worker.store, scope, worker.building, worker.clock()):
            if isinstance(one, Session):
                yield Due(scope, one.id, one.last_activity)


def _projects(worker: Worker) -> list[Scope]:
    scopes = worker.store.scopes() if worker.scopes is None else worker.scopes
    return [scope for scope in scopes if scope.kind == "project"]


@dataclass(frozen=True, slots=True)
class ProjectSink:
    """Sink for what a session teaches its project."""

    worker: Worker
    building: Building
    name = PROJECTS
    builds_on = ()

    def wants(self, session: Session, marks: Marks) -> bool:
        """Sessions with new turns since they were last read; `candidates` applies the other
        conditions.
        """
        return not covers(marks.get(PROJECTS), session)

    def extract(
        self,
        session: Session,
        turns: Memories,
        marks: Marks,
    ) -> Lesson:
        """Extract what a session teaches, and find its previous output."""
        del marks
        lesson = teaches(session, turns, self.building, note_judge_of(self.worker.tiers))
        known = stage1_outputs.outputs_of(
            self.worker.store,
            session.scope,
            session.id,
        )
        return Lesson(lesson, known)

    def is_current(self, read: Session, now: Session) -> bool:
        """Always True: a session with new turns is read again."""
        del read, now
        return True

    def apply(
        self,
        tx: Transaction,
        session: Session,
        extraction: Extraction[Lesson],
        *,
        at: Micros,
    ) -> None:
        """Replace the previous output and request a rebuild of the files."""
        del (
            session
        )  # not needed: the session may have grown meanwhile, and the mark must match what was read
        worker, lesson, read = self.worker, extraction.found, extraction.session
        stage1_outputs.save_outputs(
            tx,
            read,
            lesson.taught,
            lesson.known,
            at=at,
            limit=worker.max_bytes,
        )
        if lesson.known or not lesson.taught.is_empty:
            dirty(tx, worker.store, read.scope, at)

    def reached(self, session: Session, extraction: Extraction[Lesson]) -> list[Reached]:
        """Position of the session when it was read."""
        del session
        return [Reached(PROJECTS, extraction.session.last_activity)]


def _run(task: Task) -> Output | None:
    worker = task.worker
    job = task.job
    building = _building(worker)
    session = worker.store.sessions.get(job.scope, job.key)
    if session is None:
        raise NotFound(f"Session {job.key!r} is gone.")
    sink = ProjectSink(worker, building)
    with task.beating(max(1.0, building.settings.stage1_lease_seconds / 4)):
        extraction = runner.read(worker.store, session, sink)
    if extraction is None:
        return None
    return lambda tx: runner.save(tx, sink, extraction, at=worker.clock())


def _building(worker: Worker) -> Building:
    if worker.building is None:
        raise NotFound("This worker does not build project memories.")
    return worker.building


def dirty(
    tx: Transaction,
    store: Store,
    scope: Scope,
    at: Micros,
) -> None:
    """Request a rebuild of a project's memory, whatever the schedule."""
    kind, key = NEXT
    known = [job.watermark for job in store.jobs.list([scope]) if (job.kind, job.key) == NEXT]
    tx.jobs.enqueue(
        scope,
        kind,
        key,
        watermark=max(at, *(mark + 1 for mark in known), 0),
    )


def teaches(
    session: Session,
    turns: Memories,
    building: Building,
    judge: NoteJudge | None = None,
) -> Taught:
    """Extract what a session teaches its project, by model or by rules, without secrets."""
    if building.default is None:
        return by_rules(session, turns, judge)
    said = asked(
        building.prompts,
        system="stage_one_system",
        template="stage_one_input",
        thread_id=session.id,
        response_items_json=payload(turns, building.settings),
    )
    answer = answer_of(building.default, said, KEYS, stage="stage1")
    texts = {key: answer[key] for key in KEYS}
    if not all(
        isinstance(texts[key], str) or (key == "rollout_slug" and texts[key] is None)
        for key in KEYS
    ):
        raise ModelFailed("stage1 JSON schema validation failure")
    memory, summary, slug = (
        redact(texts[key] or "")[0] for key in ("raw_memory", "rollout_summary", "rollout_slug")
    )
    answered = Taught(memory.strip(), summary.strip(), slug_of(slug))
    # An empty answer says that the session teaches nothing.
    return answered if answered.is_empty else borne_out(answered, session, turns)


def borne_out(answered: Taught, session: Session, turns: Memories) -> Taught:
    """What the session bears out of a model's answer, and what rules find beside it."""
    ours = by_rules(session, turns)
    evidence = evidence_of(turns, ours.notes)
    memory = verified(answered.memory, evidence)
    beside = _render(missing(ours.notes, memory))
    summary = answered.summary
    if not is_told(summary, turns, evidence.shown):
        summary = ours.summary or shorten(_first_words(turns), LONGEST_TITLE)
    return Taught(
        "\n\n".join(part for part in (memory, beside) if part),
        summary,
        answered.slug,
        ours.notes,
    )


# Without a model


def by_rules(
    session: Session,
    turns: Memories,
    judge: NoteJudge | None = None,
) -> Taught:
    """Notes of the note finder, rendered one by one.

    Those that count only once another session says the same are kept for the composer.
    """
    notes = find_notes(turns, judge, tentative=True)[:MOST_NOTES]
    if not notes:
        return Taught("", "")
    title = (
        str(session.metadata.get("title") or "").strip() or _first_words(turns) or notes[0].title
    )
    return Taught(
        _render(notes),
        _summary(title, notes),
        slug_of(title),
        tuple(notes),
    )


def _render(notes: Sequence[Note]) -> str:
    """Render notes as Markdown, one list per category."""
    lists = []
    for category in CATEGORIES:
        lines = [
            f"- {note.text}{UNCONFIRMED if note.tentative else ''}".replace("\n", "\n  ")
            for note in notes
            if note.category == category
        ]
        if lines:
            lists.append("\n".join([f"### {category.title()}", *lines]))
    return "\n\n".join(lists)


def _summary(title: str, notes: Sequence[Note]) -> str:
    counts: dict[str, int] = {}
    for note in notes:
        counts[note.category] = counts.get(note.category, 0) + 1
    parts = []
    for name, count in counts.items():
        # Categories are plural nouns.
        noun = name if count > 1 else name.rstrip("s")
        parts.append(f"{count} {noun}")
    short_title = shorten(title, LONGEST_TITLE).rstrip(".")
    first_line = notes[0].text.splitlines()[0]
    return f"{short_title} ({', '.join(parts)})\n{first_line}"


def _first_words(turns: Memories) -> str:
    """The user's first sentence: the purpose of the session."""
    said = next((turn.content.strip() for turn in turns if turn.role in PEOPLE), "")
    first = _SENTENCE_END.split(said, maxsplit=1)[0]
    return first[:1].upper() + first[1:]


def _terms(worker: Worker) -> Terms:
    settings = _building(worker).settings if worker.building else None
    if settings is None:
        return Terms(revival=None)
    return Terms(
        settings.stage1_lease_seconds * SECOND,
        settings.stage1_retry_delay_seconds * SECOND,
        None,
    )


EXTRACT = Kind(NAME, due=_due, run=_run, terms=_terms)
"""One job per session that is due."""
