"""With which language models a memory works, and within which caps: the one way to a model, a
reading, a worker.
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
    """The language model that the settings name, or the one that is named instead; None without a
    name.
    """
    settings = memory.settings
    named = memory.settings.model if spec is None else spec
    return models.llm.chat.complete_for(
        named,
        environ=config.environment(),
        base_url=settings.model_url,
        key_env=settings.model_key_env,
    )


def meter_of(memory: BaseClient) -> models.llm.budget.Meter:
    """What holds the language models of one run to the caps that are set."""
    caps = models.llm.budget.Caps(
        memory.settings.model_tokens_per_run, memory.settings.model_tokens_per_day
    )
    return models.llm.budget.Meter(memory.store, memory.clock, caps)


def metered(memory: BaseClient, complete: Complete | None) -> Complete | None:
    """A language model that is asked in one run, on the account of the first of the scopes."""
    return meter_of(memory).through(complete, memory.scopes[0])


def reading_of(
    memory: BaseClient, complete: Complete | None = None
) -> extraction.turn_extraction.ExtractionContext:
    """How conversations are read here: by the model that was given or set, or by rules."""
    settings = memory.settings
    model = metered(
        memory, extraction.turn_extraction.reliable(complete) if complete else model_of(memory)
    )
    return extraction.turn_extraction.ExtractionContext(
        extraction.policy.policy_of(settings), model, max_bytes=settings.max_content_bytes
    )


def worker_of(
    memory: BaseClient,
    scopes: Sequence[Scope] | None,
    *,
    complete: Complete | None,
    stop: Event | None = None,
) -> extraction.job_types.Worker:
    """A worker for these scopes, or for all that there are, which does its jobs as the settings
    say.
    """
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
