"""Stage 2: combine the outputs of all sessions and replace the project's files atomically.

One job per project, held by one builder. The new files are written beside the old ones and take
their place by one rename while the job is held: a builder that lost its lease changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..context.blocks import cut_middle_within
from ..errors import ModelFailed, NotFound
from ..extraction.coding.project_settings import SECOND, Building
from ..extraction.job_types import Due, Kind, Output, Task, Terms, Worker
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author
from ..types import Micros, Scope, iso
from . import stage1_outputs
from .artifacts import (
    FileSet,
    Skill,
    laid_out,
    own_regions,
    put_back,
    replace_files,
    skill_of,
    text_of,
)
from .compose_memory import Composed, compose
from .llm_output import answer_of
from .model_evidence import names_known_code, recombined, with_lost_notes
from .prompt_files import asked
from .repository_facts import RepositoryFacts
from .stage1 import NEXT, dirty
from .stage1_outputs import Output as Kept

NAME, KEY = NEXT
# Tokens of the two inputs of the second stage; longer ones are cut in the middle.
RAW_TOKENS = 20_000
SUMMARY_TOKENS = 12_000
KEYS = ("memory_md", "memory_summary", "skills")


def _due(worker: Worker) -> Iterator[Due]:
    """Nothing to plan: stage 1 and explicit requests enqueue the job."""
    del worker
    return iter(())


def _run(task: Task) -> Output:
    worker = task.worker
    scope = task.job.scope
    if worker.building is None:
        raise NotFound("This worker does not build project memories.")
    building = worker.building
    kept = stage1_outputs.outputs(
        worker.store,
        scope,
        building.settings.max_raw_memories_for_global,
    )
    with task.beating(building.settings.phase2_heartbeat_seconds):
        files = file_set(kept, building, scope)
    task.heartbeat()
    folder = building.folder(scope)
    version = task.job.token

    def write(tx: Transaction) -> object:
        del tx  # its result is files, not rows
        return lambda: replace_files(folder, files, version)

    return write


def file_set(
    kept: Sequence[Kept],
    building: Building,
    scope: Scope,
) -> FileSet:
    """Build the files, with the user's regions carried over."""
    if not kept:
        return laid_out(None, kept)
    model = building.smol or building.default
    repository = RepositoryFacts(building.repository) if building.repository else None
    composed = compose(kept, repository) if model is None else by_model(kept, building)
    return put_back(laid_out(composed, kept), own_regions(building.folder(scope)))


def by_model(kept: Sequence[Kept], building: Building) -> Composed:
    """Let a model combine the sessions; raises ModelFailed for an invalid answer.

    What the sessions do not say is left out, and what rules found in them is added.
    """
    model = building.smol or building.default
    if model is None:
        raise ModelFailed("No model available for phase2")
    said = asked(
        building.prompts,
        template="consolidation",
        raw_memories=cut_middle_within("\n\n".join(map(_raw, kept)), RAW_TOKENS),
        rollout_summaries=cut_middle_within("\n\n".join(map(_summary, kept)), SUMMARY_TOKENS),
    )
    answer = answer_of(model, said, KEYS, stage="phase2")
    memory, summary = (text_of(answer, key).strip() for key in KEYS[:2])
    if not memory or not summary or not isinstance(answer["skills"], list):
        raise ModelFailed("phase2 JSON schema validation failure")
    # A model that only made things up leaves the notes and nothing else.
    document = recombined(memory, kept) or "# Memory"
    return Composed(
        with_lost_notes(document, kept),
        recombined(summary, kept) or compose(kept).summary,
        tuple(one for one in _skills(answer["skills"]) if names_known_code(one.content, kept)),
    )


def _skills(answered: Sequence[Any]) -> Iterator[Skill]:
    for one in answered:
        skill = skill_of(one)
        if skill is not None:
            yield skill


def _raw(kept: Kept) -> str:
    return f"## {kept.session}\nupdated_at: {iso(kept.updated_at)}\n\n{kept.taught.memory}"


def _summary(kept: Kept) -> str:
    return f"{kept.session} ({iso(kept.updated_at)[:10]}): {kept.taught.summary}"


def enqueue(
    store: Store,
    scope: Scope,
    author: Author,
) -> None:
    """Request a rebuild of a project's memory even if nothing changed."""
    store.write(author, lambda tx: dirty(tx, store, scope, author.at))


def _terms(worker: Worker) -> Terms:
    if worker.building is None:
        return Terms(revival=None)
    settings = worker.building.settings
    return Terms(
        _seconds(settings.phase2_lease_seconds),
        _seconds(settings.phase2_retry_delay_seconds),
        None,
    )


def _seconds(count: int) -> Micros:
    return count * SECOND


BUILD = Kind(NAME, due=_due, run=_run, terms=_terms)
"""One job per project whose session outputs changed."""
