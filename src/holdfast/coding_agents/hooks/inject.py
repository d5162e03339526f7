"""What memory has to say to a host: what stands in its project when a session starts, and what
helps with a prompt.

The store is opened, read and left: nothing is written, no model but the quick one is used, and
there is no thread. Files of records that changed since they were last followed are not believed:
what they said is left out, and a process of its own follows them, so that the next prompt has what
they say now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import config, retention_mode
from ...context.blocks import fence_block, join_blocks
from ...context.project_rules import standing
from ...errors import HoldfastError
from ...records.roots import RecordRoot, places_here
from ...storage import Filter, Store, open_store
from ...types import Hit, Memory, Micros, system_clock
from ...values import dataclass, replace
from .after_session import open_here
from .deadline import time_left
from .events import EXEC, MOST_CHARACTERS, MOST_TOKENS, Call
from .freshness_check import Files
from .project_memory import taught
from .spawn import start_process

if TYPE_CHECKING:
    from ...context.brief import Verdict

# characters of a prompt that are asked for, at its beginning and at its end: between are pastes
LONGEST = 4_000
# The embedding model that can be there in time.
QUICK = "static"
# Seconds to load it, with some to spare.
LOADING = 0.1
# Seconds for each question to git.
GIT = 0.03


LATE = (
    "Memory did not answer in time, so not all that may help is told here. "
    "It can still be asked: by its tools, or with `holdfast recall`."
)
Ready = Callable[[str], None]
"""Is told what a host can be told if the rest is not ready in time."""


def nobody_waits(context: str) -> None:
    """For who has no limit of time."""


@dataclass(frozen=True)
class Here:
    """An open store, and what of it counts in one folder."""

    store: Store
    settings: config.Settings
    places: tuple[RecordRoot, ...]
    now: Micros
    files: Files

    @property
    def where(self) -> Filter:
        """What holds in these places now."""
        return Filter(tuple(place.scope for place in self.places), valid_at=self.now)

    @property
    def tokens(self) -> int:
        """How many tokens one block may take: what stands and what is recalled share the budget."""
        return min(self.settings.context_tokens, MOST_TOKENS) // 2

    def standing(self) -> tuple[str, list[Memory]]:
        """The block for the start of a session, and what is in it."""
        return standing(self.store, self.where, tokens=self.tokens, stands=self.files.stands)


def standing_in(
    call: Call,
    facts: dict[str, Any],
    ready: Ready = nobody_waits,
) -> str:
    """The block for the start of a session: the same for as long as the memories in it are."""
    here = look_around(call, facts, ready)
    if here is None:
        return ""
    block, shown = here.standing()
    facts["ids"] = [memory.id for memory in shown]
    ready(_with_note(block))
    _follow(here, call)
    both = join_blocks(_taught(here, call, facts), block)
    return both if len(both) <= MOST_CHARACTERS else block


def _taught(
    here: Here,
    call: Call,
    facts: dict[str, Any],
) -> str:
    try:
        return taught(here.store, Path(call.cwd or "."), tokens=here.tokens)
    except (
        HoldfastError,
        OSError,
    ) as error:
        # A mistake in holdfast.yaml costs this block, and no other.
        from .log import describe_error  # noqa: PLC0415

        facts["error"] = describe_error(error)
        return ""


def recalled(
    call: Call,
    facts: dict[str, Any],
    ready: Ready = nobody_waits,
) -> str:
    """The block for a prompt: what helps with it, without what stands already and what this very
    session said.
    """
    here = look_around(call, facts, ready)
    if here is None or not call.prompt.strip():
        return ""
    block, told = here.standing()
    facts["ids"] = [memory.id for memory in told]
    ready(_with_note(block))
    # A session that starts does without all of recall.
    from ...context.brief import brief, fitting_prompt  # noqa: PLC0415

    found = _hits(here, call, {memory.id for memory in told})
    hits = fitting_prompt(found, call.prompt)
    facts["ids"] = [hit.memory.id for hit in hits]
    _follow(here, call)
    roots = {place.scope: _near(place, call) for place in here.places}
    return brief(hits, "prompt", tokens=here.tokens, freshness=_marks(here, hits), roots=roots)


def _marks(here: Here, hits: list[Hit]) -> dict[str, tuple[Verdict, ...]]:
    """Whether what the hits cite still stands; git has but a moment to say where a file went."""
    citing = [hit.memory for hit in hits if hit.memory.metadata.get("evidence")]
    if not citing:
        return {}
    # Few records cite.
    from ...records.freshness import freshness  # noqa: PLC0415

    return freshness(citing, here.places, patience=min(GIT, time_left() / 4))


def _with_note(block: str) -> str:
    """`block` with a note that the rest is late. The note is fenced, so that nothing learns from
    it.
    """
    return join_blocks(block, fence_block(LATE, block_id="late", label="late memory"))


def _hits(
    here: Here,
    call: Call,
    told: Collection[str],
) -> list[Hit]:
    from ...models.embeddings.tiers import Tiers  # noqa: PLC0415
    from ...retrieval.recall import Engine, Question, recall  # noqa: PLC0415

    settings = here.settings
    where = replace(here.where, excluded_sessions=(call.session,)) if call.session else here.where
    engine = Engine(
        here.store, Tiers(_models(settings, call), environ={}), system_clock, fusion=settings.fusion
    )
    found = recall(
        engine, Question(asked(call.prompt), where, limit=settings.recall_limit + len(told))
    ).hits
    new = [
        hit
        for hit in found
        if hit.memory.id not in told
        and here.files.stands(hit.memory)
        and not _learned_from(hit.memory, call.session)
    ]
    return new[: settings.recall_limit]


def _learned_from(record: Memory, session: str) -> bool:
    """Whether a session is where a record comes from, as its file says."""
    source = record.metadata.get("source")
    return bool(session) and isinstance(source, Mapping) and source.get("session") == session


def _models(settings: config.Settings, call: Call) -> list[str]:
    """The quick model, if it is in use and there is time to load it. Words alone find nearly as
    much.
    """
    there = QUICK in settings.embedding_models.split(",")
    return [QUICK] if there and (call.event == EXEC or time_left() > LOADING) else []


def asked(prompt: str) -> str:
    """What of a prompt is asked for: all of it, or its two ends."""
    return prompt if len(prompt) <= 2 * LONGEST else f"{prompt[:LONGEST]}\n{prompt[-LONGEST:]}"


def _near(place: RecordRoot, call: Call) -> str:
    """The folder of a place, as the agent would write it."""
    folder = Path(call.cwd or ".").resolve()
    return str(place.root.relative_to(folder) if place.root.is_relative_to(folder) else place.root)


def _follow(here: Here, call: Call) -> None:
    """Lets a process follow the files of records, if some were changed."""
    if call.event != EXEC and here.files.want_following(here.now):
        start_process(call._replace(transcript=""))


def look_around(
    call: Call,
    facts: dict[str, Any],
    ready: Ready = nobody_waits,
) -> Here | None:
    """What counts in the folder of a call; None where memory is off."""
    settings = config.load()
    if retention_mode.mode_of(settings.memory_mode) == "incognito":
        return None
    # Before the store, which may be locked or far away.
    ready(_with_note(""))
    places = places_here(Path(call.cwd or "."))
    facts["project"] = next((place.scope.key for place in places if place.name == "project"), None)
    store = open_store(
        settings.store or config.default_store(),
        replica=settings.replica,
        key_file=settings.key_file,
    )
    now = system_clock()
    on = tuple(place for place in places if store.profiles.get(place.scope).get("enabled", True))
    return Here(store, settings, on, now, Files(store, on)) if on else None


def before_execution(folder: Path, ticket: str) -> str:
    """What memory says before a command runs: what stands, and what helps with the ticket. Empty
    when it fails.
    """
    from .log import describe_error, note  # noqa: PLC0415

    call = Call(EXEC, cwd=str(folder), prompt=ticket)
    text = ""
    facts: dict[str, Any] = {}
    try:
        with open_here(folder) as hf:
            # Nobody waits for an answer, so it can be the latest.
            hf.records.sync_files()
        text = join_blocks(standing_in(call, facts), recalled(call, facts))
        outcome = "told" if text else "nothing"
    except Exception as error:
        # Memory that fails must not keep a command from running.
        outcome, facts["error"] = "failed", describe_error(error)
    note(event=EXEC, outcome=outcome, said=len(ticket), given=len(text), **facts)
    return text
