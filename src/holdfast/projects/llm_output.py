"""Output of models in both stages: strict JSON with exactly the requested keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from concurrent.futures import Future, wait
from threading import Event, Thread
from typing import Any

from ..errors import CapReached, MissingKey, ModelFailed
from ..extraction.job_types import Stopping
from ..models.llm.chat import Complete
from ..models.llm.json_output import object_in

LONGEST_SLUG = 20  # characters
# Seconds between two checks of the stop signal.
STEP = 0.1


def answer_of(
    complete: Complete,
    said: str,
    keys: Collection[str],
    *,
    stage: str,
) -> Mapping[str, Any]:
    """Ask a model and parse its JSON object. Raises ModelFailed with the stage and the cause: the
    model, its JSON or the keys.
    """
    try:
        text = complete(said)
    except (Stopping, CapReached):
        raise
    except MissingKey as error:
        raise ModelFailed(f"No API key available for {stage}: {error}") from error
    except Exception as error:  # providers, their clients and pydantic-ai share no base class
        raise ModelFailed(f"{stage} model error: {error or type(error).__name__}") from error
    found = object_in(text)
    if found is None:
        raise ModelFailed(f"{stage} JSON parse failure")
    if set(found) != set(keys):
        raise ModelFailed(f"{stage} JSON schema validation failure")
    return found


def stoppable(complete: Complete | None, stop: Event) -> Complete | None:
    """Call the model, but wait only until `stop` is set. Then raise Stopping and discard the
    answer.
    """
    if complete is None:
        return None

    def asked(prompt: str) -> str:
        answer: Future[str] = Future()
        # A daemon thread, so that the process can exit without waiting for it.
        Thread(
            target=_ask, args=(complete, prompt, answer), name="holdfast-model", daemon=True
        ).start()
        while not stop.is_set():
            if wait([answer], STEP).done:
                return answer.result()
        raise Stopping

    return asked


def _ask(
    complete: Complete,
    prompt: str,
    answer: Future[str],
) -> None:
    try:
        answer.set_result(complete(prompt))
    except BaseException as error:  # raised in the waiting thread
        answer.set_exception(error)


def slug_of(text: str) -> str:
    """Turn a few words into a file name: lower case, digits, underscores.

    >>> slug_of("Fix the login page!")
    'fix_the_login_page'
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:LONGEST_SLUG].strip("_")
