"""Consolidate episodes into durable facts with a language model.

The model only writes lines. This code records which episodes were read, their outcome and the
source of each fact, in the transaction that stores the facts. A lease keeps two processes from
consolidating the same episodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..context.blocks import Line, render_line
from ..errors import Conflict, HoldfastError, Nothing
from ..ingest import commit
from ..ingest.commit import Draft
from ..models.llm.chat import Complete
from ..storage.duplicates import same_content
from ..storage.protocol import Store, Transaction
from ..storage.store_types import Author, Filter
from ..types import Clock, Edge, Job, Memories, Memory, Scope, iso, new_id, system_clock
from .job_types import LEASE, worker_name
from .prompts import prompt

KIND = "consolidate"
KEY = "episodes"
EXTRACTED = "extracted"
NO_OUTPUT = "no_output"
SOURCE = "consolidation"
BUSY = "Another process is consolidating these episodes at this moment."

# "- **Category**: what is remembered", with or without a bullet and stars: models differ.
_LINE = re.compile(
    r"^\s*(?:[-*•]+|\d+[.)])?\s*\**(?P<category>[^\W\d][\w "
    r"/-]{0,39}?)\**\s*[:：]\**\s*(?P<content>.+)$"
)
# What models write around their answer, and the beginnings of addresses, look like categories but
# are none.
_NO_CATEGORIES = frozenset(
    ("note", "notes", "nb", "output", "answer", "category", "none", "http", "https", "file")
)


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Result of a consolidation: new facts, episodes read, and why it stopped early, if so."""

    created: int = 0
    episodes: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Insight:
    """One line of a model's answer."""

    category: str
    content: str


def consolidate(
    store: Store,
    scope: Scope,
    complete: Complete,
    *,
    limit: int,
    clock: Clock = system_clock,
    actor: str = "consolidation",
    max_bytes: int = 100_000,
) -> Consolidated:
    """Consolidate up to `limit` unread episodes, oldest first, and store the resulting facts.

    Atomic: if the model or the store fails, the error is raised and recorded on the job, and the
    episodes stay unread. Episodes that yield nothing get the outcome `no_output`, so that they do
    not block later ones.
    """
    if not unread(store, scope, limit):
        return Consolidated()
    job = _claim(store, scope, clock)
    if job is None:
        return Consolidated(reason=BUSY)
    try:
        # Another process may have read some while we came for the lease.
        episodes = unread(store, scope, limit)
        insights = list(parse(complete(asked(episodes)))) if episodes else []
        author = Author(actor, new_id("run", clock()), clock(), KIND)
        facts = _facts(insights, scope, author, max_bytes)
        return store.write(
            author,
            lambda tx: _keep(
                tx,
                job,
                episodes,
                facts,
                author,
            ),
        )
    except BaseException as error:
        # What is already going wrong matters more.
        with suppress(HoldfastError):
            store.jobs.fail(job, error=str(error) or type(error).__name__, retry_at=clock())
        raise


def unread(
    store: Store,
    scope: Scope,
    limit: int,
) -> Memories:
    """Episodes that no consolidation has read yet, oldest first."""
    where = Filter((scope,), kinds=("episode",), consolidated=False)
    return store.list(where, limit=limit, order="earliest")


def _claim(
    store: Store,
    scope: Scope,
    clock: Clock,
) -> Job | None:
    known = [
        job.watermark for job in store.jobs.list([scope]) if (job.kind, job.key) == (KIND, KEY)
    ]
    # Asked for again, so tried again.
    store.jobs.enqueue(scope, KIND, KEY, watermark=max(known, default=0) + 1)
    return store.jobs.claim(
        [KIND], keys=[KEY], scopes=[scope], worker=worker_name(), now=clock(), lease=LEASE
    )


def asked(episodes: Sequence[Memory]) -> str:
    """Build the prompt for these episodes."""
    return prompt("consolidate_episodes", episodes="\n".join(map(_line, episodes)))


def _line(episode: Memory) -> str:
    created = iso(episode.created_at)
    return render_line(Line(episode.content, labels=(episode.category,), attribution=(created,)))


def parse(answer: str) -> Iterator[Insight]:
    """Lines of an answer with the form `CATEGORY: content`; other text is ignored.

    >>> [insight.category for insight in parse("Here you are:\\n- preference: Likes tea.\\nhttps://example.com")]
    ['preference']
    """
    for line in answer.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        category = re.sub(r"[\W_]+", "_", found["category"].casefold()).strip("_")
        content = found["content"].strip().strip("*").strip()
        if category and category not in _NO_CATEGORIES and content and not content.startswith("//"):
            yield Insight(category, content)


def _facts(
    insights: Sequence[Insight],
    scope: Scope,
    author: Author,
    max_bytes: int,
) -> Memories:
    facts = []
    for insight in insights:
        draft = Draft(
            content=insight.content,
            category=insight.category,
            source=SOURCE,
            trust="derived",
            metadata={"source": SOURCE},
        )
        with suppress(
            Nothing
        ):  # nothing was left of the line, as of one that only repeats what memory had injected
            facts.append(commit.build(draft, scope, at=author.at, max_bytes=max_bytes))
    return facts


def _keep(
    tx: Transaction,
    job: Job,
    episodes: Memories,
    facts: Memories,
    author: Author,
) -> Consolidated:
    if any(tx.memory(one.scope, one.id) is None for one in episodes):
        # What the model made of it may repeat what was purged.
        raise Conflict(
            "An episode was removed while it was read. Nothing was kept; the others are read again."
        )
    known = same_content(tx, facts)
    new = {
        fact.id: fact
        for fact in commit.remember(tx, [fact for fact in facts if fact.id not in known])
    }
    for fact in (*new, *{fact.id for fact in known.values()}):
        for episode in episodes:
            tx.link(
                Edge(
                    episode.scope,
                    fact,
                    episode.id,
                    "derived_from",
                    author.at,
                )
            )
    for episode in episodes:
        tx.change(episode, consolidated_at=author.at, outcome=EXTRACTED if facts else NO_OUTPUT)
    tx.jobs.finish(job)
    return Consolidated(len(new), len(episodes))
