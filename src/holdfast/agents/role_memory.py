"""What one agent remembers: its store and scope, the three types of memory, their caps, and how
they become facts.
"""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import config, retention_mode
from ..client import Holdfast
from ..context.session_context import procedures
from ..errors import EmbedderError, HoldfastError, InvalidInput, NotFound, Refused, StoreError
from ..extraction.episodes import Consolidated, unread
from ..ingest.sanitize import clean, without_secrets
from ..ingest.session_log import append
from ..maintenance.embedding_catchup import embed_some
from ..models.embeddings.tiers import Tiers
from ..models.llm.chat import Complete
from ..scopes import owner_scope
from ..storage import InMemoryStore, Store, open_store
from ..storage.connect import check_place, is_server, shown
from ..storage.protocol import Filter
from ..storage.sqlite.store import IN_MEMORY
from ..types import (
    KINDS,
    LAYERS,
    MAIN_KINDS,
    Clock,
    Kind,
    Layer,
    Memories,
    Memory,
    Scope,
    system_clock,
)
from . import embeddings, initrunner, message_history
from .role import MemoryConfig, Role

log = logging.getLogger(__name__)

# A file is one memory, whoever uses it; on a server every agent has its own unless the role names
# another.
FILE_SCOPE = Scope("shared", "agents")
NO_CONFIG = "No memory config in role definition."
from_outside: ContextVar[bool] = ContextVar("from_outside", default=False)
"""Whether the task at hand was set by somebody who is not known, such as the sender of a web
request.
"""
# memories embedded on the way of a write: what it added, and what an earlier failure left behind
_FEW = 64


class ScoredMemory(NamedTuple):
    """A memory and how similar it is to what was asked, in [0, 1]."""

    memory: Memory
    score: float


class RoleMemory:
    """The memory of a role. Nothing is opened or made before it is needed.

    Memories carry integer numbers (`seq`), which are the ids that its tools and commands show.
    """

    def __init__(
        self,
        role: Role,
        *,
        clock: Clock = system_clock,
        settings: config.Settings | None = None,
        environ: Mapping[str, str] | None = None,
        complete: Callable[[], Complete] | None = None,
        mode: str | None = None,
        user_id: str | None = None,
        actor: str | None = None,
    ) -> None:
        """`complete` gives the model that consolidates; it is asked for only when there is
        something to do.

        `mode` may ask for less to be kept than is set. With a `user_id` the memory is that user's,
        whatever the role says about its scope. `actor` is who uses it, where that is not the agent
        itself.
        """
        if role.spec.memory is None:
            raise NotFound(NO_CONFIG)
        self.role = role
        self.config = role.spec.memory
        self.clock = clock
        self.settings = settings or config.load()
        self.environ = config.environment() if environ is None else environ
        self.mode = retention_mode.chosen(self.settings.memory_mode, mode)
        self.place = IN_MEMORY if self.incognito else place(role, self.settings)
        self.scope = _scope(role, self.place) if user_id is None else owner_scope(user_id)
        self._complete = complete
        self._actor = actor or f"agent:{role.name}"
        # Tools that are called together run in several threads.
        self._opening = threading.Lock()
        self._hf: Holdfast | None = None

    # Opening

    @property
    def hf(self) -> Holdfast:
        """The memory, opened; a file that is not there is made."""
        with self._opening:
            if self._hf is None:
                self._hf = Holdfast(
                    self._opened(),
                    [self.scope],
                    settings=self.settings,
                    tiers=self.tiers,
                    clock=self.clock,
                    actor=self._actor,
                    mode=self.mode,
                )
                self._hf.remedy = embeddings.remedy(self.role)
            return self._hf

    @property
    def incognito(self) -> bool:
        """Whether nothing of this is kept: it ends with the process, and what is on disk is not
        read.
        """
        return self.mode == "incognito"

    def _opened(self) -> Store:
        if self.incognito:
            return InMemoryStore(clock=self.clock)
        try:
            return open_store(self.place, replica=self.settings.replica, clock=self.clock)
        except StoreError as error:
            if not is_server(self.place) and initrunner.is_database(Path(self.place)):
                told = initrunner.refused(
                    Path(self.place), self.role.file, named=self.config.store_path is not None
                )
                raise type(error)(f"{self.place} {told}") from error
            told = str(error).replace(
                "with --store", f"under spec.memory.store_path in {self.role.file.name}"
            )
            raise type(error)(told) from error

    @cached_property
    def tiers(self) -> Tiers:
        """The models that embed what this agent remembers."""
        if self.incognito:
            return Tiers((), environ={}, clock=self.clock)
        return embeddings.tiers(self.role, self.environ, self.clock)

    @property
    def exists(self) -> bool:
        """Whether there is a store; on a server there always is."""
        if self._hf is not None or self.incognito:
            return self._hf is not None
        return is_server(self.place) or Path(self.place).exists()

    @property
    def left_behind(self) -> str:
        """What to say of an InitRunner database of this agent that was not taken in; empty where
        there is none.
        """
        old = self._old_database()
        if self.incognito or old is None or not initrunner.is_database(old):
            return ""
        if self.exists:
            store = self.hf.store
            where = Filter((self.scope,))
            # Version 0.1.0 took it in without a note.
            first = store.list(where, limit=1, order="oldest")
            known = any(
                file.path == str(old.resolve())
                for file in store.files.list(self.scope, initrunner.ROOT)
            )
            if known or (first and first[0].source == initrunner.ROOT):
                return ""
        return initrunner.left_behind(old, self.role.file)

    def _old_database(self) -> Path | None:
        """Where InitRunner would keep this memory, unless the role names a place of its own."""
        if is_server(self.place):
            return None if self.config.store_path else initrunner.default_database(self.role.name)
        here = Path(self.place)
        usual = here.parent == config.agent_store(self.role.name).parent
        return initrunner.default_database(here.stem) if usual else None

    @property
    def location(self) -> str:
        """Where the memories are, for people: no password in it."""
        return shown(self.place)

    def check(self) -> None:
        """Raises when the memories cannot be embedded as the role says: no key, another model,
        another length.
        """
        if self.incognito:
            return
        embeddings.check_keys(self.role, self.environ)
        if self.exists:
            embeddings.check_model(self.role, self.hf.store, self.scope, self.tiers)

    def close(self) -> None:
        """Closes what was opened. Closing twice equals once."""
        if self._hf is not None:
            self._hf.close()
            self._hf = None

    # Memories

    paused: bool = False
    """Whether the person asked for nothing more to be kept: then nothing is stored, not even what
    was said.
    """

    def remember(
        self,
        type_: str,
        content: str,
        *,
        category: str = "general",
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Stores one memory of a type, puts away what is over that type's cap, and embeds it.

        A model that fails does not keep it from being stored. One whose vectors have changed their
        length raises DimensionMismatchError, but what was said is kept and found by its words.
        Refused for a procedure in a task that came from outside.
        """
        if self.paused:
            raise Refused("Not stored: the person asked for nothing to be remembered for now.")
        layer = layer_of(type_)
        outside = from_outside.get()
        if outside and layer == "procedural":
            raise Refused(
                "Not learned: this task came from outside, and a procedure is followed ever "
                "after. Only the people who "
                "run the agent may teach it one."
            )
        stored = self.hf.remember(
            content,
            kind=MAIN_KINDS[layer],
            category=tidy(category),
            source=f"agent:{self.role.name}",
            trust="external" if outside else "agent",
            metadata=dict(metadata or {}),
        )
        self.keep_within_caps(layer)
        self.embed()
        return stored

    def keep_within_caps(self, *layers: Layer) -> int:
        """Puts away the oldest memories of these types beyond what the role allows, and says how
        many.
        """
        return sum(
            len(
                self.hf.evict(
                    kinds=kinds_of(layer),
                    keep=cap(self.config, layer),
                    # Where nothing ever consolidates, episodes wait for nothing.
                    spare_unconsolidated=layer == "episodic" and self.config.consolidation.enabled,
                )
            )
            for layer in layers or tuple(MAIN_KINDS)
        )

    def embed(self) -> None:
        """Gives memories that have no vector yet one of each model, a few at most."""
        for embedder in self.tiers:
            if not embed_some(self.hf.store, self.tiers, embedder, limit=_FEW, scopes=[self.scope]):
                # Why it did not is in the log. A model that is away comes back; one that has
                # changed does not.
                embeddings.check_length(self.role, self.hf.store, self.scope, embedder)

    def recall(
        self, query: str, *, top_k: int = 5, types: Sequence[str] | None = None
    ) -> list[ScoredMemory]:
        """The memories that help most with a query, the most similar first, of these types or of
        all.
        """
        if top_k < 1:
            raise InvalidInput(f"top_k must be at least 1, not {top_k}.")
        kinds = [kind for type_ in types or () for kind in kinds_named(type_)]
        hits = self.hf.recall(clean(query), limit=top_k, kinds=kinds)
        found = [
            ScoredMemory(
                hit.memory, hit.score if hit.why.similarity is None else hit.why.similarity
            )
            for hit in hits
        ]
        return sorted(found, key=lambda one: -one.score)

    def listed(
        self, *, type_: str | None = None, category: str | None = None, limit: int | None = 20
    ) -> Memories:
        """Active memories, newest first."""
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit must be at least 1, not {limit}.")
        category = clean(category) if category else None
        memories = self.hf.list(
            kinds=kinds_named(type_) if type_ else (),
            categories=tuple({category, tidy(category)}) if category else (),
        )
        # By the time they carry, not by the order of arrival: an import brings old ones in late.
        memories.sort(key=lambda memory: (memory.created_at, memory.seq), reverse=True)
        return memories if limit is None else memories[:limit]

    def procedures(self) -> str:
        """The learned procedures as a section for the system prompt; empty when there are none or
        none can be read.
        """
        if not self.config.procedural.enabled:
            return ""
        try:
            return procedures(self.hf.store, self.scope, self.clock()) if self.exists else ""
        except HoldfastError as error:
            log.warning("the procedures of %s could not be read: %s", self.role.name, error)
            return ""

    @property
    def recall_is_off(self) -> bool:
        """Whether nothing is to be brought up unasked, because somebody wanted that. Procedures are
        still followed.
        """
        return (
            self.exists and self.hf.store.profiles.get(self.scope).get("proactive_recall") is False
        )

    @property
    def proposals(self) -> int:
        """How many memories wait for a person."""
        return len(self.hf.proposals()) if self.exists else 0

    def capture(
        self, content: str, *, category: str, metadata: Mapping[str, Any] | None = None
    ) -> Memory | None:
        """Stores an episode on the agent's behalf. Never raises: a failure is logged, and None
        comes back.
        """
        if not self.config.episodic.enabled:
            return None
        try:
            return self.remember("episodic", content, category=category, metadata=metadata)
        except (HoldfastError, OSError) as error:
            log.warning("an episode of %s was not captured: %s", self.role.name, error)
            return None

    @property
    def waiting(self) -> bool:
        """Whether there are episodes that the end of a session would consolidate."""
        due = (
            self.config.consolidation.enabled
            and self.config.consolidation.interval == "after_session"
        )
        try:
            return due and self.exists and bool(unread(self.hf.store, self.scope, 1))
        except HoldfastError:
            return False

    @property
    def complete(self) -> Complete | None:
        """The model that works on what the agent remembers, made when it is asked; None where
        nobody gave one.
        """
        made = self._complete
        if made is None:
            return None

        def complete(prompt: str) -> str:
            return made()(prompt)

        return complete

    def consolidate(self, *, force: bool = False) -> Consolidated:
        """Turns unread episodes into facts. Never raises: what went wrong is the reason in what
        comes back.

        Does nothing where the role has it disabled, unless forced.
        """
        complete = self.complete
        if complete is None or self.incognito or not (force or self.config.consolidation.enabled):
            return Consolidated()
        try:
            done = self.hf.consolidate(
                complete, limit=self.config.consolidation.max_episodes_per_run
            )
            if done.created:
                self.keep_within_caps("semantic", "episodic")
                self.embed()
        except Exception as error:  # whatever a provider's client may raise
            # Whoever asks for it is told by what comes back.
            if not force:
                log.warning(
                    "the episodes of %s wait, because consolidating them failed: %s",
                    self.role.name,
                    error,
                )
            return Consolidated(reason=f"{error}" or type(error).__name__)
        return done

    # Sessions

    def open_session(self, mode: str) -> str:
        """Begins a session and returns its id. Never raises: one that cannot be written down goes
        on without.
        """
        session = message_history.new_session_id()
        self._quietly("a session was not begun", lambda: self._append(session, (), mode))
        return session

    def save(self, session: str, messages: Iterable[message_history.Body]) -> bool:
        """Adds messages to a session; False, and a warning, when they could not be written. Never
        raises.
        """
        if self.paused:
            return True
        return self._quietly(
            "Failed to save session - conversation will not be resumable",
            lambda: self._append(
                session, message_history.kept(list(messages)), message_history.INTERACTIVE
            ),
        )

    def _append(self, session: str, messages: Sequence[message_history.Body], mode: str) -> None:
        scope = self.hf.scopes[0]
        at = self.clock()
        name = self.role.name
        # Not by the verb, which guards every text: which of them were said is known here, and
        # signatures are not.
        self.hf.write(
            "append",
            lambda tx: append(
                tx, scope, session, messages, at=at, agent=name, metadata={"mode": mode}
            ),
        )

    def latest(self) -> list[message_history.Body] | None:
        """The end of the agent's last conversation, as much of it as the role allows; None when
        there is none.
        """
        return (
            message_history.latest(self.hf, self.role.name, self.config.max_resume_messages)
            if self.exists
            else None
        )

    def prune_sessions(self) -> None:
        """Removes the oldest sessions beyond what the role allows. Never raises."""
        keep = self.config.max_sessions
        self._quietly(
            "old sessions were not removed",
            lambda: message_history.prune(self.hf, self.role.name, keep),
        )

    def remove_session(self, session: str) -> None:
        """Removes a session that nothing is to be kept of, with all that was said in it. Never
        raises.
        """
        if self.exists:
            self._quietly("the session was not removed", lambda: self.hf.purge_sessions(session))

    def end_session(self, session: str, *, reason: str, consolidate: bool) -> list[str]:
        """The one way a session ends: marked as ended, old ones removed, episodes consolidated if
        that is due.

        Never raises; what a person may want to know of it comes back as lines.
        """
        if not self.exists:
            # Nothing was ever kept, so there is nothing to end.
            return []
        self._quietly(
            "the session was not marked as ended",
            lambda: self.hf.end_session(session, reason=reason),
        )
        self.prune_sessions()
        return describe_consolidation(self.consolidate()) if consolidate else []

    def _quietly(self, what: str, work: Callable[[], object]) -> bool:
        try:
            work()
        except (
            Exception
        ) as error:  # a conversation must not end because its record cannot be written
            log.warning("%s: %s", what, error)
            return False
        return True

    # Models

    def reembed(
        self, *, progress: Callable[[str, int], None] = lambda model, done: None
    ) -> dict[str, int]:
        """Gives every memory a vector of the role's models and forgets those of others: the way to
        change models.

        Stopped anywhere it goes on where it stopped; the old vectors go last.
        """
        embeddings.check_keys(self.role, self.environ)
        self._drop_misfits()
        try:
            done = self.hf.reembed(progress=progress)
        except EmbedderError:
            if (
                not self._drop_misfits()
            ):  # how long a server's vectors are is known once it has made one
                raise
            done = self.hf.reembed(progress=progress)
        for identity in self.hf.store.vectors.dimensions([self.scope]).keys() - {
            one.identity for one in self.tiers
        }:
            self.hf.store.vectors.drop(identity, [self.scope])
        return done

    def _drop_misfits(self) -> bool:
        """Drops the vectors of models that make longer or shorter ones now; whether there were
        any.
        """
        there = self.hf.store.vectors.dimensions([self.scope])
        misfits = [
            one.identity
            for one in self.tiers
            if one.dimensions not in (None, there.get(one.identity))
        ]
        return sum(self.hf.store.vectors.drop(identity, [self.scope]) for identity in misfits) > 0


def describe_consolidation(done: Consolidated) -> list[str]:
    """What a consolidation did, for a person; nothing when it did nothing. What went wrong is in
    the log.
    """
    return [f"Created {done.created} semantic memories from episodic data."] if done.created else []


def place(role: Role, settings: config.Settings) -> str | Path:
    """Where a role's memories are: what it says, else the server in use, else a file of its own."""
    wanted = role.spec.memory.store_path if role.spec.memory else None
    if wanted is None:
        return settings.store if is_server(settings.store) else config.agent_store(role.name)
    check_place(wanted)
    if is_server(wanted):
        return wanted
    path = role.beside(wanted)
    home = config.agent_store(role.name).parent.parent
    if role.spec.security.tools.restrict_db_paths and not path.resolve().is_relative_to(
        home.resolve()
    ):
        raise InvalidInput(
            f"Store path '{path}' is outside {home}. Put it there, or set "
            "spec.security.tools.restrict_db_paths: false."
        )
    return path


def _scope(role: Role, where: str | Path) -> Scope:
    if role.spec.memory and role.spec.memory.scope:
        return Scope.parse(role.spec.memory.scope)
    return Scope("agent", role.name) if is_server(where) else FILE_SCOPE


def layer_of(type_: str) -> Layer:
    """The type of memory with this name; InvalidInput otherwise."""
    for known in MAIN_KINDS:
        if type_ == known:
            return known
    raise InvalidInput(f"Invalid type '{type_}'. Use: episodic, semantic, procedural")


def kinds_of(layer: Layer) -> tuple[Kind, ...]:
    """The kinds of memory that are of a type."""
    return tuple(kind for kind, its in LAYERS.items() if its == layer)


def kinds_named(name: str) -> tuple[Kind, ...]:
    """The kinds of memory that a name stands for, of a type or of one of our kinds; InvalidInput
    otherwise.
    """
    return tuple(kind for kind in KINDS if kind == name) or kinds_of(layer_of(name))


def cap(memory: MemoryConfig, layer: Layer) -> int:
    """How many memories of a type are kept."""
    caps = {
        "semantic": memory.semantic.max_memories,
        "episodic": memory.episodic.max_episodes,
        "procedural": memory.procedural.max_procedures,
    }
    return caps[layer]


def tidy(category: str) -> str:
    """A category as it is stored: lower case, letters and digits of any script, the rest as
    underscores.

    >>> tidy("My Notes"), tidy("---"), tidy("Настройки / UI")
    ('my_notes', 'general', 'настройки_ui')
    """
    # Secrets first: what is left of one after this would pass for a word.
    lower = unicodedata.normalize("NFKC", without_secrets(category)).lower()
    kept = "".join(char if unicodedata.category(char)[0] in "LMN" else "_" for char in lower)
    return re.sub("_+", "_", kept).strip("_") or "general"
