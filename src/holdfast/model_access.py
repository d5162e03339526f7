"""Language models of a memory: the metered model, the extraction context and the worker.

All LLM calls go through the meter made here, which enforces the token budgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING

from . import config, extraction, models

if TYPE_CHECKING:
    from .base_client import BaseClient
    from .models.llm.chat import Complete
    from .types import Scope


def model_of(memory: BaseClient, spec: str | None = None) -> Complete | None:
    """Return the configured language model, or the one named by `spec`; None without a name."""
    settings = memory.settings
    named = memory.settings.model if spec is None else spec
    return models.llm.chat.complete_for(
        named,
        environ=config.environment(),
        base_url=settings.model_url,
        key_env=settings.model_key_env,
    )


def meter_of(memory: BaseClient) -> models.llm.budget.Meter:
    """Return a meter that enforces the configured token budgets for one run."""
    caps = models.llm.budget.Caps(
        memory.settings.model_tokens_per_run, memory.settings.model_tokens_per_day
    )
    return models.llm.budget.Meter(memory.store, memory.clock, caps)


def metered(memory: BaseClient, complete: Complete | None) -> Complete | None:
    """Return the model with its tokens charged to the first scope."""
    return meter_of(memory).through(complete, memory.scopes[0])


def reading_of(
    memory: BaseClient, complete: Complete | None = None
) -> extraction.turn_extraction.ExtractionContext:
    """Return the extraction context: the given model, else the configured one, else rules."""
    settings = memory.settings
    model = metered(
        memory, extraction.turn_extraction.reliable(complete) if complete else model_of(memory)
    )
    return extraction.turn_extraction.ExtractionContext(
        extraction.policy.policy_of(settings),
        model,
        max_bytes=settings.max_content_bytes,
        tiers=memory.tiers,
    )


def worker_of(
    memory: BaseClient,
    scopes: Sequence[Scope] | None,
    *,
    complete: Complete | None,
    stop: Event | None = None,
) -> extraction.job_types.Worker:
    """Return a worker for these scopes, or for all with None, configured by the settings."""
    settings = memory.settings
    return extraction.job_types.Worker(
        memory.store,
        memory.tiers,
        memory.clock,
        scopes,
        stop=stop or Event(),
        complete=complete,
        meter=meter_of(memory),
        policy=extraction.policy.policy_of(settings),
        threshold=settings.decay_threshold,
        max_bytes=settings.max_content_bytes,
    )
